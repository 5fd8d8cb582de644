/* paper/dimension_sweep.h -- the loop over the features of one dimension.  Algorithm 3: for each set S, every feature's sums
   (features), its step under the separable bound (T, with them where it is the elastic net's), then
   G_i += H_i sum_s x_is delta_s (rows).  Algorithm 2: feature by feature. */

/* Sums of G_i x_is and H_i w_is over part of a column; w = NULL stands for x^2. */
static inline void piece_sums(const int32_t *row, const REAL *x, const REAL *w, int64_t n, const REAL *GH, REAL *sums) {
    vec xs = {0}, ys = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec G, H;
        for (int l = 0; l < LANES; l++) {
            const REAL *at = GH + 2 * (int64_t)row[t + l];
            G[l] = at[0];
            H[l] = at[1];
        }
        const vec value = load(x + t);
        const vec bound = w ? load(w + t) : value * value;
        xs += G * value;
        ys += H * bound;
    }
    for (int l = 0; t < n; t++, l++) {
        const REAL *at = GH + 2 * (int64_t)row[t];
        const REAL bound = w ? w[t] : x[t] * x[t];
        xs[l] += at[0] * x[t];
        ys[l] += at[1] * bound;
    }
    sums[0] = add_lanes(xs);
    sums[1] = add_lanes(ys);
}

/* The piece of feature s that begins `skip` non-zeros into its column. */
static inline void piece_of_column(const dimension *o, const REAL *w, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, left = X->col_ptr[s + 1] - at;
    piece_sums(X->col_index + at, (const REAL *)X->col_value + at, w ? w + at : NULL, smaller(left, FMF_CUT), o->scratch->GH,
               sums);
}

static inline void dimension_column_piece(const dimension *o, int64_t s, int64_t skip, REAL *sums) {
    piece_of_column(o, o->sets.plan->conflict, s, skip, sums);
}

/* What becomes of a feature's sums: its step, or, where T is a plugin's, they are kept for a batch. */
static inline void dimension_settle(const dimension *o, int64_t s, int64_t place, const REAL *sums) {
    if (o->penalty->native) {
        ((REAL *)o->scratch->x)[place] = sums[0];
        ((REAL *)o->scratch->y)[place] = sums[1];
    } else {
        ((REAL *)o->scratch->delta)[place] = take_step(o, s, sums[0], sums[1]);
    }
}

/* Columns lie anywhere: have one's first lines fetched while others are summed. */
static inline void dimension_fetch(const dimension *o, int64_t s) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s];
    __builtin_prefetch(X->col_index + at);
    __builtin_prefetch((const REAL *)X->col_value + at);
    __builtin_prefetch((const REAL *)o->sets.plan->conflict + at);
    __builtin_prefetch(parameter(o, s), 1);
}

#define PHASE(name) dimension_##name
#define CONTEXT dimension
#define PARTIAL(c) ((REAL *)(c)->scratch->partial)
#define SUMS 2
#include "template/feature_phase.inc.h"
#undef PHASE
#undef CONTEXT
#undef PARTIAL
#undef SUMS

/* The batches in which a plugin's T is asked for a set's steps. */
static int64_t T_portions(const sweep *sets) {
    const dimension *o = (const dimension *)sets;
    const int64_t features = sets->plan->set_ptr[sets->set + 1] - sets->plan->set_ptr[sets->set];
    return o->penalty->native ? portions_of(features, o->penalty->batch) : 0;
}

static void dimension_T(void *context, int64_t p, int thread) {
    const dimension *o = context;
    const fmf_dimension *scratch = o->scratch;
    const fmf_plan *plan = o->sets.plan;
    const int64_t first = plan->set_ptr[o->sets.set], features = plan->set_ptr[o->sets.set + 1] - first;
    const range some = portion(features, o->penalty->batch, p);
    REAL *w = scratch->w, *strength = scratch->strength, *delta = scratch->delta;
    (void)thread;
    for (int64_t n = some.from; n < some.to; n++) {
        w[n] = *parameter(o, plan->order[first + n]);
        strength[n] = strength_of(o, plan->order[first + n]);
    }
    const int64_t at = some.from;
    table_T(o->penalty, (const REAL *)scratch->x + at, (const REAL *)scratch->y + at, w + at, strength + at, delta + at,
            some.to - at);
    for (int64_t n = some.from; n < some.to; n++) *parameter(o, plan->order[first + n]) += delta[n];
}

/* Where a portion of a set's entries begins: a row has one owner. */
static int64_t first_entry(const fmf_plan *plan, int64_t S, int64_t at) {
    const int64_t begin = set_start(plan, S), end = set_start(plan, S + 1);
    int64_t e = smaller(begin + at, end);
    while (e > begin && e < end && plan->entry_row[e] == plan->entry_row[e - 1]) e++;
    return e;
}

/* A portion of the rows that the set touches. */
static void dimension_rows(void *context, int64_t p, int thread) {
    const dimension *o = context;
    const fmf_plan *plan = o->sets.plan;
    const int64_t size = entries_at_once(&o->sets), to = first_entry(plan, o->sets.set, (p + 1) * size);
    const int32_t *row = plan->entry_row, *place = plan->entry_place;
    const REAL *value = plan->entry_value, *delta = o->scratch->delta;
    REAL *GH = o->scratch->GH, *step = o->scratch->step;
    (void)thread;
    for (int64_t e = first_entry(plan, o->sets.set, p * size); e < to; e++) {
        const REAL moved = value[e] * delta[place[e]];
        const int64_t i = row[e];
        GH[2 * i] += GH[2 * i + 1] * moved;
        step[i] += moved;
    }
}

static const set_step dimension_steps[] = {
    {entry_portions, dimension_features, dimension_join_pieces},
    {T_portions, dimension_T, NULL},
    {entry_portions, dimension_rows, NULL},
    {NULL, NULL, NULL},
};

/* Algorithm 2's sweep: G is brought up to date after every feature. */
static void sweep_singly(void *context, int64_t p, int thread) {
    const dimension *o = context;
    const fmf_features *X = &o->side->features;
    const REAL *value = X->col_value;
    REAL *GH = o->scratch->GH, *step = o->scratch->step;
    (void)p, (void)thread;
    for (int64_t s = 0; s < X->cols; s++) {
        const int64_t n = X->col_ptr[s + 1] - X->col_ptr[s];
        REAL sums[2];
        piece_of_column(o, NULL, s, 0, sums);
        for (int64_t skip = FMF_CUT; skip < n; skip += FMF_CUT) {
            REAL more[2];
            piece_of_column(o, NULL, s, skip, more);
            sums[0] += more[0];
            sums[1] += more[1];
        }
        const REAL delta = take_step(o, s, sums[0], sums[1]);
        for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
            const REAL moved = value[e] * delta;
            const int64_t i = X->col_index[e];
            GH[2 * i] += GH[2 * i + 1] * moved;
            step[i] += moved;
        }
    }
}
