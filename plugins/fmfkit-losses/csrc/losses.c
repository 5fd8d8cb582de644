/* losses.c -- Huber and the weighted logistic loss, for float and double.

   The file includes itself, once for each precision: the functions, at the end, are written once. */
#ifndef REAL
#include "fmfkit.h"

typedef struct {
    double delta;
} huber_params;

typedef struct {
    double positive;
} logistic_params;

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

const void *huber(void) { return &huber_table; }

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

/* Weighted logistic: positive y softplus(-s) + (1 - y) softplus(s).  Its curvature is (positive y + 1 - y) times the logistic's. */

FMFKIT_MULTIVERSION static void FOR(logistic_value)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        const REAL plus = FOR(fmfkit_softplus)(s[t]);
        out[t] = positive * y[t] * (plus - s[t]) + (1 - y[t]) * plus;
    }
}

FMFKIT_MULTIVERSION static void FOR(logistic_gradient)(const REAL *s, const REAL *y, REAL *g, int64_t n, const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        const REAL p = FOR(fmfkit_sigmoid)(s[t]);
        g[t] = (1 - y[t]) * p - positive * y[t] * (1 - p);
    }
}

FMFKIT_MULTIVERSION static void FOR(logistic_curvature)(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,
                                                        const void *params) {
    const REAL positive = (REAL)((const logistic_params *)params)->positive;
    for (int64_t t = 0; t < n; t++) {
        const REAL p = FOR(fmfkit_sigmoid)(s[t]);
        g[t] = (1 - y[t]) * p - positive * y[t] * (1 - p);
        h[t] = (positive * y[t] + 1 - y[t]) * FOR(fmfkit_logistic_curvature)(s[t], p);
    }
}

#endif
