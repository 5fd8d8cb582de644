/* panel/findings.h -- what is found out between the phases of conjugate.h: the common step, and how directions go on.  Where rows
   are divided into shards, the sums over rows are given. */

/* Sums over portions of rows, in order; then those of features after them. */
static void add_common_of_rows(const panel *o, int64_t count, double *sums) {
    for (int64_t l = 0; l < count; l++) sums[l] = 0.0;
    for (int64_t p = 0; p < row_portions(o); p++) {
        for (int64_t l = 0; l < count; l++) sums[l] += row_common(o, p)[l];
    }
}

static void add_common_of_features(const panel *o, double *sums) {
    for (int64_t p = 0; p < feature_portions(o); p++) {
        for (int64_t l = 0; l < PANEL; l++) sums[l] += o->scratch->feature_common[p * PANEL + l];
    }
}

/* x = K^-1 right for the first `size` numbers, zeros for the rest; zeros all where K is singular. */
static void solve_common(const double *K, int64_t size, const double *right, REAL *x) {
    double M[PANEL][PANEL + 1];
    for (int k = 0; k < PANEL; k++) x[k] = 0;
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < PANEL; k++) M[k][(k + r) % PANEL] = M[(k + r) % PANEL][k] = K[r * PANEL + k];
    }
    for (int k = 0; k < size; k++) M[k][PANEL] = right[k];
    for (int k = 0; k < size; k++) {
        if (!(M[k][k] > 1e-9 * K[k])) return;
        for (int r = k + 1; r < size; r++) {
            const double factor = M[r][k] / M[k][k];
            for (int l = k; l < size; l++) M[r][l] -= factor * M[k][l];
            M[r][PANEL] -= factor * M[k][PANEL];
        }
    }
    for (int64_t k = size - 1; k >= 0; k--) {
        for (int64_t l = k + 1; l < size; l++) M[k][PANEL] -= M[k][l] * M[l][PANEL];
        M[k][PANEL] /= M[k][k];
    }
    for (int k = 0; k < size; k++) x[k] = (REAL)M[k][PANEL];
}

/* The best common step, and K, given the sums over rows. */
static void common_step_by(const panel *o, double *sums) {
    panel_findings *found = o->found;
    const double *shared = o->penalty->shared + (is_bias(o) ? 0 : o->column);
    add_common_of_features(o, sums);
    for (int l = 0; l < ROOM; l++) {
        const double lambda = l < PANEL ? o->penalty->l2 * shared[l] : 0.0;
        found->K[l] = sums[PANEL + l] + lambda;
    }
    for (int l = 0; l < PANEL; l++) sums[l] = -sums[l];
    solve_common(found->K, o->size, sums, found->common);
    found->weight = found->length = 0.0;
}

static void find_common_step(void *context) {
    const panel *o = context;
    double sums[PANEL + ROOM];
    add_common_of_rows(o, PANEL + ROOM, sums);
    common_step_by(o, sums);
}

/* The common part of the next direction, and how much of the direction before goes on in it, given the sums over rows. */
static void direction_by(const panel *o, double *sums) {
    panel_findings *found = o->found;
    double now = 0.0;
    for (int64_t p = 0; p < feature_portions(o); p++) now += o->scratch->weights[p];
    found->keep = found->weight > 0 ? (REAL)(now / found->weight) : 0;
    found->first = found->weight > 0 ? found->first : now;
    found->weight = now;
    add_common_of_features(o, sums);
    solve_common(found->K, o->size, sums, found->common);
    found->curvature = 0.0; /* c K c */
    for (int l = 0; l < PANEL; l++) found->curvature += sums[l] * (double)found->common[l];
    if (!o->side->draws.ended || now > o->side->draws.tolerance * o->side->draws.tolerance * found->first) return;
    __atomic_store_n(&o->side->draws.ended[o->number], o->step,
                     __ATOMIC_RELAXED); /* threads that come late read it meanwhile */
    found->length = 0.0;                /* all steps are taken */
}

static void find_direction(void *context) {
    const panel *o = context;
    double sums[PANEL];
    add_common_of_rows(o, PANEL, sums);
    direction_by(o, sums);
}

/* The best length along the direction, given what rows say.  One that is all but common, c, before c is taken off is left with nothing but
   rounding, in which p and X p no longer belong together: it is not followed. */
static void length_by(const panel *o, double slope, double curvature) {
    const double least = sizeof(REAL) == 4 ? 1e-4 : 1e-12; /* about 1000 roundings */
    add_portions(o->scratch->feature_sums, feature_portions(o), &slope, &curvature);
    o->found->length = curvature > least * least * o->found->curvature ? best_length(slope, curvature) : 0.0;
}

static void find_length(void *context) {
    const panel *o = context;
    double slope = 0.0, curvature = 0.0;
    add_portions(o->scratch->row_sums, row_portions(o), &slope, &curvature);
    length_by(o, slope, curvature);
}
