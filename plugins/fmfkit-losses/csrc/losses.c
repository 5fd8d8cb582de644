/* losses.c -- Huber, the weighted logistic and the ordinal loss, for float and double.

   The file includes itself, once for each precision: the functions, at the end, are written once. */
#ifndef REAL
#include "fmfkit.h"

typedef struct {
    double delta;
} huber_params;

typedef struct {
    double positive;
} logistic_params;

enum { MOST_CLASSES = 64 };

typedef struct {
    int64_t count;
    double classes[MOST_CLASSES];  /* ascending */
    double low[MOST_CLASSES];      /* where each begins, */
    double high[MOST_CLASSES];     /*   and ends */
    double constant[MOST_CLASSES]; /* -ln(1 - e^(low - high)) */
} ordinal_params;

#define REAL float
#define FOR(name) name##_f32
#include "losses.c"
#undef REAL
#undef FOR

#define REAL double
#define FOR(name) name##_f64
#include "losses.c"

static const fmfkit_loss huber_table = {
    FMFKIT_LOSS_HEAD,    sizeof(huber_params), huber_value_f32,    huber_gradient_f32,
    huber_curvature_f32, huber_value_f64,      huber_gradient_f64, huber_curvature_f64,
};

static const fmfkit_loss logistic_table = {
    FMFKIT_LOSS_HEAD,       sizeof(logistic_params), logistic_value_f32,    logistic_gradient_f32,
    logistic_curvature_f32, logistic_value_f64,      logistic_gradient_f64, logistic_curvature_f64,
};

static const fmfkit_loss ordinal_table = {
    FMFKIT_LOSS_HEAD,      sizeof(ordinal_params), ordinal_value_f32,    ordinal_gradient_f32,
    ordinal_curvature_f32, ordinal_value_f64,      ordinal_gradient_f64, ordinal_curvature_f64,
};

const void *huber(void) { return &huber_table; }

const void *ordinal(void) { return &ordinal_table; }

const void *weighted_logistic(void) { return &logistic_table; }

#else

/* Huber: r^2/2 where |r| <= delta, else delta |r| - delta^2/2.  With m = min(|r|, delta): m (|r| - m/2); the slope is r held to
   [-delta, delta]; min(1, delta / |r|) majorises. */

FMFKIT_MULTIVERSION static void FOR(huber_value)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *params) {
    const REAL delta = (REAL)((const huber_params *)params)->delta;
    for (int64_t t = 0; t < n; t++) {
        const REAL r = s[t] - y[t], size = r < 0 ? -r : r, m = size < delta ? size : delta;
        out[t] = m * (size - m / 2);
    }
}

FMFKIT_MULTIVERSION static void FOR(huber_gradient)(const REAL *s, const REAL *y, REAL *g, int64_t n, const void *params) {
    const REAL delta = (REAL)((const huber_params *)params)->delta;
    for (int64_t t = 0; t < n; t++) {
        const REAL r = s[t] - y[t], high = r < delta ? r : delta;
        g[t] = high > -delta ? high : -delta;
    }
}

FMFKIT_MULTIVERSION static void FOR(huber_curvature)(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,
                                                     const void *params) {
    const REAL delta = (REAL)((const huber_params *)params)->delta;
    for (int64_t t = 0; t < n; t++) {
        const REAL r = s[t] - y[t], size = r < 0 ? -r : r, high = r < delta ? r : delta;
        g[t] = high > -delta ? high : -delta;
        h[t] = delta / (size > delta ? size : delta);
    }
}

/* Weighted logistic: positive y softplus(-s) + (1 - y) softplus(s), neither of them by taking the other off: what cancels would
   be multiplied by positive.  Its curvature is (positive y + 1 - y) times the logistic's. */

FMFKIT_MULTIVERSION static void FOR(logistic_value)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        const REAL size = s[t] < 0 ? -s[t] : s[t], both = FOR(fmfkit_log1p)(FOR(fmfkit_exp)(-size));
        const REAL plus = both + (s[t] > 0 ? s[t] : 0), minus = both + (s[t] < 0 ? -s[t] : 0);
        out[t] = positive * y[t] * minus + (1 - y[t]) * plus;
    }
}

FMFKIT_MULTIVERSION static void FOR(logistic_gradient)(const REAL *s, const REAL *y, REAL *g, int64_t n, const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        g[t] = (1 - y[t]) * FOR(fmfkit_sigmoid)(s[t]) - positive * y[t] * FOR(fmfkit_sigmoid)(-s[t]);
    }
}

FMFKIT_MULTIVERSION static void FOR(logistic_curvature)(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,
                                                        const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        const REAL p = FOR(fmfkit_sigmoid)(s[t]);
        g[t] = (1 - y[t]) * p - positive * y[t] * FOR(fmfkit_sigmoid)(-s[t]);
        h[t] = (positive * y[t] + 1 - y[t]) * FOR(fmfkit_logistic_curvature)(s[t], p);
    }
}

/* Ordered classes: -ln(sigma(b) - sigma(a)), a and b being the ends of the class less the score: two logistic losses, and a
   constant of the class. */

static inline int64_t FOR(class_of)(const ordinal_params *o, REAL y) {
    int64_t k = 0;
    while (k < o->count - 1 && (REAL)o->classes[k] < y) k++;
    return k;
}

static inline REAL FOR(softplus)(REAL x) {
    const REAL size = x < 0 ? -x : x;
    return (x > 0 ? x : 0) + FOR(fmfkit_log1p)(FOR(fmfkit_exp)(-size));
}

FMFKIT_MULTIVERSION static void FOR(ordinal_value)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *params) {
    const ordinal_params *o = params;
    for (int64_t t = 0; t < n; t++) {
        const int64_t k = FOR(class_of)(o, y[t]);
        out[t] = FOR(softplus)(s[t] - (REAL)o->high[k]) + FOR(softplus)((REAL)o->low[k] - s[t]) + (REAL)o->constant[k];
    }
}

FMFKIT_MULTIVERSION static void FOR(ordinal_gradient)(const REAL *s, const REAL *y, REAL *g, int64_t n, const void *params) {
    const ordinal_params *o = params;
    for (int64_t t = 0; t < n; t++) {
        const int64_t k = FOR(class_of)(o, y[t]);
        const REAL a = FOR(fmfkit_sigmoid)((REAL)o->low[k] - s[t]), b = FOR(fmfkit_sigmoid)((REAL)o->high[k] - s[t]);
        g[t] = 1 - a - b;
    }
}

FMFKIT_MULTIVERSION static void FOR(ordinal_curvature)(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,
                                                       const void *params) {
    const ordinal_params *o = params;
    for (int64_t t = 0; t < n; t++) {
        const int64_t k = FOR(class_of)(o, y[t]);
        const REAL low = (REAL)o->low[k] - s[t], high = (REAL)o->high[k] - s[t];
        const REAL a = FOR(fmfkit_sigmoid)(low), b = FOR(fmfkit_sigmoid)(high);
        g[t] = 1 - a - b;
        h[t] = FOR(fmfkit_logistic_curvature)(low, a) + FOR(fmfkit_logistic_curvature)(high, b);
    }
}

#endif
