/* panel/rows.h -- a side whose rows have nothing but a feature of their own: plain matrix factorization.  A row's problem needs
   no other row, so each is taken from its scores to its new embedding at once, while the V_j of its pairs, copied side by side,
   stay in the cache.  The scores left at the end give the loss. */

typedef struct {
    const fmf_side *side;
    const fmf_rows *scratch;
} rows_update;

/* One thread's update of a row, or of a few short ones side by side: they take their steps together, and curvatures of all
   their pairs are asked for at once. */
typedef struct {
    panel o;       /* the current panel; of its fields those that steps need */
    range rows;    /* at most LANES */
    int64_t at;    /* their first pair, */
    int64_t n;     /*   and how many they have */
    int64_t apart; /* pairs for which a panel of lines has room */
    REAL *score;   /* of their pairs */
    REAL *lines;   /* V_j of their pairs: of all panels if they fit, else room for some of the current panel */
    REAL *g;
    REAL *h;
    double *found; /* (updates, groups + 1, PANEL) where strengths are learnt, else NULL */
} row_update;

/* Sums over pairs, and moves, of each row. */
typedef struct {
    REAL G[LANES][PANEL];
    REAL A[LANES][ROOM];
    REAL move[LANES][PANEL];
} row_steps;

static inline int64_t panels_of(const fmf_side *side) { return portions_of(side->rank, PANEL); }

/* Row i's pairs, counted from the first of all. */
static inline range pairs_of(const row_update *r, int64_t i) {
    const int64_t *ptr = r->o.side->pairs.ptr;
    return (range){ptr[i] - r->at, ptr[i + 1] - r->at};
}

/* Scores of a row's pairs, and their V_j, side by side, panel after panel. */
static void score_and_copy(const row_update *r, int64_t i) {
    const fmf_side *side = r->o.side;
    const range pairs = pairs_of(r, i);
    begin_scores(side, r->at + pairs.from, pairs.to - pairs.from, r->score + pairs.from);
    for (int64_t t = pairs.from; t < pairs.to; t += LANES) {
        const int64_t m = smaller(pairs.to - t, LANES);
        const REAL *at[LANES];
        find_lines(side->pairs.other + r->at, t, r->n, side->theirs, side->stride, at);
        score_group((const REAL *)side->mine + i * side->stride, at, side->stride, t, pairs.to, r->score);
        for (int64_t c = 0; c < panels_of(side); c++) {
            const int64_t size = smaller(side->rank - c * PANEL, PANEL);
            REAL *line = r->lines + (c * r->apart + t) * PANEL;
            for (int l = 0; l < m; l++) {
                if (size == PANEL) {
                    pstore(line + l * PANEL, pload(at[l] + c * PANEL));
                } else {
                    for (int k = 0; k < PANEL; k++) line[l * PANEL + k] = k < size ? at[l][c * PANEL + k] : 0;
                }
            }
        }
    }
}

/* r_t += move . line_t */
static void move_scores(const REAL *lines, int64_t n, const REAL *move, REAL *score) {
    const pvec u = pload(move);
    add_dots(NULL, score, n, lines, PANEL, u.part, PARTS);
}

/* Adds what pairs [some.from, some.to), whose V_j are in `lines`, have in each row's G and A; for the plain square loss without
   its factor 2. */
static void add_line_sums(const row_update *r, range some, const REAL *lines, row_steps *s) {
    const fmf_side *side = r->o.side;
    const int plain = is_plain(side);
    const int64_t batch = plain ? r->n : side->loss.batch;
    for (int64_t begin = some.from; begin < some.to; begin += batch) {
        const int64_t end = smaller(begin + batch, some.to), at = r->at + begin;
        const REAL *y = (const REAL *)side->pairs.y + at, *weight = weights_at(&side->pairs, at), *score = r->score + begin;
        if (!plain) curvatures(&side->loss, score, y, weight, r->g, r->h, end - begin);
        for (int64_t i = r->rows.from; i < r->rows.to; i++) {
            const range pairs = pairs_of(r, i);
            const int64_t from = pairs.from > begin ? pairs.from : begin, n = smaller(pairs.to, end) - from;
            const REAL *g = plain ? score : r->g, *h = plain ? NULL : r->h + (from - begin);
            REAL *G = s->G[i - r->rows.from], *A = s->A[i - r->rows.from];
            if (n > 0) gram(NULL, g + (from - begin), h, n, lines + (from - some.from) * PANEL, PANEL, G, A);
        }
    }
}

/* The steps of the rows' own features, other terms taken in; move is zero for rows that have none. */
static void step_rows(const row_update *r, row_steps *s) {
    const fmf_side *side = r->o.side;
    const REAL shared[PANEL] = {0};
    own_features f = {.count = 0};
    for (int64_t i = r->rows.from, l = 0; i < r->rows.to; i++, l++) {
        if (side->cells.weight) add_panel_cells(&r->o, i, s->G[l], s->A[l]);
        add_spread(&r->o, i, s->G[l], s->A[l]);
        if (side->draws.noise > 0) own_draw(&r->o, i, s->G[l], s->A[l], s->move[l]);
        else add_own(&r->o, &f, i, s->G[l], s->A[l], s->move[l]);
    }
    take_own_steps(&r->o, &f);
    for (int64_t i = r->rows.from, l = 0; i < r->rows.to; i++, l++) {
        if (side->cells.weight) move_embedding(&r->o, i, s->move[l]);
        if (r->found) measure_row(&r->o, i, s->A[l], shared, r->found + r->o.number * spread_room(&side->spread));
    }
}

/* The rows' biases: a dimension in which all V_j are 1. */
static void bias_of_rows(row_update *r) {
    row_steps s = {0};
    choose_panel(&r->o, -1);
    for (int64_t i = r->rows.from, l = 0; i < r->rows.to; i++, l++) {
        const range pairs = pairs_of(r, i);
        REAL sums[2] = {0};
        bias_sums(r->o.side, r->at + pairs.from, pairs.to - pairs.from, r->score + pairs.from, r->g, r->h, sums);
        s.G[l][0] = sums[0];
        s.A[l][0] = sums[1];
    }
    step_rows(r, &s);
    for (int64_t i = r->rows.from, l = 0; i < r->rows.to; i++, l++) {
        const range pairs = pairs_of(r, i);
        for (int64_t t = pairs.from; t < pairs.to; t++) r->score[t] += s.move[l][0];
    }
}

/* V_j of some pairs in the current panel, side by side. */
static void gather_lines(const row_update *r, range some) {
    const fmf_side *side = r->o.side;
    const int32_t *other = side->pairs.other + r->at + some.from;
    const int64_t n = some.to - some.from;
    const REAL *V = (const REAL *)side->theirs + r->o.column;
    for (int64_t t = 0; t < n; t++) {
        const REAL *at = V + other[t] * side->stride;
        if (t + PAIRS_AHEAD < n) __builtin_prefetch(V + other[t + PAIRS_AHEAD] * side->stride);
        for (int k = 0; k < PANEL; k++) r->lines[t * PANEL + k] = k < r->o.size ? at[k] : 0;
    }
}

/* A panel of rows that fit: `there` has V_j of all their pairs. */
static void panel_of_rows(row_update *r, const REAL *there) {
    const int64_t rows = r->rows.to - r->rows.from;
    row_steps s = {0};
    add_line_sums(r, (range){0, r->n}, there, &s);
    if (is_plain(r->o.side)) double_sums(s.G[0], s.A[0], rows);
    step_rows(r, &s);
    for (int64_t l = 0; l < rows; l++) {
        const range pairs = pairs_of(r, r->rows.from + l);
        move_scores(there + pairs.from * PANEL, pairs.to - pairs.from, s.move[l], r->score + pairs.from);
    }
}

/* A panel of one row that is too long: V_j are gathered, `room` pairs at a time. */
static void panel_of_long_row(row_update *r, int64_t room) {
    const int64_t pieces = portions_of(r->n, room);
    row_steps s = {0};
    for (int64_t p = 0; p < pieces; p++) {
        const range some = portion(r->n, room, p);
        gather_lines(r, some);
        add_line_sums(r, some, r->lines, &s);
    }
    if (is_plain(r->o.side)) double_sums(s.G[0], s.A[0], 1);
    step_rows(r, &s);
    for (int64_t p = 0; p < pieces; p++) {
        const range some = portion(r->n, room, p);
        if (pieces > 1) gather_lines(r, some);
        move_scores(r->lines, some.to - some.from, s.move[0], r->score + some.from);
    }
}

/* The row's new embedding: its feature's value times parameters. */
static void write_row(const fmf_side *side, int64_t i) {
    const int64_t s = side->features.own[i];
    if (s < 0) return;
    const REAL x = ((const REAL *)side->features.own_value)[i], *w = (const REAL *)side->parameters + s * side->width;
    REAL *U = (REAL *)side->mine + i * side->stride;
    for (int64_t c = 0; c < side->rank; c++) U[c] = x * w[c];
    if (side->bias_slot >= 0) U[side->bias_slot] = x * w[side->rank];
}

/* Rows from scores to embeddings; returns their loss. */
static double whole_rows(row_update *r, int64_t lines_room) {
    const fmf_side *side = r->o.side;
    const int64_t panels = panels_of(side);
    const int fits = (r->n | 1) <= lines_room;
    double loss = 0.0;
    r->apart = r->n | 1; /* panels of lines do not begin a power of 2 apart, where they would share cache sets */
    for (int64_t i = r->rows.from; i < r->rows.to; i++) {
        if (fits) score_and_copy(r, i);
        else row_scores(side, i, r->score);
    }
    if (side->bias_slot >= 0) bias_of_rows(r);
    for (int64_t c = 0; c < panels; c++) {
        choose_panel(&r->o, c * PANEL);
        if (fits) panel_of_rows(r, r->lines + c * r->apart * PANEL);
        else panel_of_long_row(r, lines_room * panels);
    }
    for (int64_t i = r->rows.from; i < r->rows.to; i++) {
        const range pairs = pairs_of(r, i);
        const int64_t at = r->at + pairs.from, n = pairs.to - pairs.from;
        write_row(side, i);
        loss += total_loss(&side->loss, r->score + pairs.from, (const REAL *)side->pairs.y + at, weights_at(&side->pairs, at),
                           n, r->g);
    }
    return loss;
}

/* The end of rows that are short enough to go side by side with row i. */
static int64_t rows_together(const fmf_side *side, const fmf_rows *scratch, int64_t i, int64_t end) {
    const int64_t *ptr = side->pairs.ptr, most = smaller(smaller(scratch->together, side->loss.batch), scratch->lines_room - 1);
    int64_t to = i + 1;
    while (to < smaller(end, i + LANES) && ptr[to + 1] - ptr[i] <= most) to++;
    return to;
}

/* All that an update finds out for the next strengths. */
static inline int64_t found_room(const fmf_side *side) {
    return (panels_of(side) + (side->bias_slot >= 0)) * spread_room(&side->spread);
}

static void rows_of_chunk(void *context, int64_t c, int thread) {
    const rows_update *o = context;
    const fmf_rows *scratch = o->scratch;
    const fmf_pairs *pairs = &o->side->pairs;
    const int64_t batch = o->side->loss.batch;
    row_update r = {
        .o = {.side = o->side},
        .score = (REAL *)scratch->row_score + thread * scratch->score_room,
        .lines = (REAL *)scratch->lines + thread * panels_of(o->side) * scratch->lines_room * PANEL,
        .g = (REAL *)scratch->g + thread * batch,
        .h = (REAL *)scratch->h + thread * batch,
    };
    double sum = 0.0;
    if (o->side->spread.found) {
        const int64_t room = found_room(o->side);
        r.found = o->side->spread.portion + c * room;
        memset(r.found, 0, (size_t)room * sizeof *r.found);
    }
    for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i = r.rows.to) {
        r.rows = (range){i, rows_together(o->side, scratch, i, pairs->chunk[c + 1])};
        r.at = pairs->ptr[i];
        r.n = pairs->ptr[r.rows.to] - r.at;
        sum += whole_rows(&r, scratch->lines_room);
    }
    scratch->chunk_loss[c] = sum;
}

static double panel_rows(const fmf_side *side, const fmf_rows *scratch, int32_t threads) {
    rows_update o = {side, scratch};
    double total = 0.0;
    fmf_share_out(threads, side->pairs.chunks, rows_of_chunk, &o);
    for (int64_t c = 0; c < side->pairs.chunks; c++) total += scratch->chunk_loss[c];
    if (!side->spread.found) return total;
    const int64_t room = found_room(side);
    memset(side->spread.found, 0, (size_t)room * sizeof(double));
    for (int64_t c = 0; c < side->pairs.chunks; c++) {
        for (int64_t n = 0; n < room; n++) side->spread.found[n] += side->spread.portion[c * room + n];
    }
    return total;
}
