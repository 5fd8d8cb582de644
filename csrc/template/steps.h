/* steps.h -- the step of shared features set after set, as in Algorithm 3: T with the separable bound on the diagonal of A and
   an exact line search for the whole set; or, with l1 > 0, T with the bound on the rows of |A|, which needs none and leaves
   exact zeros. */

static inline void FN(block_column_piece)(const fmf_block *b, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &b->d.features;
    const int64_t at = X->col_ptr[s] + skip, left = X->col_ptr[s + 1] - at, n = left < FMF_CUT ? left : FMF_CUT;
    const int32_t *row = X->col_index + at;
    const REAL *x = (const REAL *)X->col_value + at, *conflict = (const REAL *)b->d.plan.conflict + at;
    const REAL *view = b->view;
    bvec gradient = {0}, curvature = {0};
    for (int64_t t = 0; t < n; t++) {
        const REAL *line = view + (int64_t)row[t] * 2 * B;
        FN(badd)(&gradient, x[t], FN(bload)(line));
        FN(badd)(&curvature, conflict[t], FN(bload)(line + B));
    }
    FN(bstore)(sums, gradient);
    FN(bstore)(sums + B, curvature);
}

/* A feature's steps, and what its penalty adds to the line search. */
static inline void FN(block_settle)(const fmf_block *b, const fmf_dimension *k, int64_t s, int64_t place, const REAL *sums) {
    const REAL *w = (const REAL *)b->d.parameters + s * b->d.width + k->column;
    const REAL strength = ((const REAL *)k->strength)[s], *growth = k->growth;
    const REAL l1 = (REAL)k->l1 * strength, l2 = (REAL)k->l2 * strength;
    REAL *delta = (REAL *)b->d.delta + place * B;
    const int64_t size = FN(block_size)(b, k->column);
    double first = 0.0, second = 0.0;
    for (int l = 0; l < B; l++) {
        delta[l] = 0;
        if (l >= size) continue;
        delta[l] = FN(elastic_net_T)(sums[l], sums[B + l], w[l], l1 * growth[l], l2 * growth[l]);
        first += (double)(growth[l] * w[l] * delta[l]);
        second += (double)(growth[l] * delta[l] * delta[l]);
    }
    b->feature_sums[2 * place] = (double)l2 * first;
    b->feature_sums[2 * place + 1] = (double)l2 * second;
}

static inline void FN(block_fetch)(const fmf_block *b, const fmf_dimension *k, int64_t s) { FN(fetch)(&b->d, k, s); }

#define PHASE(name) FN(block_##name)
#define CONTEXT fmf_block
#define PLAN(c) (&(c)->d.plan)
#define SCRATCH(c) ((REAL *)(c)->d.partial)
#define SUMS (2 * B)
#include "sets.h"
#undef PHASE
#undef CONTEXT
#undef PLAN
#undef SCRATCH
#undef SUMS

/* The thread's share of a set's runs, in whole portions of FMF_PORTION. */
static inline void FN(share_of_runs)(const fmf_plan *plan, int64_t S, int thread, int team, int64_t *from, int64_t *to) {
    const int64_t portions = (plan->set_run[S + 1] - plan->set_run[S] + FMF_PORTION - 1) / FMF_PORTION;
    *from = portions * thread / team;
    *to = portions * (thread + 1) / team;
}

/* u_i and A_i u_i of the rows that set S touches, and their part in the line search. */
static void FN(block_row_phase)(const fmf_block *b, int64_t S, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *delta = b->d.delta, *value = plan->entry_value, *G = b->G, *A = b->A;
    REAL *U = b->u, *AU = b->Au;
    int64_t from, to;
    FN(share_of_runs)(plan, S, thread, team, &from, &to);
    for (int64_t portion = from; portion < to; portion++) {
        const int64_t begin = plan->set_run[S] + portion * FMF_PORTION;
        const int64_t end = begin + FMF_PORTION < plan->set_run[S + 1] ? begin + FMF_PORTION : plan->set_run[S + 1];
        double slope = 0.0, curvature = 0.0;
        for (int64_t run = begin; run < end; run++) {
            const int64_t i = plan->run_row[run];
            bvec u = {0};
            for (int64_t e = plan->run_ptr[run]; e < plan->run_ptr[run + 1]; e++) {
                FN(badd)(&u, value[e], FN(bload)(delta + (int64_t)plan->entry_place[e] * B));
            }
            FN(bstore)(U + i * B, u);
            const bvec Au = FN(times)(A + i * ROOM, u);
            FN(bstore)(AU + i * B, Au);
            slope += (double)FN(bdot)(u, FN(bload)(G + i * B));
            curvature += (double)FN(bdot)(u, Au);
        }
        b->row_sums[2 * portion] = slope;
        b->row_sums[2 * portion + 1] = curvature;
    }
}

/* The length of a set's step; 1 where steps hold without a line search. */
static double FN(set_length)(const fmf_block *b, const fmf_dimension *k, int64_t S) {
    const fmf_plan *plan = &b->d.plan;
    double slope = 0.0, curvature = 0.0;
    if (k->l1 > 0) return 1.0;
    FN(add_portions)(b->row_sums, (plan->set_run[S + 1] - plan->set_run[S] + FMF_PORTION - 1) / FMF_PORTION, &slope, &curvature);
    FN(add_portions)(b->feature_sums, plan->set_ptr[S + 1] - plan->set_ptr[S], &slope, &curvature);
    return FN(best_length)(slope, curvature);
}

static void FN(block_apply)(const fmf_block *b, const fmf_dimension *k, int64_t S, REAL t, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *delta = b->d.delta;
    REAL *P = b->d.parameters;
    const int64_t first = plan->set_ptr[S], features = plan->set_ptr[S + 1] - first;
    const int64_t size = FN(block_size)(b, k->column);
    int64_t from, to;
    for (int64_t n = features * thread / team; n < features * (thread + 1) / team; n++) {
        REAL *w = P + plan->order[first + n] * b->d.width + k->column;
        for (int l = 0; l < size; l++) w[l] += t * delta[n * B + l];
    }
    FN(share_of_runs)(plan, S, thread, team, &from, &to);
    const int64_t end = plan->set_run[S] + to * FMF_PORTION < plan->set_run[S + 1] ? plan->set_run[S] + to * FMF_PORTION
                                                                                : plan->set_run[S + 1];
    for (int64_t run = plan->set_run[S] + from * FMF_PORTION; run < end; run++) {
        const int64_t i = plan->run_row[run];
        FN(move_row)(b, i, t);
        FN(bstore)((REAL *)b->view + i * 2 * B, FN(bload)((const REAL *)b->G + i * B));
    }
}

static void FN(block_sweep)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    int alone = 0; /* the sets before were the first thread's */
    for (int64_t S = 0; S < plan->sets; S++) {
        const int64_t size = plan->start[plan->set_ptr[S + 1]] - plan->start[plan->set_ptr[S]];
        const int cut = FN(has_cut)(plan, S);
        if (size * B < FMF_SMALL_SET || team == 1) {
            if (thread == 0) {
                FN(block_feature_phase)(b, k, S, 0, 1);
                if (cut) FN(block_join_pieces)(b, k, S);
                FN(block_row_phase)(b, S, 0, 1);
                FN(block_apply)(b, k, S, (REAL)FN(set_length)(b, k, S), 0, 1);
            }
            alone = 1;
            continue;
        }
        if (alone) {
#pragma omp barrier
            alone = 0;
        }
        FN(block_feature_phase)(b, k, S, thread, team);
#pragma omp barrier
        if (cut) {
            if (thread == 0) FN(block_join_pieces)(b, k, S);
#pragma omp barrier
        }
        FN(block_row_phase)(b, S, thread, team);
#pragma omp barrier
        FN(block_apply)(b, k, S, (REAL)FN(set_length)(b, k, S), thread, team);
#pragma omp barrier
    }
}
