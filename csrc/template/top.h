/* top.h -- the k targets with the highest scores for each query.

   Scores are made tile by tile, TILE queries by PACK targets in registers, and each is compared with the lowest that its query
   could still take, which few reach.  Those that do are kept as keys, whole numbers in the order of scores, where of two equal
   scores the higher target is lower, so that the answer does not depend on the order of work.  Whenever a query's room for keys is
   full, all but the k highest are dropped. */

#define PACK (2 * LANES)
#ifdef __AVX512F__
typedef REAL pack_vec __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));
enum { TILE = 12, PACK_PARTS = 1 };
#else
typedef loose_vec pack_vec;
enum { TILE = 6, PACK_PARTS = 2 };
#endif
enum { PACKS = 512 / PACK }; /* 512 targets share the cache with the queries */

typedef struct {
    int64_t targets;
    const REAL *embedding;
    int64_t stride;
    REAL *packed;
} target_packing;

/* Targets in packs of PACK, dimension by dimension; zeros past the last. */
static void pack_some_targets(void *context, int64_t p, int thread) {
    const target_packing *o = context;
    REAL *out = o->packed + p * o->stride * PACK;
    (void)thread;
    for (int64_t c = 0; c < o->stride; c++) {
        for (int l = 0; l < PACK; l++) {
            out[c * PACK + l] = p * PACK + l < o->targets ? o->embedding[(p * PACK + l) * o->stride + c] : 0;
        }
    }
}

static void pack_targets(int64_t targets, const void *embedding, int64_t stride, void *packed, int32_t threads) {
    target_packing o = {targets, embedding, stride, packed};
    fmf_share_out(threads, portions_of(targets, PACK), pack_some_targets, &o);
}

/* ---- keys ---- */

#if FMF_BITS == 32
typedef uint32_t ordered;  /* a score as a whole number in the same order */
typedef uint64_t rank_key; /* then the target, counted backwards */
#else
typedef uint64_t ordered;
typedef unsigned __int128 rank_key;
#endif

#define SIGN ((ordered)1 << (FMF_BITS - 1))

static inline rank_key key_of(REAL score, int32_t target) {
    const REAL unsigned_zero = score + 0; /* -0 and 0 are equal */
    ordered bits;
    memcpy(&bits, &unsigned_zero, sizeof bits);
    bits ^= bits & SIGN ? ~(ordered)0 : SIGN;
    return (rank_key)bits << 32 | (uint32_t)~target;
}

static inline int32_t target_of(rank_key a) { return ~(int32_t)(uint32_t)a; }

static inline REAL score_of(rank_key a) {
    ordered bits = (ordered)(a >> 32);
    REAL score;
    bits ^= bits & SIGN ? SIGN : ~(ordered)0;
    memcpy(&score, &bits, sizeof score);
    return score;
}

#undef SIGN

static inline void swap_keys(rank_key *a, rank_key *b) {
    const rank_key was = *a;
    *a = *b;
    *b = was;
}

/* Puts the keys of a[0..n) above that of one of them before it; returns its place.  The one is the median of three. */
static int64_t divide_keys(rank_key *a, int64_t n) {
    int64_t place = 0;
    if (a[n / 2] < a[0]) swap_keys(a + n / 2, a);
    if (a[n - 1] < a[n / 2]) swap_keys(a + n - 1, a + n / 2);
    if (a[n / 2] < a[0]) swap_keys(a + n / 2, a);
    swap_keys(a + n / 2, a + n - 1);
    const rank_key middle = a[n - 1];
    for (int64_t t = 0; t < n - 1; t++) {
        const rank_key one = a[t];
        a[t] = a[place];
        a[place] = one;
        place += one > middle;
    }
    swap_keys(a + place, a + n - 1);
    return place;
}

/* The k highest of n keys come first. */
static void select_keys(rank_key *a, int64_t n, int64_t k) {
    while (n > 1 && k > 0 && k < n) {
        const int64_t place = divide_keys(a, n);
        if (place >= k) {
            n = place;
        } else {
            a += place + 1;
            n -= place + 1;
            k -= place + 1;
        }
    }
}

/* Highest first. */
static void sort_keys(rank_key *a, int64_t n) {
    while (n > 16) { /* the smaller part first: few calls wait */
        const int64_t place = divide_keys(a, n), after = n - place - 1;
        if (place < after) {
            sort_keys(a, place);
            a += place + 1;
            n = after;
        } else {
            sort_keys(a + place + 1, after);
            n = place;
        }
    }
    for (int64_t t = 1; t < n; t++) {
        const rank_key one = a[t];
        int64_t at = t;
        for (; at > 0 && a[at - 1] < one; at--) a[at] = a[at - 1];
        a[at] = one;
    }
}

/* ---- scores ---- */

/* Scores of `rows` queries (TILE at most) with one pack of targets. */
static inline void score_tile(const REAL *U, int64_t stride, int rows, const REAL *pack, REAL *scores) {
    const REAL *u[TILE];
    pack_vec made[TILE][PACK_PARTS];
    for (int r = 0; r < TILE; r++) {
        u[r] = U + (r < rows ? r : 0) * stride;
        for (int n = 0; n < PACK_PARTS; n++) made[r][n] = (pack_vec){0};
    }
    for (int64_t c = 0; c < stride; c++) {
        const pack_vec *at = (const pack_vec *)(pack + c * PACK);
        UNROLL(12)
        for (int r = 0; r < TILE; r++) {
            for (int n = 0; n < PACK_PARTS; n++) made[r][n] += u[r][c] * at[n];
        }
    }
    memcpy(scores, made, sizeof made);
}

/* A query's best so far. */
typedef struct {
    rank_key *keys;
    int64_t count;
    REAL least;   /* what a score must reach */
    int64_t skip; /* runs along the query's sorted targets to leave out */
} best_targets;

/* Scores that do not count become no numbers, which reach nothing: targets past the last, and those to leave out. */
static inline void leave_out(const fmf_top *o, int64_t query, int64_t first, REAL *score, best_targets *best) {
    for (int64_t t = o->targets; t < first + PACK; t++) score[t - first] = NAN;
    if (!o->skip_ptr) return;
    for (; best->skip < o->skip_ptr[query + 1] && o->skip[best->skip] < first + PACK; best->skip++) {
        if (o->skip[best->skip] >= first) score[o->skip[best->skip] - first] = NAN;
    }
}

static inline int any_at_least(const REAL *score, REAL least) {
    BITS any = 0;
    for (int half = 0; half < 2; half++) {
        const ivec mask = load(score + half * LANES) >= least - (vec){0};
        for (int l = 0; l < LANES; l++) any |= mask[l];
    }
    return any != 0;
}

/* Offers the scores of a pack to a query. */
static inline void offer(const fmf_top *o, int64_t first, const REAL *score, best_targets *best) {
    if (!any_at_least(score, best->least)) return;
    for (int l = 0; l < PACK; l++) {
        best->keys[best->count] = key_of(score[l], (int32_t)(first + l));
        best->count += score[l] >= best->least;
    }
    if (best->count + PACK <= o->room) return;
    select_keys(best->keys, best->count, o->k);
    best->count = o->k;
    rank_key lowest = best->keys[0];
    for (int64_t n = 1; n < o->k; n++) lowest = best->keys[n] < lowest ? best->keys[n] : lowest;
    best->least = score_of(lowest);
}

/* Some queries, each with packs [some, last) of targets. */
static void offer_packs(const fmf_top *o, range queries, int64_t some, int64_t last, best_targets *best) {
    for (int64_t q = queries.from; q < queries.to; q += TILE) {
        const int rows = (int)smaller(queries.to - q, TILE);
        for (int64_t p = some; p < last; p++) {
            REAL scores[TILE * PACK];
            score_tile((const REAL *)o->mine + q * o->stride, o->stride, rows, (const REAL *)o->packed + p * o->stride * PACK,
                       scores);
            for (int r = 0; r < rows; r++) {
                leave_out(o, q + r, p * PACK, scores + r * PACK, best + (q + r - queries.from));
                offer(o, p * PACK, scores + r * PACK, best + (q + r - queries.from));
            }
        }
    }
}

/* A query's answer, best first; -infinity and no target where there are not so many. */
static void answer(const fmf_top *o, int64_t query, const best_targets *best) {
    const int64_t found = smaller(best->count, o->k);
    select_keys(best->keys, best->count, o->k);
    sort_keys(best->keys, found);
    for (int64_t n = 0; n < o->k; n++) {
        ((REAL *)o->score)[query * o->k + n] = n < found ? score_of(best->keys[n]) + (REAL)o->offset : -INFINITY;
        o->target[query * o->k + n] = n < found ? target_of(best->keys[n]) : -1;
    }
}

static void top_of_queries(void *context, int64_t p, int thread) {
    const fmf_top *o = context;
    const range queries = portion(o->queries, FMF_TOP_QUERIES, p);
    const int64_t packs = portions_of(o->targets, PACK), many = smaller(o->queries, FMF_TOP_QUERIES);
    best_targets best[FMF_TOP_QUERIES];
    for (int64_t q = queries.from; q < queries.to; q++) {
        rank_key *keys = (rank_key *)o->keys + (thread * many + q - queries.from) * o->room;
        best[q - queries.from] = (best_targets){keys, 0, -INFINITY, o->skip_ptr ? o->skip_ptr[q] : 0};
    }
    for (int64_t some = 0; some < packs; some += PACKS) offer_packs(o, queries, some, smaller(some + PACKS, packs), best);
    for (int64_t q = queries.from; q < queries.to; q++) answer(o, q, best + (q - queries.from));
}

static void top(const fmf_top *given, int32_t threads) {
    fmf_top o = *given;
    fmf_share_out(threads, portions_of(o.queries, FMF_TOP_QUERIES), top_of_queries, &o);
}

#undef PACK
