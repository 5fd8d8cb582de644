/* top.h -- the k targets with the highest scores for each query.

   Scores are made tile by tile, TILE queries by PACK targets in registers, and never stored: each is compared with the
   lowest of its query's best so far, which few pass.  The best stand in a heap, lowest first: of two equal scores the
   higher target number is lower, so that the answer does not depend on the order of work. */

#define PACK (2 * LANES)
#ifdef __AVX512F__
typedef REAL pack_vec __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));
enum { TILE = 12, PACK_PARTS = 1 };
#else
typedef loose_vec pack_vec;
enum { TILE = 6, PACK_PARTS = 2 };
#endif
enum { PACKS = 512 / PACK, QUERIES = 96 }; /* so many queries and 512 targets share the cache */

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

static inline int ranks_below(REAL a, int32_t target_a, REAL b, int32_t target_b) {
    return a < b || (a == b && target_a > target_b);
}

static void sift_down(REAL *score, int32_t *target, int64_t at, int64_t k) {
    const REAL s = score[at];
    const int32_t t = target[at];
    for (int64_t child = 2 * at + 1; child < k; child = 2 * at + 1) {
        if (child + 1 < k && ranks_below(score[child + 1], target[child + 1], score[child], target[child])) child++;
        if (!ranks_below(score[child], target[child], s, t)) break;
        score[at] = score[child];
        target[at] = target[child];
        at = child;
    }
    score[at] = s;
    target[at] = t;
}

/* A heap becomes a list, best first. */
static void sort_heap(REAL *score, int32_t *target, int64_t k) {
    for (int64_t last = k - 1; last > 0; last--) {
        const REAL s = score[0];
        const int32_t t = target[0];
        score[0] = score[last];
        target[0] = target[last];
        score[last] = s;
        target[last] = t;
        sift_down(score, target, 0, last);
    }
}

/* Scores of `rows` queries (TILE at most) with one pack of targets. */
static inline void score_tile(const REAL *U, int64_t stride, int rows, const REAL *pack, vec sums[][2]) {
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
    memcpy(sums, made, sizeof made);
}

static inline int any_at_least(vec a, REAL least) {
    const ivec mask = a >= least - (vec){0};
    BITS any = 0;
    for (int l = 0; l < LANES; l++) any |= mask[l];
    return any != 0;
}

/* Offers the scores of a pack to a query's heap; *skip runs along the query's sorted targets to leave out. */
static void offer(const fmf_top *o, int64_t query, int64_t first, const vec *sums, int64_t *skip) {
    REAL *score = (REAL *)o->score + query * o->k;
    int32_t *target = o->target + query * o->k;
    for (int half = 0; half < 2; half++) {
        if (!any_at_least(sums[half], score[0])) continue;
        for (int l = 0; l < LANES; l++) {
            const int64_t t = first + half * LANES + l;
            if (t >= o->targets) break;
            if (!ranks_below(score[0], target[0], sums[half][l], (int32_t)t)) continue;
            if (o->skip_ptr) {
                while (*skip < o->skip_ptr[query + 1] && o->skip[*skip] < t) (*skip)++;
                if (*skip < o->skip_ptr[query + 1] && o->skip[*skip] == t) continue;
            }
            score[0] = sums[half][l];
            target[0] = (int32_t)t;
            sift_down(score, target, 0, o->k);
        }
    }
}

/* Nothing yet, for some queries. */
static void begin_heaps(const fmf_top *o, range queries, int64_t *skip) {
    for (int64_t q = queries.from; q < queries.to; q++) {
        skip[q - queries.from] = o->skip_ptr ? o->skip_ptr[q] : 0;
        for (int64_t n = 0; n < o->k; n++) {
            ((REAL *)o->score)[q * o->k + n] = -INFINITY;
            o->target[q * o->k + n] = INT32_MAX;
        }
    }
}

/* Some queries, each with packs [some, last) of targets. */
static void offer_packs(const fmf_top *o, range queries, int64_t some, int64_t last, int64_t *skip) {
    for (int64_t q = queries.from; q < queries.to; q += TILE) {
        const int rows = (int)smaller(queries.to - q, TILE);
        for (int64_t p = some; p < last; p++) {
            vec sums[TILE][2];
            score_tile((const REAL *)o->mine + q * o->stride, o->stride, rows, (const REAL *)o->packed + p * o->stride * PACK,
                       sums);
            for (int r = 0; r < rows; r++) offer(o, q + r, p * PACK, sums[r], &skip[q + r - queries.from]);
        }
    }
}

static void top_of_queries(void *context, int64_t p, int thread) {
    const fmf_top *o = context;
    const range queries = portion(o->queries, QUERIES, p);
    const int64_t packs = portions_of(o->targets, PACK);
    int64_t skip[QUERIES];
    (void)thread;
    begin_heaps(o, queries, skip);
    for (int64_t some = 0; some < packs; some += PACKS) offer_packs(o, queries, some, smaller(some + PACKS, packs), skip);
    for (int64_t q = queries.from; q < queries.to; q++) {
        REAL *score = (REAL *)o->score + q * o->k;
        sort_heap(score, o->target + q * o->k, o->k);
        for (int64_t n = 0; n < o->k; n++) score[n] += (REAL)o->offset;
    }
}

static void top(const fmf_top *given, int32_t threads) {
    fmf_top o = *given;
    fmf_share_out(threads, portions_of(o.queries, QUERIES), top_of_queries, &o);
}

#undef PACK
