/* plan.h -- lays out one round's partition: the sets' non-zeros by row, and |x_is| C_i by column, where
   C_i = sum over s in S of |x_is|.  C depends on the partition only, so it is taken once for all dimensions. */

enum { PLAN_SETS = 64 }; /* parts into which the sets are shared out */

typedef struct {
    const fmf_features *X;
    const fmf_plan *plan;
    const fmf_plan_scratch *scratch;
} layout;

static inline int64_t set_start(const fmf_plan *plan, int64_t S) { return plan->start[plan->set_ptr[S]]; }

static inline REAL size_of(REAL x) { return x < 0 ? -x : x; }

/* Rows in order, a part of them at a time: count the non-zeros of each set, ... */
static void count_entries(void *context, int64_t part, int thread) {
    const layout *o = context;
    const range rows = part_by_total(o->X->row_ptr, o->X->rows, part, o->scratch->row_parts);
    int64_t *cursor = o->scratch->cursor + part * o->plan->sets;
    (void)thread;
    memset(cursor, 0, (size_t)o->plan->sets * sizeof *cursor);
    for (int64_t e = o->X->row_ptr[rows.from]; e < o->X->row_ptr[rows.to]; e++) {
        const int32_t S = o->scratch->set_of[o->X->row_index[e]];
        if (S >= 0) cursor[S]++;
    }
}

/* ... find where each part of each set begins, ... */
static void place_parts(void *context) {
    const layout *o = context;
    for (int64_t S = 0; S < o->plan->sets; S++) {
        int64_t next = set_start(o->plan, S);
        for (int64_t part = 0; part < o->scratch->row_parts; part++) {
            int64_t *cursor = o->scratch->cursor + part * o->plan->sets + S;
            const int64_t count = *cursor;
            *cursor = next;
            next += count;
        }
    }
}

/* ... and put them down. */
static void put_entries(void *context, int64_t part, int thread) {
    const layout *o = context;
    const fmf_features *X = o->X;
    const fmf_plan *plan = o->plan;
    const REAL *value = X->row_value;
    const range rows = part_by_total(X->row_ptr, X->rows, part, o->scratch->row_parts);
    int64_t *cursor = o->scratch->cursor + part * plan->sets;
    (void)thread;
    for (int64_t i = rows.from; i < rows.to; i++) {
        for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
            const int32_t feature = X->row_index[e];
            if (o->scratch->set_of[feature] < 0) continue;
            const int64_t at = cursor[o->scratch->set_of[feature]]++;
            plan->entry_row[at] = (int32_t)i;
            plan->entry_place[at] = o->scratch->place_of[feature];
            ((REAL *)plan->entry_value)[at] = value[e];
        }
    }
}

/* The first set that begins at non-zero `at` or later. */
static int64_t first_set_from(const fmf_plan *plan, int64_t at) {
    int64_t low = 0, high = plan->sets;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (set_start(plan, middle) < at) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* |x_is| C_i of some sets; C is the thread's own, zero before and after each. */
static void find_conflicts(void *context, int64_t part, int thread) {
    const layout *o = context;
    const fmf_features *X = o->X;
    const fmf_plan *plan = o->plan;
    const REAL *entry = plan->entry_value, *value = X->col_value;
    REAL *C = (REAL *)o->scratch->C + (int64_t)thread * X->rows, *conflict = plan->conflict;
    const int64_t each = set_start(plan, plan->sets) / PLAN_SETS + 1;
    for (int64_t S = first_set_from(plan, part * each); S < plan->sets; S++) {
        const int64_t begin = set_start(plan, S), end = set_start(plan, S + 1);
        if (begin >= (part + 1) * each) break; /* a set belongs to the part in which it begins */
        for (int64_t e = begin; e < end; e++) C[plan->entry_row[e]] += size_of(entry[e]);
        for (int64_t t = plan->set_ptr[S]; t < plan->set_ptr[S + 1]; t++) {
            const int32_t s = plan->order[t];
            for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) conflict[e] = size_of(value[e]) * C[X->col_index[e]];
        }
        for (int64_t e = begin; e < end; e++) C[plan->entry_row[e]] = 0;
    }
}

static void find_sets(const layout *o) {
    for (int64_t s = 0; s < o->X->cols; s++) o->scratch->set_of[s] = -1; /* the partition may leave features out */
    for (int64_t S = 0; S < o->plan->sets; S++) {
        for (int64_t t = o->plan->set_ptr[S]; t < o->plan->set_ptr[S + 1]; t++) {
            o->scratch->set_of[o->plan->order[t]] = (int32_t)S;
            o->scratch->place_of[o->plan->order[t]] = (int32_t)(t - o->plan->set_ptr[S]);
        }
    }
}

static void layout_program(fmf_worker *me, void *context) {
    const layout *o = context;
    fmf_phase(me, o->scratch->row_parts, count_entries, place_parts, context);
    fmf_phase(me, o->scratch->row_parts, put_entries, NULL, context);
    fmf_phase(me, PLAN_SETS, find_conflicts, NULL, context);
}

static void lay_out(const fmf_features *X, const fmf_plan *plan, const fmf_plan_scratch *scratch, int32_t threads) {
    layout o = {X, plan, scratch};
    find_sets(&o);
    fmf_run(threads, layout_program, &o);
}

typedef struct {
    const fmf_plan *plan;
    int64_t *counts;
} run_layout;

static void runs_of_set(void *context, int64_t S, int thread) {
    const run_layout *o = context;
    const fmf_plan *plan = o->plan;
    const int64_t end = set_start(plan, S + 1);
    int64_t run = o->counts ? 0 : plan->set_run[S];
    (void)thread;
    for (int64_t e = set_start(plan, S); e < end; run++) {
        const int32_t i = plan->entry_row[e];
        if (!o->counts) {
            plan->run_row[run] = i;
            plan->run_ptr[run] = e;
        }
        while (e < end && plan->entry_row[e] == i) e++;
    }
    if (o->counts) o->counts[S] = run;
}

static void runs(const fmf_plan *plan, int64_t *counts, int32_t threads) {
    run_layout o = {plan, counts};
    fmf_share_out(threads, plan->sets, runs_of_set, &o);
    if (!counts) plan->run_ptr[plan->set_run[plan->sets]] = set_start(plan, plan->sets);
}
