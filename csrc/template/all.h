/* all.h -- the kernels of one precision: REAL, BITS (an integer as wide), SUFFIX are set by kernels.c. */
#define LANES ((int)(32 / sizeof(REAL)))

#define vec FN(vec)
#define ivec FN(ivec)
#define loose_vec FN(loose_vec)
typedef REAL vec __attribute__((vector_size(32)));
typedef BITS ivec __attribute__((vector_size(32)));
typedef REAL loose_vec __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias)); /* anywhere in memory */

static inline vec FN(load)(const REAL *a) { return *(const loose_vec *)a; }
static inline void FN(store)(REAL *a, vec v) { *(loose_vec *)a = v; }

/* Lane l of the result is lane from[l] of a and b side by side. */
static inline vec FN(shuffle)(vec a, vec b, ivec from) {
#ifdef __clang__
    vec r;
    for (int l = 0; l < LANES; l++) r[l] = from[l] < LANES ? a[from[l]] : b[from[l] - LANES];
    return r;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* Lanes are added in one fixed order, halves first. */
static inline REAL FN(add_lanes)(vec a) {
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) a[l] += a[l + half];
    }
    return a[0];
}

/* Two vectors become one that holds sums of two lanes of either. */
static inline vec FN(fold)(vec a, vec b, int step) {
    const ivec low[] = ADD_EACH_LOW, high[] = ADD_EACH_HIGH;
    return FN(shuffle)(a, b, low[step]) + FN(shuffle)(a, b, high[step]);
}

/* Lane l of the result is the sum of the lanes of v[l], LANES vectors at once.  Written out, so that every shuffle is a
   constant and takes an instruction. */
static inline vec FN(add_each)(const vec *v) {
    const vec first = FN(fold)(FN(fold)(v[0], v[1], 0), FN(fold)(v[2], v[3], 0), 1);
    if (LANES == 4) return first;
    const vec second = FN(fold)(FN(fold)(v[LANES - 4], v[LANES - 3], 0), FN(fold)(v[LANES - 2], v[LANES - 1], 0), 1);
    return FN(fold)(first, second, LANES == 4 ? 0 : 2);
}

static inline REAL FN(dot)(const REAL *a, const REAL *b, int64_t n) {
    vec sum = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) sum += FN(load)(a + t) * FN(load)(b + t);
    for (int l = 0; t < n; t++, l++) sum[l] += a[t] * b[t];
    return FN(add_lanes)(sum);
}

#include "loss.h"
#include "penalty.h"
#include "score.h"
#include "plan.h"
#include "pairs.h"
#include "sweep.h"
#include "descend.h"
#include "block.h"
#include "naive.h"
#include "sgd.h"
#include "top.h"

#undef vec
#undef ivec
#undef loose_vec
#undef LANES
