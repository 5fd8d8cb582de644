/* panel/draw_exact.h -- draws of all shared features at once by the paper's bound: no system is solved, and none is left unsolved.

   With C_i = sum_s |x_is|, D = blocks of  D_s = sum_i |x_is| C_i A_i  is an upper bound of the matrix  X' A X: what Algorithm 3
   moves features by.  For M = D + Lambda, and normal numbers c of covariance  along^2 (X' A X + Lambda) + across^2 (D - X' A X),

       w' = before + alpha (w - before + tau M^-1 (c - X' G - Lambda w)),        G with what moved since the pass,

   leaves the posterior as it is, if along and across are those that belong to alpha and tau (fmfkit/solvers/chebyshev.py): every
   step is exact, and a few of them, with the alphas of Chebyshev's method, forget where they began.  c is the sum over rows of

       L_i (across sqrt(|x_is| C_i) e_is + (along - across) x_is / sqrt(C_i) m_i),     L_i L_i' = A_i,  e_is normal,
       m_i = sum_s sign(x_is) sqrt|x_is| e_is,

   since the part of e along sign(x) sqrt|x| makes X' A X and the rest makes D - X' A X; and of along sqrt(Lambda) e_s.  Where the
   values of a row are all f_i, columns have ones in their place: below, x is what columns have, C_i the sum of these, and root_i is
   |f_i| sqrt(C_i) L_i, so that the first part is across sqrt|x_is| root_i e_is, the second (along - across) x_is / C_i root_i m_i. */

enum { TRIANGLE = FMF_PANEL * (FMF_PANEL + 1) / 2 }; /* numbers of a triangle, row after row */

static inline int64_t triangle_at(int k, int l) { return k * (k + 1) / 2 + l; }

static inline REAL *triangle_of(void *array, int64_t n) { return (REAL *)array + n * TRIANGLE; }

/* The numbers that belong to a step. */
typedef struct {
    double alpha, along, across;
} exact_step;

static inline exact_step step_of(const panel *o) {
    const double *given = o->side->draws.chebyshev + 3 * o->step, scale = 1 / sqrt(o->side->draws.noise);
    return (exact_step){given[0], scale * given[1], scale * given[2]};
}

/* Normal numbers of the pairs of rows and shared features, and those of features, are new in each step. */
static inline uint64_t step_stream(const panel *o, uint64_t use) {
    return stream_of(o, use) + UINT64_C(0xd1342543de82ef95) * (uint64_t)(o->step + 1);
}

/* ---- rows ---- */

/* Some rows with own features integrated out, as for draw_together.h, and their roots. */
ALWAYS_INLINE void root_rows_of(const panel *o, int64_t size, const four_rows *r) {
    const fmf_features *X = &o->side->features;
    const REAL *value = X->row_value, *scale = X->row_scale;
    triangle t;
    see_rows(o, size, r, 0, &t);
    for (int f = 0; f < r->count; f++) {
        const int64_t i = r->row[f];
        REAL *root = triangle_of(o->side->draws.root, i);
        double C = 0.0;
        for (int64_t e = X->row_ptr[i] + (X->own[i] >= 0); e < X->row_ptr[i + 1]; e++) {
            C += fabs(value ? (double)value[e] : 1.0);
        }
        const double factor = sqrt(C) * (scale ? fabs((double)scale[i]) : 1.0);
        ((REAL *)o->side->draws.conflict)[i] = (REAL)C;
        memset(root, 0, TRIANGLE * sizeof *root);
        for (int k = 0; k < size; k++) {
            for (int l = 0; l <= k; l++) root[triangle_at(k, l)] = (REAL)(factor * t.L[k][l][f]);
        }
    }
}

static void root_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i += FOUR) {
        const four_rows r = rows_from(i, some.to);
        if (o->size == PANEL) root_rows_of(o, PANEL, &r);
        else root_rows_of(o, o->size, &r);
    }
}

/* Adds what the last step of the features moved row i by. */
static void follow_features(const panel *o, int64_t i) {
    const fmf_features *X = &o->side->features;
    const REAL *step = o->scratch->scaled, *value = X->row_value, *scale = X->row_scale;
    const int64_t from = X->row_ptr[i] + (X->own[i] >= 0), n = X->row_ptr[i + 1] - from;
    pvec move = pload(row_of(o->scratch->move, i));
    padd(&move, scale ? scale[i] : 1, psum_lines(X->row_index + from, value ? value + from : NULL, n, step, PANEL));
    pstore(row_of(o->scratch->move, i), move);
}

/* m_i */
static void row_noise(const panel *o, int64_t i, double *m) {
    const fmf_features *X = &o->side->features;
    const REAL *value = X->row_value;
    const uint64_t stream = step_stream(o, FOR_ROWS), base = (uint64_t)i * (uint64_t)X->cols;
    four sum[PANEL] = {{0}}, e[PANEL];
    for (int64_t at = X->row_ptr[i] + (X->own[i] >= 0), end = X->row_ptr[i + 1]; at < end; at += FOUR) {
        four_bits numbers = {0};
        four weight = {0};
        for (int f = 0; f < FOUR && at + f < end; f++) {
            const double x = value ? (double)value[at + f] : 1.0;
            numbers[f] = base + (uint64_t)X->row_index[at + f];
            weight[f] = copysign(sqrt(fabs(x)), x);
        }
        normals(stream, numbers, e);
        for (int l = 0; l < PANEL; l++) sum[l] += weight * e[l];
    }
    for (int l = 0; l < PANEL; l++) m[l] = sum[l][0] + sum[l][1] + sum[l][2] + sum[l][3];
}

/* What features see of rows after the step before: f_i (G_i + A_i u_i), less the second part of c. */
static void show_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const exact_step step = step_of(o);
    const REAL *scale = o->side->features.row_scale;
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        const REAL *root = triangle_of(o->side->draws.root, i), C = ((const REAL *)o->side->draws.conflict)[i];
        const REAL f = scale ? scale[i] : 1;
        if (o->step) follow_features(o, i);
        if (!(C > 0)) continue; /* no shared feature looks */
        double m[PANEL];
        REAL noise[PANEL];
        row_noise(o, i, m);
        const double factor = (step.along - step.across) / (double)C;
        for (int k = 0; k < PANEL; k++) {
            double sum = 0.0;
            for (int l = 0; l <= k; l++) sum += (double)root[triangle_at(k, l)] * m[l];
            noise[k] = (REAL)(factor * sum);
        }
        pvec seen = {0}, gradient = pload(row_of(o->scratch->G, i));
        padd(&gradient, 1, times(matrix_of(o->scratch->A, i), pload(row_of(o->scratch->move, i))));
        padd(&seen, f, gradient);
        padd(&seen, -1, pload(noise));
        pstore(row_of(o->scratch->push, i), seen);
    }
}

/* Rows after the last step, own features included. */
static void settle_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        follow_features(o, i);
        settle_own(o, i);
    }
}

/* ---- features ---- */

/* D_s */
static inline void bound_column_piece(const panel *o, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, n = smaller(X->col_ptr[s + 1] - at, FMF_CUT);
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL, *scale = X->row_scale;
    const REAL *conflict = o->side->draws.conflict;
    pvec D[TURNS] = {{{{0}}}};
    for (int64_t t = 0; t < n; t++) {
        const REAL f = scale ? scale[row[t]] : 1, weight = (x ? size_of(x[t]) : 1) * f * f * conflict[row[t]];
        const REAL *A = matrix_of(o->scratch->A, row[t]);
        for (int r = 0; r < TURNS; r++) padd(&D[r], weight, pload(A + r * PANEL));
    }
    for (int r = 0; r < TURNS; r++) pstore(sums + r * PANEL, D[r]);
}

/* M_s, factored. */
static inline void bound_settle(const panel *o, int64_t s, int64_t place, const REAL *sums) {
    const REAL *const same[FOUR] = {sums, sums, sums, sums}, *growth = panel_growth(o, s), l2 = l2_of(o, s);
    REAL *root = triangle_of(o->side->draws.bound, s);
    small M;
    triangle t;
    four least[PANEL];
    (void)place;
    unfold_four(same, M);
    for (int k = 0; k < o->size; k++) {
        least[k] = all_four((double)(l2 * growth[k]));
        M[k][k] += least[k];
    }
    factor(M, o->size, least, &t);
    for (int k = 0; k < o->size; k++) {
        for (int l = 0; l <= k; l++) root[triangle_at(k, l)] = (REAL)t.L[k][l][0];
    }
    memcpy(row_of(o->scratch->direction, s), parameters_of(o, s), (size_t)o->size * sizeof(REAL)); /* before */
}

static inline void bound_fetch(const panel *o, int64_t s) { view_fetch(o, s); }

/* Sums over rows of x_is times what they show, less the first part of c. */
static inline void exact_column_piece(const panel *o, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, n = smaller(X->col_ptr[s + 1] - at, FMF_CUT);
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL;
    const uint64_t stream = step_stream(o, FOR_ROWS);
    const double across = step_of(o).across;
    four noise[PANEL] = {{0}}, e[PANEL];
    REAL seen[PANEL];
    push_column_piece(o, s, skip, seen);
    for (int64_t t = 0; t < n; t += FOUR) {
        const REAL *root[FOUR];
        four_bits numbers;
        four weight = {0};
        for (int f = 0; f < FOUR; f++) {
            const int64_t i = row[t + f < n ? t + f : t];
            root[f] = triangle_of(o->side->draws.root, i);
            numbers[f] = (uint64_t)i * (uint64_t)X->cols + (uint64_t)s;
            if (t + f < n) weight[f] = x ? sqrt(fabs((double)x[t + f])) : 1.0;
        }
        normals(stream, numbers, e);
        for (int k = 0; k < PANEL; k++) {
            four sum = {0};
            for (int l = 0; l <= k; l++) sum += load_four(root, triangle_at(k, l)) * e[l];
            noise[k] += weight * sum;
        }
    }
    for (int k = 0; k < PANEL; k++) {
        sums[k] = seen[k] - (REAL)(across * (noise[k][0] + noise[k][1] + noise[k][2] + noise[k][3]));
    }
}

/* x = (L L')^-1 x */
static inline void solve_bound(const REAL *root, int64_t size, double *x) {
    for (int k = 0; k < size; k++) {
        for (int l = 0; l < k; l++) x[k] -= (double)root[triangle_at(k, l)] * x[l];
        x[k] /= (double)root[triangle_at(k, k)];
    }
    for (int k = (int)size - 1; k >= 0; k--) {
        for (int l = k + 1; l < size; l++) x[k] -= (double)root[triangle_at(l, k)] * x[l];
        x[k] /= (double)root[triangle_at(k, k)];
    }
}

/* The step of feature s. */
static inline void exact_settle(const panel *o, int64_t s, int64_t place, const REAL *sums) {
    const exact_step step = step_of(o);
    const REAL *growth = panel_growth(o, s), l2 = l2_of(o, s);
    REAL *w = parameters_of(o, s), *before = row_of(o->scratch->direction, s), *moved = row_of(o->scratch->scaled, s);
    double x[PANEL] = {0};
    four e[PANEL];
    (void)place;
    normals(step_stream(o, FOR_FEATURES), (uint64_t)s + (four_bits){0}, e);
    for (int l = 0; l < o->size; l++) {
        const double lambda = (double)(l2 * growth[l]);
        x[l] = step.along * sqrt(lambda) * e[l][0] - (double)sums[l] - lambda * (double)w[l];
    }
    solve_bound(triangle_of(o->side->draws.bound, s), o->size, x);
    for (int l = 0; l < PANEL; l++) moved[l] = 0;
    for (int l = 0; l < o->size; l++) {
        const double back = (double)before[l], now = (double)w[l];
        const REAL next = (REAL)(back + step.alpha * (now - back + o->side->draws.tau * x[l]));
        moved[l] = next - w[l];
        before[l] = w[l];
        w[l] = next;
    }
}

static inline void exact_fetch(const panel *o, int64_t s) { view_fetch(o, s); }

#define CONTEXT panel
#define PARTIAL(c) ((REAL *)(c)->scratch->partial)
#define PHASE(name) bound_##name
#define SUMS ROOM
#include "template/feature_phase.inc.h"
#undef PHASE
#undef SUMS
#define PHASE(name) exact_##name
#define SUMS PANEL
#include "template/feature_phase.inc.h"
#undef PHASE
#undef SUMS
#undef CONTEXT
#undef PARTIAL

/* All that a panel does. */
static void draw_exactly(fmf_worker *me, panel *o) {
    const int64_t rows = row_portions(o), columns = entry_portions(&o->sets);
    fmf_phase(me, rows, root_rows, NULL, o);
    fmf_phase(me, columns, bound_features, bound_join_pieces, o);
    for (o->step = 0; o->step < o->side->draws.steps; o->step++) {
        fmf_phase(me, rows, show_rows, NULL, o);
        fmf_phase(me, columns, exact_features, exact_join_pieces, o);
    }
    fmf_phase(me, rows, settle_rows, NULL, o);
}
