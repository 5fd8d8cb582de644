/* panel/own.h -- a row's own feature: its PANEL x PANEL problem. */

/* Solves (x^2 A + L) delta = -(x G + L w) for a diagonal L by elimination; the matrix that is left stays symmetric, so a
   pivot's row has all its factors.  Tells whether the answer can be trusted: along delta the bound must be least near delta,
   which rounding in a nearly singular system may spoil. */
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
    pvec Md = {0};
    padd(&Md, x * x, times(A, d));
    padd_product(&Md, pload(L), d);
    const REAL slope = pdot(pload(given), d), curvature = pdot(d, Md);
    return slope == 0 ? curvature == 0 : slope > (REAL)0.5 * curvature && slope < (REAL)2.0 * curvature;
}

/* Sweeps over the dimensions with T, each from where the one before left it: never raises the bound. */
static void sweep_row(const REAL *G, const REAL *turned, REAL x, const REAL *l1, const REAL *l2, const REAL *w, int64_t size,
                      REAL *delta) {
    enum { SWEEPS = 2 };
    REAL slope[PANEL], A[PANEL * PANEL];
    unfold(turned, A);
    for (int k = 0; k < PANEL; k++) {
        slope[k] = x * G[k];
        delta[k] = 0;
    }
    for (int sweeps = 0; sweeps < SWEEPS; sweeps++) {
        for (int k = 0; k < size; k++) {
            const REAL d = elastic_net_T(slope[k], x * x * A[k * PANEL + k], w[k] + delta[k], l1[k], l2[k]);
            delta[k] += d;
            for (int l = 0; l < PANEL; l++) slope[l] += x * x * A[k * PANEL + l] * d;
        }
    }
}

/* Takes the step of row i's own feature in this panel; returns whether there is one. */
static inline int own_step(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const fmf_features *X = &o->side->features;
    const int64_t s = X->own[i];
    if (s < 0) return 0;
    REAL *w = parameters_of(o, s), delta[PANEL], l1[PANEL], l2[PANEL];
    const REAL x = ((const REAL *)X->own_value)[i], strength = ((const REAL *)o->penalty->strength)[s];
    const REAL *growth = panel_growth(o, s);
    for (int l = 0; l < PANEL; l++) {
        l1[l] = (REAL)o->penalty->l1 * strength * growth[l];
        l2[l] = (REAL)o->penalty->l2 * strength * growth[l];
    }
    if (l1[0] > 0 || !solve_row(G, A, x, l2, w, o->size, delta)) {
        sweep_row(G, A, x, l1, l2, w, o->size, delta);
    }
    for (int l = 0; l < o->size; l++) {
        w[l] += delta[l];
        move[l] += x * delta[l];
    }
    return 1;
}
