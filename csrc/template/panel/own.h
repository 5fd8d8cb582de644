/* panel/own.h -- a row's own feature: its PANEL x PANEL problem. */

/* Solves (x^2 A + L) delta = -(x G + L w) for a diagonal L by elimination; the matrix that is left stays symmetric, so a
   pivot's row has all its factors.  Tells whether the answer can be trusted, which rounding in a nearly singular system may
   spoil: along delta the bound must be least near delta, and bend by more than rounding of the matrix does. */
static inline int solve_row(const REAL *G, const REAL *A, REAL x, const REAL *L, const REAL *w, int64_t size, REAL *delta) {
    REAL full[PANEL * PANEL], right[PANEL], given[PANEL], inverse[PANEL];
    unfold(A, full);
    pvec M[PANEL];
    for (int k = 0; k < PANEL; k++) {
        full[k * PANEL + k] += k < size ? 0 : 1; /* past the rank: delta = 0 */
        right[k] = given[k] = k < size ? -(x * G[k] + L[k] * w[k]) : 0;
        M[k] = (pvec){0};
        padd(&M[k], x * x, pload(full + k * PANEL));
        M[k].part[k / LANES][k % LANES] += L[k];
    }
    UNROLL(8)
    for (int k = 0; k < PANEL; k++) {
        REAL row[PANEL];
        pstore(row, M[k]);
        if (!(row[k] > 0)) return 0;
        inverse[k] = 1 / row[k];
        UNROLL(8)
        for (int r = k + 1; r < PANEL; r++) {
            const REAL factor = -row[r] * inverse[k];
            padd(&M[r], factor, M[k]);
            right[r] += factor * right[k];
        }
    }
    UNROLL(8)
    for (int k = PANEL - 1; k >= 0; k--) {
        REAL row[PANEL], rest = right[k];
        pstore(row, M[k]);
        for (int l = k + 1; l < PANEL; l++) rest -= row[l] * delta[l];
        delta[k] = rest * inverse[k];
    }
    const pvec d = pload(delta);
    pvec Md = {0}, diagonal = pload(L), ones = {0};
    padd(&Md, x * x, times(A, d));
    padd_product(&Md, pload(L), d);
    padd(&diagonal, x * x, pload(A));
    for (int n = 0; n < PARTS; n++) ones.part[n] += 1;
    const REAL slope = pdot(pload(given), d), curvature = pdot(d, Md);
    const REAL least = 16 * ROUNDING * pdot(diagonal, ones) * pdot(d, d);
    return slope == 0 ? curvature == 0 : slope > (REAL)0.5 * curvature && slope < (REAL)2.0 * curvature && curvature > least;
}

enum { SWEEPS = 2 };

/* Sweeps over the dimensions of feature s with T, each from where the one before left it: never raises the bound.  The feature
   has the value x in a row of G and A, or 1 where these are sums over its rows. */
static void sweep_feature(const panel *o, int64_t s, REAL x, const REAL *G, const REAL *turned, REAL *move) {
    const REAL strength = ((const REAL *)o->penalty->strength)[s], *growth = panel_growth(o, s);
    REAL slope[PANEL], A[PANEL * PANEL], *w = parameters_of(o, s);
    unfold(turned, A);
    for (int k = 0; k < PANEL; k++) slope[k] = x * G[k];
    for (int sweeps = 0; sweeps < SWEEPS; sweeps++) {
        for (int k = 0; k < o->size; k++) {
            const REAL d = one_T(o->penalty, slope[k], x * x * A[k * PANEL + k], w[k], strength * growth[k]);
            for (int l = 0; l < PANEL; l++) slope[l] += x * x * A[k * PANEL + l] * d;
            w[k] += d;
            move[k] += x * d;
        }
    }
}

/* Takes the step of feature s in this panel, alone. */
static inline void feature_step(const panel *o, int64_t s, REAL x, const REAL *G, const REAL *A, REAL *move) {
    REAL delta[PANEL], L[PANEL], *w = parameters_of(o, s);
    const REAL *growth = panel_growth(o, s), l2 = l2_of(o, s);
    const int smooth = !o->penalty->native && !((REAL)o->penalty->l1 * ((const REAL *)o->penalty->strength)[s] * growth[0] > 0);
    for (int l = 0; l < PANEL; l++) L[l] = l2 * growth[l];
    if (!smooth || !solve_row(G, A, x, L, w, o->size, delta)) {
        sweep_feature(o, s, x, G, A, move);
        return;
    }
    for (int l = 0; l < o->size; l++) {
        w[l] += delta[l];
        move[l] += x * delta[l];
    }
}

/* Takes the step of row i's own feature in this panel; returns whether there is one. */
static inline int own_step(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const int64_t s = o->side->features.own[i];
    if (s >= 0) feature_step(o, s, ((const REAL *)o->side->features.own_value)[i], G, A, move);
    return s >= 0;
}
