/* losses.c -- Huber and the weighted logistic loss, for float and double. */
#include "fmfkit.h"

typedef struct {
    double delta;
} huber_params;

/* r^2/2 where |r| <= delta, else delta |r| - delta^2/2.  With m = min(|r|, delta): m (|r| - m/2); the slope is r held to
   [-delta, delta]; min(1, delta / |r|) majorises. */
#define HUBER(REAL, SUFFIX)                                                                                               \
    FMFKIT_MULTIVERSION static void huber_value_##SUFFIX(const REAL *s, const REAL *y, REAL *out, int64_t n,              \
                                                         const void *params) {                                           \
        const REAL delta = (REAL)((const huber_params *)params)->delta;                                                  \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL r = s[t] - y[t], size = r < 0 ? -r : r, m = size < delta ? size : delta;                          \
            out[t] = m * (size - m / 2);                                                                                 \
        }                                                                                                                \
    }                                                                                                                    \
    FMFKIT_MULTIVERSION static void huber_gradient_##SUFFIX(const REAL *s, const REAL *y, REAL *g, int64_t n,            \
                                                            const void *params) {                                        \
        const REAL delta = (REAL)((const huber_params *)params)->delta;                                                  \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL r = s[t] - y[t], high = r < delta ? r : delta;                                                    \
            g[t] = high > -delta ? high : -delta;                                                                        \
        }                                                                                                                \
    }                                                                                                                    \
    FMFKIT_MULTIVERSION static void huber_bend_##SUFFIX(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,       \
                                                        const void *params) {                                            \
        const REAL delta = (REAL)((const huber_params *)params)->delta;                                                  \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL r = s[t] - y[t], size = r < 0 ? -r : r, high = r < delta ? r : delta;                             \
            g[t] = high > -delta ? high : -delta;                                                                        \
            h[t] = delta / (size > delta ? size : delta);                                                                \
        }                                                                                                                \
    }

HUBER(float, f32)
HUBER(double, f64)

static const fmfkit_loss huber_table = {
    FMFKIT_LOSS_HEAD, sizeof(huber_params), huber_value_f32, huber_gradient_f32, huber_bend_f32, huber_value_f64,
    huber_gradient_f64, huber_bend_f64,
};

const void *huber(void) { return &huber_table; }

typedef struct {
    double positive;
} logistic_params;

/* positive y softplus(-s) + (1 - y) softplus(s).  Its curvature is (positive y + 1 - y) times the logistic's, for which
   (sigma(s) - 1/2) / s majorises (Jaakkola and Jordan); near 0 that is 1/4 - s^2/48. */
#define LOGISTIC(REAL, SUFFIX)                                                                                            \
    FMFKIT_MULTIVERSION static void logistic_value_##SUFFIX(const REAL *s, const REAL *y, REAL *out, int64_t n,          \
                                                            const void *params) {                                        \
        const REAL positive = (REAL)((const logistic_params *)params)->positive;                                         \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL plus = fmfkit_softplus_##SUFFIX(s[t]);                                                            \
            out[t] = positive * y[t] * (plus - s[t]) + (1 - y[t]) * plus;                                                \
        }                                                                                                                \
    }                                                                                                                    \
    FMFKIT_MULTIVERSION static void logistic_gradient_##SUFFIX(const REAL *s, const REAL *y, REAL *g, int64_t n,         \
                                                               const void *params) {                                     \
        const REAL positive = (REAL)((const logistic_params *)params)->positive;                                         \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL p = fmfkit_sigmoid_##SUFFIX(s[t]);                                                                \
            g[t] = (1 - y[t]) * p - positive * y[t] * (1 - p);                                                           \
        }                                                                                                                \
    }                                                                                                                    \
    FMFKIT_MULTIVERSION static void logistic_bend_##SUFFIX(const REAL *s, const REAL *y, REAL *g, REAL *h, int64_t n,    \
                                                           const void *params) {                                         \
        const REAL positive = (REAL)((const logistic_params *)params)->positive;                                         \
        for (int64_t t = 0; t < n; t++) {                                                                                \
            const REAL p = fmfkit_sigmoid_##SUFFIX(s[t]), size = s[t] < 0 ? -s[t] : s[t];                                \
            const REAL safe = size < (REAL)0.01 ? 1 : s[t];                                                              \
            const REAL bend = size < (REAL)0.01 ? (REAL)0.25 - s[t] * s[t] / 48 : (p - (REAL)0.5) / safe;                \
            g[t] = (1 - y[t]) * p - positive * y[t] * (1 - p);                                                           \
            h[t] = (positive * y[t] + 1 - y[t]) * bend;                                                                  \
        }                                                                                                                \
    }

LOGISTIC(float, f32)
LOGISTIC(double, f64)

static const fmfkit_loss logistic_table = {
    FMFKIT_LOSS_HEAD,     sizeof(logistic_params), logistic_value_f32, logistic_gradient_f32, logistic_bend_f32,
    logistic_value_f64, logistic_gradient_f64,   logistic_bend_f64,
};

const void *weighted_logistic(void) { return &logistic_table; }
