/* kernels.c -- compiled once per instruction set; each template is included for float and for double. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1024,      /* pairs handled at a time by losses that are called by block */
    AHEAD = 4,         /* columns fetched ahead of their use */
    PAIRS_AHEAD = 12,  /* pairs whose partner's numbers are fetched ahead */
    SGD_AHEAD = 4,     /* rows of P or Q that stochastic gradient descent fetches ahead */
};

/* First place of a[0..n] whose value is >= x (a ascending, n + 1 values). */
static int64_t first_at_least(const int64_t *a, int64_t n, int64_t x) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The thread's share [*from, *to) of n things with running totals a[0..n], as even as whole things allow. */
static void share_by_total(const int64_t *a, int64_t n, int thread, int team, int64_t *from, int64_t *to) {
    const int64_t base = a[0], total = a[n] - a[0];
    *from = thread == 0 ? 0 : first_at_least(a, n, base + total / team * thread + total % team * thread / team);
    *to = thread + 1 == team
              ? n
              : first_at_least(a, n, base + total / team * (thread + 1) + total % team * (thread + 1) / team);
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, SUFFIX)

#define REAL float
#define BITS int32_t
#define SUFFIX f32
#define ADD_EACH_LOW {{0, 8, 1, 9, 4, 12, 5, 13}, {0, 1, 8, 9, 4, 5, 12, 13}, {0, 1, 2, 3, 8, 9, 10, 11}}
#define ADD_EACH_HIGH {{2, 10, 3, 11, 6, 14, 7, 15}, {2, 3, 10, 11, 6, 7, 14, 15}, {4, 5, 6, 7, 12, 13, 14, 15}}
#define TURN_FROM {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, 0}, {2, 3, 4, 5, 6, 7, 0, 1}, {3, 4, 5, 6, 7, 0, 1, 2}, \
                   {4, 5, 6, 7, 0, 1, 2, 3}, {5, 6, 7, 0, 1, 2, 3, 4}, {6, 7, 0, 1, 2, 3, 4, 5}, {7, 0, 1, 2, 3, 4, 5, 6}}
#include "template/all.h"
#undef REAL
#undef BITS
#undef SUFFIX
#undef ADD_EACH_LOW
#undef ADD_EACH_HIGH
#undef TURN_FROM

#define REAL double
#define BITS int64_t
#define SUFFIX f64
#define ADD_EACH_LOW {{0, 4, 2, 6}, {0, 1, 4, 5}}
#define ADD_EACH_HIGH {{1, 5, 3, 7}, {2, 3, 6, 7}}
#define TURN_FROM {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}, {4, 5, 6, 7}, {5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}}
#include "template/all.h"

#define TABLE(suffix)                                                                                              \
    {                                                                                                              \
        .embed = embed_##suffix, .scores = scores_##suffix, .pair_scores = pair_scores_##suffix,                   \
        .elastic_net_penalty = elastic_net_penalty_##suffix, .plan = plan_##suffix, .runs = runs_##suffix,                \
        .block_descend = block_descend_##suffix, .block_rows = block_rows_##suffix, .descend = descend_##suffix,   \
        .begin = begin_##suffix, .accumulate = accumulate_##suffix, .measure = measure_##suffix,                   \
        .sweep = sweep_##suffix, .set_sums = set_sums_##suffix, .set_apply = set_apply_##suffix,                   \
        .naive_sums = naive_sums_##suffix, .naive_apply = naive_apply_##suffix, .naive = naive_##suffix,           \
        .sgd_grouped = sgd_grouped_##suffix, .sgd_per_pair = sgd_per_pair_##suffix,                                \
        .pack_targets = pack_targets_##suffix, .top = top_##suffix,                                                \
    }

const fmf_kernels FMF_TABLE[2] = {TABLE(f32), TABLE(f64)};
