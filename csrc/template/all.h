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

/* Lanes are added in one fixed order, halves first. */
static inline REAL FN(add_lanes)(vec a) {
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) a[l] += a[l + half];
    }
    return a[0];
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

#undef vec
#undef ivec
#undef loose_vec
#undef LANES
