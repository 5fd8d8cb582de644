/* panel/draw.h -- draws from the posterior: rows' own features, up to four rows at a time.

   Along the parameters of a panel the posterior is normal, with the precision  noise (curvature of the bound, penalty included):
   the bound is exact for the square loss.  A draw is the step that lowers the bound most, plus  noise^-1/2 L^-T e  for a matrix
   L L' and normal numbers e. */

/* What normal numbers are drawn for: each use of a row or feature in a panel has a stream of its own. */
enum { FOR_ROWS, FOR_OWN, FOR_FEATURES, USES };

static inline uint64_t stream_of(const panel *o, uint64_t use) { return o->side->draws.key + USES * (uint64_t)o->number + use; }

/* Rows i, i + 1, ... side by side; where there are fewer than four, the first stands in for those that are not there. */
typedef struct {
    int64_t row[FOUR];
    int count;
} four_rows;

static inline four_rows rows_from(int64_t i, int64_t end) {
    four_rows r = {.count = (int)smaller(end - i, FOUR)};
    for (int f = 0; f < FOUR; f++) r.row[f] = f < r.count ? i + f : i;
    return r;
}

static inline four_bits numbers_of(const int64_t *row) {
    return (four_bits){(uint64_t)row[0], (uint64_t)row[1], (uint64_t)row[2], (uint64_t)row[3]};
}

/* G and A of four rows. */
typedef struct {
    const REAL *G[FOUR];
    const REAL *A[FOUR];
} four_sums;

ALWAYS_INLINE four load_four(const REAL *const *a, int64_t n) {
    return (four){(double)a[0][n], (double)a[1][n], (double)a[2][n], (double)a[3][n]};
}

ALWAYS_INLINE void unfold_four(const REAL *const *A, small full) {
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < PANEL; k++) {
            full[k][(k + r) % PANEL] = full[(k + r) % PANEL][k] = load_four(A, r * PANEL + k);
        }
    }
}

/* The own features of four rows: what they add to U_i, and the precision of that, by dimension. */
typedef struct {
    four_masks has; /* 0: there is none, and its numbers stand for nothing */
    four precision[PANEL];
    four part[PANEL];
} own_parts;

ALWAYS_INLINE void own_of(const panel *o, int64_t size, const four_rows *r, own_parts *own) {
    const fmf_features *X = &o->side->features;
    for (int l = 0; l < size; l++) {
        own->precision[l] = all_four(1);
        own->part[l] = all_four(0);
    }
    for (int f = 0; f < FOUR; f++) {
        const int64_t s = X->own[r->row[f]];
        own->has[f] = s < 0 ? 0 : -1;
        if (s < 0) continue;
        const REAL *growth = panel_growth(o, s), *w = parameters_of(o, s);
        const double x = (double)((const REAL *)X->own_value)[r->row[f]], l2 = (double)l2_of(o, s) / (x * x);
        for (int l = 0; l < size; l++) {
            own->precision[l][f] = l2 * (double)growth[l];
            own->part[l][f] = x * (double)w[l];
        }
    }
}

/* K = A + the own features' precision, factored. */
ALWAYS_INLINE void factor_own(const own_parts *own, int64_t size, small A, triangle *t) {
    small K;
    for (int k = 0; k < size; k++) {
        for (int l = 0; l < size; l++) K[k][l] = A[k][l];
        K[k][k] += own->precision[k];
    }
    factor(K, size, own->precision, t);
}

/* What own features add to U_i, drawn given all else, less what they added before: -K^-1 (G + Lambda_own own part), plus noise. */
ALWAYS_INLINE void own_changes(const panel *o, int64_t size, const four_rows *r, const own_parts *own, const triangle *t,
                               const four *g, four *change) {
    const double scale = 1 / sqrt(o->side->draws.noise);
    four e[PANEL];
    normals(stream_of(o, FOR_OWN), numbers_of(r->row), e);
    for (int l = 0; l < size; l++) change[l] = -(g[l] + own->precision[l] * own->part[l]);
    solve_lower(t, 0, size, change);
    for (int l = 0; l < size; l++) change[l] += scale * e[l];
    solve_upper(t, size, change);
}

/* Changes what a row's own feature adds to U_i. */
static inline void change_own(const panel *o, int64_t i, const REAL *change, REAL *move) {
    const fmf_features *X = &o->side->features;
    const REAL x = ((const REAL *)X->own_value)[i];
    REAL *w = parameters_of(o, X->own[i]);
    for (int l = 0; l < o->size; l++) {
        const REAL before = w[l];
        w[l] += change[l] / x;
        move[l] += x * (w[l] - before);
    }
}

/* Most panels have all dimensions: loops of a length that is known are quicker. */
ALWAYS_INLINE void own_draw_of(const panel *o, int64_t size, int64_t i, const REAL *G, const REAL *A, REAL *change) {
    const four_rows alone = rows_from(i, i + 1);
    const four_sums sums = {{G, G, G, G}, {A, A, A, A}};
    own_parts own;
    small full;
    triangle t;
    four g[PANEL], drawn[PANEL];
    own_of(o, size, &alone, &own);
    unfold_four(sums.A, full);
    for (int l = 0; l < size; l++) g[l] = load_four(sums.G, l);
    factor_own(&own, size, full, &t);
    own_changes(o, size, &alone, &own, &t, g, drawn);
    for (int l = 0; l < size; l++) change[l] = (REAL)drawn[l][0];
}

/* Draws the own feature of row i, given all else; returns whether there is one. */
static int own_draw(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    REAL change[PANEL];
    if (o->side->features.own[i] < 0) return 0;
    if (o->size == PANEL) own_draw_of(o, PANEL, i, G, A, change);
    else own_draw_of(o, o->size, i, G, A, change);
    change_own(o, i, change, move);
    return 1;
}
