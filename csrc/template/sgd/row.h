/* sgd/row.h -- stochastic gradient descent: embeddings of single rows, and steps on their features.  A step on a feature's weights
   w is proximal: w + d minimises x d + d^2 / (2 rate) + strength of one touch times omega(w + d), which for the elastic net is
   a soft threshold and a shrinkage. */

/* What a thread works with: rows of rank + 1 numbers. */
typedef struct {
    REAL *u;        /* U_i, */
    REAL *v;        /*   V_j, */
    REAL *asked;    /*   what the pairs of a query ask of its features */
    REAL *x;        /* for a plugin's T: gradients, */
    REAL *y;        /*   curvatures, */
    REAL *strength; /*   strengths, */
    REAL *d;        /*   steps */
} sgd_scratch;

static inline sgd_scratch scratch_of(const fmf_sgd *o, int thread) {
    const int64_t room = o->rank + 1;
    REAL *at = (REAL *)o->scratch + thread * 7 * room;
    return (sgd_scratch){at, at + room, at + 2 * room, at + 3 * room, at + 4 * room, at + 5 * room, at + 6 * room};
}

/* One side of the problem. */
typedef struct {
    const fmf_features *X;
    REAL *P;
    int64_t width;
    int32_t has_bias;
    const fmf_penalty *factors;
    const fmf_penalty *bias;
} sgd_side;

static inline sgd_side query_side(const fmf_sgd *o) {
    return (sgd_side){&o->X, o->P, o->rank + o->query_bias, o->query_bias, &o->P_penalty, &o->query_bias_penalty};
}

static inline sgd_side target_side(const fmf_sgd *o) {
    return (sgd_side){&o->Z, o->Q, o->rank + o->target_bias, o->target_bias, &o->Q_penalty, &o->target_bias_penalty};
}

static inline int stopped(const fmf_sgd *o) { return o->stop && *o->stop; }

/* w = shrink (w - step direction) */
static inline void shrink_step(REAL *restrict w, const REAL *restrict direction, REAL step, REAL shrink, int64_t n) {
    for (int64_t c = 0; c < n; c++) w[c] = shrink * (w[c] - step * direction[c]);
}

/* The same by a plugin's T. */
static void table_step(const fmf_sgd *o, const fmf_penalty *penalty, REAL *w, const REAL *direction, REAL scale, int64_t n,
                       REAL share, const sgd_scratch *mine) {
    for (int64_t c = 0; c < n; c++) {
        mine->x[c] = scale * direction[c];
        mine->y[c] = (REAL)(1.0 / o->rate);
        mine->strength[c] = share;
    }
    table_T(penalty, mine->x, mine->y, w, mine->strength, mine->d, n);
    for (int64_t c = 0; c < n; c++) w[c] += mine->d[c];
}

/* w -= rate * scale * direction, then the penalty's share in `touches` touches of feature s. */
static inline void touch(const fmf_sgd *o, const fmf_penalty *penalty, int64_t s, REAL *w, const REAL *direction, REAL scale,
                         int64_t n, int64_t touches, const sgd_scratch *mine) {
    const REAL share = ((const REAL *)penalty->strength)[s] * (REAL)touches, rate = (REAL)o->rate;
    if (penalty->native) {
        table_step(o, penalty, w, direction, scale, n, share, mine);
        return;
    }
    const REAL shrink = (REAL)1.0 / ((REAL)1.0 + rate * (REAL)penalty->l2 * share);
    const REAL threshold = rate * (REAL)penalty->l1 * share;
    if (threshold > 0) {
        for (int64_t c = 0; c < n; c++) {
            const REAL moved = w[c] - rate * scale * direction[c];
            w[c] = shrink * (moved > threshold ? moved - threshold : moved < -threshold ? moved + threshold : 0);
        }
    } else {
        shrink_step(w, direction, rate * scale, shrink, n);
    }
}

/* The value of entry e, which is row i's. */
static inline REAL value_at(const fmf_features *X, int64_t i, int64_t e) {
    if (X->row_value) return ((const REAL *)X->row_value)[e];
    return ((const REAL *)(e == X->row_ptr[i] && X->own[i] >= 0 ? X->own_value : X->row_scale))[i];
}

/* embedding = sum over row i's features of value * parameters, bias last; returns the sum of squared values. */
static inline REAL embed_one(const sgd_side *side, int64_t i, REAL *embedding) {
    const fmf_features *X = side->X;
    const int64_t width = side->width;
    REAL norm = 0;
    for (int64_t c = 0; c < width; c++) embedding[c] = 0;
    for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
        if (e + SGD_AHEAD < X->row_ptr[i + 1]) {
            const REAL *next = side->P + X->row_index[e + SGD_AHEAD] * width;
            for (int64_t c = 0; c < width; c += 2 * LANES) __builtin_prefetch(next + c);
        }
        const REAL x = value_at(X, i, e), *p = side->P + X->row_index[e] * width;
        norm += x * x;
        for (int64_t c = 0; c < width; c++) embedding[c] += x * p[c];
    }
    return norm;
}

/* Steps on all features of row i: direction (rank numbers, then the bias's) times the feature's value. */
static inline void touch_row(const fmf_sgd *o, const sgd_side *side, int64_t i, const REAL *direction, REAL scale,
                             int64_t touches, const sgd_scratch *mine) {
    const fmf_features *X = side->X;
    const int64_t width = side->width;
    for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
        const int64_t s = X->row_index[e];
        const REAL size = scale * value_at(X, i, e);
        REAL *w = side->P + s * width;
        if (e + SGD_AHEAD < X->row_ptr[i + 1]) {
            const REAL *next = side->P + X->row_index[e + SGD_AHEAD] * width;
            for (int64_t c = 0; c < width; c += 2 * LANES) __builtin_prefetch(next + c, 1);
        }
        touch(o, side->factors, s, w, direction, size, o->rank, touches, mine);
        if (side->has_bias) touch(o, side->bias, s, w + o->rank, direction + o->rank, size, 1, touches, mine);
    }
}

static inline REAL pair_gradient(const fmf_sgd *o, int64_t e, const REAL *u, const REAL *v) {
    const REAL *weight = o->pairs.weight;
    const REAL y = ((const REAL *)o->pairs.y)[e];
    REAL s = (REAL)o->offset + dot(u, v, o->rank), g;
    if (o->query_bias) s += u[o->rank];
    if (o->target_bias) s += v[o->rank];
    if (o->loss.code == FMF_SQUARE) {
        g = (REAL)2.0 * (s - y);
    } else if (o->loss.code == FMF_NATIVE) {
        table_of(&o->loss)->NATIVE(gradient)(&s, &y, &g, 1, o->loss.params);
    } else {
        g = (REAL)(1.0 / (1.0 + exp(-(double)s))) - y;
    }
    return weight ? weight[e] * g : g;
}
