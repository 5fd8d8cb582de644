/* panel/pass.h -- the pass over the pairs: scores brought up to date with what moved before, then every row's G and A. */

/* V_j of some of their rows: the panel before (if any), then this one, zeros where the rank ends. */
static void load_panel(void *context, int64_t p, int thread) {
    const panel *o = context;
    const REAL *V = o->side->theirs;
    REAL *VV = o->scratch->VV;
    const range some = portion(o->side->their_rows, COPIED / PANEL, p);
    (void)thread;
    for (int64_t j = some.from; j < some.to; j++) {
        const REAL *at = V + j * o->side->stride + o->column;
        REAL *line = VV + j * 2 * PANEL;
        for (int l = 0; l < PANEL; l++) line[l] = o->column < PANEL ? 0 : at[l - PANEL];
        for (int l = 0; l < PANEL; l++) line[PANEL + l] = l < o->size ? at[l] : 0;
    }
}

static inline void refresh_scores(const panel *o, int64_t i) {
    const fmf_pairs *pairs = &o->side->pairs;
    const int64_t from = pairs->ptr[i], n = pairs->ptr[i + 1] - from;
    const REAL *move = row_of(o->scratch->move, i);
    REAL *score = (REAL *)o->side->score + from;
    if (o->scores == SCORE) {
        row_scores(o->side, i, score);
    } else if (o->scores == MOVE_PANEL) {
        const pvec u = pload(move);
        add_dots(pairs->other + from, score, n, o->scratch->VV, 2 * PANEL, u.part, PARTS);
    } else if (o->scores == MOVE_BIAS) {
        for (int64_t t = 0; t < n; t++) score[t] += move[0];
    }
}

/* G and A of some rows by batches: of many short rows, or of a part of a row that is longer.  A row begins with a batch or lies
   within one, so that its sums do not depend on where it stands. */
static void sums_by_batches(const panel *o, range rows, REAL *g, REAL *h) {
    const fmf_pairs *pairs = &o->side->pairs;
    const int64_t *ptr = pairs->ptr, batch = o->side->loss.batch;
    const REAL *y = pairs->y, *score = o->side->score, *V = (const REAL *)o->scratch->VV + PANEL;
    for (int64_t i = rows.from; i < rows.to; i++) refresh_scores(o, i);
    for (int64_t i = rows.from, next; i < rows.to; i = next) {
        for (next = i + 1; next < rows.to && ptr[next + 1] - ptr[i] <= batch; next++) {
        }
        for (int64_t begin = ptr[i]; begin < ptr[next]; begin += batch) { /* once, unless row i is longer */
            const int64_t end = smaller(begin + batch, ptr[next]);
            curvatures(&o->side->loss, score + begin, y + begin, weights_at(pairs, begin), g, h, end - begin);
            for (int64_t r = i; r < next; r++) {
                const int64_t a = ptr[r] > begin ? ptr[r] : begin, n = smaller(ptr[r + 1], end) - a;
                REAL *G = row_of(o->scratch->G, r), *A = matrix_of(o->scratch->A, r);
                if (is_bias(o)) { /* all V_j are 1 */
                    G[0] += sum_of(g + (a - begin), n);
                    A[0] += sum_of(h + (a - begin), n);
                } else {
                    gram(pairs->other + a, g + (a - begin), h + (a - begin), n, V, 2 * PANEL, G, A);
                }
            }
        }
    }
}

/* The same for the plain square loss, whose gradients are the scores; or, by rows, for a bias of the losses known here. */
static void sums_by_rows(const panel *o, range rows, REAL *g, REAL *h) {
    const fmf_pairs *pairs = &o->side->pairs;
    const REAL *V = (const REAL *)o->scratch->VV + PANEL;
    for (int64_t i = rows.from; i < rows.to; i++) {
        const int64_t at = pairs->ptr[i], n = pairs->ptr[i + 1] - at;
        const REAL *score = (const REAL *)o->side->score + at;
        REAL *G = row_of(o->scratch->G, i), *A = matrix_of(o->scratch->A, i);
        refresh_scores(o, i); /* just before they are used: V_j stay in the cache */
        if (is_bias(o)) {
            REAL sums[2] = {0};
            bias_sums(o->side, at, n, score, g, h, sums);
            G[0] = sums[0];
            A[0] = sums[1];
        } else {
            gram(pairs->other + at, score, NULL, n, V, 2 * PANEL, G, A);
        }
    }
    if (!is_bias(o)) double_sums(row_of(o->scratch->G, rows.from), matrix_of(o->scratch->A, rows.from), rows.to - rows.from);
}

/* What features see of a row: its gradient, and the curvature of A in each dimension: the diagonal, or, where steps must
   hold without a line search, the sums of the rows of |A|.  Values that are a row's own are multiplied in here. */
static void write_view(const panel *o, int64_t i) {
    const REAL *G = row_of(o->scratch->G, i), *A = matrix_of(o->scratch->A, i), *scale = o->side->features.row_scale;
    REAL *view = row_of(o->scratch->view, 2 * i);
    const REAL x = scale ? scale[i] : 1;
    pvec gradient = {0}, curvature = {0};
    padd(&gradient, x, pload(G));
    padd(&curvature, x * x, is_smooth(o->penalty) ? pload(A) : absolute_sums(A));
    pstore(view, gradient);
    pstore(view + PANEL, curvature);
}

/* Rows' embeddings brought up to date with the panel before, where there was one. */
static void carry_moves(const panel *o, range rows) {
    panel before = *o;
    if (o->scores != MOVE_BIAS && o->scores != MOVE_PANEL) return;
    choose_panel(&before, o->scores == MOVE_BIAS ? -1 : o->column - PANEL);
    for (int64_t i = rows.from; i < rows.to; i++) move_embedding(&before, i, row_of(o->scratch->move, i));
}

/* What other terms of the objective add to G and A, once these have all pairs of the rows; rows then have not moved yet. */
static void end_rows(const panel *o, range rows) {
    const fmf_panel *scratch = o->scratch;
    if (o->side->cells.weight) {
        int64_t i = rows.from;
        carry_moves(o, rows);
        for (; i + CELL_ROWS <= rows.to; i += CELL_ROWS) add_panel_cells_of_rows(o, i);
        for (; i < rows.to; i++) add_panel_cells(o, i, row_of(scratch->G, i), matrix_of(scratch->A, i));
    }
    for (int64_t i = rows.from; i < rows.to; i++) add_spread(o, i, row_of(scratch->G, i), matrix_of(scratch->A, i));
    memset(row_of(scratch->move, rows.from), 0, (size_t)(rows.to - rows.from) * PANEL * sizeof(REAL));
    for (int64_t i = rows.from; !scratch->directions && i < rows.to; i++) write_view(o, i);
}

static void panel_pass(void *context, int64_t c, int thread) {
    const panel *o = context;
    const fmf_panel *scratch = o->scratch;
    const range rows = {o->side->pairs.chunk[c], o->side->pairs.chunk[c + 1]};
    const size_t count = (size_t)(rows.to - rows.from);
    REAL *g = (REAL *)scratch->g + thread * o->side->loss.batch, *h = (REAL *)scratch->h + thread * o->side->loss.batch;
    memset(row_of(scratch->G, rows.from), 0, count * PANEL * sizeof(REAL));
    memset(matrix_of(scratch->A, rows.from), 0, count * ROOM * sizeof(REAL));
    if (is_plain(o->side) || (is_bias(o) && o->side->loss.code != FMF_NATIVE)) sums_by_rows(o, rows, g, h);
    else sums_by_batches(o, rows, g, h);
    if (!scratch->divided) end_rows(o, rows);
}
