/* rows.h -- a side whose rows have nothing but a feature of their own: plain matrix factorization.  A row's problem needs no
   other row, so each is taken from its scores to its new embedding at once, while the V_j of its pairs, copied side by
   side, stay in the cache.  The scores left at the end give the loss. */

/* Scores of row i's pairs, and their V_j, side by side: block after block with room for `apart` pairs. */
static void FN(score_and_copy)(const fmf_block *b, int64_t i, REAL *score, REAL *lines, int64_t apart) {
    const fmf_descent *d = &b->d;
    const int64_t begin = d->pairs.ptr[i], n = d->pairs.ptr[i + 1] - begin, blocks = (b->rank + B - 1) / B;
    const REAL *y = (const REAL *)d->pairs.y + begin;
    for (int64_t t = 0; t < n; t++) score[t] = d->loss.code == FMF_SQUARE ? (REAL)b->offset - y[t] : (REAL)b->offset;
    for (int64_t t = 0; t < n; t += LANES) {
        const int64_t m = n - t < LANES ? n - t : LANES;
        const REAL *at[LANES];
        FN(find_lines)(d->pairs.other + begin, t, n, d->other, d->stride, at);
        FN(score_group)((const REAL *)b->mine + i * d->stride, at, d->stride, t, n, score);
        for (int64_t c = 0; c < blocks; c++) {
            const int64_t size = FN(block_size)(b, c * B);
            REAL *line = lines + (c * apart + t) * B;
            for (int l = 0; l < m; l++) {
                if (size == B) {
                    FN(bstore)(line + l * B, FN(bload)(at[l] + c * B));
                } else {
                    for (int k = 0; k < B; k++) line[l * B + k] = k < size ? at[l][c * B + k] : 0;
                }
            }
        }
    }
}

/* r_t += move . line_t */
static void FN(move_scores)(const REAL *lines, int64_t n, const REAL *move, REAL *score) {
    const bvec u = FN(bload)(move);
    FN(add_dots)(NULL, score, n, lines, B, u.part, PARTS);
}

/* G and A of n pairs of one row; for the plain square loss without its factor 2. */
static void FN(line_sums)(const fmf_descent *d, int64_t at, int64_t n, const REAL *score, const REAL *lines, REAL *G, REAL *A) {
    const REAL *y = (const REAL *)d->pairs.y + at, *weight = d->pairs.weight;
    REAL g[BLOCK], h[BLOCK];
    if (d->loss.code == FMF_SQUARE && !weight) {
        FN(gram)(NULL, score, NULL, n, lines, B, G, A);
        return;
    }
    for (int64_t t = 0; t < n; t += BLOCK) {
        const int64_t m = n - t < BLOCK ? n - t : BLOCK;
        FN(bend_block)(&d->loss, score + t, y + t, weight ? weight + at + t : NULL, g, h, m);
        FN(gram)(NULL, g, h, m, lines + t * B, B, G, A);
    }
}

/* The bias of row i: a dimension in which all V_j are 1. */
static void FN(row_bias)(const fmf_block *b, const fmf_dimension *bias, int64_t i, int64_t n, REAL *score) {
    const fmf_descent *d = &b->d;
    REAL sums[2] = {0}, G[B] = {0}, A[ROOM] = {0}, move[B] = {0};
    FN(pair_sums)(d, d->pairs.ptr[i], n, score, sums);
    G[0] = sums[0];
    A[0] = sums[1];
    if (!FN(own_step)(b, bias, i, G, A, move)) return;
    for (int64_t t = 0; t < n; t++) score[t] += move[0];
}

/* Block c of V_j for pairs [from, from + n) of row i, side by side. */
static void FN(gather_lines)(const fmf_block *b, int64_t i, int64_t from, int64_t n, int64_t c, REAL *lines) {
    const int32_t *other = b->d.pairs.other + b->d.pairs.ptr[i] + from;
    const REAL *V = (const REAL *)b->d.other + c * B;
    const int64_t size = FN(block_size)(b, c * B);
    for (int64_t t = 0; t < n; t++) {
        const REAL *at = V + other[t] * b->d.stride;
        if (t + PAIRS_AHEAD < n) __builtin_prefetch(V + other[t + PAIRS_AHEAD] * b->d.stride);
        for (int k = 0; k < B; k++) lines[t * B + k] = k < size ? at[k] : 0;
    }
}

/* A block of row i.  `lines` has block c of all pairs if they are there already; else it is room for `room` of them. */
static void FN(row_block)(const fmf_block *b, const fmf_dimension *k, int64_t i, int64_t n, REAL *score, REAL *lines,
                          int64_t room) {
    const fmf_descent *d = &b->d;
    const int plain = d->loss.code == FMF_SQUARE && !d->pairs.weight;
    const int64_t begin = d->pairs.ptr[i], pieces = room ? (n + room - 1) / room : 0;
    REAL G[B] = {0}, A[ROOM] = {0}, move[B] = {0};
    if (!room) FN(line_sums)(d, begin, n, score, lines, G, A);
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t m = n - p * room < room ? n - p * room : room;
        FN(gather_lines)(b, i, p * room, m, k->column / B, lines);
        FN(line_sums)(d, begin + p * room, m, score + p * room, lines, G, A);
    }
    if (plain) FN(double_sums)(G, A, 1);
    if (!FN(own_step)(b, k, i, G, A, move)) return;
    if (!room) FN(move_scores)(lines, n, move, score);
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t m = n - p * room < room ? n - p * room : room;
        if (pieces > 1) FN(gather_lines)(b, i, p * room, m, k->column / B, lines);
        FN(move_scores)(lines, m, move, score + p * room);
    }
}

/* The new embedding of row i: its feature's value times parameters. */
static void FN(write_row)(const fmf_block *b, const fmf_dimension *bias, int64_t i) {
    const int64_t s = b->d.features.own[i];
    if (s < 0) return;
    const REAL x = ((const REAL *)b->d.features.own_value)[i], *w = (const REAL *)b->d.parameters + s * b->d.width;
    REAL *U = (REAL *)b->mine + i * b->d.stride;
    for (int64_t c = 0; c < b->rank; c++) U[c] = x * w[c];
    if (bias) U[bias->slot] = x * w[bias->column];
}

/* Row i from scores to embedding; returns its loss. */
static double FN(whole_row)(const fmf_block *b, const fmf_dimension *bias, const fmf_dimension *factors, int64_t i, REAL *lines,
                            REAL *score) {
    const fmf_descent *d = &b->d;
    const int64_t begin = d->pairs.ptr[i], n = d->pairs.ptr[i + 1] - begin, blocks = (b->rank + B - 1) / B;
    const int64_t apart = n | 1; /* blocks of lines do not begin a power of 2 apart, where they would share cache sets */
    const int fits = apart <= b->lines_room;
    const REAL *weight = d->pairs.weight;
    fmf_dimension k = *factors;
    if (fits) FN(score_and_copy)(b, i, score, lines, apart);
    else FN(row_scores)(&d->pairs, d->loss.code, i, b->mine, d->other, d->stride, (REAL)b->offset, score);
    if (bias) FN(row_bias)(b, bias, i, n, score);
    for (int64_t c = 0; c < blocks; c++) {
        k.column = c * B;
        k.growth = (const REAL *)factors->growth + c * B;
        if (fits) FN(row_block)(b, &k, i, n, score, lines + c * apart * B, 0);
        else FN(row_block)(b, &k, i, n, score, lines, b->lines_room * blocks);
    }
    FN(write_row)(b, bias, i);
    return FN(value_block)(&d->loss, score, (const REAL *)d->pairs.y + begin, weight ? weight + begin : NULL, n);
}

static double FN(block_rows)(const fmf_block *b, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads) {
    const fmf_pairs *pairs = &b->d.pairs;
    const int64_t blocks = (b->rank + B - 1) / B;
    double total = 0.0;
    int64_t c;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (c = 0; c < pairs->chunks; c++) {
        REAL *lines = (REAL *)b->lines + (int64_t)FMF_THREAD * blocks * b->lines_room * B;
        REAL *score = (REAL *)b->row_score + (int64_t)FMF_THREAD * b->longest;
        double sum = 0.0;
        for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
            sum += FN(whole_row)(b, bias, factors, i, lines, score);
        }
        b->chunk_loss[c] = sum;
    }
    for (c = 0; c < pairs->chunks; c++) total += b->chunk_loss[c];
    return total;
}
