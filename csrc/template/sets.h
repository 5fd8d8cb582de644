/* sets.h -- the feature phase of Algorithm 3, shared out by non-zeros.  Included for one dimension and for a block of them:
     PHASE(name)                     names
     CONTEXT, PLAN(c), SCRATCH(c)    what is swept: its type, its plan, room for the sums of cut columns' pieces
     SUMS                            how many numbers a column's sums are
     PHASE(column_piece)(c, s, skip, out)   the sums over the piece of column s that begins `skip` non-zeros into it
     PHASE(settle)(c, k, s, place, sums)    what becomes of a column's sums */

/* The thread's share of set S: whole columns that begin in it, and pieces of cut columns that do. */
static void PHASE(feature_phase)(const CONTEXT *c, const fmf_dimension *k, int64_t S, int thread, int team) {
    const fmf_plan *plan = PLAN(c);
    const int64_t first = plan->set_ptr[S], last = plan->set_ptr[S + 1];
    const int64_t begin = plan->start[first], total = plan->start[last] - begin;
    const int64_t from = begin + total * thread / team;
    const int64_t to = thread + 1 == team ? begin + total + 1 : begin + total * (thread + 1) / team;
    int64_t t = first + first_at_least(plan->start + first, last - first, from);
    if (t > first) t--; /* a cut column that began before may go on here */
    for (; t < last && plan->start[t] < to; t++) {
        const int64_t s = plan->order[t];
        if (t + AHEAD < last) PHASE(fetch)(c, k, plan->order[t + AHEAD]);
        if (plan->cut[t + 1] == plan->cut[t]) {
            REAL sums[SUMS];
            if (plan->start[t] < from) continue;
            PHASE(column_piece)(c, s, 0, sums);
            PHASE(settle)(c, k, s, t - first, sums);
            continue;
        }
        for (int64_t piece = 0; piece < plan->cut[t + 1] - plan->cut[t]; piece++) {
            const int64_t at = plan->start[t] + piece * FMF_CUT;
            if (at < from || at >= to) continue;
            PHASE(column_piece)(c, s, piece * FMF_CUT, SCRATCH(c) + SUMS * (plan->cut[t] - plan->cut[first] + piece));
        }
    }
}

/* Cut columns: their pieces added in order. */
static void PHASE(join_pieces)(const CONTEXT *c, const fmf_dimension *k, int64_t S) {
    const fmf_plan *plan = PLAN(c);
    const int64_t first = plan->set_ptr[S];
    for (int64_t t = first; t < plan->set_ptr[S + 1]; t++) {
        if (plan->cut[t + 1] == plan->cut[t]) continue;
        REAL sums[SUMS] = {0};
        for (int64_t piece = plan->cut[t] - plan->cut[first]; piece < plan->cut[t + 1] - plan->cut[first]; piece++) {
            for (int n = 0; n < SUMS; n++) sums[n] += SCRATCH(c)[SUMS * piece + n];
        }
        PHASE(settle)(c, k, plan->order[t], t - first, sums);
    }
}
