/* panel/draw.h -- draws from the posterior: normal numbers, PANEL x PANEL matrices in double precision, a row's own feature.

   Along the parameters of a panel the posterior is normal, with the precision  noise (curvature of the bound, penalty included):
   the bound is exact for the square loss.  A draw is the step that lowers the bound most, plus  noise^-1/2 L^-T e  for a matrix
   L L' and normal numbers e. */

/* What normal numbers are drawn for: each use of a row or feature in a panel has a stream of its own. */
enum { FOR_ROWS, FOR_OWN, FOR_FEATURES };

/* Mixes all bits of a number (the last steps of splitmix64). */
static inline uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* PANEL normal numbers of row or feature n, two at a time (Box and Muller). */
static inline void normals(const panel *o, int use, int64_t n, double *e) {
    const uint64_t panel_key = mixed(o->side->draws.key + (uint64_t)(3 * o->number + use));
    const uint64_t key = mixed(panel_key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)n);
    for (int p = 0; p < PANEL / 2; p++) {
        const uint64_t bits = mixed(key + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(p + 1));
        const float u = ((float)(bits >> 40) + 0.5F) * 0x1p-24F, angle = (float)(bits & 0xffffff) * 0x1p-24F * 6.2831853F;
        const float length = sqrtf(-2.0F * logf(u));
        e[2 * p] = (double)(length * cosf(angle));
        e[2 * p + 1] = (double)(length * sinf(angle));
    }
}

typedef double small[PANEL][PANEL];

/* L of the first `size` dimensions: M = L L', for an M without a negative eigenvalue but for rounding.  Its pivots are at least
   `least`, where that is known, and as large as the rounding of the matrix; else one that is nothing but rounding is dropped,
   with its column. */
static inline void factor(small M, int64_t size, const double *least, small L) {
    const double rounding = sizeof(REAL) == 4 ? 2e-7 : 1e-15;
    double trace = 0.0;
    for (int k = 0; k < size; k++) trace += M[k][k];
    for (int k = 0; k < PANEL; k++) {
        for (int l = 0; l < PANEL; l++) L[k][l] = 0.0;
    }
    for (int k = 0; k < size; k++) {
        double pivot = M[k][k];
        for (int l = 0; l < k; l++) pivot -= L[k][l] * L[k][l];
        if (least && !(pivot > least[k] && pivot > rounding * trace)) pivot = fmax(least[k], rounding * trace);
        else if (!least && !(pivot > 0 && pivot > rounding * trace)) continue;
        L[k][k] = sqrt(pivot);
        for (int r = k + 1; r < size; r++) {
            double sum = M[r][k];
            for (int l = 0; l < k; l++) sum -= L[r][l] * L[k][l];
            L[r][k] = sum / L[k][k];
        }
    }
}

/* x = L^-1 x, for an L without dropped pivots; then x = L^-T x. */
static inline void solve_lower(small L, int64_t size, double *x) {
    for (int k = 0; k < size; k++) {
        for (int l = 0; l < k; l++) x[k] -= L[k][l] * x[l];
        x[k] /= L[k][k];
    }
}

static inline void solve_upper(small L, int64_t size, double *x) {
    for (int64_t k = size - 1; k >= 0; k--) {
        for (int64_t l = k + 1; l < size; l++) x[k] -= L[l][k] * x[l];
        x[k] /= L[k][k];
    }
}

static inline void unfold_double(const REAL *A, small full) {
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < PANEL; k++) full[k][(k + r) % PANEL] = full[(k + r) % PANEL][k] = (double)A[r * PANEL + k];
    }
}

/* The own feature of a row: what it adds to U_i, and the precision of that, by dimension. */
typedef struct {
    int64_t s;
    double x;
    double precision[PANEL];
    double part[PANEL];
} own_part;

static inline own_part own_of(const panel *o, int64_t i) {
    const fmf_features *X = &o->side->features;
    own_part own = {.s = X->own[i], .x = 0.0};
    if (own.s < 0) return own;
    const REAL *growth = panel_growth(o, own.s), *w = parameters_of(o, own.s);
    own.x = (double)((const REAL *)X->own_value)[i];
    for (int l = 0; l < o->size; l++) {
        own.precision[l] = (double)l2_of(o, own.s) * (double)growth[l] / (own.x * own.x);
        own.part[l] = own.x * (double)w[l];
    }
    return own;
}

/* K = A + the own feature's precision. */
static inline void add_precision(const panel *o, const own_part *own, small A, small K) {
    for (int k = 0; k < PANEL; k++) {
        for (int l = 0; l < PANEL; l++) K[k][l] = A[k][l];
    }
    for (int l = 0; l < o->size; l++) K[l][l] += own->precision[l];
}

/* Draws the own feature of row i, given all else; returns whether there is one. */
static int own_draw(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const own_part own = own_of(o, i);
    const double scale = 1 / sqrt(o->side->draws.noise);
    small full, K, L;
    double mean[PANEL], e[PANEL];
    if (own.s < 0) return 0;
    unfold_double(A, full);
    add_precision(o, &own, full, K);
    factor(K, o->size, own.precision, L);
    normals(o, FOR_OWN, i, e);
    for (int l = 0; l < o->size; l++) {
        mean[l] = -((double)G[l] + own.precision[l] * own.part[l]);
    }
    solve_lower(L, o->size, mean);
    for (int l = 0; l < o->size; l++) mean[l] += scale * e[l];
    solve_upper(L, o->size, mean);
    REAL *w = parameters_of(o, own.s);
    for (int l = 0; l < o->size; l++) {
        const REAL before = w[l];
        w[l] += (REAL)(mean[l] / own.x);
        move[l] += (REAL)own.x * (w[l] - before);
    }
    return 1;
}
