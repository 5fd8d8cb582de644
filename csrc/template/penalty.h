/* penalty.h -- the elastic net  a |w| + l/2 w^2, and T of any regularizer. */

/* T: the change of w that minimises x d + y/2 d^2 + a |w + d| + l/2 (w + d)^2, by the paper's two branches. */
static inline REAL elastic_net_T(REAL x, REAL y, REAL w, REAL a, REAL l) {
    const REAL curvature = y + l;
    if (!(curvature > 0)) return a > 0 ? -w : 0; /* nothing pulls but the l1 term */
    const REAL slope = x + l * w;
    if (w - slope / curvature >= 0) {
        const REAL d = -(slope + a) / curvature;
        return d > -w ? d : -w;
    }
    const REAL d = -(slope - a) / curvature;
    return d < -w ? d : -w;
}

/* The same of LANES parameters. */
static inline vec elastic_net_lanes(vec x, vec y, vec w, vec a, vec l) {
    const vec curvature = y + l, slope = x + l * w;
    const ivec bent = curvature > 0;
    const vec divisor = pick(bent, curvature, (REAL)1.0 - (vec){0});
    const vec up = -(slope + a) / divisor, down = -(slope - a) / divisor;
    const vec step = pick(w - slope / divisor >= 0, pick(up > -w, up, -w), pick(down < -w, down, -w));
    return pick(bent, step, pick(a > 0, -w, (vec){0}));
}

/* What multiplies the strength of feature s, by dimension. */
static inline const REAL *growth_of(const fmf_penalty *penalty, int64_t s) {
    return (const REAL *)penalty->growth + (penalty->group ? penalty->group[s] * penalty->growth_room : 0);
}

/* Whether it is nothing but a sum of squares: steps may then be scaled along any direction. */
static inline int is_smooth(const fmf_penalty *penalty) { return !penalty->native && !(penalty->l1 > 0); }

/* T of n parameters, by the functions of a table. */
static inline void table_T(const fmf_penalty *penalty, const REAL *x, const REAL *y, const REAL *w, const REAL *strength,
                           REAL *d, int64_t n) {
    ((const fmfkit_regularizer *)penalty->native)->NATIVE(T)(x, y, w, strength, d, n, penalty->params);
}

/* T of one parameter. */
static inline REAL one_T(const fmf_penalty *penalty, REAL x, REAL y, REAL w, REAL strength) {
    REAL d;
    if (!penalty->native) return elastic_net_T(x, y, w, (REAL)penalty->l1 * strength, (REAL)penalty->l2 * strength);
    table_T(penalty, &x, &y, &w, &strength, &d, 1);
    return d;
}

/* T of LANES parameters. */
static inline vec lanes_T(const fmf_penalty *penalty, vec x, vec y, vec w, vec strength) {
    REAL xs[LANES], ys[LANES], ws[LANES], strengths[LANES], d[LANES];
    if (!penalty->native) {
        return elastic_net_lanes(x, y, w, (REAL)penalty->l1 * strength, (REAL)penalty->l2 * strength);
    }
    store(xs, x);
    store(ys, y);
    store(ws, w);
    store(strengths, strength);
    table_T(penalty, xs, ys, ws, strengths, d, LANES);
    return load(d);
}

typedef struct {
    const fmf_penalty *penalty;
    int64_t cols;
    int64_t width;
    int64_t count;
    const REAL *W; /* the first of `count` columns */
    double *portion;
} penalty_sum;

/* The penalty of some features.  Portions are summed apart, then in order: the same total for any number of threads. */
static void penalty_portion(void *context, int64_t p, int thread) {
    const penalty_sum *o = context;
    const REAL *strength = o->penalty->strength;
    const range some = portion(o->cols, FMF_PENALTY_ROWS, p);
    double sum = 0.0;
    (void)thread;
    for (int64_t s = some.from; s < some.to; s++) {
        const REAL *growth = growth_of(o->penalty, s);
        double absolute = 0.0, square = 0.0;
        for (int64_t c = 0; c < o->count; c++) {
            const double w = (double)o->W[s * o->width + c];
            absolute += (double)growth[c] * fabs(w);
            square += (double)growth[c] * w * w;
        }
        sum += (double)strength[s] * (o->penalty->l1 * absolute + 0.5 * o->penalty->l2 * square);
    }
    o->portion[p] = sum;
}

static double elastic_net(const fmf_penalty *penalty, int64_t cols, int64_t width, int64_t column, int64_t count,
                          const void *parameters, double *portion, int32_t threads) {
    penalty_sum o = {penalty, cols, width, count, (const REAL *)parameters + column, portion};
    const int64_t portions = portions_of(cols, FMF_PENALTY_ROWS);
    double total = 0.0;
    fmf_share_out(threads, portions, penalty_portion, &o);
    for (int64_t p = 0; p < portions; p++) total += portion[p];
    return total;
}
