/* directions.h -- the step of all shared features at once: a few steps of the conjugate gradient method on the bound,
       (X' A X + Lambda) delta = -(X' G + Lambda w),
   preconditioned by its diagonal, with the common step deflated: where rows have many features, the matrix is by far
   largest along steps that are the same for all features, so the best such step c (B numbers) is taken first, and every
   direction is kept conjugate to all of them.  Along them, with rho_i = sum_s x_is, the matrix is
       K = sum_i rho_i^2 A_i + sum_s lambda_s,   a number for each dimension on the diagonal.
   Each step's length is found by exact line search on the bound itself, so none can raise it. */

/* Sums over a piece of a column of what rows show: their gradient and curvature (first), or A_i u_i (later).  Values that
   are a row's own are multiplied in already. */
static inline void FN(view_column_piece)(const fmf_block *b, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &b->d.features;
    const int64_t at = X->col_ptr[s] + skip, left = X->col_ptr[s + 1] - at, n = left < FMF_CUT ? left : FMF_CUT;
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL, *view = b->view;
    bvec gradient = {0}, curvature = {0};
    for (int64_t t = 0; t < n; t++) {
        const REAL *line = view + (int64_t)row[t] * 2 * B, value = x ? x[t] : 1;
        if (t + PAIRS_AHEAD < n) __builtin_prefetch(view + (int64_t)row[t + PAIRS_AHEAD] * 2 * B);
        FN(badd)(&gradient, value, FN(bload)(line));
        FN(badd)(&curvature, value * value, FN(bload)(line + B));
    }
    FN(bstore)(sums, gradient);
    FN(bstore)(sums + B, curvature);
}

static inline void FN(push_column_piece)(const fmf_block *b, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &b->d.features;
    const int64_t at = X->col_ptr[s] + skip, left = X->col_ptr[s + 1] - at, n = left < FMF_CUT ? left : FMF_CUT;
    const int32_t *row = X->col_index + at;
    const REAL *x = X->col_value ? (const REAL *)X->col_value + at : NULL, *push = b->push;
    bvec sum = {0};
    for (int64_t t = 0; t < n; t++) {
        if (t + PAIRS_AHEAD < n) __builtin_prefetch(push + (int64_t)row[t + PAIRS_AHEAD] * B);
        FN(badd)(&sum, x ? x[t] : 1, FN(bload)(push + (int64_t)row[t] * B));
    }
    FN(bstore)(sums, sum);
}

/* A feature's residual and the preconditioner's diagonal. */
static inline void FN(view_settle)(const fmf_block *b, const fmf_dimension *k, int64_t s, int64_t place, const REAL *sums) {
    const REAL *w = (const REAL *)b->d.parameters + s * b->d.width + k->column;
    const REAL l2 = (REAL)k->l2 * ((const REAL *)k->strength)[s], *growth = k->growth;
    const int64_t size = FN(block_size)(b, k->column);
    REAL *residual = (REAL *)b->residual + s * B, *diagonal = (REAL *)b->diagonal + s * B;
    (void)place;
    for (int l = 0; l < B; l++) {
        residual[l] = l < size ? -(sums[l] + l2 * growth[l] * w[l]) : 0;
        diagonal[l] = l < size ? sums[B + l] + l2 * growth[l] : 0;
    }
}

/* The step along the direction taken: by the parameters, and off the residual. */
static inline void FN(push_settle)(const fmf_block *b, const fmf_dimension *k, int64_t s, int64_t place, const REAL *sums) {
    const REAL l2 = (REAL)k->l2 * ((const REAL *)k->strength)[s], length = (REAL)k->length;
    REAL *residual = (REAL *)b->residual + s * B;
    const REAL *p = (const REAL *)b->direction + s * B, *growth = k->growth;
    (void)place;
    for (int l = 0; l < B; l++) residual[l] -= length * (sums[l] + l2 * growth[l] * p[l]);
}

static inline void FN(view_fetch)(const fmf_block *b, const fmf_dimension *k, int64_t s) {
    (void)k;
    __builtin_prefetch(b->d.features.col_index + b->d.features.col_ptr[s]);
}
static inline void FN(push_fetch)(const fmf_block *b, const fmf_dimension *k, int64_t s) { FN(view_fetch)(b, k, s); }

#define CONTEXT fmf_block
#define PLAN(c) (&(c)->d.plan)
#define SCRATCH(c) ((REAL *)(c)->d.partial)
#define PHASE(name) FN(view_##name)
#define SUMS (2 * B)
#include "sets.h"
#undef PHASE
#undef SUMS
#define PHASE(name) FN(push_##name)
#define SUMS B
#include "sets.h"
#undef PHASE
#undef SUMS
#undef CONTEXT
#undef PLAN
#undef SCRATCH

/* The thread's share of n things, in whole portions of FMF_PORTION. */
static inline void FN(share_of_portions)(int64_t n, int thread, int team, int64_t *from, int64_t *to) {
    const int64_t portions = (n + FMF_PORTION - 1) / FMF_PORTION;
    *from = portions * thread / team;
    *to = portions * (thread + 1) / team;
}

/* ---- features ---- */

/* z = M^-1 r, r z, and the sums of lambda z that the common step needs, by portions of features. */
static void FN(scale_residuals)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *growth = k->growth;
    const int64_t features = plan->set_ptr[1];
    int64_t from, to;
    FN(share_of_portions)(features, thread, team, &from, &to);
    for (int64_t n = from; n < to; n++) {
        const int64_t end = (n + 1) * FMF_PORTION < features ? (n + 1) * FMF_PORTION : features;
        double weight = 0.0, common[B] = {0};
        for (int64_t t = n * FMF_PORTION; t < end; t++) {
            const int64_t s = plan->order[t];
            const double l2 = k->l2 * (double)((const REAL *)k->strength)[s];
            const REAL *r = (const REAL *)b->residual + s * B, *m = (const REAL *)b->diagonal + s * B;
            REAL *z = (REAL *)b->scaled + s * B;
            for (int l = 0; l < B; l++) {
                z[l] = m[l] > 0 ? r[l] / m[l] : 0;
                weight += (double)r[l] * (double)z[l];
                common[l] += l2 * (double)(growth[l] * z[l]);
            }
        }
        b->weights[n] = weight;
        for (int l = 0; l < B; l++) b->feature_common[n * B + l] = common[l];
    }
}

/* The sums of lambda w, for the common step's gradient. */
static void FN(weigh_features)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *growth = k->growth;
    const int64_t features = plan->set_ptr[1], size = FN(block_size)(b, k->column);
    int64_t from, to;
    FN(share_of_portions)(features, thread, team, &from, &to);
    for (int64_t n = from; n < to; n++) {
        const int64_t end = (n + 1) * FMF_PORTION < features ? (n + 1) * FMF_PORTION : features;
        double common[B] = {0};
        for (int64_t t = n * FMF_PORTION; t < end; t++) {
            const int64_t s = plan->order[t];
            const double l2 = k->l2 * (double)((const REAL *)k->strength)[s];
            const REAL *w = (const REAL *)b->d.parameters + s * b->d.width + k->column;
            for (int l = 0; l < size; l++) common[l] += l2 * (double)(growth[l] * w[l]);
        }
        for (int l = 0; l < B; l++) b->feature_common[n * B + l] = common[l];
    }
}

/* The next direction p = z - common + keep p, and the penalty's slope and curvature along it. */
static void FN(turn_direction)(const fmf_block *b, const fmf_dimension *k, const REAL *common, REAL keep, int thread,
                               int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *growth = k->growth;
    const int64_t features = plan->set_ptr[1], size = FN(block_size)(b, k->column);
    int64_t from, to;
    FN(share_of_portions)(features, thread, team, &from, &to);
    for (int64_t n = from; n < to; n++) {
        const int64_t end = (n + 1) * FMF_PORTION < features ? (n + 1) * FMF_PORTION : features;
        double slope = 0.0, curvature = 0.0;
        for (int64_t t = n * FMF_PORTION; t < end; t++) {
            const int64_t s = plan->order[t];
            const REAL *z = (const REAL *)b->scaled + s * B;
            const REAL *w = (const REAL *)b->d.parameters + s * b->d.width + k->column;
            const REAL l2 = (REAL)k->l2 * ((const REAL *)k->strength)[s];
            REAL *p = (REAL *)b->direction + s * B;
            for (int l = 0; l < B; l++) p[l] = z[l] - common[l] + (keep > 0 ? keep * p[l] : 0);
            for (int l = 0; l < size; l++) {
                slope += (double)(l2 * growth[l]) * (double)w[l] * (double)p[l];
                curvature += (double)(l2 * growth[l]) * (double)p[l] * (double)p[l];
            }
        }
        b->feature_sums[2 * n] = slope;
        b->feature_sums[2 * n + 1] = curvature;
    }
}

/* w += length p, or w += common where p = NULL. */
static void FN(take_direction)(const fmf_block *b, const fmf_dimension *k, const REAL *p, REAL length, const REAL *common,
                               int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const int64_t features = plan->set_ptr[1], size = FN(block_size)(b, k->column);
    for (int64_t t = features * thread / team; t < features * (thread + 1) / team; t++) {
        const int64_t s = plan->order[t];
        REAL *w = (REAL *)b->d.parameters + s * b->d.width + k->column;
        for (int l = 0; l < size; l++) w[l] += p ? length * p[s * B + l] : common[l];
    }
}

/* ---- rows ---- */

/* The thread's portions of rows, shared out by non-zeros: which of them begin in its share. */
static inline int FN(owns_portion)(const fmf_features *X, int64_t portion, int thread, int team) {
    const int64_t total = X->row_ptr[X->rows], begin = X->row_ptr[portion * FMF_PORTION];
    return begin >= total * thread / team && (thread + 1 == team || begin < total * (thread + 1) / team);
}

#define EACH_PORTION(X, portion, first, end)                                                                          \
    for (int64_t portion = 0, first = 0, end; first < (X)->rows; portion++, first = end)                              \
        if (end = first + FMF_PORTION < (X)->rows ? first + FMF_PORTION : (X)->rows, FN(owns_portion)(X, portion, thread, team))

/* Sums of rho_i G_i and of rho_i^2 A_i. */
static void FN(weigh_rows)(const fmf_block *b, int thread, int team) {
    const REAL *rho = b->rho;
    EACH_PORTION(&b->d.features, portion, first, end) {
        double *sums = b->row_common + portion * (B + ROOM);
        memset(sums, 0, (B + ROOM) * sizeof *sums);
        for (int64_t i = first; i < end; i++) {
            const REAL *G = (const REAL *)b->G + i * B, *A = (const REAL *)b->A + i * ROOM, square = rho[i] * rho[i];
            for (int l = 0; l < B; l++) sums[l] += (double)(rho[i] * G[l]);
            for (int l = 0; l < ROOM; l++) sums[B + l] += (double)(square * A[l]);
        }
    }
}

/* Row i moves along the direction it was last shown. */
static inline void FN(move_row)(const fmf_block *b, int64_t i, REAL length) {
    REAL *G = (REAL *)b->G + i * B, *move = (REAL *)b->move + i * B;
    bvec g = FN(bload)(G), m = FN(bload)(move);
    FN(badd)(&g, length, FN(bload)((const REAL *)b->Au + i * B));
    FN(badd)(&m, length, FN(bload)((const REAL *)b->u + i * B));
    FN(bstore)(G, g);
    FN(bstore)(move, m);
}

/* Rows after the common step, and what features then see of them. */
static void FN(move_rows_in_common)(const fmf_block *b, const fmf_dimension *k, const REAL *common, int thread, int team) {
    const bvec c = FN(bload)(common);
    EACH_PORTION(&b->d.features, portion, first, end) {
        for (int64_t i = first; i < end; i++) {
            FN(bstore)((REAL *)b->u + i * B, c);
            FN(bstore)((REAL *)b->Au + i * B, FN(times)((const REAL *)b->A + i * ROOM, c));
            FN(move_row)(b, i, ((const REAL *)b->rho)[i]);
            FN(write_view)(b, k, i);
        }
    }
}

/* Rows first move by `before` along the direction before.  Then X z, kept in Au, and the sums of rho_i A_i (X z)_i. */
static void FN(embed_scaled)(const fmf_block *b, REAL before, int thread, int team) {
    const fmf_features *X = &b->d.features;
    const REAL *z = b->scaled, *value = X->row_value, *scale = X->row_scale, *rho = b->rho;
    EACH_PORTION(X, portion, first, end) {
        double *sums = b->row_common + portion * (B + ROOM);
        memset(sums, 0, B * sizeof *sums);
        for (int64_t i = first; i < end; i++) {
            REAL push[B];
            bvec u = {0}, moved = {0};
            if (before != 0) FN(move_row)(b, i, before);
            for (int64_t e = X->row_ptr[i] + (X->own[i] >= 0); e < X->row_ptr[i + 1]; e++) {
                FN(badd)(&u, value ? value[e] : 1, FN(bload)(z + (int64_t)X->row_index[e] * B));
            }
            FN(badd)(&moved, scale ? scale[i] : 1, u);
            FN(bstore)((REAL *)b->Au + i * B, moved);
            FN(bstore)(push, FN(times)((const REAL *)b->A + i * ROOM, moved));
            for (int l = 0; l < B; l++) sums[l] += (double)(rho[i] * push[l]);
        }
    }
}

/* u_i = (X p)_i for p = z - common + keep p, A_i u_i, and their part in the line search. */
static void FN(direction_rows)(const fmf_block *b, const REAL *common, REAL keep, int thread, int team) {
    const REAL *scale = b->d.features.row_scale, *rho = b->rho;
    const bvec c = FN(bload)(common);
    EACH_PORTION(&b->d.features, portion, first, end) {
        double slope = 0.0, curvature = 0.0;
        for (int64_t i = first; i < end; i++) {
            bvec u = FN(bload)((const REAL *)b->Au + i * B), push = {0};
            FN(badd)(&u, -rho[i], c);
            if (keep > 0) FN(badd)(&u, keep, FN(bload)((const REAL *)b->u + i * B));
            const bvec Au = FN(times)((const REAL *)b->A + i * ROOM, u);
            FN(badd)(&push, scale ? scale[i] : 1, Au);
            FN(bstore)((REAL *)b->u + i * B, u);
            FN(bstore)((REAL *)b->push + i * B, push);
            FN(bstore)((REAL *)b->Au + i * B, Au);
            slope += (double)FN(bdot)(u, FN(bload)((const REAL *)b->G + i * B));
            curvature += (double)FN(bdot)(u, Au);
        }
        b->row_sums[2 * portion] = slope;
        b->row_sums[2 * portion + 1] = curvature;
    }
}

#undef EACH_PORTION

/* ---- the whole step ---- */

/* Sums over portions of rows and of features, in order: every thread finds the same. */
static void FN(add_common)(const fmf_block *b, int64_t count, double *sums) {
    const int64_t rows = (b->d.features.rows + FMF_PORTION - 1) / FMF_PORTION;
    const int64_t features = (b->d.plan.set_ptr[1] + FMF_PORTION - 1) / FMF_PORTION;
    for (int64_t l = 0; l < count; l++) sums[l] = 0.0;
    for (int64_t n = 0; n < rows; n++) {
        for (int64_t l = 0; l < count; l++) sums[l] += b->row_common[n * (B + ROOM) + l];
    }
    for (int64_t n = 0; n < features; n++) {
        for (int64_t l = 0; l < B; l++) sums[l] += b->feature_common[n * B + l];
    }
}

/* x = K^-1 right for the first `size` numbers, zeros for the rest; zeros all where K is singular. */
static void FN(solve_common)(const double *K, int64_t size, const double *right, REAL *x) {
    double M[B][B + 1];
    for (int k = 0; k < B; k++) x[k] = 0;
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < B; k++) M[k][(k + r) % B] = M[(k + r) % B][k] = K[r * B + k];
    }
    for (int k = 0; k < size; k++) M[k][B] = right[k];
    for (int k = 0; k < size; k++) {
        if (!(M[k][k] > 1e-9 * K[k])) return;
        for (int r = k + 1; r < size; r++) {
            const double factor = M[r][k] / M[k][k];
            for (int l = k; l < size; l++) M[r][l] -= factor * M[k][l];
            M[r][B] -= factor * M[k][B];
        }
    }
    for (int64_t k = size - 1; k >= 0; k--) {
        for (int64_t l = k + 1; l < size; l++) M[k][B] -= M[k][l] * M[l][B];
        M[k][B] /= M[k][k];
    }
    for (int k = 0; k < size; k++) x[k] = (REAL)M[k][B];
}

/* The best length along a direction.  One that is all but common, c, before c is taken off is left with nothing but
   rounding, in which p and X p no longer belong together: it is not followed. */
static double FN(direction_length)(const fmf_block *b, double common_curvature) {
    const int64_t rows = b->d.features.rows, features = b->d.plan.set_ptr[1];
    const double least = sizeof(REAL) == 4 ? 1e-4 : 1e-12; /* about 1000 roundings */
    double slope = 0.0, curvature = 0.0;
    FN(add_portions)(b->row_sums, (rows + FMF_PORTION - 1) / FMF_PORTION, &slope, &curvature);
    FN(add_portions)(b->feature_sums, (features + FMF_PORTION - 1) / FMF_PORTION, &slope, &curvature);
    return curvature > least * least * common_curvature ? FN(best_length)(slope, curvature) : 0.0;
}

/* Takes the best common step; leaves K. */
static void FN(take_common_step)(const fmf_block *b, const fmf_dimension *k, double *K, int thread, int team) {
    const REAL *growth = k->growth;
    double sums[B + ROOM];
    REAL common[B];
    FN(weigh_features)(b, k, thread, team);
    FN(weigh_rows)(b, thread, team);
#pragma omp barrier
    FN(add_common)(b, B + ROOM, sums);
    for (int l = 0; l < ROOM; l++) K[l] = sums[B + l] + (l < B ? k->l2 * k->shared_strength * (double)growth[l] : 0.0);
    for (int l = 0; l < B; l++) sums[l] = -sums[l];
    FN(solve_common)(K, FN(block_size)(b, k->column), sums, common);
    FN(take_direction)(b, k, NULL, 0, common, thread, team);
    FN(move_rows_in_common)(b, k, common, thread, team);
#pragma omp barrier
}

static void FN(follow_directions)(const fmf_block *b, const fmf_dimension *dimension, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const int64_t rows = b->d.features.rows, portions = (plan->set_ptr[1] + FMF_PORTION - 1) / FMF_PORTION;
    const int cut = FN(has_cut)(plan, 0);
    fmf_dimension k = *dimension;
    double weight = 0.0, K[ROOM], sums[B];
    REAL common[B];
    FN(take_common_step)(b, &k, K, thread, team);
    for (int32_t step = 0; step < b->directions; step++) {
        if (step == 0) FN(view_feature_phase)(b, &k, 0, thread, team);
        else FN(push_feature_phase)(b, &k, 0, thread, team);
#pragma omp barrier
        if (cut) {
            if (thread == 0 && step == 0) FN(view_join_pieces)(b, &k, 0);
            if (thread == 0 && step > 0) FN(push_join_pieces)(b, &k, 0);
#pragma omp barrier
        }
        FN(scale_residuals)(b, &k, thread, team);
#pragma omp barrier
        FN(embed_scaled)(b, (REAL)k.length, thread, team);
#pragma omp barrier
        double now = 0.0;
        for (int64_t n = 0; n < portions; n++) now += b->weights[n];
        const REAL keep = weight > 0 ? (REAL)(now / weight) : 0;
        weight = now;
        FN(add_common)(b, B, sums);
        FN(solve_common)(K, FN(block_size)(b, k.column), sums, common);
        FN(turn_direction)(b, &k, common, keep, thread, team);
        FN(direction_rows)(b, common, keep, thread, team);
#pragma omp barrier
        double common_curvature = 0.0; /* c K c */
        for (int l = 0; l < B; l++) common_curvature += sums[l] * (double)common[l];
        k.length = FN(direction_length)(b, common_curvature);
        FN(take_direction)(b, &k, b->direction, (REAL)k.length, NULL, thread, team);
    }
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) FN(move_row)(b, i, (REAL)k.length);
}
