/* panel/measure.h -- what an update finds out for the next strengths, where rows share features: the sums of spread.h, by portions
   of the features and of the rows, which are then added in order. */

static inline double *measured_portion(const panel *o, int64_t p) {
    double *sums = o->side->spread.portion + p * spread_room(&o->side->spread);
    memset(sums, 0, (size_t)spread_room(&o->side->spread) * sizeof *sums);
    return sums;
}

/* Shared features: w^2 + variance of those that have pairs.  1 / curvature is kept in `scaled` for the rows. */
static void measure_features(void *context, int64_t p, int thread) {
    const panel *o = context;
    const range some = portion(shared_features(o), FMF_PORTION, p);
    double *sums = measured_portion(o, p);
    (void)thread;
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        const REAL *w = parameters_of(o, s), *curvature = row_of(o->scratch->diagonal, s), *growth = panel_growth(o, s);
        REAL *inverse = row_of(o->scratch->scaled, s);
        for (int l = 0; l < PANEL; l++) {
            inverse[l] = l < o->size && curvature[l] > 0 ? 1 / curvature[l] : 0;
            if (l >= o->size || !(curvature[l] > l2_of(o, s) * growth[l])) continue;
            group_sums(o, s, sums)[l] += (double)w[l] * (double)w[l] + (double)inverse[l] / o->side->spread.noise;
        }
    }
}

static void measure_rows(void *context, int64_t p, int thread) {
    const panel *o = context;
    const fmf_features *X = &o->side->features;
    const REAL *value = X->row_value, *scale = X->row_scale;
    const range some = portion(X->rows, FMF_PORTION, p);
    double *sums = measured_portion(o, feature_portions(o) + p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        REAL shared[PANEL];
        pvec sum = {0}, scaled = {0};
        for (int64_t e = X->row_ptr[i] + (X->own[i] >= 0); e < X->row_ptr[i + 1]; e++) {
            const REAL x = value ? value[e] : 1;
            padd(&sum, x * x, pload(row_of(o->scratch->scaled, X->row_index[e])));
        }
        padd(&scaled, scale ? scale[i] * scale[i] : 1, sum);
        pstore(shared, scaled);
        measure_row(o, i, matrix_of(o->scratch->A, i), shared, sums);
    }
}

static void add_measured_of(const panel *o, int64_t from, int64_t to) {
    const fmf_spread *spread = &o->side->spread;
    const int64_t room = spread_room(spread);
    double *found = spread->found + o->number * room;
    memset(found, 0, (size_t)room * sizeof *found);
    for (int64_t p = from; p < to; p++) {
        for (int64_t n = 0; n < room; n++) found[n] += spread->portion[p * room + n];
    }
}

static void add_measured(void *context) {
    const panel *o = context;
    add_measured_of(o, 0, feature_portions(o) + row_portions(o));
}

static void measure(fmf_worker *me, panel *o) {
    fmf_phase(me, feature_portions(o), measure_features, NULL, o);
    fmf_phase(me, row_portions(o), measure_rows, add_measured, o);
}
