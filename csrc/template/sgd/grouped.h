/* sgd/grouped.h -- one query at a time: U_i is made once, moves with every pair as if its features had moved, and its features are
   updated once, by the sum of what the pairs asked for. */

enum { QUERIES_AT_ONCE = 16 };

/* A pair's step where the target is its indicator, all three rows read and written once: V_j, what the features of the
   query are asked for, and U_i as if they had moved. */
static inline void lone_step(REAL *restrict V, REAL *restrict asked, REAL *restrict u, REAL g, REAL rate, REAL norm,
                             REAL shrink, int64_t n) {
    const REAL down = rate * g, back = rate * norm * g;
    for (int64_t c = 0; c < n; c++) {
        const REAL v = V[c], old = u[c];
        V[c] = shrink * (v - down * old);
        asked[c] += g * v;
        u[c] = old - back * v;
    }
}

/* A pair whose target has nothing but its indicator (feature s, value 1), with a penalty that only shrinks. */
static void lone_pair(const fmf_sgd *o, int64_t s, REAL g, REAL norm, const sgd_scratch *mine) {
    const REAL rate = (REAL)o->rate, share = ((const REAL *)o->Q_penalty.strength)[s];
    REAL *w = (REAL *)o->Q + s * (o->rank + o->target_bias);
    lone_step(w, mine->asked, mine->u, g, rate, norm, 1 / (1 + rate * (REAL)o->Q_penalty.l2 * share), o->rank);
    if (o->target_bias) {
        const REAL one = 1;
        touch(o, &o->target_bias_penalty, s, w + o->rank, &one, g, 1, 1, mine);
    }
    if (o->query_bias) {
        mine->asked[o->rank] += g;
        mine->u[o->rank] -= rate * norm * g;
    }
}

/* Any other pair; V_j, from before its features move, stands in v. */
static void rich_pair(const fmf_sgd *o, const sgd_side *targets, int64_t j, REAL g, REAL norm, const sgd_scratch *mine) {
    const REAL rate = (REAL)o->rate, bias = o->query_bias ? mine->u[o->rank] : 0;
    if (o->target_bias) mine->u[o->rank] = 1; /* a bias moves by g alone */
    touch_row(o, targets, j, mine->u, g, 1, mine);
    for (int64_t c = 0; c < o->rank; c++) {
        mine->asked[c] += g * mine->v[c];
        mine->u[c] -= rate * norm * g * mine->v[c];
    }
    if (o->query_bias) {
        mine->asked[o->rank] += g;
        mine->u[o->rank] = bias - rate * norm * g;
    }
}

/* Has V_j of a pair a little later fetched. */
static inline void fetch_target(const fmf_sgd *o, const sgd_side *targets, int64_t e, int64_t end) {
    if (e + SGD_AHEAD >= end) return;
    const int64_t *ahead = o->Z.row_ptr + o->pairs.other[e + SGD_AHEAD];
    const REAL *next = ahead[0] < ahead[1] ? targets->P + o->Z.row_index[ahead[0]] * targets->width : targets->P;
    for (int64_t c = 0; c < o->rank; c += 2 * LANES) __builtin_prefetch(next + c, 1);
}

static void grouped_query(const fmf_sgd *o, int64_t i, const sgd_scratch *mine) {
    const fmf_pairs *pairs = &o->pairs;
    const sgd_side queries = query_side(o), targets = target_side(o);
    const int64_t begin = pairs->ptr[i], end = pairs->ptr[i + 1];
    const int plain = !o->Q_penalty.native && o->Q_penalty.l1 == 0;
    const REAL norm = embed_one(&queries, i, mine->u);
    for (int64_t c = 0; c < queries.width; c++) mine->asked[c] = 0;
    for (int64_t e = begin; e < end; e++) {
        const int64_t j = pairs->other[e], z = o->Z.row_ptr[j];
        fetch_target(o, &targets, e, end);
        const int lone = o->Z.row_ptr[j + 1] - z == 1 && value_at(&o->Z, j, z) == 1; /* plain indicator: Q's row is V_j */
        const REAL *V = lone ? targets.P + o->Z.row_index[z] * targets.width : mine->v;
        if (!lone) embed_one(&targets, j, mine->v);
        const REAL g = pair_gradient(o, e, mine->u, V);
        if (stopped(o)) return;
        if (lone && plain) {
            lone_pair(o, o->Z.row_index[z], g, norm, mine);
            continue;
        }
        for (int64_t c = 0; lone && c < o->rank; c++) mine->v[c] = V[c]; /* V_j is about to change in place */
        rich_pair(o, &targets, j, g, norm, mine);
    }
    touch_row(o, &queries, i, mine->asked, 1, end - begin, mine);
}

static void some_queries(void *context, int64_t p, int thread) {
    const fmf_sgd *o = context;
    const sgd_scratch mine = scratch_of(o, thread);
    const range some = portion(o->pairs.rows, QUERIES_AT_ONCE, p);
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t i = o->order[t];
        if (stopped(o) || o->pairs.ptr[i] == o->pairs.ptr[i + 1]) continue;
        grouped_query(o, i, &mine);
    }
}

static void sgd_grouped(const fmf_sgd *given, int32_t threads) {
    fmf_sgd o = *given;
    fmf_share_out(threads, portions_of(o.pairs.rows, QUERIES_AT_ONCE), some_queries, &o);
}
