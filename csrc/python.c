/* python.c -- a loss or a regularizer written in Python, as C sees it: a table of fmfkit.h like any plugin's, whose functions
   call Python.  `params` is the handle of the Python object that serves them. */
#include <stdint.h>

#include "fmf.h"
#include "fmfkit.h"
#include "python.h"

static void value_f32(const float *score, const float *y, float *value, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_VALUE, score, y, value, NULL, n);
}

static void gradient_f32(const float *score, const float *y, float *g, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_GRADIENT, score, y, g, NULL, n);
}

static void curvature_f32(const float *score, const float *y, float *g, float *h, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_CURVATURE, score, y, g, h, n);
}

static void value_f64(const double *score, const double *y, double *value, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_VALUE, score, y, value, NULL, n);
}

static void gradient_f64(const double *score, const double *y, double *g, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_GRADIENT, score, y, g, NULL, n);
}

static void curvature_f64(const double *score, const double *y, double *g, double *h, int64_t n, const void *params) {
    fmf_call_loss((void *)params, FMF_CURVATURE, score, y, g, h, n);
}

static void T_f32(const float *x, const float *y, const float *w, const float *strength, float *d, int64_t n,
                  const void *params) {
    fmf_call_T((void *)params, x, y, w, strength, d, n);
}

static void T_f64(const double *x, const double *y, const double *w, const double *strength, double *d, int64_t n,
                  const void *params) {
    fmf_call_T((void *)params, x, y, w, strength, d, n);
}

static const fmfkit_loss loss = {
    FMFKIT_LOSS_HEAD, 0, value_f32, gradient_f32, curvature_f32, value_f64, gradient_f64, curvature_f64,
};

/* Penalties are summed in Python, which has the whole array at hand. */
static const fmfkit_regularizer regularizer = {FMFKIT_REGULARIZER_HEAD, 0, T_f32, NULL, T_f64, NULL};

const void *fmf_python_loss(void) { return &loss; }

const void *fmf_python_regularizer(void) { return &regularizer; }
