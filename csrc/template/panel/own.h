/* panel/own.h -- rows' own features: their PANEL x PANEL problems, LANES rows side by side, a lane each. */

/* min over delta of  x G delta + x^2/2 delta A delta + penalty(w + delta),  in each lane. */
typedef struct {
    vec A[ROOM]; /* as gram.h keeps it */
    vec G[PANEL];
    vec strength[PANEL];
    vec w[PANEL];
    vec x;
} own_problems;

/* ---- where the penalty is L/2 w^2 for a diagonal L: exactly ---- */

/* M = x^2 A + L, of which the part below the diagonal is filled, and -(x G + L w); past the rank delta = 0. */
ALWAYS_INLINE void lay_out_problems(const own_problems *p, const vec *L, int64_t size, vec M[PANEL][PANEL], vec *right) {
    const vec square = p->x * p->x;
    UNROLL(8)
    for (int k = 0; k < PANEL; k++) {
        UNROLL(8)
        for (int r = 0; r < TURNS; r++) {
            const int l = (k + r) % PANEL;
            M[k > l ? k : l][k > l ? l : k] = square * p->A[r * PANEL + k];
        }
        M[k][k] += L[k];
        right[k] = -(p->x * p->G[k] + L[k] * p->w[k]);
        if (k < size) continue;
        M[k][k] += 1;
        right[k] = (vec){0};
    }
}

/* Whether answers can be trusted, which rounding in a nearly singular system may spoil: along delta the bound must be least
   near delta, and bend by more than rounding of the matrix does. */
ALWAYS_INLINE ivec trusted(const own_problems *p, const vec *L, const vec *given, const vec *delta) {
    const vec square = p->x * p->x;
    vec slope = {0}, of_A = {0}, of_L = {0}, diagonal = {0}, length = {0};
    UNROLL(8)
    for (int r = 0; r < TURNS; r++) {
        vec turned = {0};
        UNROLL(8)
        for (int k = 0; k < PANEL; k++) turned += p->A[r * PANEL + k] * delta[k] * delta[(k + r) % PANEL];
        of_A += r % (PANEL / 2) ? 2 * turned : turned; /* both halves of A are in the last row */
    }
    UNROLL(8)
    for (int k = 0; k < PANEL; k++) {
        slope += given[k] * delta[k];
        of_L += L[k] * delta[k] * delta[k];
        diagonal += square * p->A[k] + L[k];
        length += delta[k] * delta[k];
    }
    const vec curvature = square * of_A + of_L, least = 16 * ROUNDING * diagonal * length;
    const ivec near = (slope > (REAL)0.5 * curvature) & (slope < (REAL)2.0 * curvature) & (curvature > least);
    return near | ((slope == 0) & (curvature == 0));
}

/* Solves the problems by elimination; tells which answers can be trusted.  There is one copy: in another the compiler may fuse
   other products with sums, and a row would have other bits alone than beside others. */
static __attribute__((noinline)) ivec solve_problems(const own_problems *p, REAL l2, int64_t size, vec *delta) {
    vec M[PANEL][PANEL], L[PANEL], right[PANEL], given[PANEL], inverse[PANEL];
    ivec sound = (ivec){0} == 0;
    for (int k = 0; k < PANEL; k++) L[k] = l2 * p->strength[k];
    lay_out_problems(p, L, size, M, right);
    memcpy(given, right, sizeof given);
    UNROLL(8)
    for (int k = 0; k < PANEL; k++) {
        sound &= M[k][k] > 0;
        inverse[k] = 1 / M[k][k];
        UNROLL(8)
        for (int r = k + 1; r < PANEL; r++) {
            const vec factor = -M[r][k] * inverse[k];
            UNROLL(8)
            for (int l = k + 1; l <= r; l++) M[r][l] += factor * M[l][k];
            right[r] += factor * right[k];
        }
    }
    UNROLL(8)
    for (int k = PANEL - 1; k >= 0; k--) {
        vec rest = right[k];
        UNROLL(8)
        for (int l = k + 1; l < PANEL; l++) rest -= M[l][k] * delta[l];
        delta[k] = rest * inverse[k];
    }
    return sound & trusted(p, L, given, delta);
}

/* ---- any penalty: sweeps over the dimensions ---- */

enum { SWEEPS = 2 };

/* Sweeps with T, each step from where the one before left it: never raises the bound.  Steps add up to delta, and w is where
   they end, to the bit: at zero, or within bounds.  One copy, as above. */
static __attribute__((noinline)) void sweep_problems(const fmf_penalty *penalty, const own_problems *p, int64_t size,
                                                     vec *delta, vec *w) {
    const vec square = p->x * p->x;
    vec slope[PANEL];
    for (int k = 0; k < PANEL; k++) {
        slope[k] = p->x * p->G[k];
        w[k] = p->w[k];
        delta[k] = (vec){0};
    }
    for (int again = 0; again < SWEEPS; again++) {
        for (int k = 0; k < size; k++) {
            const vec d = lanes_T(penalty, slope[k], square * p->A[k], w[k], p->strength[k]), along = square * d;
            for (int r = 0; r < TURNS; r++) slope[(k + r) % PANEL] += p->A[r * PANEL + k] * along;
            for (int r = 1; r < PANEL / 2; r++) { /* the other half of A */
                const int l = (k + PANEL - r) % PANEL;
                slope[l] += p->A[r * PANEL + l] * along;
            }
            w[k] += d;
            delta[k] += d;
        }
    }
}

/* ---- the steps of features ---- */

/* Up to LANES features, each a row's own or with the sums of its rows. */
typedef struct {
    int64_t feature[LANES];
    const REAL *G[LANES];
    const REAL *A[LANES];
    REAL *move[LANES]; /* of the row */
    REAL x[LANES];
    int count;
} own_features;

/* to[k] becomes number k of PANEL numbers at from[l], for each lane l. */
ALWAYS_INLINE void load_lanes(const REAL *const *from, int64_t skip, vec *to) {
    for (int p = 0; p < PARTS; p++) {
        for (int l = 0; l < LANES; l++) to[p * LANES + l] = load(from[l] + skip + p * LANES);
        transpose(to + p * LANES);
    }
}

/* Strengths and parameters, ones and zeros past the rank; then the sums. */
static inline void load_problems(const panel *o, const own_features *f, own_problems *p) {
    REAL strength[LANES][PANEL], w[LANES][PANEL];
    const REAL *at_strength[LANES], *at_w[LANES];
    for (int l = 0; l < LANES; l++) {
        const int64_t s = f->feature[l];
        const REAL each = ((const REAL *)o->penalty->strength)[s], *growth = panel_growth(o, s), *mine = parameters_of(o, s);
        for (int k = 0; k < PANEL; k++) strength[l][k] = each * growth[k];
        for (int k = 0; k < PANEL; k++) w[l][k] = k < o->size ? mine[k] : 0;
        at_strength[l] = strength[l];
        at_w[l] = w[l];
    }
    load_lanes(at_strength, 0, p->strength);
    load_lanes(at_w, 0, p->w);
    load_lanes(f->G, 0, p->G);
    for (int r = 0; r < TURNS; r++) load_lanes(f->A, r * PANEL, p->A + r * PANEL);
    p->x = load(f->x);
}

/* Parameters become w, and rows move by delta. */
static inline void store_steps(const panel *o, const own_features *f, vec *delta, vec *w) {
    for (int n = 0; n < PARTS; n++) {
        transpose(delta + n * LANES);
        transpose(w + n * LANES);
    }
    for (int l = 0; l < f->count; l++) {
        REAL *mine = parameters_of(o, f->feature[l]), ends[PANEL];
        for (int n = 0; n < PARTS; n++) {
            REAL *move = f->move[l] + n * LANES;
            store(move, load(move) + f->x[l] * delta[n * LANES + l]);
            store(ends + n * LANES, w[n * LANES + l]);
        }
        for (int k = 0; k < o->size; k++) mine[k] = ends[k];
    }
}

/* Features take their steps in this panel, and their rows move; then there are none.  Lanes left over repeat the first. */
static void take_own_steps(const panel *o, own_features *f) {
    own_problems p;
    vec delta[PANEL] = {{0}}, w[PANEL], swept[PANEL], end[PANEL];
    ivec trust = {0};
    if (!f->count) return;
    for (int l = f->count; l < LANES; l++) {
        f->feature[l] = f->feature[0];
        f->G[l] = f->G[0];
        f->A[l] = f->A[0];
        f->x[l] = f->x[0];
    }
    load_problems(o, f, &p);
    if (is_smooth(o->penalty)) trust = solve_problems(&p, (REAL)o->penalty->l2, o->size, delta);
    for (int k = 0; k < PANEL; k++) w[k] = p.w[k] + delta[k];
    if (any_lane(~trust)) {
        sweep_problems(o->penalty, &p, o->size, swept, end);
        for (int k = 0; k < PANEL; k++) {
            delta[k] = pick(trust, delta[k], swept[k]);
            w[k] = pick(trust, w[k], end[k]);
        }
    }
    store_steps(o, f, delta, w);
    f->count = 0;
}

/* Adds a feature, which takes its step as soon as the lanes are full. */
static inline void add_feature(const panel *o, own_features *f, int64_t s, REAL x, const REAL *G, const REAL *A, REAL *move) {
    const int l = f->count++;
    f->feature[l] = s;
    f->x[l] = x;
    f->G[l] = G;
    f->A[l] = A;
    f->move[l] = move;
    if (f->count == LANES) take_own_steps(o, f);
}

/* Adds row i's own feature, if there is one. */
static inline void add_own(const panel *o, own_features *f, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const fmf_features *X = &o->side->features;
    if (X->own[i] >= 0) add_feature(o, f, X->own[i], ((const REAL *)X->own_value)[i], G, A, move);
}

/* Takes the steps of rows' own features, where they have one. */
static void own_steps_of(const panel *o, range rows) {
    const fmf_panel *scratch = o->scratch;
    own_features f = {.count = 0};
    for (int64_t i = rows.from; i < rows.to; i++) {
        add_own(o, &f, i, row_of(scratch->G, i), matrix_of(scratch->A, i), row_of(scratch->move, i));
    }
    take_own_steps(o, &f);
}
