/* sweep.h -- the loop over features of one dimension.  Algorithm 3: for each set S, every feature's step from G, H and the
   separable bound (feature phase), then G_i += H_i sum_s x_is delta_s (row phase).  Algorithm 2: feature by feature. */

/* Sums of G_i x_is and H_i w_is over part of a column; w = NULL stands for x^2. */
static inline void FN(piece_sums)(const int32_t *row, const REAL *x, const REAL *w, int64_t n, const REAL *GH, REAL *X,
                                  REAL *Y) {
    vec xs = {0}, ys = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec G, H;
        for (int l = 0; l < LANES; l++) {
            const REAL *at = GH + 2 * (int64_t)row[t + l];
            G[l] = at[0];
            H[l] = at[1];
        }
        const vec value = FN(load)(x + t);
        const vec bound = w ? FN(load)(w + t) : value * value;
        xs += G * value;
        ys += H * bound;
    }
    for (int l = 0; t < n; t++, l++) {
        const REAL *at = GH + 2 * (int64_t)row[t];
        const REAL bound = w ? w[t] : x[t] * x[t];
        xs[l] += at[0] * x[t];
        ys[l] += at[1] * bound;
    }
    *X = FN(add_lanes)(xs);
    *Y = FN(add_lanes)(ys);
}

/* The piece of feature s that begins `skip` non-zeros into its column. */
static inline void FN(column_piece_with)(const fmf_descent *d, const REAL *w, int64_t s, int64_t skip, REAL *sums) {
    const int64_t at = d->features.col_ptr[s] + skip, left = d->features.col_ptr[s + 1] - at;
    FN(piece_sums)(d->features.col_index + at, (const REAL *)d->features.col_value + at, w ? w + at : NULL,
                   left < FMF_CUT ? left : FMF_CUT, d->GH, sums, sums + 1);
}

static inline void FN(column_piece)(const fmf_descent *d, int64_t s, int64_t skip, REAL *sums) {
    FN(column_piece_with)(d, d->plan.conflict, s, skip, sums);
}

/* A whole column's sums, pieces added in order. */
static inline void FN(column_sums)(const fmf_descent *d, const REAL *w, int64_t s, REAL *sums) {
    const int64_t n = d->features.col_ptr[s + 1] - d->features.col_ptr[s];
    FN(column_piece_with)(d, w, s, 0, sums);
    for (int64_t skip = FMF_CUT; skip < n; skip += FMF_CUT) {
        REAL more[2];
        FN(column_piece_with)(d, w, s, skip, more);
        sums[0] += more[0];
        sums[1] += more[1];
    }
}

/* The step of feature s, taken. */
static inline REAL FN(take_step)(const fmf_descent *d, const fmf_dimension *k, int64_t s, REAL X, REAL Y) {
    REAL *w = (REAL *)d->parameters + s * d->width + k->column;
    const REAL strength = *(const REAL *)k->growth * ((const REAL *)k->strength)[s];
    REAL delta;
    if (k->native) {
        ((const fmfkit_regularizer *)k->native)->FN(T)(&X, &Y, w, &strength, &delta, 1, k->params);
    } else {
        delta = FN(elastic_net_T)(X, Y, *w, (REAL)k->l1 * strength, (REAL)k->l2 * strength);
    }
    *w += delta;
    return delta;
}

/* What becomes of a feature's sums: its step, or, where T is Python's, they are kept. */
static inline void FN(settle)(const fmf_descent *d, const fmf_dimension *k, int64_t s, int64_t place, const REAL *sums) {
    if (k) {
        ((REAL *)d->delta)[place] = FN(take_step)(d, k, s, sums[0], sums[1]);
    } else {
        ((REAL *)d->sums)[2 * place] = sums[0];
        ((REAL *)d->sums)[2 * place + 1] = sums[1];
    }
}

/* Columns lie anywhere: have one's first lines fetched while others are summed. */
static inline void FN(fetch)(const fmf_descent *d, const fmf_dimension *k, int64_t s) {
    const int64_t at = d->features.col_ptr[s];
    __builtin_prefetch(d->features.col_index + at);
    __builtin_prefetch((const REAL *)d->features.col_value + at);
    __builtin_prefetch((const REAL *)d->plan.conflict + at);
    if (k) __builtin_prefetch((const REAL *)d->parameters + s * d->width + k->column, 1);
}

#define PHASE(name) FN(name)
#define CONTEXT fmf_descent
#define PLAN(c) (&(c)->plan)
#define SCRATCH(c) ((REAL *)(c)->partial)
#define SUMS 2
#include "sets.h"
#undef PHASE
#undef CONTEXT
#undef PLAN
#undef SCRATCH
#undef SUMS

/* The thread's share of the rows that set S touches. */
static void FN(row_phase)(const fmf_descent *d, int64_t S, int thread, int team) {
    const fmf_plan *plan = &d->plan;
    const int32_t *row = plan->entry_row, *place = plan->entry_place;
    const REAL *value = plan->entry_value, *delta = d->delta;
    REAL *GH = d->GH, *step = d->step;
    const int64_t begin = plan->start[plan->set_ptr[S]], end = plan->start[plan->set_ptr[S + 1]];
    int64_t from = begin + (end - begin) * thread / team, to = begin + (end - begin) * (thread + 1) / team;
    while (from > begin && from < end && row[from] == row[from - 1]) from++; /* a row has one owner */
    while (to > begin && to < end && row[to] == row[to - 1]) to++;
    for (int64_t e = from; e < to; e++) {
        const REAL moved = value[e] * delta[place[e]];
        const int64_t i = row[e];
        GH[2 * i] += GH[2 * i + 1] * moved;
        step[i] += moved;
    }
}

static int FN(has_cut)(const fmf_plan *plan, int64_t S) { return plan->cut[plan->set_ptr[S + 1]] > plan->cut[plan->set_ptr[S]]; }

/* Algorithm 3's sweep, as each thread of a team runs it.  Small sets are left to the first thread, which then needs no
   barrier within them. */
static void FN(sweep_sets)(const fmf_descent *d, const fmf_dimension *k, int thread, int team) {
    const fmf_plan *plan = &d->plan;
    int alone = 0; /* the sets before were the first thread's */
    for (int64_t S = 0; S < plan->sets; S++) {
        const int64_t size = plan->start[plan->set_ptr[S + 1]] - plan->start[plan->set_ptr[S]];
        if (size < FMF_SMALL_SET || team == 1) {
            if (thread == 0) {
                FN(feature_phase)(d, k, S, 0, 1);
                if (FN(has_cut)(plan, S)) FN(join_pieces)(d, k, S);
                FN(row_phase)(d, S, 0, 1);
            }
            alone = 1;
            continue;
        }
        if (alone) {
#pragma omp barrier
            alone = 0;
        }
        FN(feature_phase)(d, k, S, thread, team);
#pragma omp barrier
        if (FN(has_cut)(plan, S)) {
            if (thread == 0) FN(join_pieces)(d, k, S);
#pragma omp barrier
        }
        FN(row_phase)(d, S, thread, team);
#pragma omp barrier
    }
}

/* Algorithm 2's sweep: G is brought up to date after every feature. */
static void FN(sweep_singly)(const fmf_descent *d, const fmf_dimension *k) {
    const fmf_features *X = &d->features;
    const REAL *value = X->col_value;
    REAL *GH = d->GH, *step = d->step;
    for (int64_t s = 0; s < X->cols; s++) {
        REAL sums[2];
        FN(column_sums)(d, NULL, s, sums);
        const REAL delta = FN(take_step)(d, k, s, sums[0], sums[1]);
        for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
            const REAL moved = value[e] * delta;
            const int64_t i = X->col_index[e];
            GH[2 * i] += GH[2 * i + 1] * moved;
            step[i] += moved;
        }
    }
}

/* eta_s = sum_i H_i x_is^2 / sum_i H_i |x_is| C_i: how much of a lone step the bound leaves; 1 where nothing conflicts. */
static void FN(measure_eta)(const fmf_descent *d, int thread, int team) {
    const fmf_plan *plan = &d->plan;
    REAL *eta = d->eta;
    int64_t from, to;
    share_by_total(plan->start, plan->set_ptr[plan->sets], thread, team, &from, &to);
    for (int64_t t = from; t < to; t++) {
        const int64_t s = plan->order[t];
        REAL alone[2], bounded[2];
        FN(column_sums)(d, NULL, s, alone);
        FN(column_sums)(d, plan->conflict, s, bounded);
        eta[s] = bounded[1] > 0 ? alone[1] / bounded[1] : 1;
    }
}

static void FN(measure)(const fmf_descent *d, int32_t threads) {
#pragma omp parallel num_threads(threads)
    FN(measure_eta)(d, FMF_THREAD, FMF_TEAM);
}

static void FN(sweep_with)(const fmf_descent *d, const fmf_dimension *k, int thread, int team) {
    if (d->plan.sets) {
        FN(sweep_sets)(d, k, thread, team);
    } else if (thread == 0) {
        FN(sweep_singly)(d, k);
    }
}

static void FN(sweep)(const fmf_descent *d, const fmf_dimension *k, int32_t threads) {
#pragma omp parallel num_threads(threads)
    FN(sweep_with)(d, k, FMF_THREAD, FMF_TEAM);
}

/* For a regularizer in Python: the sums of set S, and the rows' part once its steps stand in delta. */
static void FN(set_sums)(const fmf_descent *d, int64_t S, int32_t threads) {
#pragma omp parallel num_threads(threads)
    FN(feature_phase)(d, NULL, S, FMF_THREAD, FMF_TEAM);
    if (FN(has_cut)(&d->plan, S)) FN(join_pieces)(d, NULL, S);
}

static void FN(set_apply)(const fmf_descent *d, int64_t S, int32_t threads) {
#pragma omp parallel num_threads(threads)
    FN(row_phase)(d, S, FMF_THREAD, FMF_TEAM);
}
