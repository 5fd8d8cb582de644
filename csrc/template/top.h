/* top.h -- the k targets with the highest scores for each query.

   Scores are made tile by tile, TILE queries by PACK targets in registers, and never stored: each is compared with the
   lowest of its query's best so far, which few pass.  The best stand in a heap, lowest first: of two equal scores the
   higher target number is lower, so that the answer does not depend on the order of work. */

#define PACK (2 * LANES)
enum { FN(TILE) = 6, FN(TILES) = 16, FN(PACKS) = 512 / PACK }; /* queries and targets that share the cache: 96 x 512 */

/* Targets in packs of PACK, dimension by dimension; zeros past the last. */
static void FN(pack_targets)(int64_t targets, const void *embedding, int64_t stride, void *packed, int32_t threads) {
    const REAL *V = embedding;
    const int64_t packs = (targets + PACK - 1) / PACK;
    int64_t p;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (p = 0; p < packs; p++) {
        REAL *out = (REAL *)packed + p * stride * PACK;
        for (int64_t c = 0; c < stride; c++) {
            for (int l = 0; l < PACK; l++) out[c * PACK + l] = p * PACK + l < targets ? V[(p * PACK + l) * stride + c] : 0;
        }
    }
}

static inline int FN(ranks_below)(REAL a, int32_t target_a, REAL b, int32_t target_b) {
    return a < b || (a == b && target_a > target_b);
}

static void FN(sift_down)(REAL *score, int32_t *target, int64_t at, int64_t k) {
    const REAL s = score[at];
    const int32_t t = target[at];
    for (int64_t child = 2 * at + 1; child < k; child = 2 * at + 1) {
        if (child + 1 < k && FN(ranks_below)(score[child + 1], target[child + 1], score[child], target[child])) child++;
        if (!FN(ranks_below)(score[child], target[child], s, t)) break;
        score[at] = score[child];
        target[at] = target[child];
        at = child;
    }
    score[at] = s;
    target[at] = t;
}

/* A heap becomes a list, best first. */
static void FN(sort_heap)(REAL *score, int32_t *target, int64_t k) {
    for (int64_t last = k - 1; last > 0; last--) {
        const REAL s = score[0];
        const int32_t t = target[0];
        score[0] = score[last];
        target[0] = target[last];
        score[last] = s;
        target[last] = t;
        FN(sift_down)(score, target, 0, last);
    }
}

/* Scores of `rows` queries (TILE at most) with one pack of targets. */
static inline void FN(score_tile)(const REAL *U, int64_t stride, int rows, const REAL *pack, vec sums[][2]) {
    const REAL *u[FN(TILE)];
    for (int r = 0; r < FN(TILE); r++) {
        u[r] = U + (r < rows ? r : 0) * stride;
        sums[r][0] = sums[r][1] = (vec){0};
    }
    for (int64_t c = 0; c < stride; c++) {
        const vec low = FN(load)(pack + c * PACK), high = FN(load)(pack + c * PACK + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < FN(TILE); r++) {
            sums[r][0] += u[r][c] * low;
            sums[r][1] += u[r][c] * high;
        }
    }
}

static inline int FN(any_at_least)(vec a, REAL least) {
    const ivec mask = a >= least - (vec){0};
    BITS any = 0;
    for (int l = 0; l < LANES; l++) any |= mask[l];
    return any != 0;
}

/* Offers the scores of a pack to a query's heap; *skip runs along the query's sorted targets to leave out. */
static void FN(offer)(const fmf_top *o, int64_t query, int64_t first, const vec *sums, int64_t *skip) {
    REAL *score = (REAL *)o->score + query * o->k;
    int32_t *target = o->target + query * o->k;
    for (int half = 0; half < 2; half++) {
        if (!FN(any_at_least)(sums[half], score[0])) continue;
        for (int l = 0; l < LANES; l++) {
            const int64_t t = first + half * LANES + l;
            if (t >= o->targets) break;
            if (!FN(ranks_below)(score[0], target[0], sums[half][l], (int32_t)t)) continue;
            if (o->skip_ptr) {
                while (*skip < o->skip_ptr[query + 1] && o->skip[*skip] < t) (*skip)++;
                if (*skip < o->skip_ptr[query + 1] && o->skip[*skip] == t) continue;
            }
            score[0] = sums[half][l];
            target[0] = (int32_t)t;
            FN(sift_down)(score, target, 0, o->k);
        }
    }
}

static void FN(top)(const fmf_top *o, int32_t threads) {
    enum { QUERIES = FN(TILE) * FN(TILES) };
    const int64_t blocks = (o->queries + QUERIES - 1) / QUERIES, packs = (o->targets + PACK - 1) / PACK;
    int64_t block;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (block = 0; block < blocks; block++) {
        const int64_t begin = block * QUERIES, end = begin + QUERIES < o->queries ? begin + QUERIES : o->queries;
        int64_t skip[QUERIES];
        for (int64_t q = begin; q < end; q++) {
            skip[q - begin] = o->skip_ptr ? o->skip_ptr[q] : 0;
            for (int64_t n = 0; n < o->k; n++) {
                ((REAL *)o->score)[q * o->k + n] = -INFINITY;
                o->target[q * o->k + n] = INT32_MAX;
            }
        }
        for (int64_t some = 0; some < packs; some += FN(PACKS)) {
            const int64_t last = some + FN(PACKS) < packs ? some + FN(PACKS) : packs;
            for (int64_t q = begin; q < end; q += FN(TILE)) {
                const int rows = (int)(end - q < FN(TILE) ? end - q : FN(TILE));
                for (int64_t p = some; p < last; p++) {
                    vec sums[FN(TILE)][2];
                    FN(score_tile)((const REAL *)o->own + q * o->stride, o->stride, rows,
                                   (const REAL *)o->packed + p * o->stride * PACK, sums);
                    for (int r = 0; r < rows; r++) FN(offer)(o, q + r, p * PACK, sums[r], &skip[q + r - begin]);
                }
            }
        }
        for (int64_t q = begin; q < end; q++) {
            REAL *score = (REAL *)o->score + q * o->k;
            FN(sort_heap)(score, o->target + q * o->k, o->k);
            for (int64_t n = 0; n < o->k; n++) score[n] += (REAL)o->offset;
        }
    }
}

#undef PACK
