/* panel/own.h -- rows' own features: their PANEL x PANEL problems, LANES rows side by side, a lane each. */

/* min over delta of  (x G + L w) delta + 1/2 delta (x^2 A + L) delta  for a diagonal L. */
typedef struct {
    vec A[ROOM]; /* as gram.h keeps it */
    vec G[PANEL];
    vec L[PANEL];
    vec w[PANEL];
    vec x;
} own_problems;

/* M = x^2 A + L, of which the part below the diagonal is filled, and -(x G + L w); past the rank delta = 0. */
ALWAYS_INLINE void lay_out_problems(const own_problems *p, int64_t size, vec M[PANEL][PANEL], vec *right) {
    const vec square = p->x * p->x;
    UNROLL(8)
    for (int k = 0; k < PANEL; k++) {
        UNROLL(8)
        for (int r = 0; r < TURNS; r++) {
            const int l = (k + r) % PANEL;
            M[k > l ? k : l][k > l ? l : k] = square * p->A[r * PANEL + k];
        }
        M[k][k] += p->L[k];
        right[k] = -(p->x * p->G[k] + p->L[k] * p->w[k]);
        if (k < size) continue;
        M[k][k] += 1;
        right[k] = (vec){0};
    }
}

/* Whether answers can be trusted, which rounding in a nearly singular system may spoil: along delta the bound must be least
   near delta, and bend by more than rounding of the matrix does. */
ALWAYS_INLINE ivec trusted(const own_problems *p, const vec *given, const vec *delta) {
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
        of_L += p->L[k] * delta[k] * delta[k];
        diagonal += square * p->A[k] + p->L[k];
        length += delta[k] * delta[k];
    }
    const vec curvature = square * of_A + of_L, least = 16 * ROUNDING * diagonal * length;
    const ivec near = (slope > (REAL)0.5 * curvature) & (slope < (REAL)2.0 * curvature) & (curvature > least);
    return near | ((slope == 0) & (curvature == 0));
}

/* Solves the problems by elimination; tells which answers can be trusted.  There is one copy: in another the compiler may fuse
   other products with sums, and a row would have other bits alone than beside others. */
static __attribute__((noinline)) ivec solve_problems(const own_problems *p, int64_t size, vec *delta) {
    vec M[PANEL][PANEL], right[PANEL], given[PANEL], inverse[PANEL];
    ivec sound = (ivec){0} == 0;
    lay_out_problems(p, size, M, right);
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
    return sound & trusted(p, given, delta);
}

enum { SWEEPS = 2 };

/* Sweeps over the dimensions of feature s with T, each from where the one before left it: never raises the bound.  The feature
   has the value x in a row of G and A, or 1 where these are sums over its rows. */
static void sweep_feature(const panel *o, int64_t s, REAL x, const REAL *G, const REAL *turned, REAL *move) {
    const REAL strength = ((const REAL *)o->penalty->strength)[s], *growth = panel_growth(o, s);
    REAL slope[PANEL], A[PANEL * PANEL], *w = parameters_of(o, s);
    unfold(turned, A);
    for (int k = 0; k < PANEL; k++) slope[k] = x * G[k];
    for (int sweeps = 0; sweeps < SWEEPS; sweeps++) {
        for (int k = 0; k < o->size; k++) {
            const REAL d = one_T(o->penalty, slope[k], x * x * A[k * PANEL + k], w[k], strength * growth[k]);
            for (int l = 0; l < PANEL; l++) slope[l] += x * x * A[k * PANEL + l] * d;
            w[k] += d;
            move[k] += x * d;
        }
    }
}

/* to[k] becomes number k of PANEL numbers at from[l], for each lane l. */
ALWAYS_INLINE void load_lanes(const REAL *const *from, int64_t skip, vec *to) {
    for (int p = 0; p < PARTS; p++) {
        for (int l = 0; l < LANES; l++) to[p * LANES + l] = load(from[l] + skip + p * LANES);
        transpose(to + p * LANES);
    }
}

/* The same where all lanes have the same numbers. */
ALWAYS_INLINE void load_all_lanes(const REAL *from, int64_t n, vec *to) {
    for (int64_t k = 0; k < n; k++) to[k] = from[k] - (vec){0};
}

/* The penalty's strengths of feature s. */
static inline void strengths_of(const panel *o, int64_t s, REAL *L) {
    const REAL *growth = panel_growth(o, s), l2 = l2_of(o, s);
    for (int l = 0; l < PANEL; l++) L[l] = l2 * growth[l];
}

/* (PANEL) parameters of feature s, zeros past the rank. */
static inline void copy_parameters(const panel *o, int64_t s, REAL *to) {
    const REAL *w = parameters_of(o, s);
    for (int l = 0; l < PANEL; l++) to[l] = l < o->size ? w[l] : 0;
}

/* Feature s moves by delta. */
static inline void move_feature(const panel *o, int64_t s, REAL x, const REAL *delta, REAL *move) {
    REAL *w = parameters_of(o, s);
    for (int l = 0; l < o->size; l++) {
        w[l] += delta[l];
        move[l] += x * delta[l];
    }
}

/* Takes the step of feature s in this panel, alone. */
static inline void feature_step(const panel *o, int64_t s, REAL x, const REAL *G, const REAL *A, REAL *move) {
    own_problems p;
    vec delta[PANEL];
    REAL L[PANEL], w[PANEL], first[PANEL];
    const REAL l1 = (REAL)o->penalty->l1 * ((const REAL *)o->penalty->strength)[s] * panel_growth(o, s)[0];
    if (o->penalty->native || l1 > 0) {
        sweep_feature(o, s, x, G, A, move);
        return;
    }
    strengths_of(o, s, L);
    copy_parameters(o, s, w);
    load_all_lanes(A, ROOM, p.A);
    load_all_lanes(G, PANEL, p.G);
    load_all_lanes(L, PANEL, p.L);
    load_all_lanes(w, PANEL, p.w);
    load_all_lanes(&x, 1, &p.x);
    const ivec trust = solve_problems(&p, o->size, delta);
    for (int k = 0; k < PANEL; k++) first[k] = delta[k][0];
    if (trust[0]) move_feature(o, s, x, first, move);
    else sweep_feature(o, s, x, G, A, move);
}

/* Takes the step of row i's own feature in this panel; returns whether there is one. */
static inline int own_step(const panel *o, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const int64_t s = o->side->features.own[i];
    if (s >= 0) feature_step(o, s, ((const REAL *)o->side->features.own_value)[i], G, A, move);
    return s >= 0;
}

/* LANES rows from i on, all of which have own features, under a penalty of squares. */
static inline void own_steps_side_by_side(const panel *o, int64_t i) {
    const int32_t *own = o->side->features.own + i;
    const REAL *x = (const REAL *)o->side->features.own_value + i, *G[LANES], *A[LANES], *at_L[LANES], *at_w[LANES];
    REAL L[LANES][PANEL], w[LANES][PANEL], delta[LANES][PANEL];
    own_problems p = {.x = load(x)};
    vec answer[PANEL];
    for (int l = 0; l < LANES; l++) {
        strengths_of(o, own[l], L[l]);
        copy_parameters(o, own[l], w[l]);
        G[l] = row_of(o->scratch->G, i + l);
        A[l] = matrix_of(o->scratch->A, i + l);
        at_L[l] = L[l];
        at_w[l] = w[l];
    }
    for (int r = 0; r < TURNS; r++) load_lanes(A, r * PANEL, p.A + r * PANEL);
    load_lanes(G, 0, p.G);
    load_lanes(at_L, 0, p.L);
    load_lanes(at_w, 0, p.w);
    const ivec trust = solve_problems(&p, o->size, answer);
    for (int n = 0; n < PARTS; n++) {
        transpose(answer + n * LANES);
        for (int l = 0; l < LANES; l++) store(delta[l] + n * LANES, answer[n * LANES + l]);
    }
    for (int l = 0; l < LANES; l++) {
        REAL *move = row_of(o->scratch->move, i + l);
        if (trust[l]) move_feature(o, own[l], x[l], delta[l], move);
        else sweep_feature(o, own[l], x[l], G[l], A[l], move);
    }
}

/* Takes the steps of rows' own features, where they have one. */
static void own_steps_of(const panel *o, range rows) {
    int64_t i = rows.from;
    for (; is_smooth(o->penalty) && i + LANES <= rows.to; i += LANES) {
        int all = 1;
        for (int l = 0; l < LANES; l++) all &= o->side->features.own[i + l] >= 0;
        if (all) own_steps_side_by_side(o, i);
        for (int l = 0; !all && l < LANES; l++) {
            own_step(o, i + l, row_of(o->scratch->G, i + l), matrix_of(o->scratch->A, i + l), row_of(o->scratch->move, i + l));
        }
    }
    for (; i < rows.to; i++) own_step(o, i, row_of(o->scratch->G, i), matrix_of(o->scratch->A, i), row_of(o->scratch->move, i));
}
