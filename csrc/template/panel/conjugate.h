/* panel/conjugate.h -- the step of all shared features at once: a few steps of the conjugate gradient method on the bound,
       (X' A X + Lambda) delta = -(X' G + Lambda w),
   preconditioned by its diagonal, with the common step deflated: where rows have many features, the matrix is by far
   largest along steps that are the same for all features, so the best such step c (PANEL numbers) is taken first, and every
   direction is kept conjugate to all of them.  Along them, with rho_i = sum_s x_is, the matrix is
       K = sum_i rho_i^2 A_i + sum_s lambda_s,   a number for each dimension on the diagonal.
   Each step's length is found by exact line search on the bound itself, so none can raise it. */

/* ---- sums over columns ---- */

/* Sums over a piece of a column of what rows show: their gradient and curvature (first), or A_i u_i (later).  Values that
   are a row's own are multiplied in already. */
static inline void view_column_piece(const panel *o, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, n = smaller(X->col_ptr[s + 1] - at, FMF_CUT);
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL, *view = o->scratch->view;
    pvec gradient = {0}, curvature = {0};
    for (int64_t t = 0; t < n; t++) {
        const REAL *line = view + (int64_t)row[t] * 2 * PANEL, value = x ? x[t] : 1;
        padd(&gradient, value, pload(line));
        padd(&curvature, value * value, pload(line + PANEL));
    }
    pstore(sums, gradient);
    pstore(sums + PANEL, curvature);
}

static inline void push_column_piece(const panel *o, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, n = smaller(X->col_ptr[s + 1] - at, FMF_CUT);
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL, *push = o->scratch->push;
    pstore(sums, psum_lines(row, x, n, push, PANEL));
}

/* A feature's residual and the preconditioner's diagonal. */
static inline void begin_residual(const panel *o, int64_t s, const REAL *sums) {
    const REAL *w = parameters_of(o, s), l2 = l2_of(o, s), *growth = panel_growth(o, s);
    REAL *residual = row_of(o->scratch->residual, s), *diagonal = row_of(o->scratch->diagonal, s);
    for (int l = 0; l < PANEL; l++) {
        residual[l] = l < o->size ? -(sums[l] + l2 * growth[l] * w[l]) : 0;
        diagonal[l] = l < o->size ? sums[PANEL + l] + l2 * growth[l] : 0;
    }
}

/* The step along the direction, off the residual. */
static inline void lower_residual(const panel *o, int64_t s, const REAL *sums) {
    const REAL l2 = l2_of(o, s), length = (REAL)o->found->length, *growth = panel_growth(o, s);
    const REAL *p = row_of(o->scratch->direction, s);
    REAL *residual = row_of(o->scratch->residual, s);
    for (int l = 0; l < PANEL; l++) residual[l] -= length * (sums[l] + l2 * growth[l] * p[l]);
}

/* Sums that other shards have a part in are put down instead. */
static inline void view_settle(const panel *o, int64_t s, int64_t place, const REAL *sums) {
    REAL *columns = o->scratch->columns;
    if (columns) memcpy(columns + place * 2 * PANEL, sums, 2 * PANEL * sizeof *sums);
    else begin_residual(o, s, sums);
}

static inline void push_settle(const panel *o, int64_t s, int64_t place, const REAL *sums) {
    REAL *columns = o->scratch->columns;
    if (columns) memcpy(columns + place * PANEL, sums, PANEL * sizeof *sums);
    else lower_residual(o, s, sums);
}

static inline void view_fetch(const panel *o, int64_t s) {
    __builtin_prefetch(o->side->features.col_index + o->side->features.col_ptr[s]);
}

static inline void push_fetch(const panel *o, int64_t s) { view_fetch(o, s); }

#define CONTEXT panel
#define PARTIAL(c) ((REAL *)(c)->scratch->partial)
#define PHASE(name) view_##name
#define SUMS (2 * PANEL)
#include "template/feature_phase.inc.h"
#undef PHASE
#undef SUMS
#define PHASE(name) push_##name
#define SUMS PANEL
#include "template/feature_phase.inc.h"
#undef PHASE
#undef SUMS
#undef CONTEXT
#undef PARTIAL

/* ---- features, by portions ---- */

static inline int64_t shared_features(const panel *o) { return o->sets.plan->set_ptr[1]; }

static inline int64_t feature_portions(const panel *o) { return portions_of(shared_features(o), FMF_PORTION); }

static inline int64_t row_portions(const panel *o) { return portions_of(o->side->features.rows, FMF_PORTION); }

/* z = M^-1 r, r z, and the sums of lambda z that the common step needs. */
static void scale_residuals(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(shared_features(o), FMF_PORTION, p);
    double weight = 0.0, common[PANEL] = {0};
    (void)thread;
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        const double l2 = o->penalty->l2 * (double)((const REAL *)o->penalty->strength)[s];
        const REAL *r = row_of(o->scratch->residual, s), *m = row_of(o->scratch->diagonal, s), *growth = panel_growth(o, s);
        REAL *z = row_of(o->scratch->scaled, s);
        for (int l = 0; l < PANEL; l++) {
            z[l] = m[l] > 0 ? r[l] / m[l] : 0;
            weight += (double)r[l] * (double)z[l];
            common[l] += l2 * (double)(growth[l] * z[l]);
        }
    }
    o->scratch->weights[p] = weight;
    for (int l = 0; l < PANEL; l++) o->scratch->feature_common[p * PANEL + l] = common[l];
}

/* The sums of lambda w, for the common step's gradient. */
static void weigh_features(const panel *o, int64_t p) {
    const range some = portion(shared_features(o), FMF_PORTION, p);
    double common[PANEL] = {0};
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        const double l2 = o->penalty->l2 * (double)((const REAL *)o->penalty->strength)[s];
        const REAL *w = parameters_of(o, s), *growth = panel_growth(o, s);
        for (int l = 0; l < o->size; l++) common[l] += l2 * (double)(growth[l] * w[l]);
    }
    for (int l = 0; l < PANEL; l++) o->scratch->feature_common[p * PANEL + l] = common[l];
}

/* The next direction p = z - common + keep p, and the penalty's slope and curvature along it. */
static void turn_direction(const panel *o, int64_t p) {
    const REAL *common = o->found->common, keep = o->found->keep;
    const range some = portion(shared_features(o), FMF_PORTION, p);
    double slope = 0.0, curvature = 0.0;
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        const REAL *z = row_of(o->scratch->scaled, s), *w = parameters_of(o, s), l2 = l2_of(o, s);
        const REAL *growth = panel_growth(o, s);
        REAL *d = row_of(o->scratch->direction, s);
        for (int l = 0; l < PANEL; l++) d[l] = z[l] - common[l] + (keep > 0 ? keep * d[l] : 0);
        for (int l = 0; l < o->size; l++) {
            slope += (double)(l2 * growth[l]) * (double)w[l] * (double)d[l];
            curvature += (double)(l2 * growth[l]) * (double)d[l] * (double)d[l];
        }
    }
    o->scratch->feature_sums[2 * p] = slope;
    o->scratch->feature_sums[2 * p + 1] = curvature;
}

/* w += length p */
static void take_direction(const panel *o, int64_t p) {
    const REAL length = (REAL)o->found->length;
    const range some = portion(shared_features(o), FMF_PORTION, p);
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        const REAL *d = row_of(o->scratch->direction, s);
        REAL *w = parameters_of(o, s);
        for (int l = 0; l < o->size; l++) w[l] += length * d[l];
    }
}

/* w += common */
static void move_features_in_common(const panel *o, int64_t p) {
    const range some = portion(shared_features(o), FMF_PORTION, p);
    for (int64_t t = some.from; t < some.to; t++) {
        REAL *w = parameters_of(o, o->sets.plan->order[t]);
        for (int l = 0; l < o->size; l++) w[l] += o->found->common[l];
    }
}

/* ---- rows, by portions ---- */

static inline double *row_common(const panel *o, int64_t p) { return o->scratch->row_common + p * (PANEL + ROOM); }

/* Sums of rho_i G_i and of rho_i^2 A_i. */
static void weigh_rows(const panel *o, int64_t p) {
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    const REAL *rho = o->scratch->rho;
    double *sums = row_common(o, p);
    memset(sums, 0, (PANEL + ROOM) * sizeof *sums);
    for (int64_t i = some.from; i < some.to; i++) {
        const REAL *G = row_of(o->scratch->G, i), *A = matrix_of(o->scratch->A, i), square = rho[i] * rho[i];
        for (int l = 0; l < PANEL; l++) sums[l] += (double)(rho[i] * G[l]);
        for (int l = 0; l < ROOM; l++) sums[PANEL + l] += (double)(square * A[l]);
    }
}

/* Rows after the common step, and what features then see of them. */
static void move_rows_in_common(const panel *o, int64_t p) {
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    const pvec c = pload(o->found->common);
    for (int64_t i = some.from; i < some.to; i++) {
        pstore(row_of(o->scratch->u, i), c);
        pstore(row_of(o->scratch->Au, i), times(matrix_of(o->scratch->A, i), c));
        move_row(o, i, ((const REAL *)o->scratch->rho)[i]);
        write_view(o, i);
    }
}

/* Rows first move along the direction before, if there was one.  Then X z, kept in Au, and the sums of rho_i A_i (X z)_i. */
static void embed_scaled(void *context, int64_t p, int thread) {
    const panel *o = context;
    const fmf_features *X = &o->side->features;
    const REAL *z = o->scratch->scaled, *value = X->row_value, *scale = X->row_scale, *rho = o->scratch->rho;
    const REAL before = (REAL)o->found->length;
    const range some = portion(X->rows, FMF_PORTION, p);
    double *sums = row_common(o, p);
    (void)thread;
    memset(sums, 0, PANEL * sizeof *sums);
    for (int64_t i = some.from; i < some.to; i++) {
        REAL push[PANEL];
        pvec moved = {0};
        const int64_t from = X->row_ptr[i] + (X->own[i] >= 0), n = X->row_ptr[i + 1] - from;
        if (before != 0) move_row(o, i, before);
        const pvec u = psum_lines(X->row_index + from, value ? value + from : NULL, n, z, PANEL);
        padd(&moved, scale ? scale[i] : 1, u);
        pstore(row_of(o->scratch->Au, i), moved);
        pstore(push, times(matrix_of(o->scratch->A, i), moved));
        for (int l = 0; l < PANEL; l++) sums[l] += (double)(rho[i] * push[l]);
    }
}

/* u_i = (X p)_i for p = z - common + keep p, A_i u_i, and their part in the line search. */
static void direction_rows(const panel *o, int64_t p) {
    const REAL *scale = o->side->features.row_scale, *rho = o->scratch->rho, keep = o->found->keep;
    const pvec c = pload(o->found->common);
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    double slope = 0.0, curvature = 0.0;
    for (int64_t i = some.from; i < some.to; i++) {
        pvec u = pload(row_of(o->scratch->Au, i)), push = {0};
        padd(&u, -rho[i], c);
        if (keep > 0) padd(&u, keep, pload(row_of(o->scratch->u, i)));
        const pvec Au = times(matrix_of(o->scratch->A, i), u);
        padd(&push, scale ? scale[i] : 1, Au);
        pstore(row_of(o->scratch->u, i), u);
        pstore(row_of(o->scratch->push, i), push);
        pstore(row_of(o->scratch->Au, i), Au);
        slope += (double)pdot(u, pload(row_of(o->scratch->G, i)));
        curvature += (double)pdot(u, Au);
    }
    o->scratch->row_sums[2 * p] = slope;
    o->scratch->row_sums[2 * p + 1] = curvature;
}
