/* paper/eta.h -- the paper's eta without lambda: eta_s = sum_i H_i x_is^2 / sum_i H_i |x_is| C_i, how much of a lone step the bound
   leaves to feature s; 1 where nothing conflicts. */

typedef struct {
    const fmf_features *X;
    const fmf_plan *plan;
    const REAL *H; /* H_i, `apart` numbers apart */
    int64_t apart;
    REAL *eta;
} eta_measure;

enum { ETA_PARTS = 64 };

/* The sum of H_i w_is, or of H_i x_is^2 (w = NULL), over n non-zeros. */
static inline REAL weighted_curvature(const eta_measure *o, const int32_t *row, const REAL *x, const REAL *w, int64_t n) {
    vec sums = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec H;
        for (int l = 0; l < LANES; l++) H[l] = o->H[row[t + l] * o->apart];
        const vec value = load(x + t);
        sums += H * (w ? load(w + t) : value * value);
    }
    for (int l = 0; t < n; t++, l++) sums[l] += o->H[row[t] * o->apart] * (w ? w[t] : x[t] * x[t]);
    return add_lanes(sums);
}

/* The same over a column, in pieces as the sweep adds it. */
static REAL column_curvature(const eta_measure *o, const REAL *w, int64_t s) {
    const int64_t end = o->X->col_ptr[s + 1];
    REAL total = 0;
    for (int64_t at = o->X->col_ptr[s]; at < end; at += FMF_CUT) {
        const REAL *x = (const REAL *)o->X->col_value + at;
        total += weighted_curvature(o, o->X->col_index + at, x, w ? w + at : NULL, smaller(end - at, FMF_CUT));
    }
    return total;
}

static void measure_eta(void *context, int64_t part, int thread) {
    const eta_measure *o = context;
    const fmf_plan *plan = o->plan;
    const range some = part_by_total(plan->start, plan->set_ptr[plan->sets], part, ETA_PARTS);
    (void)thread;
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = plan->order[t];
        const REAL alone = column_curvature(o, NULL, s), bounded = column_curvature(o, plan->conflict, s);
        o->eta[s] = bounded > 0 ? alone / bounded : 1;
    }
}
