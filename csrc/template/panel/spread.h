/* panel/spread.h -- strengths that are learnt: what the uncertainty of the other side adds to a row, and the variances that a row
   finds out for the next strengths; the mathematics is in docs/strengths.md. */

/* G += c m U and A += c diag(m) of row i; a bias meets no V_j but 1, which is certain. */
static inline void add_spread(const panel *o, int64_t i, REAL *G, REAL *A) {
    const fmf_side *side = o->side;
    if (!side->spread.weight || is_bias(o)) return;
    const REAL c = ((const REAL *)side->spread.weight)[i], *m = (const REAL *)side->spread.m + o->column;
    const REAL *U = (const REAL *)side->mine + i * side->stride + o->column;
    for (int l = 0; l < o->size; l++) {
        G[l] += c * m[l] * U[l];
        A[l] += c * m[l]; /* the diagonal comes first */
    }
}

/* Where sums of the features of a group begin, in sums over all groups and, last, over rows. */
static inline double *group_sums(const panel *o, int64_t s, double *sums) {
    return sums + (o->penalty->group ? o->penalty->group[s] : 0) * PANEL;
}

static inline int64_t spread_room(const fmf_spread *spread) { return (spread->groups + 1) * PANEL; }

/* Row i's part in the sums: w^2 + variance of its own feature, and c_i times the variance of U_i.  Where pairs say
   nothing there is no part in the first.  U_i varies as if it had one feature with a prior as wide as what its features leave open: its own, and half
   of what the shared ones would, sum_s x_is^2 / curvature_s, if they were not correlated. */
static inline void measure_row(const panel *o, int64_t i, const REAL *A, const REAL *shared, double *sums) {
    const fmf_spread *spread = &o->side->spread;
    const fmf_features *X = &o->side->features;
    const int64_t s = X->own[i];
    const double c = (double)((const REAL *)spread->weight)[i], noise = spread->noise;
    if (!(c > 0)) return;
    for (int l = 0; l < o->size; l++) {
        const double curvature = (double)A[l];
        double open = 0.5 * (double)shared[l];
        if (s >= 0) {
            const double x = (double)((const REAL *)X->own_value)[i], w = (double)parameters_of(o, s)[l];
            const double l2 = (double)l2_of(o, s) * (double)panel_growth(o, s)[l];
            if (curvature > 0) group_sums(o, s, sums)[l] += w * w + 1 / (noise * (x * x * curvature + l2));
            open += x * x / l2;
        }
        sums[spread->groups * PANEL + l] += c * open / (noise * (1 + curvature * open));
    }
}
