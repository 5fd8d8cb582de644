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

/* M = L L' */
typedef struct {
    small L;
    double inverse[PANEL]; /* of its diagonal; 0 where a column was dropped */
} triangle;

/* Of the first `size` dimensions of an M without a negative eigenvalue but for rounding.  Its pivots are at least `least`, where
   that is known, and as large as the rounding of the matrix; else one that is nothing but rounding is dropped, with its column. */
ALWAYS_INLINE void factor(small M, int64_t size, const double *least, triangle *t) {
    const double rounding = sizeof(REAL) == 4 ? 2e-7 : 1e-15;
    double trace = 0.0;
    for (int k = 0; k < size; k++) trace += M[k][k];
    memset(t, 0, sizeof *t);
    for (int k = 0; k < size; k++) {
        double pivot = M[k][k];
        for (int l = 0; l < k; l++) pivot -= t->L[k][l] * t->L[k][l];
        if (least && !(pivot > least[k] && pivot > rounding * trace)) pivot = fmax(least[k], rounding * trace);
        else if (!least && !(pivot > 0 && pivot > rounding * trace)) continue;
        t->L[k][k] = sqrt(pivot);
        t->inverse[k] = 1 / t->L[k][k];
        for (int r = k + 1; r < size; r++) {
            double sum = M[r][k];
            for (int l = 0; l < k; l++) sum -= t->L[r][l] * t->L[k][l];
            t->L[r][k] = sum * t->inverse[k];
        }
    }
}

/* x = L^-1 x, for an x that begins with `from` zeros; then x = L^-T x. */
ALWAYS_INLINE void solve_lower(const triangle *t, int64_t from, int64_t size, double *x) {
    for (int64_t k = from; k < size; k++) {
        for (int64_t l = from; l < k; l++) x[k] -= t->L[k][l] * x[l];
        x[k] *= t->inverse[k];
    }
}

ALWAYS_INLINE void solve_upper(const triangle *t, int64_t size, double *x) {
    for (int64_t k = size - 1; k >= 0; k--) {
        for (int64_t l = k + 1; l < size; l++) x[k] -= t->L[l][k] * x[l];
        x[k] *= t->inverse[k];
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

ALWAYS_INLINE own_part own_of(const panel *o, int64_t i) {
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
ALWAYS_INLINE void add_precision(const own_part *own, int64_t size, small A, small K) {
    for (int k = 0; k < PANEL; k++) {
        for (int l = 0; l < PANEL; l++) K[k][l] = A[k][l];
    }
    for (int l = 0; l < size; l++) K[l][l] += own->precision[l];
}

/* Draws the own feature of row i, given all else; returns whether there is one.  Most panels have all dimensions: loops of a
   length that is known are quicker. */
ALWAYS_INLINE int own_draw_of(const panel *o, int64_t size, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const own_part own = own_of(o, i);
    const double scale = 1 / sqrt(o->side->draws.noise);
    small full, K;
    triangle t;
    double mean[PANEL], e[PANEL];
    if (own.s < 0) return 0;
    unfold_double(A, full);
    add_precision(&own, size, full, K);
    factor(K, size, own.precision, &t);
    normals(o, FOR_OWN, i, e);
    for (int l = 0; l < size; l++) {
        mean[l] = -((double)G[l] + own.precision[l] * own.part[l]);
    }
    solve_lower(&t, 0, size, mean);
    for (int l = 0; l < size; l++) mean[l] += scale * e[l];
    solve_upper(&t, size, mean);
    REAL *w = parameters_of(o, own.s);
    for (int l = 0; l < size; l++) {
        const REAL before = w[l];
        w[l] += (REAL)(mean[l] / own.x);
        move[l] += (REAL)own.x * (w[l] - before);
    }
    return 1;
}

static int own_draw(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    return o->size == PANEL ? own_draw_of(o, PANEL, i, G, A, move) : own_draw_of(o, o->size, i, G, A, move);
}
