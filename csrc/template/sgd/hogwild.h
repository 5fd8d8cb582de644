/* sgd/hogwild.h -- the paper's Hogwild!: every pair makes both embeddings anew and updates every feature of both. */

enum { PAIRS_AT_ONCE = 256 };

static void hogwild_pair(const fmf_sgd *o, int64_t e, const sgd_scratch *mine) {
    const sgd_side queries = query_side(o), targets = target_side(o);
    const int64_t i = o->row_of[e], j = o->pairs.other[e];
    embed_one(&queries, i, mine->u);
    embed_one(&targets, j, mine->v);
    const REAL g = pair_gradient(o, e, mine->u, mine->v);
    if (stopped(o)) return;
    mine->u[o->rank] = mine->v[o->rank] = 1; /* a bias moves by g alone */
    touch_row(o, &queries, i, mine->v, g, 1, mine);
    touch_row(o, &targets, j, mine->u, g, 1, mine);
}

static void some_pairs(void *context, int64_t p, int thread) {
    const fmf_sgd *o = context;
    const uint64_t total = (uint64_t)o->pairs.ptr[o->pairs.rows];
    const sgd_scratch mine = scratch_of(o, thread);
    const range some = portion((int64_t)total, PAIRS_AT_ONCE, p);
    for (int64_t t = some.from; t < some.to && !stopped(o); t++) {
        const unsigned __int128 place = (unsigned __int128)o->multiplier * (uint64_t)t + (uint64_t)o->shift;
        hogwild_pair(o, (int64_t)(place % total), &mine);
    }
}

static void sgd_per_pair(const fmf_sgd *given, int32_t threads) {
    fmf_sgd o = *given;
    fmf_share_out(threads, portions_of(o.pairs.ptr[o.pairs.rows], PAIRS_AT_ONCE), some_pairs, &o);
}
