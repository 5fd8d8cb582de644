/* block.h -- Algorithm 3 with B = FMF_BLOCK latent dimensions at once.

   Per row, over its pairs: G_i = sum_j g_ij V_j (B numbers), A_i = sum_j h_ij V_j V_j' (B x B).  The step of the side's
   parameters in this block lowers the quadratic bound
       sum_i G_i u_i + 1/2 u_i A_i u_i + penalty,     u_i = sum_s x_is delta_s.
   Features that several rows share come first (directions.h or steps.h), then a row's own feature solves its B x B
   problem.  The bias is a block of one dimension whose V_j is 1. */

#define B FMF_BLOCK
#define PARTS (FMF_BLOCK / LANES)
#define TURNS (FMF_BLOCK / 2 + 1)
#define ROOM (TURNS * FMF_BLOCK) /* numbers that hold an A_i, which is symmetric: see gram */
#define bvec FN(bvec)
typedef struct {
    vec part[PARTS];
} bvec;

static inline bvec FN(bload)(const REAL *a) {
    bvec r;
    for (int n = 0; n < PARTS; n++) r.part[n] = FN(load)(a + n * LANES);
    return r;
}

static inline void FN(bstore)(REAL *a, bvec v) {
    for (int n = 0; n < PARTS; n++) FN(store)(a + n * LANES, v.part[n]);
}

static inline void FN(badd)(bvec *sum, REAL factor, bvec v) { /* sum += factor v */
    for (int n = 0; n < PARTS; n++) sum->part[n] += factor * v.part[n];
}

static inline void FN(badd_product)(bvec *sum, bvec a, bvec b) {
    for (int n = 0; n < PARTS; n++) sum->part[n] += a.part[n] * b.part[n];
}

static inline REAL FN(bdot)(bvec a, bvec b) {
    vec sum = a.part[0] * b.part[0];
    for (int n = 1; n < PARTS; n++) sum += a.part[n] * b.part[n];
    return FN(add_lanes)(sum);
}

/* Number l of the result is number l + by (mod B) of a. */
static inline bvec FN(turn)(bvec a, int by) {
    const ivec from[B] = TURN_FROM;
    bvec r;
    for (int n = 0; n < PARTS; n++) r.part[n] = FN(shuffle)(a.part[0], a.part[PARTS - 1], from[(by + n * LANES) % B]);
    return r;
}

/* How many dimensions the block that begins at `column` has; past the factors stands the bias. */
static inline int64_t FN(block_size)(const fmf_block *b, int64_t column) {
    const int64_t left = b->rank - column;
    return left <= 0 ? 1 : left < B ? left : B;
}

/* ---- A_i, kept as TURNS rows of B: row r holds A_kl for l = k + r (mod B) ---- */

/* G += sum of g V_j and A += sum of h V_j V_j' over pairs of one row; h = NULL stands for ones, other = NULL for lines that
   lie in the order of the pairs. */
ALWAYS_INLINE void FN(gram)(const int32_t *other, const REAL *g, const REAL *h, int64_t n, const REAL *V, int64_t room,
                            REAL *G, REAL *A) {
    bvec sum = FN(bload)(G), turned[TURNS];
    for (int r = 0; r < TURNS; r++) turned[r] = FN(bload)(A + r * B);
    for (int64_t t = 0; t < n; t++) {
        if (other && t + PAIRS_AHEAD < n) __builtin_prefetch(V + other[t + PAIRS_AHEAD] * room);
        const bvec v = FN(bload)(V + (other ? other[t] : t) * room);
        bvec hv = v;
        if (h) {
            hv = (bvec){0};
            FN(badd)(&hv, h[t], v);
        }
        FN(badd)(&sum, g[t], v);
        FN(badd_product)(&turned[0], hv, v);
#pragma GCC unroll 4
        for (int r = 1; r < TURNS; r++) FN(badd_product)(&turned[r], hv, FN(turn)(v, r));
    }
    for (int r = 0; r < TURNS; r++) FN(bstore)(A + r * B, turned[r]);
    FN(bstore)(G, sum);
}

/* A u */
static inline bvec FN(times)(const REAL *A, bvec u) {
    bvec sum = {0};
    FN(badd_product)(&sum, FN(bload)(A), u);
#pragma GCC unroll 4
    for (int r = 1; r < TURNS; r++) {
        const bvec row = FN(bload)(A + r * B);
        FN(badd_product)(&sum, row, FN(turn)(u, r));
        if (2 * r == B) continue; /* both halves of A are in this row */
        bvec mirrored = {0};
        FN(badd_product)(&mirrored, row, u);
        FN(badd)(&sum, 1, FN(turn)(mirrored, B - r));
    }
    return sum;
}

static inline void FN(unfold)(const REAL *A, REAL *full) {
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < B; k++) {
            const int l = (k + r) % B;
            full[k * B + l] = full[l * B + k] = A[r * B + k];
        }
    }
}

/* The square loss's factor 2, left out while summing. */
static inline void FN(double_sums)(REAL *G, REAL *A, int64_t rows) {
    for (int64_t n = 0; n < rows * B; n++) G[n] *= (REAL)2.0;
    for (int64_t n = 0; n < rows * ROOM; n++) A[n] *= (REAL)2.0;
}

/* ---- a row's own feature ---- */

/* Solves (x^2 A + L) delta = -(x G + L w) for a diagonal L by elimination; the matrix that is left stays symmetric, so a
   pivot's row has all its factors.  Tells whether the answer can be trusted: along delta the bound must be least near delta,
   which rounding in a nearly singular system may spoil. */
static inline int FN(solve_row)(const REAL *G, const REAL *A, REAL x, const REAL *L, const REAL *w, int64_t size,
                                REAL *delta) {
    REAL full[B * B], right[B], given[B], inverse[B];
    FN(unfold)(A, full);
    bvec M[B];
    for (int k = 0; k < B; k++) {
        full[k * B + k] += k < size ? 0 : 1; /* past the rank: delta = 0 */
        right[k] = given[k] = k < size ? -(x * G[k] + L[k] * w[k]) : 0;
        M[k] = (bvec){0};
        FN(badd)(&M[k], x * x, FN(bload)(full + k * B));
        M[k].part[k / LANES][k % LANES] += L[k];
    }
#pragma GCC unroll 8
    for (int k = 0; k < B; k++) {
        REAL row[B];
        FN(bstore)(row, M[k]);
        if (!(row[k] > 0)) return 0;
        inverse[k] = 1 / row[k];
#pragma GCC unroll 8
        for (int r = k + 1; r < B; r++) {
            const REAL factor = -row[r] * inverse[k];
            FN(badd)(&M[r], factor, M[k]);
            right[r] += factor * right[k];
        }
    }
#pragma GCC unroll 8
    for (int k = B - 1; k >= 0; k--) {
        REAL row[B], rest = right[k];
        FN(bstore)(row, M[k]);
        for (int l = k + 1; l < B; l++) rest -= row[l] * delta[l];
        delta[k] = rest * inverse[k];
    }
    const bvec d = FN(bload)(delta);
    bvec Md = {0};
    FN(badd)(&Md, x * x, FN(times)(A, d));
    FN(badd_product)(&Md, FN(bload)(L), d);
    const REAL slope = FN(bdot)(FN(bload)(given), d), curvature = FN(bdot)(d, Md);
    return slope == 0 ? curvature == 0 : slope > (REAL)0.5 * curvature && slope < (REAL)2.0 * curvature;
}

/* Sweeps over the dimensions with T, each from where the one before left it: never raises the bound. */
static void FN(sweep_row)(const REAL *G, const REAL *turned, REAL x, const REAL *l1, const REAL *l2, const REAL *w,
                          int64_t size, REAL *delta) {
    enum { SWEEPS = 2 };
    REAL slope[B], A[B * B];
    FN(unfold)(turned, A);
    for (int k = 0; k < B; k++) {
        slope[k] = x * G[k];
        delta[k] = 0;
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int k = 0; k < size; k++) {
            const REAL d = FN(elastic_net_T)(slope[k], x * x * A[k * B + k], w[k] + delta[k], l1[k], l2[k]);
            delta[k] += d;
            for (int l = 0; l < B; l++) slope[l] += x * x * A[k * B + l] * d;
        }
    }
}

/* Takes the step of row i's own feature in this block; returns whether there is one. */
static inline int FN(own_step)(const fmf_block *b, const fmf_dimension *k, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const int64_t s = b->d.features.own[i], size = FN(block_size)(b, k->column);
    if (s < 0) return 0;
    REAL *w = (REAL *)b->d.parameters + s * b->d.width + k->column, delta[B];
    const REAL x = ((const REAL *)b->d.features.own_value)[i], strength = ((const REAL *)k->strength)[s];
    const REAL *growth = k->growth;
    REAL l1[B], l2[B];
    for (int l = 0; l < B; l++) {
        l1[l] = (REAL)k->l1 * strength * growth[l];
        l2[l] = (REAL)k->l2 * strength * growth[l];
    }
    if (l1[0] > 0 || !FN(solve_row)(G, A, x, l2, w, size, delta)) {
        FN(sweep_row)(G, A, x, l1, l2, w, size, delta);
    }
    for (int l = 0; l < size; l++) {
        w[l] += delta[l];
        move[l] += x * delta[l];
    }
    return 1;
}

/* ---- a bias ---- */

static inline REAL FN(total)(const REAL *a, int64_t n) {
    vec sum = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) sum += FN(load)(a + t);
    for (int l = 0; t < n; t++, l++) sum[l] += a[t];
    return FN(add_lanes)(sum);
}

/* Gradient and curvature of n pairs, from pair `at` on, in a dimension whose V_j are 1. */
static void FN(pair_sums)(const fmf_descent *d, int64_t at, int64_t n, const REAL *score, REAL *sums) {
    const REAL *y = (const REAL *)d->pairs.y + at, *weight = d->pairs.weight;
    REAL g[BLOCK], h[BLOCK];
    if (d->loss.code == FMF_SQUARE && !weight) {
        sums[0] = (REAL)2.0 * FN(total)(score, n);
        sums[1] = (REAL)2.0 * (REAL)n;
        return;
    }
    sums[0] = sums[1] = 0;
    for (int64_t t = 0; t < n; t += BLOCK) {
        const int64_t m = n - t < BLOCK ? n - t : BLOCK;
        FN(bend_block)(&d->loss, score + t, y + t, weight ? weight + at + t : NULL, g, h, m);
        sums[0] += FN(total)(g, m);
        sums[1] += FN(total)(h, m);
    }
}

#include "rows.h"
#include "shared.h"

#undef B
#undef PARTS
#undef TURNS
#undef ROOM
#undef bvec
