/* panel/rows.h -- a side whose rows have nothing but a feature of their own: plain matrix factorization.  A row's problem needs
   no other row, so each is taken from its scores to its new embedding at once, while the V_j of its pairs, copied side by side,
   stay in the cache.  The scores left at the end give the loss. */

typedef struct {
    const fmf_side *side;
    const fmf_rows *scratch;
} rows_update;

/* One row's update by one thread. */
typedef struct {
    panel o;     /* the current panel; of its fields those that own_step needs */
    int64_t i;   /* the row, */
    int64_t at;  /*   its first pair, */
    int64_t n;   /*   and how many it has */
    REAL *score; /* of its pairs */
    REAL *lines; /* V_j of its pairs: of all panels if they fit, else room for some of the current panel */
    REAL *g;
    REAL *h;
    double *found; /* (updates, groups + 1, PANEL) where strengths are learnt, else NULL */
} row_update;

static inline int64_t panels_of(const fmf_side *side) { return portions_of(side->rank, PANEL); }

/* Scores of the row's pairs, and their V_j, side by side: panel after panel with room for `apart` pairs. */
static void score_and_copy(const row_update *r, int64_t apart) {
    const fmf_side *side = r->o.side;
    begin_scores(side, r->at, r->n, r->score);
    for (int64_t t = 0; t < r->n; t += LANES) {
        const int64_t m = smaller(r->n - t, LANES);
        const REAL *at[LANES];
        find_lines(side->pairs.other + r->at, t, r->n, side->theirs, side->stride, at);
        score_group((const REAL *)side->mine + r->i * side->stride, at, side->stride, t, r->n, r->score);
        for (int64_t c = 0; c < panels_of(side); c++) {
            const int64_t size = smaller(side->rank - c * PANEL, PANEL);
            REAL *line = r->lines + (c * apart + t) * PANEL;
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

/* G and A of pairs [from, from + n) of the row; for the plain square loss without its factor 2. */
static void line_sums(const row_update *r, int64_t from, int64_t n, const REAL *lines, REAL *G, REAL *A) {
    const fmf_side *side = r->o.side;
    const int64_t at = r->at + from, batch = side->loss.batch;
    const REAL *y = (const REAL *)side->pairs.y + at, *weight = weights_at(&side->pairs, at), *score = r->score + from;
    if (is_plain(side)) {
        gram(NULL, score, NULL, n, lines, PANEL, G, A);
        return;
    }
    for (int64_t t = 0; t < n; t += batch) {
        const int64_t m = smaller(n - t, batch);
        curvatures(&side->loss, score + t, y + t, weight ? weight + t : NULL, r->g, r->h, m);
        gram(NULL, r->g, r->h, m, lines + t * PANEL, PANEL, G, A);
    }
}

/* The step of the row's own feature, the term over all cells taken in; returns whether there is one. */
static inline int row_step(const row_update *r, REAL *G, REAL *A, REAL *move) {
    const fmf_side *side = r->o.side;
    const REAL shared[PANEL] = {0};
    if (side->cells.weight) add_panel_cells(&r->o, r->i, G, A);
    add_spread(&r->o, r->i, G, A);
    const int moved = side->draws.noise > 0 ? own_draw(&r->o, r->i, G, A, move) : own_step(&r->o, r->i, G, A, move);
    if (moved && side->cells.weight) move_embedding(&r->o, r->i, move);
    if (r->found) measure_row(&r->o, r->i, A, shared, r->found + r->o.number * spread_room(&side->spread));
    return moved;
}

/* The row's bias: a dimension in which all V_j are 1. */
static void row_bias(row_update *r) {
    REAL sums[2] = {0}, G[PANEL] = {0}, A[ROOM] = {0}, move[PANEL] = {0};
    choose_panel(&r->o, -1);
    bias_sums(r->o.side, r->at, r->n, r->score, r->g, r->h, sums);
    G[0] = sums[0];
    A[0] = sums[1];
    if (!row_step(r, G, A, move)) return;
    for (int64_t t = 0; t < r->n; t++) r->score[t] += move[0];
}

/* V_j of pairs [from, from + n) of the row in the current panel, side by side. */
static void gather_lines(const row_update *r, int64_t from, int64_t n) {
    const fmf_side *side = r->o.side;
    const int32_t *other = side->pairs.other + r->at + from;
    const REAL *V = (const REAL *)side->theirs + r->o.column;
    for (int64_t t = 0; t < n; t++) {
        const REAL *at = V + other[t] * side->stride;
        if (t + PAIRS_AHEAD < n) __builtin_prefetch(V + other[t + PAIRS_AHEAD] * side->stride);
        for (int k = 0; k < PANEL; k++) r->lines[t * PANEL + k] = k < r->o.size ? at[k] : 0;
    }
}

/* A panel of the row.  Either `there` has V_j of all its pairs, or (NULL) they are gathered, `room` at a time. */
static void row_panel(row_update *r, const REAL *there, int64_t room) {
    const int64_t pieces = there ? 0 : portions_of(r->n, room);
    REAL G[PANEL] = {0}, A[ROOM] = {0}, move[PANEL] = {0};
    if (there) line_sums(r, 0, r->n, there, G, A);
    for (int64_t p = 0; p < pieces; p++) {
        const range some = portion(r->n, room, p);
        gather_lines(r, some.from, some.to - some.from);
        line_sums(r, some.from, some.to - some.from, r->lines, G, A);
    }
    if (is_plain(r->o.side)) double_sums(G, A, 1);
    if (!row_step(r, G, A, move)) return;
    if (there) move_scores(there, r->n, move, r->score);
    for (int64_t p = 0; p < pieces; p++) {
        const range some = portion(r->n, room, p);
        if (pieces > 1) gather_lines(r, some.from, some.to - some.from);
        move_scores(r->lines, some.to - some.from, move, r->score + some.from);
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

/* A row from scores to embedding; returns its loss. */
static double whole_row(row_update *r, int64_t lines_room) {
    const fmf_side *side = r->o.side;
    const int64_t panels = panels_of(side);
    const int64_t apart = r->n | 1; /* panels of lines do not begin a power of 2 apart, where they would share cache sets */
    const int fits = apart <= lines_room;
    if (fits) score_and_copy(r, apart);
    else row_scores(side, r->i, r->score);
    if (side->bias_slot >= 0) row_bias(r);
    for (int64_t c = 0; c < panels; c++) {
        choose_panel(&r->o, c * PANEL);
        row_panel(r, fits ? r->lines + c * apart * PANEL : NULL, lines_room * panels);
    }
    write_row(side, r->i);
    return total_loss(&side->loss, r->score, (const REAL *)side->pairs.y + r->at, weights_at(&side->pairs, r->at), r->n, r->g);
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
        .score = (REAL *)scratch->row_score + thread * scratch->longest,
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
    for (r.i = pairs->chunk[c]; r.i < pairs->chunk[c + 1]; r.i++) {
        r.at = pairs->ptr[r.i];
        r.n = pairs->ptr[r.i + 1] - r.at;
        sum += whole_row(&r, scratch->lines_room);
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
