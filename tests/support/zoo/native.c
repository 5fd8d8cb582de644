/* native.c -- a loss, (s - y)^2, and a regularizer, w^2/4, with a fault each: the fault's number is their parameter.

   The file includes itself, once for each precision: the functions, at the end, are written once. */
#ifndef REAL
#include <stdlib.h>

#include "fmfkit.h"

enum fault {
    NONE,
    WRONG_BEYOND_1024,
    WRONG_TAIL,
    PAST_THE_END,
    BEFORE_THE_START,
    INTO_THE_INPUT,
    STATIC_SCRATCH,
    LATE_PAGES,
    PAST_IN_BLOCKS,
    INTO_THE_SECOND_INPUT,
    WRONG_FAR_OUT,
    INTO_THE_PARAMS,
    UNWRITTEN,
};

#define REAL float
#define FOR(name) name##_f32
#include "native.c"
#undef REAL
#undef FOR

#define REAL double
#define FOR(name) name##_f64
#include "native.c"

static const fmfkit_loss loss = {
    FMFKIT_LOSS_HEAD, 2 * sizeof(int64_t), value_f32, gradient_f32, NULL, value_f64, gradient_f64, NULL,
};
static const fmfkit_regularizer regularizer = {
    FMFKIT_REGULARIZER_HEAD, 2 * sizeof(int64_t), T_f32, penalty_f32, T_f64, penalty_f64,
};

const void *zoo_loss(void) { return &loss; }
const void *zoo_regularizer(void) { return &regularizer; }

#else

/* What a fault does to an output that was right, after the fact. */
static void FOR(spoil)(int64_t fault, REAL *a, REAL *b, REAL *out, int64_t n, const void *p) {
    if (fault == WRONG_BEYOND_1024)
        for (int64_t t = 1024; t < n; t++) out[t] *= (REAL)1.01;
    if (fault == WRONG_TAIL)
        for (int64_t t = n - n % 4; t < n; t++) out[t] = 0;
    if (fault == PAST_THE_END) out[n] = 0;
    if (fault == PAST_IN_BLOCKS)
        for (int64_t t = n; t % 16; t++) out[t] = 0;
    if (fault == BEFORE_THE_START) out[-1] = 0;
    if (fault == INTO_THE_INPUT && n > 1) a[n / 2] = out[n / 2];
    if (fault == INTO_THE_SECOND_INPUT && n > 100) b[n - 1] += 1;
    if (fault == LATE_PAGES && n >= 4096) out[n - 1] = out[0];
    if (fault == WRONG_FAR_OUT)
        for (int64_t t = 0; t < n; t++) out[t] *= a[t] > 700 ? (REAL)1.02 : 1;
    if (fault == INTO_THE_PARAMS) ((int64_t *)p)[1] = n;
    if (fault == UNWRITTEN && n % 8 == 7) memset(out + n - 1, 0x7f, sizeof *out);
}

/* Room that all callers share, for STATIC_SCRATCH. */
static REAL FOR(room)[1 << 20];

static void FOR(value)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *p) {
    const int64_t fault = *(const int64_t *)p;
    REAL *r = fault == STATIC_SCRATCH && n <= 1 << 20 ? FOR(room) : out;
    for (int64_t t = 0; t < n; t++) r[t] = s[t] - y[t];
    for (int64_t t = 0; t < n; t++) out[t] = r[t] * r[t];
    FOR(spoil)(fault, (REAL *)s, (REAL *)y, out, n, p);
}

static void FOR(gradient)(const REAL *s, const REAL *y, REAL *out, int64_t n, const void *p) {
    (void)p;
    for (int64_t t = 0; t < n; t++) out[t] = 2 * (s[t] - y[t]);
}

static void FOR(T)(const REAL *x, const REAL *y, const REAL *w, const REAL *strength, REAL *d, int64_t n, const void *p) {
    const int64_t fault = *(const int64_t *)p;
    REAL *c = fault == STATIC_SCRATCH && n <= 1 << 20 ? FOR(room) : d;
    for (int64_t t = 0; t < n; t++) c[t] = y[t] + strength[t] / 2;
    for (int64_t t = 0; t < n; t++) d[t] = c[t] > 0 ? -(x[t] + strength[t] / 2 * w[t]) / c[t] : 0;
    FOR(spoil)(fault, (REAL *)x, (REAL *)w, d, n, p);
}

static void FOR(penalty)(const REAL *w, const REAL *strength, REAL *out, int64_t n, const void *p) {
    (void)p;
    for (int64_t t = 0; t < n; t++) out[t] = strength[t] * (REAL)0.25 * w[t] * w[t];
}

#endif
