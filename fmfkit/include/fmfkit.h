/* fmfkit.h -- losses, regularizers and solvers in C.  C99, fit for C++, without Python.

   A loss is a `static const fmfkit_loss` whose address a function of the plugin returns; Python hands it on:
   fmfkit.native.NativeLoss(address, beta=..., params=..., owner=...).  The same for a regularizer.

   Functions work on batches: n numbers in each array.  They are called from several threads at once, on different batches:
   they must be pure, and must neither call Python nor open an OpenMP region.

   A solver is any function of the plugin that takes a `const fmfkit_side *`, which Python makes: see there. */
#ifndef FMFKIT_H
#define FMFKIT_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMFKIT_ABI_MAJOR 1 /* another one is refused */
#define FMFKIT_ABI_MINOR 0 /* fields are only ever added, at the end */
#define FMFKIT_ABI (1000 * FMFKIT_ABI_MAJOR + FMFKIT_ABI_MINOR)
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

/* One side of a problem, the queries or the targets, for solvers:

       with side.native(W, abi=lib.FMFKIT_ABI) as address:        # side is a fmfkit.kernels.Side, after rescore
           lib.update_f32(ffi.cast("void *", address), ...)

   It can be used until the block ends, which raises what functions in Python raised.  `void *` stands for arrays of float or
   of double, as real_bytes says.  Panel k has the latent dimensions 8 k to 8 k + 7; arrays of a panel have eight columns, zeros
   past the rank.  FMFKIT_BIAS is the side's bias, a panel of one dimension.

   A solver takes panel after panel: `sums` makes G, A and zeros in move; features take their steps d, by which
   rows move, move_i += x_is d, and their gradients follow, G_i += A_i (x_is d); `move_scores` brings the scores up to date.
   With u = X d the objective changes by at most  sum_i G_i u_i + 1/2 u_i A_i u_i  and what the penalty changes by. */
#define FMFKIT_PANEL 8
#define FMFKIT_SYMMETRIC 40 /* numbers of an A_i: number 8 r + k is A_kl for l = (k + r) mod 8, r from 0 to 4 */
#define FMFKIT_BIAS (-1)

typedef void fmfkit_work(void *context, int64_t portion, int thread);
typedef struct fmfkit_side fmfkit_side;
struct fmfkit_side {
    int32_t real_bytes;         /* of a number: 4 (float) or 8 (double) */
    int32_t threads;            /* that the functions below use */
    int64_t rows;               /* instances of this side */
    int64_t features;           /* columns of X, rows of the parameters */
    int64_t pairs;
    int64_t their_rows;         /* instances of the other side */
    int64_t rank;
    int64_t width;              /* columns of the parameters: rank, and one more for a bias */
    int64_t stride;             /* columns of embeddings: rank, the biases of both sides, zeros */
    int64_t first_panel;        /* FMFKIT_BIAS, or 0 where this side has no bias */
    int64_t panels;             /* the end of the panels: the last is panels - 1 */
    double offset;
    /* The observed pairs, row after row. */
    const int64_t *pair_ptr;    /* (rows + 1) */
    const int32_t *other;       /* (pairs) the row of the other side */
    const void *y;              /* (pairs) */
    const void *weight;         /* (pairs) NULL: all 1 */
    const void *score;          /* (pairs) as they are; less y where less_y is 1 */
    int32_t less_y;
    /* The features X by row and by column.  Values are NULL where those of a row are all row_scale, but that of its own feature. */
    const int64_t *row_ptr;     /* (rows + 1) */
    const int32_t *row_index;   /* (non-zeros) the feature; a row's own first */
    const void *row_value;      /* (non-zeros) */
    const int64_t *col_ptr;     /* (features + 1) */
    const int32_t *col_index;   /* (non-zeros) the row */
    const void *col_value;      /* (non-zeros) */
    const void *row_scale;      /* (rows) NULL where there are values */
    const int32_t *own;         /* (rows) the feature that is this row's alone, or -1 */
    const void *own_value;      /* (rows) its value */
    /* What is learnt. */
    void *parameters;           /* (features, width) */
    const void *mine;           /* (rows, stride) the embeddings U; they move where there is a term over all cells */
    const void *theirs;         /* (their_rows, stride) V */
    /* Of the panel whose sums were made last. */
    void *G;                    /* (rows, 8) */
    void *A;                    /* (rows, 40) */
    void *move;                 /* (rows, 8) by what U_i has moved */

    /* The functions below work on all threads, but for `step`: call them from one. */
    /* G_i = sum_j g_ij V_j and A_i = sum_j h_ij V_j V_j', with all that other terms add; move = 0. */
    void (*sums)(const fmfkit_side *side, int64_t panel);
    /* Every row's own feature takes its best step, for any regularizer, given G and A of the row as it is; move follows, G does
       not. */
    void (*own_steps)(const fmfkit_side *side, int64_t panel);
    /* Feature s takes a step d that lowers  d' G + 1/2 d' A d  and what its penalty changes by, for any regularizer: G is
       (8), sum_i x_is G_i, and A (40), sum_i x_is^2 A_i.  Its parameters change by d, (8).  Threads may call it on different
       features. */
    void (*step)(const fmfkit_side *side, int64_t panel, int64_t s, const void *G, const void *A, void *d);
    /* Brings the scores up to date with move, once. */
    void (*move_scores)(const fmfkit_side *side, int64_t panel);
    /* g and h of all pairs at their scores, weights included: (pairs) each. */
    void (*gradients)(const fmfkit_side *side, void *g, void *h);
    /* (features, 8) sum_i x_is rows_i, or with x_is^2 where squared; (rows, 8) sum_s x_is features_s; (rows, 8) A_i rows_i. */
    void (*by_feature)(const fmfkit_side *side, const void *rows, int32_t squared, void *sums);
    void (*by_row)(const fmfkit_side *side, const void *features, void *sums);
    void (*times)(const fmfkit_side *side, const void *A, const void *rows, void *products);
    /* Calls work(context, portion, thread) for portions 0 to portions - 1, on any thread in any order; a thread's number is below
       `threads`.  Work may call `step`, and no other function of the side. */
    void (*share_out)(const fmfkit_side *side, int64_t portions, fmfkit_work *work, void *context);
    /* ABI 1.0 ends here */
};

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

/* A_i u_i of one row: (40), (8), to (8).  Of A_kl with l = k + r (mod 8), r from 1 to 3 stand for A_lk too. */
#define FMFKIT_TIMES(A, u, Au)                                                              \
    for (int k = 0; k < 8; k++) Au[k] = A[k] * u[k] + A[32 + k] * u[(k + 4) % 8];           \
    for (int r = 1; r < 4; r++) {                                                           \
        for (int k = 0; k < 8; k++) Au[k] += A[8 * r + k] * u[(k + r) % 8];                 \
        for (int k = 0; k < 8; k++) Au[k] += A[8 * r + (k + 8 - r) % 8] * u[(k + 8 - r) % 8]; \
    }
FMFKIT_INLINE void fmfkit_times_f32(const float *A, const float *u, float *Au) { FMFKIT_TIMES(A, u, Au) }
FMFKIT_INLINE void fmfkit_times_f64(const double *A, const double *u, double *Au) { FMFKIT_TIMES(A, u, Au) }

/* (sigma - 1/2) / x for sigma = 1 / (1 + e^-x), the curvature of ln(1 + e^x) that majorises at x; near 0 by its series, and far
   from it no less than LEAST, so that what weights and features make of it does not vanish in single precision. */
#define FMFKIT_LOGISTIC_NEAR 0.01
#define FMFKIT_LOGISTIC_LEAST 1e-9
#define FMFKIT_LOGISTIC_CURVATURE(REAL)                                                                        \
    const int near = x < (REAL)FMFKIT_LOGISTIC_NEAR && x > -(REAL)FMFKIT_LOGISTIC_NEAR;                        \
    const REAL found = near ? (REAL)0.25 - x * x * (REAL)(1.0 / 48.0) : (sigma - (REAL)0.5) / (near ? (REAL)1.0 : x); \
    return found < (REAL)FMFKIT_LOGISTIC_LEAST ? (REAL)FMFKIT_LOGISTIC_LEAST : found;
FMFKIT_INLINE float fmfkit_logistic_curvature_f32(float x, float sigma) { FMFKIT_LOGISTIC_CURVATURE(float) }
FMFKIT_INLINE double fmfkit_logistic_curvature_f64(double x, double sigma) { FMFKIT_LOGISTIC_CURVATURE(double) }

#ifdef __cplusplus
}
#endif
#endif
