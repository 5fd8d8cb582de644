/* panel/asked.h -- steps for a plugin's regularizer: T is asked for many parameters at once. */

/* ---- a set's shared features ---- */

/* Keeps a feature's sums until T is asked. */
static inline void keep_sums(const panel *o, int64_t place, const REAL *sums) {
    memcpy((REAL *)o->scratch->x + place * o->size, sums, (size_t)o->size * sizeof(REAL));
    memcpy((REAL *)o->scratch->y + place * o->size, sums + PANEL, (size_t)o->size * sizeof(REAL));
}

static inline int64_t features_asked_at_once(const panel *o) { return (o->penalty->batch + PANEL - 1) / PANEL; }

static int64_t asked_portions(const sweep *sets) {
    const panel *o = (const panel *)sets;
    return o->penalty->native ? portions_of(set_features_count(sets), features_asked_at_once(o)) : 0;
}

static void ask_set(void *context, int64_t p, int thread) {
    const panel *o = context;
    const fmf_plan *plan = o->sets.plan;
    const range some = portion(set_features_count(&o->sets), features_asked_at_once(o), p);
    const int64_t at = some.from * o->size, n = (some.to - some.from) * o->size;
    REAL *w = (REAL *)o->scratch->w + at, *strength = (REAL *)o->scratch->strength + at, *d = (REAL *)o->scratch->d + at;
    (void)thread;
    for (int64_t f = some.from; f < some.to; f++) {
        const int64_t s = plan->order[plan->set_ptr[o->sets.set] + f], to = (f - some.from) * o->size;
        const REAL each = ((const REAL *)o->penalty->strength)[s], *growth = panel_growth(o, s);
        for (int64_t l = 0; l < o->size; l++) {
            w[to + l] = parameters_of(o, s)[l];
            strength[to + l] = each * growth[l];
        }
    }
    table_T(o->penalty, (const REAL *)o->scratch->x + at, (const REAL *)o->scratch->y + at, w, strength, d, n);
    for (int64_t f = some.from; f < some.to; f++) {
        REAL *delta = row_of(o->scratch->delta, f);
        for (int64_t l = 0; l < PANEL; l++) delta[l] = l < o->size ? d[(f - some.from) * o->size + l] : 0;
    }
}

/* ---- rows' own features where T is in Python: the sweeps of own.h, all rows at once ---- */

static inline int asks_python(const fmf_penalty *penalty) { return penalty->native == fmf_python_regularizer(); }

/* Slopes are kept in u. */
static void begin_sweeps(const panel *o, int64_t i) {
    const REAL x = ((const REAL *)o->side->features.own_value)[i];
    pvec slope = {0};
    padd(&slope, o->side->features.own[i] < 0 ? 0 : x, pload(row_of(o->scratch->G, i)));
    pstore(row_of(o->scratch->u, i), slope);
}

/* Row i takes its step in dimension k. */
static void take_asked(const panel *o, int64_t i, int k, REAL d) {
    const REAL x = ((const REAL *)o->side->features.own_value)[i];
    REAL along[PANEL] = {0};
    along[k] = x * x * d;
    pvec slope = pload(row_of(o->scratch->u, i));
    padd(&slope, 1, times(matrix_of(o->scratch->A, i), pload(along)));
    pstore(row_of(o->scratch->u, i), slope);
    parameters_of(o, o->side->features.own[i])[k] += d;
    row_of(o->scratch->move, i)[k] += x * d;
}

/* One dimension of some rows.  Rows without an own feature ask for something that is not used. */
static void sweep_dimension(const panel *o, range rows, int k) {
    const fmf_features *X = &o->side->features;
    REAL *x = o->scratch->x, *y = o->scratch->y, *w = o->scratch->w, *strength = o->scratch->strength, *d = o->scratch->d;
    for (int64_t i = rows.from; i < rows.to; i++) {
        const int64_t s = X->own[i];
        const REAL value = ((const REAL *)X->own_value)[i];
        x[i] = row_of(o->scratch->u, i)[k];
        y[i] = s < 0 ? 1 : value * value * matrix_of(o->scratch->A, i)[k];
        w[i] = s < 0 ? 0 : parameters_of(o, s)[k];
        strength[i] = s < 0 ? 1 : ((const REAL *)o->penalty->strength)[s] * panel_growth(o, s)[k];
    }
    const int64_t at = rows.from;
    table_T(o->penalty, x + at, y + at, w + at, strength + at, d + at, rows.to - at);
    for (int64_t i = rows.from; i < rows.to; i++) {
        if (X->own[i] >= 0) take_asked(o, i, k, d[i]);
    }
}

static void ask_own(const panel *o, range rows) {
    for (int64_t i = rows.from; i < rows.to; i++) begin_sweeps(o, i);
    for (int sweeps = 0; sweeps < SWEEPS; sweeps++) {
        for (int k = 0; k < o->size; k++) sweep_dimension(o, rows, k);
    }
}
