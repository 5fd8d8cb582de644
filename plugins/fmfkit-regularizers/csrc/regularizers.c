/* regularizers.c -- bounds and the minimax concave penalty, for float and double.

   The file includes itself, once for each precision: the functions, at the end, are written once. */
#ifndef REAL
#include <math.h>

#include "fmfkit.h"

typedef struct {
    double low;
    double high;
    double l1; /* where low is 0 */
    double l2;
} bounded_params;

typedef struct {
    double l1;
    double gamma;
} mcp_params;

static inline float next_f32(float a, float towards) { return nextafterf(a, towards); }
static inline double next_f64(double a, double towards) { return nextafter(a, towards); }

#define REAL float
#define FOR(name) name##_f32
#include "regularizers.c"
#undef REAL
#undef FOR

#define REAL double
#define FOR(name) name##_f64
#include "regularizers.c"

static const fmfkit_regularizer bounded_table = {
    FMFKIT_REGULARIZER_HEAD, sizeof(bounded_params), bounded_T_f32, bounded_penalty_f32, bounded_T_f64, bounded_penalty_f64,
};

static const fmfkit_regularizer mcp_table = {
    FMFKIT_REGULARIZER_HEAD, sizeof(mcp_params), mcp_T_f32, mcp_penalty_f32, mcp_T_f64, mcp_penalty_f64,
};

const void *bounded(void) { return &bounded_table; }

const void *mcp(void) { return &mcp_table; }

#else

/* l1 w + l2/2 w^2 between low and high.  T: the minimum of a parabola, held there; without curvature, the end that the slope
   points to, or nothing. */

FMFKIT_MULTIVERSION static void FOR(bounded_T)(const REAL *x, const REAL *y, const REAL *w, const REAL *strength, REAL *d,
                                               int64_t n, const void *params) {
    const bounded_params *p = params;
    const REAL low = (REAL)p->low, high = (REAL)p->high, l1 = (REAL)p->l1, l2 = (REAL)p->l2, far = (REAL)INFINITY;
    for (int64_t t = 0; t < n; t++) {
        const REAL slope = x[t] + strength[t] * (l1 + l2 * w[t]), curvature = y[t] + strength[t] * l2;
        const REAL down = low - w[t], up = high - w[t], end = slope > 0 ? down : slope < 0 ? up : 0;
        const REAL still = end > -far && end < far ? end : 0, free = -slope / (curvature > 0 ? curvature : 1);
        REAL to = curvature > 0 ? free : still;
        to = to < down ? down : to;
        d[t] = to > up ? up : to;
    }
    for (int64_t t = 0; t < n; t++) { /* w + d is rounded: not beyond the bounds */
        if (w[t] + d[t] < low) d[t] = FOR(next)(d[t], far);
        if (w[t] + d[t] > high) d[t] = FOR(next)(d[t], -far);
    }
}

FMFKIT_MULTIVERSION static void FOR(bounded_penalty)(const REAL *w, const REAL *strength, REAL *penalty, int64_t n,
                                                     const void *params) {
    const bounded_params *p = params;
    const REAL low = (REAL)p->low, high = (REAL)p->high, l1 = (REAL)p->l1, half = (REAL)p->l2 / 2;
    for (int64_t t = 0; t < n; t++) {
        const REAL value = strength[t] * (l1 * w[t] + half * w[t] * w[t]);
        penalty[t] = w[t] < low || w[t] > high ? (REAL)INFINITY : value;
    }
}

/* l1 |w| - w^2 / (2 gamma) up to |w| = gamma l1, then the same for all larger ones. */

static inline REAL FOR(mcp_omega)(REAL w, REAL l1, REAL gamma) {
    const REAL size = w < 0 ? -w : w, end = gamma * l1, m = size < end ? size : end;
    return l1 * m - m * m / (2 * gamma);
}

/* T.  Without the penalty the best place would be `lone`, at a distance `far` from zero.  Where the data bends more than the
   penalty all is convex: zero, the place where the slope vanishes, or `lone`, if it is beyond the end.  Else zero or `lone`. */
FMFKIT_MULTIVERSION static void FOR(mcp_T)(const REAL *x, const REAL *y, const REAL *w, const REAL *strength, REAL *d,
                                           int64_t n, const void *params) {
    const mcp_params *p = params;
    const REAL l1 = (REAL)p->l1, gamma = (REAL)p->gamma, end = (REAL)(p->gamma * p->l1),
               flat = (REAL)(p->gamma * p->l1 * p->l1);
    for (int64_t t = 0; t < n; t++) {
        const REAL lone = w[t] - x[t] / (y[t] > 0 ? y[t] : 1), far = lone < 0 ? -lone : lone;
        const REAL bent = y[t] - strength[t] / gamma, slope = y[t] * far - strength[t] * l1;
        const REAL within = slope > 0 ? slope / (bent > 0 ? bent : 1) : 0;
        const REAL worth = y[t] * far * far > strength[t] * flat ? far : 0;
        const REAL size = bent > 0 ? (far < end ? within : far) : (far < end ? 0 : worth);
        const REAL place = lone < 0 ? -size : size;
        d[t] = y[t] > 0 || strength[t] > 0 ? place - w[t] : 0;
    }
}

FMFKIT_MULTIVERSION static void FOR(mcp_penalty)(const REAL *w, const REAL *strength, REAL *penalty, int64_t n,
                                                 const void *params) {
    const REAL l1 = (REAL)((const mcp_params *)params)->l1, gamma = (REAL)((const mcp_params *)params)->gamma;
    for (int64_t t = 0; t < n; t++) penalty[t] = strength[t] * FOR(mcp_omega)(w[t], l1, gamma);
}

#endif
