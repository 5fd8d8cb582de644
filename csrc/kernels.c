/* kernels.c -- compiled once per instruction set; each template is included for float and for double. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1024,      /* pairs handled at a time by losses that are called by block */
    AHEAD = 4,         /* columns fetched ahead of their use */
    PAIRS_AHEAD = 12,  /* pairs whose partner's numbers are fetched ahead */
    ROWS_AHEAD = 6,    /* embedding or parameter rows fetched ahead */
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

/* Have the lines of a row of numbers fetched. */
static inline void fetch_row(const void *row, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)row + at);
}

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define FN(name) PASTE(name, SUFFIX)

#define REAL float
#define BITS int32_t
#define SUFFIX f32
#include "template/all.h"
#undef REAL
#undef BITS
#undef SUFFIX

#define REAL double
#define BITS int64_t
#define SUFFIX f64
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
    }

const fmf_kernels FMF_TABLE[2] = {TABLE(f32), TABLE(f64)};
