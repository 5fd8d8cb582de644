/* feature_phase.inc.h -- the feature phase of Algorithm 3: sums over columns, shared out by non-zeros.  Included for one dimension
   and for the steps of a panel; the includer sets
     PHASE(name)      names
     CONTEXT          what is swept: a struct that begins with a sweep
     PARTIAL(c)       room for the sums of cut columns' pieces
     SUMS             how many numbers a column's sums are
   and has
     PHASE(column_piece)(c, s, skip, out)   the sums over the piece of column s that begins `skip` non-zeros into it
     PHASE(settle)(c, s, place, sums)       what becomes of a column's sums
     PHASE(fetch)(c, s)                     has a column's first lines fetched */

/* A portion of the current set: whole columns that begin in it, and pieces of cut columns that do. */
static void PHASE(features)(void *context, int64_t p, int thread) {
    const CONTEXT *c = context;
    const fmf_plan *plan = c->sets.plan;
    const int64_t S = c->sets.set, first = plan->set_ptr[S], last = plan->set_ptr[S + 1];
    const int64_t begin = plan->start[first], total = plan->start[last] - begin, size = entries_at_once(&c->sets);
    const int64_t from = begin + p * size, to = (p + 1) * size >= total ? begin + total + 1 : begin + (p + 1) * size;
    int64_t t = first + first_at_least(plan->start + first, last - first, from);
    (void)thread;
    if (t > first) t--; /* a cut column that began before may go on here */
    for (; t < last && plan->start[t] < to; t++) {
        const int64_t s = plan->order[t];
        if (t + AHEAD < last) PHASE(fetch)(c, plan->order[t + AHEAD]);
        if (plan->cut[t + 1] == plan->cut[t]) {
            REAL sums[SUMS];
            if (plan->start[t] < from) continue;
            PHASE(column_piece)(c, s, 0, sums);
            PHASE(settle)(c, s, t - first, sums);
            continue;
        }
        for (int64_t piece = 0; piece < plan->cut[t + 1] - plan->cut[t]; piece++) {
            const int64_t at = plan->start[t] + piece * FMF_CUT;
            if (at < from || at >= to) continue;
            PHASE(column_piece)(c, s, piece * FMF_CUT, PARTIAL(c) + SUMS * (plan->cut[t] - plan->cut[first] + piece));
        }
    }
}

/* Cut columns: their pieces added in order. */
static void PHASE(join_pieces)(void *context) {
    const CONTEXT *c = context;
    const fmf_plan *plan = c->sets.plan;
    const int64_t S = c->sets.set, first = plan->set_ptr[S];
    for (int64_t t = first; has_cut(plan, S) && t < plan->set_ptr[S + 1]; t++) {
        if (plan->cut[t + 1] == plan->cut[t]) continue;
        REAL sums[SUMS] = {0};
        for (int64_t piece = plan->cut[t] - plan->cut[first]; piece < plan->cut[t + 1] - plan->cut[first]; piece++) {
            for (int n = 0; n < SUMS; n++) sums[n] += PARTIAL(c)[SUMS * piece + n];
        }
        PHASE(settle)(c, plan->order[t], t - first, sums);
    }
}
