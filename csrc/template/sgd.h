/* sgd.h -- stochastic gradient descent.  A step on a feature's weights w is proximal: w + d minimises
   x d + d^2 / (2 rate) + share of the penalty, which for the elastic net is a soft threshold and a shrinkage. */

enum { FN(TOUCH_P), FN(TOUCH_QUERY_BIAS), FN(TOUCH_Q), FN(TOUCH_TARGET_BIAS) };

/* w = shrink (w - step direction) */
static inline void FN(shrink_step)(REAL *restrict w, const REAL *restrict direction, REAL step, REAL shrink, int64_t n) {
    for (int64_t c = 0; c < n; c++) w[c] = shrink * (w[c] - step * direction[c]);
}

/* A pair's step where the target is its indicator, all three rows read and written once: V_j, what the features of the
   query are asked for, and U_i as if they had moved. */
static inline void FN(lone_step)(REAL *restrict V, REAL *restrict asked, REAL *restrict u, REAL g, REAL rate, REAL norm,
                                 REAL shrink, int64_t n) {
    const REAL own = rate * g, other = rate * norm * g;
    for (int64_t c = 0; c < n; c++) {
        const REAL v = V[c], old = u[c];
        V[c] = shrink * (v - own * old);
        asked[c] += g * v;
        u[c] = old - other * v;
    }
}

/* w -= rate * scale * direction, then the penalty's share in `touches` touches of feature s. */
static inline void FN(touch)(const fmf_sgd *o, int which, int64_t s, REAL *w, const REAL *direction, REAL scale, int64_t n,
                             int64_t touches, REAL *scratch) {
    const fmf_touch *penalty = which == FN(TOUCH_P)            ? &o->touch_P
                               : which == FN(TOUCH_QUERY_BIAS) ? &o->touch_query_bias
                               : which == FN(TOUCH_Q)          ? &o->touch_Q
                                                               : &o->touch_target_bias;
    const REAL share = ((const REAL *)penalty->share)[s] * (REAL)touches, rate = (REAL)o->rate;
    if (o->penalty_external) {
        for (int64_t c = 0; c < n; c++) scratch[c] = scale * direction[c];
        fmf_call_step(o->python, which, s, scratch, 1.0 / o->rate, w, n, (double)share);
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
        FN(shrink_step)(w, direction, rate * scale, shrink, n);
    }
}

/* The value of entry e, which is row i's. */
static inline REAL FN(value_at)(const fmf_features *X, int64_t i, int64_t e) {
    if (X->row_value) return ((const REAL *)X->row_value)[e];
    return ((const REAL *)(e == X->row_ptr[i] && X->own[i] >= 0 ? X->own_value : X->row_scale))[i];
}

/* embedding = sum over row i's features of value * parameters, bias last; returns the sum of squared values. */
static inline REAL FN(embed_row)(const fmf_features *X, int64_t i, const REAL *P, int64_t width, REAL *embedding) {
    REAL norm = 0;
    for (int64_t c = 0; c < width; c++) embedding[c] = 0;
    for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
        if (e + SGD_AHEAD < X->row_ptr[i + 1]) {
            const REAL *next = P + X->row_index[e + SGD_AHEAD] * width;
            for (int64_t c = 0; c < width; c += 2 * LANES) __builtin_prefetch(next + c);
        }
        const REAL x = FN(value_at)(X, i, e), *p = P + X->row_index[e] * width;
        norm += x * x;
        for (int64_t c = 0; c < width; c++) embedding[c] += x * p[c];
    }
    return norm;
}

/* Steps on all features of row i: direction (rank numbers, then the bias's) times the feature's value. */
static inline void FN(touch_row)(const fmf_sgd *o, const fmf_features *X, int64_t i, REAL *P, int32_t bias, int which,
                                 const REAL *direction, REAL scale, int64_t touches, REAL *scratch) {
    const int64_t width = o->rank + bias;
    for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
        const int64_t s = X->row_index[e];
        const REAL size = scale * FN(value_at)(X, i, e);
        if (e + SGD_AHEAD < X->row_ptr[i + 1]) {
            const REAL *next = P + X->row_index[e + SGD_AHEAD] * width;
            for (int64_t c = 0; c < width; c += 2 * LANES) __builtin_prefetch(next + c, 1);
        }
        FN(touch)(o, which, s, P + s * width, direction, size, o->rank, touches, scratch);
        if (bias) FN(touch)(o, which + 1, s, P + s * width + o->rank, direction + o->rank, size, 1, touches, scratch);
    }
}

static inline REAL FN(pair_gradient)(const fmf_sgd *o, int64_t e, const REAL *u, const REAL *v) {
    const REAL *weight = o->pairs.weight;
    const REAL y = ((const REAL *)o->pairs.y)[e];
    REAL s = (REAL)o->offset + FN(dot)(u, v, o->rank), g;
    if (o->query_bias) s += u[o->rank];
    if (o->target_bias) s += v[o->rank];
    if (o->loss.code == FMF_EXTERNAL) {
        g = (REAL)fmf_call_gradient(o->python, (double)s, (double)y);
    } else if (o->loss.code == FMF_SQUARE) {
        g = (REAL)2.0 * (s - y);
    } else if (o->loss.code == FMF_NATIVE) {
        FN(native)(&o->loss)->FN(gradient)(&s, &y, &g, 1, o->loss.params);
    } else {
        g = (REAL)(1.0 / (1.0 + exp(-(double)s))) - y;
    }
    return weight ? weight[e] * g : g;
}

/* One query at a time: U_i is made once, moves with every pair as if its features had moved, and its features are
   updated once, by the sum of what the pairs asked for. */
static void FN(grouped_query)(const fmf_sgd *o, int64_t i, REAL *u, REAL *v, REAL *asked, REAL *scratch) {
    const fmf_pairs *pairs = &o->pairs;
    REAL *Q = o->Q;
    const int64_t width = o->rank + o->query_bias, other_width = o->rank + o->target_bias;
    const REAL rate = (REAL)o->rate;
    const int plain = !o->penalty_external && o->touch_Q.l1 == 0;
    const REAL norm = FN(embed_row)(&o->X, i, o->P, width, u);
    for (int64_t c = 0; c < width; c++) asked[c] = 0;
    for (int64_t e = pairs->ptr[i]; e < pairs->ptr[i + 1]; e++) {
        const int64_t j = pairs->other[e], z = o->Z.row_ptr[j];
        if (e + SGD_AHEAD < pairs->ptr[i + 1]) {
            const int64_t *ahead = o->Z.row_ptr + pairs->other[e + SGD_AHEAD];
            const REAL *next = ahead[0] < ahead[1] ? Q + o->Z.row_index[ahead[0]] * other_width : Q;
            for (int64_t c = 0; c < o->rank; c += 2 * LANES) __builtin_prefetch(next + c, 1);
        }
        const int lone = o->Z.row_ptr[j + 1] - z == 1 && FN(value_at)(&o->Z, j, z) == 1; /* plain indicator: Q's row is V_j */
        const REAL *V = lone ? Q + o->Z.row_index[z] * other_width : v;
        if (!lone) FN(embed_row)(&o->Z, j, Q, other_width, v);
        const REAL g = FN(pair_gradient)(o, e, u, V);
        if (o->stop && *o->stop) return;
        if (lone && plain) {
            const int64_t s = o->Z.row_index[z];
            REAL *w = Q + s * other_width;
            const REAL share = ((const REAL *)o->touch_Q.share)[s];
            FN(lone_step)(w, asked, u, g, rate, norm, 1 / (1 + rate * (REAL)o->touch_Q.l2 * share), o->rank);
            if (o->target_bias) {
                const REAL one = 1;
                FN(touch)(o, FN(TOUCH_TARGET_BIAS), s, w + o->rank, &one, g, 1, 1, scratch);
            }
            if (o->query_bias) {
                asked[o->rank] += g;
                u[o->rank] -= rate * norm * g;
            }
            continue;
        }
        if (lone) { /* V_j is about to change in place */
            for (int64_t c = 0; c < o->rank; c++) v[c] = V[c];
        }
        const REAL keep_bias = o->query_bias ? u[o->rank] : 0;
        if (o->target_bias) u[o->rank] = 1;
        FN(touch_row)(o, &o->Z, j, Q, o->target_bias, FN(TOUCH_Q), u, g, 1, scratch);
        for (int64_t c = 0; c < o->rank; c++) {
            asked[c] += g * v[c];
            u[c] -= rate * norm * g * v[c];
        }
        if (o->query_bias) {
            asked[o->rank] += g;
            u[o->rank] = keep_bias - rate * norm * g;
        }
    }
    FN(touch_row)(o, &o->X, i, o->P, o->query_bias, FN(TOUCH_P), asked, 1, pairs->ptr[i + 1] - pairs->ptr[i], scratch);
}

static void FN(sgd_grouped)(const fmf_sgd *o, int32_t threads) {
    const int64_t room = o->rank + 1;
    int64_t t;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (t = 0; t < o->pairs.rows; t++) {
        const int64_t i = o->order[t];
        REAL *mine = (REAL *)o->scratch + (int64_t)FMF_THREAD * 4 * room;
        if ((o->stop && *o->stop) || o->pairs.ptr[i] == o->pairs.ptr[i + 1]) continue;
        FN(grouped_query)(o, i, mine, mine + room, mine + 2 * room, mine + 3 * room);
    }
}

/* The paper's Hogwild!: every pair makes both embeddings anew and updates every feature of both. */
static void FN(sgd_per_pair)(const fmf_sgd *o, int32_t threads) {
    const fmf_pairs *pairs = &o->pairs;
    const int64_t room = o->rank + 1, total = pairs->ptr[pairs->rows];
    int64_t t;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (t = 0; t < total; t++) {
        REAL *u = (REAL *)o->scratch + (int64_t)FMF_THREAD * 4 * room, *v = u + room, *scratch = u + 3 * room;
        const int64_t e = (int64_t)(((unsigned __int128)o->multiplier * (uint64_t)t + (uint64_t)o->shift) % (uint64_t)total);
        const int64_t i = o->row_of[e], j = pairs->other[e];
        if (o->stop && *o->stop) continue;
        FN(embed_row)(&o->X, i, o->P, o->rank + o->query_bias, u);
        FN(embed_row)(&o->Z, j, o->Q, o->rank + o->target_bias, v);
        const REAL g = FN(pair_gradient)(o, e, u, v);
        if (o->stop && *o->stop) continue;
        u[o->rank] = v[o->rank] = 1; /* a bias moves by g alone */
        FN(touch_row)(o, &o->X, i, o->P, o->query_bias, FN(TOUCH_P), v, g, 1, scratch);
        FN(touch_row)(o, &o->Z, j, o->Q, o->target_bias, FN(TOUCH_Q), u, g, 1, scratch);
    }
}
