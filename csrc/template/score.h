/* score.h -- scores offset + U_i . V_j, and the loss. */

/* score_e += u . line_j for the pairs of one row, j = other[e] (or e, if other = NULL); u and lines are `parts` vectors, lines
   `room` numbers apart. */
ALWAYS_INLINE void add_dots(const int32_t *other, REAL *score, int64_t n, const REAL *lines, int64_t room, const vec *u,
                            int parts) {
    int64_t t = 0;
#ifdef TWO_AT_ONCE
    for (; parts == 1 && t + 2 * LANES <= n; t += 2 * LANES) {
        const two both = (two)_mm512_broadcast_f32x8((__m256)u[0]);
        two products[LANES];
        UNROLL(8)
        for (int l = 0; l < LANES; l++) {
            const int64_t one = t + l, second = one + LANES;
            products[l] =
                both * load_two(lines + (other ? other[one] : one) * room, lines + (other ? other[second] : second) * room);
        }
        const two sums = add_each_of_two(products);
        store(score + t, load(score + t) + lower_half(sums));
        store(score + t + LANES, load(score + t + LANES) + upper_half(sums));
    }
#endif
    for (; t + LANES <= n; t += LANES) {
        vec products[LANES];
        UNROLL(8)
        for (int l = 0; l < LANES; l++) {
            const REAL *line = lines + (other ? other[t + l] : t + l) * room;
            products[l] = u[0] * load(line);
            for (int p = 1; p < parts; p++) products[l] += u[p] * load(line + p * LANES);
        }
        store(score + t, load(score + t) + add_each(products));
    }
    for (; t < n; t++) {
        const REAL *line = lines + (other ? other[t] : t) * room;
        vec product = u[0] * load(line);
        for (int p = 1; p < parts; p++) product += u[p] * load(line + p * LANES);
        score[t] += add_lanes(product);
    }
}

/* Where V_j of LANES pairs from t on begin; the lines of pairs a little later are fetched. */
ALWAYS_INLINE void find_lines(const int32_t *other, int64_t t, int64_t n, const REAL *V, int64_t stride, const REAL **at) {
    for (int l = 0; l < LANES; l++) {
        at[l] = V + other[t + l < n ? t + l : t] * stride;
        if (t + l + PAIRS_AHEAD >= n) continue;
        const REAL *next = V + other[t + l + PAIRS_AHEAD] * stride;
        for (int64_t c = 0; c < stride; c += 2 * LANES) __builtin_prefetch(next + c);
    }
}

/* score_t += U_i . V_j for pairs [t, t + LANES) of n, V_j given by their places. */
ALWAYS_INLINE void score_group(const REAL *U, const REAL **at, int64_t stride, int64_t t, int64_t n, REAL *score) {
    vec sums[LANES] = {0};
    for (int64_t c = 0; c < stride; c += LANES) {
        const vec u = load(U + c);
        UNROLL(8)
        for (int l = 0; l < LANES; l++) sums[l] += u * load(at[l] + c);
    }
    const vec dots = add_each(sums);
    if (t + LANES <= n) {
        store(score + t, load(score + t) + dots);
    } else {
        for (int l = 0; t + l < n; l++) score[t + l] += dots[l];
    }
}

/* What a score begins with: the offset, less y for the square loss. */
static inline void begin_scores(const fmf_side *side, int64_t at, int64_t n, REAL *score) {
    const REAL *y = (const REAL *)side->pairs.y + at, offset = (REAL)side->offset;
    for (int64_t t = 0; t < n; t++) score[t] = side->loss.code == FMF_SQUARE ? offset - y[t] : offset;
}

/* Scores of row i's pairs. */
static void row_scores(const fmf_side *side, int64_t i, REAL *score) {
    const int64_t begin = side->pairs.ptr[i], n = side->pairs.ptr[i + 1] - begin;
    begin_scores(side, begin, n, score);
    for (int64_t t = 0; t < n; t += LANES) {
        const REAL *at[LANES];
        find_lines(side->pairs.other + begin, t, n, side->theirs, side->stride, at);
        score_group((const REAL *)side->mine + i * side->stride, at, side->stride, t, n, score);
    }
}

typedef struct {
    const fmf_side *side;
    const fmf_scoring *scratch;
} scoring;

/* Scores and loss of a chunk.  A table's loss gets the whole chunk; those known here go row by row, as in panel/rows.h. */
static void score_chunk(void *context, int64_t c, int thread) {
    const scoring *o = context;
    const fmf_pairs *pairs = &o->side->pairs;
    const int64_t first = pairs->chunk[c], end = pairs->chunk[c + 1], base = pairs->ptr[first];
    const REAL *y = pairs->y;
    REAL *score = o->side->score ? (REAL *)o->side->score + base
                                 : (REAL *)o->scratch->chunk_score + (int64_t)thread * o->scratch->longest;
    const fmf_loss *loss = &o->side->loss;
    double sum = 0.0;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = pairs->ptr[i], n = pairs->ptr[i + 1] - at;
        row_scores(o->side, i, score + (at - base));
        if (loss->code != FMF_NATIVE) sum += total_loss(loss, score + (at - base), y + at, weights_at(pairs, at), n, NULL);
    }
    if (loss->code == FMF_NATIVE) {
        REAL *value = (REAL *)o->scratch->value + (int64_t)thread * loss->batch;
        sum = total_loss(loss, score, y + base, weights_at(pairs, base), pairs->ptr[end] - base, value);
    }
    o->scratch->chunk_loss[c] = sum;
}

static double scores(const fmf_side *side, const fmf_scoring *scratch, int32_t threads) {
    scoring o = {side, scratch};
    double total = 0.0;
    fmf_share_out(threads, side->pairs.chunks, score_chunk, &o);
    for (int64_t c = 0; c < side->pairs.chunks; c++) total += scratch->chunk_loss[c];
    return total;
}

static void score_some_pairs(void *context, int64_t p, int thread) {
    const fmf_pair_list *o = context;
    const REAL *U = o->mine, *V = o->theirs;
    const range some = portion(o->n, COPIED, p);
    REAL *score = o->score;
    (void)thread;
    for (int64_t e = some.from; e < some.to; e++) {
        score[e] = (REAL)o->offset + dot(U + o->row[e] * o->stride, V + o->other[e] * o->stride, o->stride);
    }
}

static void pair_scores(const fmf_pair_list *list, int32_t threads) {
    fmf_pair_list o = *list;
    fmf_share_out(threads, portions_of(o.n, COPIED), score_some_pairs, &o);
}
