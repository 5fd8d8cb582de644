/* fmfkit.h -- losses and regularizers in C.  C99, fit for C++, without Python.

   A loss is a `static const fmfkit_loss` whose address a function of the plugin returns; Python hands it on:
   fmfkit.native.NativeLoss(address, beta=..., params=..., owner=...).  The same for a regularizer.

   Functions work on batches: n numbers in each array.  They are called from several threads at once, on different batches:
   they must be pure, and must neither call Python nor open an OpenMP region. */
#ifndef FMFKIT_H
#define FMFKIT_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMFKIT_ABI_MAJOR 1 /* another one is refused */
#define FMFKIT_ABI_MINOR 0 /* fields are only ever added, at the end */
#define FMFKIT_LOSS_MAGIC 0x464d464cu        /* "FMFL" */
#define FMFKIT_REGULARIZER_MAGIC 0x464d4652u /* "FMFR" */

typedef struct fmfkit_loss {
    uint32_t magic;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint64_t struct_size;  /* of this struct, as the plugin was compiled with it */
    uint64_t params_size;  /* bytes that the functions read at params; 0: none, params may be NULL */
    /* value: loss(s, y).  gradient: g, its derivative by s.  curvature: g, and h such that
       loss(s + t, y) <= loss(s, y) + g t + h/2 t^2 for every t; NULL: the beta that Python gives holds everywhere. */
    void (*value_f32)(const float *score, const float *y, float *value, int64_t n, const void *params);
    void (*gradient_f32)(const float *score, const float *y, float *g, int64_t n, const void *params);
    void (*curvature_f32)(const float *score, const float *y, float *g, float *h, int64_t n, const void *params);
    void (*value_f64)(const double *score, const double *y, double *value, int64_t n, const void *params);
    void (*gradient_f64)(const double *score, const double *y, double *g, int64_t n, const void *params);
    void (*curvature_f64)(const double *score, const double *y, double *g, double *h, int64_t n, const void *params);
    /* ABI 1.0 ends here */
} fmfkit_loss;

typedef struct fmfkit_regularizer {
    uint32_t magic;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint64_t struct_size;
    uint64_t params_size;
    /* T: the change d of w that minimises x d + y/2 d^2 + strength omega(w + d).  penalty: strength omega(w). */
    void (*T_f32)(const float *x, const float *y, const float *w, const float *strength, float *d, int64_t n,
                  const void *params);
    void (*penalty_f32)(const float *w, const float *strength, float *penalty, int64_t n, const void *params);
    void (*T_f64)(const double *x, const double *y, const double *w, const double *strength, double *d, int64_t n,
                  const void *params);
    void (*penalty_f64)(const double *w, const double *strength, double *penalty, int64_t n, const void *params);
    /* ABI 1.0 ends here */
} fmfkit_regularizer;

/* The first four fields. */
#define FMFKIT_LOSS_HEAD FMFKIT_LOSS_MAGIC, FMFKIT_ABI_MAJOR, FMFKIT_ABI_MINOR, sizeof(fmfkit_loss)
#define FMFKIT_REGULARIZER_HEAD FMFKIT_REGULARIZER_MAGIC, FMFKIT_ABI_MAJOR, FMFKIT_ABI_MINOR, sizeof(fmfkit_regularizer)

/* Put before a function to have it compiled for newer processors too, and the best version chosen when it is loaded. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && !defined(FMFKIT_NO_VERSIONS)
#define FMFKIT_MULTIVERSION __attribute__((target_clones("default", "arch=x86-64-v3"), optimize("O3,no-trapping-math")))
#else
#define FMFKIT_MULTIVERSION
#endif

#if defined(__GNUC__)
#define FMFKIT_INLINE static inline __attribute__((always_inline, unused))
#else
#define FMFKIT_INLINE static inline
#endif

/* e^x = 2^k e^r with |r| <= ln 2 / 2; e^r = 1 + r + r^2 times this polynomial in r, a number or a vector. */
#define FMFKIT_EXP_SERIES_f32(r)                                                                       \
    (((((1.9875691500e-4f * (r) + 1.3981999507e-3f) * (r) + 8.3334519073e-3f) * (r) + 4.1665795894e-2f) * (r) + \
      1.6666665459e-1f) * (r) + 5.0000001201e-1f)
#define FMFKIT_EXP_SERIES_f64(r)                                                                       \
    (((((((((((1.0 / 6227020800.0 * (r) + 1.0 / 479001600.0) * (r) + 1.0 / 39916800.0) * (r) + 1.0 / 3628800.0) * (r) + \
            1.0 / 362880.0) * (r) + 1.0 / 40320.0) * (r) + 1.0 / 5040.0) * (r) + 1.0 / 720.0) * (r) + 1.0 / 120.0) * (r) + \
       1.0 / 24.0) * (r) + 1.0 / 6.0) * (r) + 0.5)

/* e^x, branch-free, so that loops over it become vector code.  Results that would leave the normal numbers are held at their
   ends. */
FMFKIT_INLINE float fmfkit_exp_f32(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + 12582912.0f; /* leaves the nearest whole number in the low bits */
    const float k = shifted - 12582912.0f;
    const float r = x - k * 0.693359375f - k * -2.12194440e-4f;
    float p = FMFKIT_EXP_SERIES_f32(r) * r * r + r + 1.0f;
    int32_t bits, power;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits = (int32_t)((uint32_t)bits + ((uint32_t)power << 23));
    memcpy(&p, &bits, sizeof p);
    return p;
}

FMFKIT_INLINE double fmfkit_exp_f64(double x) {
    x = x < -708.0 ? -708.0 : x;
    x = x > 709.0 ? 709.0 : x;
    const double shifted = x * 1.44269504088896340736 + 6755399441055744.0;
    const double k = shifted - 6755399441055744.0;
    const double r = x - k * 6.93147180369123816490e-01 - k * 1.90821492927058770002e-10;
    double p = FMFKIT_EXP_SERIES_f64(r) * r * r + r + 1.0;
    int64_t bits, power;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&power, &shifted, sizeof power);
    bits = (int64_t)((uint64_t)bits + ((uint64_t)power << 52));
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* ln(1 + z) for z from 0 to 1, by the series of 2 artanh(z / (2 + z)). */
FMFKIT_INLINE float fmfkit_log1p_f32(float z) {
    const float t = z / (2.0f + z), q = t * t;
    float p = q * (2.0f / 13.0f) + 2.0f / 11.0f;
    p = p * q + 2.0f / 9.0f;
    p = p * q + 2.0f / 7.0f;
    p = p * q + 2.0f / 5.0f;
    p = p * q + 2.0f / 3.0f;
    return t * (p * q + 2.0f);
}

FMFKIT_INLINE double fmfkit_log1p_f64(double z) {
    const double t = z / (2.0 + z), q = t * t;
    double p = q * (2.0 / 33.0) + 2.0 / 31.0;
    p = p * q + 2.0 / 29.0;
    p = p * q + 2.0 / 27.0;
    p = p * q + 2.0 / 25.0;
    p = p * q + 2.0 / 23.0;
    p = p * q + 2.0 / 21.0;
    p = p * q + 2.0 / 19.0;
    p = p * q + 2.0 / 17.0;
    p = p * q + 2.0 / 15.0;
    p = p * q + 2.0 / 13.0;
    p = p * q + 2.0 / 11.0;
    p = p * q + 2.0 / 9.0;
    p = p * q + 2.0 / 7.0;
    p = p * q + 2.0 / 5.0;
    p = p * q + 2.0 / 3.0;
    return t * (p * q + 2.0);
}

/* ln(1 + e^x) and 1 / (1 + e^-x), for any x. */
FMFKIT_INLINE float fmfkit_softplus_f32(float x) {
    const float size = x < 0 ? -x : x;
    return (x > 0 ? x : 0) + fmfkit_log1p_f32(fmfkit_exp_f32(-size));
}
FMFKIT_INLINE double fmfkit_softplus_f64(double x) {
    const double size = x < 0 ? -x : x;
    return (x > 0 ? x : 0) + fmfkit_log1p_f64(fmfkit_exp_f64(-size));
}
FMFKIT_INLINE float fmfkit_sigmoid_f32(float x) { return 1.0f / (1.0f + fmfkit_exp_f32(-x)); }
FMFKIT_INLINE double fmfkit_sigmoid_f64(double x) { return 1.0 / (1.0 + fmfkit_exp_f64(-x)); }


/* (sigma - 1/2) / x for sigma = 1 / (1 + e^-x), the curvature of ln(1 + e^x) that majorises at x; near 0 by its series. */
#define FMFKIT_LOGISTIC_NEAR 0.01
FMFKIT_INLINE float fmfkit_logistic_curvature_f32(float x, float sigma) {
    const int near = x < (float)FMFKIT_LOGISTIC_NEAR && x > -(float)FMFKIT_LOGISTIC_NEAR;
    return near ? 0.25f - x * x * (1.0f / 48.0f) : (sigma - 0.5f) / (near ? 1.0f : x);
}
FMFKIT_INLINE double fmfkit_logistic_curvature_f64(double x, double sigma) {
    const int near = x < FMFKIT_LOGISTIC_NEAR && x > -FMFKIT_LOGISTIC_NEAR;
    return near ? 0.25 - x * x * (1.0 / 48.0) : (sigma - 0.5) / (near ? 1.0 : x);
}

#ifdef __cplusplus
}
#endif
#endif
