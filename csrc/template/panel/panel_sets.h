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
    REAL *delta = row_of(o->scratch->delta, place);
    double first = 0.0, second = 0.0;
    for (int l = 0; l < PANEL; l++) {
        delta[l] = 0;
        if (l >= o->size) continue;
        delta[l] = elastic_net_T(sums[l], sums[PANEL + l], w[l], l1 * growth[l], l2 * growth[l]);
        first += (double)(growth[l] * w[l] * delta[l]);
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

/* The portions of the rows that a set touches. */
static int64_t run_portions(const sweep *o) { return portions_of(set_runs(o), FMF_PORTION); }

/* Those of its features, then those of its rows. */
static int64_t feature_and_run_portions(const sweep *o) {
    return portions_of(set_features_count(o), FMF_PORTION) + run_portions(o);
}

static inline range runs_of_portion(const sweep *o, int64_t p) {
    const range some = portion(set_runs(o), FMF_PORTION, p);
    return (range){o->plan->set_run[o->set] + some.from, o->plan->set_run[o->set] + some.to};
}

/* u_i and A_i u_i of the rows that the set touches, and their part in the line search. */
static void set_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const fmf_plan *plan = o->sets.plan;
    const REAL *delta = o->scratch->delta, *value = plan->entry_value;
    const range some = runs_of_portion(&o->sets, p);
    double slope = 0.0, curvature = 0.0;
    (void)thread;
    for (int64_t run = some.from; run < some.to; run++) {
        const int64_t i = plan->run_row[run];
        pvec u = {0};
        for (int64_t e = plan->run_ptr[run]; e < plan->run_ptr[run + 1]; e++) {
            padd(&u, value[e], pload(delta + (int64_t)plan->entry_place[e] * PANEL));
        }
        pstore(row_of(o->scratch->u, i), u);
        const pvec Au = times(matrix_of(o->scratch->A, i), u);
        pstore(row_of(o->scratch->Au, i), Au);
        slope += (double)pdot(u, pload(row_of(o->scratch->G, i)));
        curvature += (double)pdot(u, Au);
    }
    o->scratch->row_sums[2 * p] = slope;
    o->scratch->row_sums[2 * p + 1] = curvature;
}

/* The length of a set's step; 1 where steps hold without a line search. */
static void set_length(void *context) {
    const panel *o = context;
    double slope = 0.0, curvature = 0.0;
    o->found->length = 1.0;
    if (!is_smooth(o->penalty)) return;
    add_portions(o->scratch->row_sums, run_portions(&o->sets), &slope, &curvature);
    add_portions(o->scratch->feature_sums, set_features_count(&o->sets), &slope, &curvature);
    o->found->length = best_length(slope, curvature);
}

static void set_move(void *context, int64_t p, int thread) {
    const panel *o = context;
    const sweep *sets = &o->sets;
    const REAL length = (REAL)o->found->length;
    const int64_t features = set_features_count(sets), portions = portions_of(features, FMF_PORTION);
    (void)thread;
    if (p < portions) {
        const range some = portion(features, FMF_PORTION, p);
        for (int64_t n = some.from; n < some.to; n++) {
            REAL *w = parameters_of(o, sets->plan->order[sets->plan->set_ptr[sets->set] + n]);
            for (int l = 0; l < o->size; l++) w[l] += length * ((const REAL *)o->scratch->delta)[n * PANEL + l];
        }
        return;
    }
    const range some = runs_of_portion(sets, p - portions);
    for (int64_t run = some.from; run < some.to; run++) {
        const int64_t i = sets->plan->run_row[run];
        move_row(o, i, length);
        pstore(row_of(o->scratch->view, 2 * i), pload(row_of(o->scratch->G, i)));
    }
}

static const set_step panel_steps[] = {
    {entry_portions, set_features, set_join_pieces},
    {asked_portions, ask_set, NULL},
    {run_portions, set_rows, set_length},
    {feature_and_run_portions, set_move, NULL},
    {NULL, NULL, NULL},
};

/* Rows' own features follow: where a function is asked, so few at a time that their matrices stay in the nearest cache, or all
   of them, if it is in Python. */
static int64_t own_portion(const panel *o) { return o->penalty->native ? o->penalty->batch / 16 : FMF_PORTION; }

static void own_steps(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(o->side->features.rows, own_portion(o), p);
    (void)thread;
    if (o->penalty->native) {
        ask_own(o, some);
        return;
    }
    own_steps_of(o, some);
}
