/* panel/parts.h -- the parts of a panel's update one by one, for solvers that put them together themselves. */

static panel part_of_panel(const fmf_side *side, const fmf_panel *scratch, int64_t column) {
    panel o = {.side = side, .scratch = scratch, .scores = KEEP};
    choose_panel(&o, column);
    return o;
}

/* G and A of all rows, from the scores as they are. */
static void panel_sums(const fmf_side *side, const fmf_panel *scratch, int64_t column, int32_t threads) {
    panel o = part_of_panel(side, scratch, column);
    if (column >= 0) fmf_share_out(threads, portions_of(side->their_rows, COPIED / PANEL), load_panel, &o);
    fmf_share_out(threads, side->pairs.chunks, panel_pass, &o);
}

/* Rows' own features take their steps, and rows move by them. */
static void panel_own(const fmf_side *side, const fmf_panel *scratch, int64_t column, int32_t threads) {
    panel o = part_of_panel(side, scratch, column);
    fmf_share_out(threads, portions_of(side->features.rows, own_portion(&o)), own_steps, &o);
}

/* One feature takes its step, given the slope and the curvature that its rows add up to. */
static void panel_step(const fmf_side *side, int64_t column, int64_t feature, const void *G, const void *A, void *d) {
    const panel o = part_of_panel(side, NULL, column);
    own_features f = {.count = 0};
    memset(d, 0, PANEL * sizeof(REAL));
    add_feature(&o, &f, feature, 1, G, A, d);
    take_own_steps(&o, &f);
}

/* Scores follow what rows moved by; embeddings do where the term over all cells needs them. */
static void follow_moves(void *context, int64_t c, int thread) {
    const panel *o = context;
    const fmf_pairs *pairs = &o->side->pairs;
    (void)thread;
    for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
        const int64_t from = pairs->ptr[i], n = pairs->ptr[i + 1] - from;
        const REAL *move = row_of(o->scratch->move, i);
        REAL *score = (REAL *)o->side->score + from;
        if (is_bias(o)) {
            for (int64_t t = 0; t < n; t++) score[t] += move[0];
        } else {
            const pvec u = pload(move);
            add_dots(pairs->other + from, score, n, (const REAL *)o->scratch->VV + PANEL, 2 * PANEL, u.part, PARTS);
        }
        if (o->side->cells.weight) move_embedding(o, i, move);
    }
}

static void panel_move(const fmf_side *side, const fmf_panel *scratch, int64_t column, int32_t threads) {
    panel o = part_of_panel(side, scratch, column);
    fmf_share_out(threads, side->pairs.chunks, follow_moves, &o);
}

typedef struct {
    const fmf_side *side;
    REAL *g;
    REAL *h;
} pair_derivatives;

static void derive_chunk(void *context, int64_t c, int thread) {
    const pair_derivatives *o = context;
    const fmf_pairs *pairs = &o->side->pairs;
    const int64_t from = pairs->ptr[pairs->chunk[c]], to = pairs->ptr[pairs->chunk[c + 1]], batch = o->side->loss.batch;
    const REAL *score = o->side->score, *y = pairs->y;
    (void)thread;
    for (int64_t at = from; at < to; at += batch) {
        curvatures(&o->side->loss, score + at, y + at, weights_at(pairs, at), o->g + at, o->h + at, smaller(batch, to - at));
    }
}

/* Gradients and curvatures of all pairs at their scores. */
static void pair_gradients(const fmf_side *side, void *g, void *h, int32_t threads) {
    pair_derivatives o = {side, g, h};
    fmf_share_out(threads, side->pairs.chunks, derive_chunk, &o);
}

/* ---- products of features, and of the rows' matrices, with PANEL numbers a row or feature ---- */

typedef struct {
    const fmf_features *X;
    const REAL *from;
    const REAL *A;
    REAL *to;
    int32_t squared;
} product;

static inline REAL value_in_column(const fmf_features *X, int64_t s, int64_t e) {
    const int64_t i = X->col_index[e];
    if (X->own[i] == s) return ((const REAL *)X->own_value)[i];
    return X->col_value ? ((const REAL *)X->col_value)[e] : ((const REAL *)X->row_scale)[i];
}

static void sum_columns(void *context, int64_t p, int thread) {
    const product *o = context;
    const range some = portion(o->X->cols, FMF_PORTION, p);
    (void)thread;
    for (int64_t s = some.from; s < some.to; s++) {
        pvec sum = {0};
        for (int64_t e = o->X->col_ptr[s]; e < o->X->col_ptr[s + 1]; e++) {
            const REAL x = value_in_column(o->X, s, e);
            padd(&sum, o->squared ? x * x : x, pload(o->from + (int64_t)o->X->col_index[e] * PANEL));
        }
        pstore(o->to + s * PANEL, sum);
    }
}

static void feature_sums(const fmf_features *X, const void *rows, int32_t squared, void *sums, int32_t threads) {
    product o = {.X = X, .from = rows, .to = sums, .squared = squared};
    fmf_share_out(threads, portions_of(X->cols, FMF_PORTION), sum_columns, &o);
}

static void sum_rows(void *context, int64_t p, int thread) {
    const product *o = context;
    const fmf_features *X = o->X;
    const REAL *value = X->row_value, *scale = X->row_scale;
    const range some = portion(X->rows, FMF_PORTION, p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        const int64_t own = X->own[i], begin = X->row_ptr[i] + (own >= 0);
        pvec sum = {0};
        if (own >= 0) padd(&sum, ((const REAL *)X->own_value)[i], pload(o->from + own * PANEL));
        for (int64_t e = begin; e < X->row_ptr[i + 1]; e++) {
            padd(&sum, value ? value[e] : scale[i], pload(o->from + (int64_t)X->row_index[e] * PANEL));
        }
        pstore(o->to + i * PANEL, sum);
    }
}

static void row_sums(const fmf_features *X, const void *features, void *sums, int32_t threads) {
    product o = {.X = X, .from = features, .to = sums};
    fmf_share_out(threads, portions_of(X->rows, FMF_PORTION), sum_rows, &o);
}

static void multiply_rows(void *context, int64_t p, int thread) {
    const product *o = context;
    const range some = portion(o->X->rows, FMF_PORTION, p);
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        pstore(o->to + i * PANEL, times(o->A + i * ROOM, pload(o->from + i * PANEL)));
    }
}

static void row_products(const fmf_features *X, const void *A, const void *rows, void *products, int32_t threads) {
    product o = {.X = X, .from = rows, .A = A, .to = products};
    fmf_share_out(threads, portions_of(X->rows, FMF_PORTION), multiply_rows, &o);
}
