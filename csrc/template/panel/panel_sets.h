/* panel/panel_sets.h -- the step of shared features set after set, as in Algorithm 3: T with the separable bound on the diagonal of
   A and an exact line search for the whole set; or, where the penalty is more than squares, T with the bound on the rows of |A|,
   which needs none and leaves exact zeros. */

static inline void set_column_piece(const panel *o, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &o->side->features;
    const int64_t at = X->col_ptr[s] + skip, n = smaller(X->col_ptr[s + 1] - at, FMF_CUT);
    const int32_t *row = X->col_index + at;
    const REAL *x = (const REAL *)X->col_value + at, *conflict = (const REAL *)o->sets.plan->conflict + at;
    const REAL *view = o->scratch->view;
    pvec gradient = {0}, curvature = {0};
    for (int64_t t = 0; t < n; t++) {
        const REAL *line = view + (int64_t)row[t] * 2 * PANEL;
        padd(&gradient, x[t], pload(line));
        padd(&curvature, conflict[t], pload(line + PANEL));
    }
    pstore(sums, gradient);
    pstore(sums + PANEL, curvature);
}

/* A feature's steps, and what its penalty adds to the line search; or, where T is a plugin's, sums are kept for a batch. */
static inline void set_settle(const panel *o, int64_t s, int64_t place, const REAL *sums) {
    if (o->penalty->native) {
        keep_sums(o, place, sums);
        return;
    }
    const REAL *w = parameters_of(o, s), strength = ((const REAL *)o->penalty->strength)[s];
    const REAL *growth = panel_growth(o, s);
    const REAL l1 = (REAL)o->penalty->l1 * strength, l2 = (REAL)o->penalty->l2 * strength;
    REAL *delta = row_of(o->scratch->delta, place), mine[PANEL];
    double first = 0.0, second = 0.0;
    for (int l = 0; l < PANEL; l++) mine[l] = l < o->size ? w[l] : 0;
    for (int n = 0; n < PANEL; n += LANES) {
        const vec grown = load(growth + n);
        store(delta + n, elastic_net_lanes(load(sums + n), load(sums + PANEL + n), load(mine + n), l1 * grown, l2 * grown));
    }
    for (int l = 0; l < PANEL; l++) {
        if (l >= o->size) delta[l] = 0;
        first += (double)(growth[l] * mine[l] * delta[l]);
        second += (double)(growth[l] * delta[l] * delta[l]);
    }
    o->scratch->feature_sums[2 * place] = (double)l2 * first;
    o->scratch->feature_sums[2 * place + 1] = (double)l2 * second;
}

static inline void set_fetch(const panel *o, int64_t s) {
    const fmf_features *X = &o->side->features;
    __builtin_prefetch(X->col_index + X->col_ptr[s]);
    __builtin_prefetch((const REAL *)X->col_value + X->col_ptr[s]);
    __builtin_prefetch((const REAL *)o->sets.plan->conflict + X->col_ptr[s]);
    __builtin_prefetch(parameters_of(o, s), 1);
}

#define CONTEXT panel
#define PARTIAL(c) ((REAL *)(c)->scratch->partial)
#define PHASE(name) set_##name
#define SUMS (2 * PANEL)
#include "template/feature_phase.inc.h"
#undef CONTEXT
#undef PARTIAL
#undef PHASE
#undef SUMS

static inline int64_t set_runs(const sweep *o) { return o->plan->set_run[o->set + 1] - o->plan->set_run[o->set]; }

/* The portions of the features of a set, and of the rows that it touches. */
static int64_t set_feature_portions(const sweep *o) { return portions_of(set_features_count(o), FMF_PORTION); }

static int64_t run_portions(const sweep *o) { return portions_of(set_runs(o), FMF_PORTION); }

/* Those of its features, then those of its rows. */
static int64_t feature_and_run_portions(const sweep *o) { return set_feature_portions(o) + run_portions(o); }

static inline range runs_of_portion(const sweep *o, int64_t p) {
    const range some = portion(set_runs(o), FMF_PORTION, p);
    return (range){o->plan->set_run[o->set] + some.from, o->plan->set_run[o->set] + some.to};
}

/* u_i of a row that the set touches. */
static inline pvec set_row(const panel *o, int64_t run) {
    const fmf_plan *plan = o->sets.plan;
    const REAL *delta = o->scratch->delta, *value = plan->entry_value;
    pvec u = {0};
    for (int64_t e = plan->run_ptr[run]; e < plan->run_ptr[run + 1]; e++) {
        padd(&u, value[e], pload(delta + (int64_t)plan->entry_place[e] * PANEL));
    }
    return u;
}

/* u_i and A_i u_i of rows, and their part in the line search. */
static void set_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = runs_of_portion(&o->sets, p);
    double slope = 0.0, curvature = 0.0;
    (void)thread;
    for (int64_t run = some.from; run < some.to; run++) {
        const int64_t i = o->sets.plan->run_row[run];
        const pvec u = set_row(o, run), Au = times(matrix_of(o->scratch->A, i), u);
        pstore(row_of(o->scratch->u, i), u);
        pstore(row_of(o->scratch->Au, i), Au);
        slope += (double)pdot(u, pload(row_of(o->scratch->G, i)));
        curvature += (double)pdot(u, Au);
    }
    o->scratch->row_sums[2 * p] = slope;
    o->scratch->row_sums[2 * p + 1] = curvature;
}

/* The length of a set's step. */
static void set_length(void *context) {
    const panel *o = context;
    double slope = 0.0, curvature = 0.0;
    add_portions(o->scratch->row_sums, run_portions(&o->sets), &slope, &curvature);
    add_portions(o->scratch->feature_sums, set_features_count(&o->sets), &slope, &curvature);
    o->found->length = best_length(slope, curvature);
}

static void set_move_features(const panel *o, int64_t p, REAL length) {
    const sweep *sets = &o->sets;
    const range some = portion(set_features_count(sets), FMF_PORTION, p);
    for (int64_t n = some.from; n < some.to; n++) {
        REAL *w = parameters_of(o, sets->plan->order[sets->plan->set_ptr[sets->set] + n]);
        for (int l = 0; l < o->size; l++) w[l] += length * ((const REAL *)o->scratch->delta)[n * PANEL + l];
    }
}

/* Features and rows move by the length that was found. */
static void set_move_searched(void *context, int64_t p, int thread) {
    const panel *o = context;
    const REAL length = (REAL)o->found->length;
    const int64_t features = set_feature_portions(&o->sets);
    (void)thread;
    if (p < features) {
        set_move_features(o, p, length);
        return;
    }
    const range some = runs_of_portion(&o->sets, p - features);
    for (int64_t run = some.from; run < some.to; run++) {
        const int64_t i = o->sets.plan->run_row[run];
        move_row(o, i, length);
        pstore(row_of(o->scratch->view, 2 * i), pload(row_of(o->scratch->G, i)));
    }
}

/* Features and rows take the whole step. */
static void set_move(void *context, int64_t p, int thread) {
    const panel *o = context;
    const int64_t features = set_feature_portions(&o->sets);
    (void)thread;
    if (p < features) {
        set_move_features(o, p, 1);
        return;
    }
    const range some = runs_of_portion(&o->sets, p - features);
    for (int64_t run = some.from; run < some.to; run++) {
        const int64_t i = o->sets.plan->run_row[run];
        const pvec u = set_row(o, run);
        pvec G = pload(row_of(o->scratch->G, i)), move = pload(row_of(o->scratch->move, i));
        padd(&G, 1, times(matrix_of(o->scratch->A, i), u));
        padd(&move, 1, u);
        pstore(row_of(o->scratch->G, i), G);
        pstore(row_of(o->scratch->move, i), move);
        pstore(row_of(o->scratch->view, 2 * i), G);
    }
}

/* A set's step where the penalty is squares: its length is searched. */
static const set_step searched_steps[] = {
    {entry_portions, set_features, set_join_pieces},
    {run_portions, set_rows, set_length},
    {feature_and_run_portions, set_move_searched, NULL},
    {NULL, NULL, NULL},
};

/* Any other: the whole step holds. */
static const set_step whole_steps[] = {
    {entry_portions, set_features, set_join_pieces},
    {asked_portions, ask_set, NULL},
    {feature_and_run_portions, set_move, NULL},
    {NULL, NULL, NULL},
};

static void sweep_panel(fmf_worker *me, panel *o) {
    o->sets.steps = is_smooth(o->penalty) ? searched_steps : whole_steps;
    sweep_sets(me, o);
}

/* Rows' own features follow: all of them at once, if T is in Python. */
static int64_t own_portion(const panel *o) { return asks_python(o->penalty) ? o->penalty->batch : FMF_PORTION; }

static void own_steps(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(o->side->features.rows, own_portion(o), p);
    (void)thread;
    if (asks_python(o->penalty)) ask_own(o, some);
    else own_steps_of(o, some);
}
