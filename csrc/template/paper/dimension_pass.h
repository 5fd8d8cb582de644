/* paper/dimension_pass.h -- the pass over the observed pairs: scores brought up to date with the dimension before, then
   G_i = sum_j g_ij V_kj and H_i = sum_j h_ij V_kj^2, where h_ij is beta, or the pair's curvature if the loss has no beta.
   VV holds (V_j of the dimension before, V_j of this one). */

/* V_j of some of their rows, this dimension's beside the one before. */
static void load_slots(void *context, int64_t p, int thread) {
    const dimension *o = context;
    const REAL *V = o->side->theirs;
    REAL *VV = o->scratch->VV;
    const range some = portion(o->side->their_rows, COPIED, p);
    (void)thread;
    for (int64_t j = some.from; j < some.to; j++) {
        VV[2 * j] = o->before < 0 ? 0 : V[j * o->side->stride + o->before];
        VV[2 * j + 1] = V[j * o->side->stride + o->slot];
    }
}

/* Square loss, scores held less y: update, and sums of w r v and w v^2. */
static inline void segment_square(const int32_t *other, REAL *r, const REAL *weight, int64_t n, const REAL *VV, REAL du,
                                  REAL *G, REAL *H) {
    vec g = {0}, h = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec before, v;
        for (int l = 0; l < LANES; l++) {
            const REAL *at = VV + 2 * (int64_t)other[t + l];
            before[l] = at[0];
            v[l] = at[1];
        }
        const vec now = load(r + t) + du * before;
        store(r + t, now);
        const vec wv = weight ? load(weight + t) * v : v;
        g += now * wv;
        h += wv * v;
    }
    for (int l = 0; t < n; t++, l++) {
        const REAL *at = VV + 2 * (int64_t)other[t];
        r[t] += du * at[0];
        const REAL wv = weight ? weight[t] * at[1] : at[1];
        g[l] += r[t] * wv;
        h[l] += wv * at[1];
    }
    *G = (REAL)2.0 * add_lanes(g);
    *H = add_lanes(h);
}

static inline void segment_update(const int32_t *other, REAL *score, int64_t n, const REAL *VV, REAL du) {
    for (int64_t t = 0; t < n; t++) score[t] += du * VV[2 * (int64_t)other[t]];
}

/* G += sum of g v, H += sum of h v^2; h = NULL stands for ones. */
static inline void segment_sums(const int32_t *other, const REAL *gradient, const REAL *curvature, int64_t n, const REAL *VV,
                                REAL *G, REAL *H) {
    vec g = {0}, h = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec v;
        for (int l = 0; l < LANES; l++) v[l] = VV[2 * (int64_t)other[t + l] + 1];
        g += load(gradient + t) * v;
        h += curvature ? load(curvature + t) * v * v : v * v;
    }
    for (int l = 0; t < n; t++, l++) {
        const REAL v = VV[2 * (int64_t)other[t] + 1];
        g[l] += gradient[t] * v;
        h[l] += curvature ? curvature[t] * v * v : v * v;
    }
    *G += add_lanes(g);
    *H += add_lanes(h);
}

/* Rows first..end of any loss but the square, by batches that may hold many short rows or a part of a long one. */
static void chunk_by_batches(const dimension *o, range rows, REAL *g, REAL *h) {
    const fmf_pairs *pairs = &o->side->pairs;
    const fmf_loss *loss = &o->side->loss;
    const int64_t *ptr = pairs->ptr, last = ptr[rows.to];
    const int32_t *other = pairs->other;
    const REAL *y = pairs->y, *VV = o->scratch->VV, *step = o->scratch->step;
    REAL *GH = o->scratch->GH, *score = o->side->score;
    int64_t first = rows.from;
    for (int64_t i = rows.from; i < rows.to; i++) GH[2 * i] = GH[2 * i + 1] = 0;
    for (int64_t begin = ptr[rows.from]; begin < last; begin += loss->batch) {
        const int64_t end = smaller(begin + loss->batch, last);
        const REAL *weight = weights_at(pairs, begin), *curvature = weight;
        while (ptr[first + 1] <= begin) first++;
        for (int64_t i = first; o->before >= 0 && i < rows.to && ptr[i] < end; i++) {
            const int64_t a = ptr[i] > begin ? ptr[i] : begin, b = smaller(ptr[i + 1], end);
            segment_update(other + a, score + a, b - a, VV, step[i]);
        }
        if (loss->beta >= 0) {
            gradients(loss, score + begin, y + begin, weight, g, end - begin);
        } else {
            curvatures(loss, score + begin, y + begin, weight, g, h, end - begin);
            curvature = h;
        }
        for (int64_t i = first; i < rows.to && ptr[i] < end; i++) {
            const int64_t a = ptr[i] > begin ? ptr[i] : begin, b = smaller(ptr[i + 1], end);
            segment_sums(other + a, g + (a - begin), curvature ? curvature + (a - begin) : NULL, b - a, VV, GH + 2 * i,
                         GH + 2 * i + 1);
        }
    }
}

/* What the term over all cells adds to rows, whose embeddings are first brought up to date with the dimension before. */
static void add_cells(const dimension *o, range rows) {
    const REAL *weight = o->side->cells.weight, *step = o->scratch->step;
    REAL *GH = o->scratch->GH, *U = o->side->mine;
    for (int64_t i = rows.from; i < rows.to; i++) {
        REAL gradient, curvature;
        if (o->before >= 0) U[i * o->side->stride + o->before] += step[i];
        cell_sums(o->side, i, o->number, &gradient, &curvature);
        GH[2 * i] += weight[i] * gradient;
        GH[2 * i + 1] += weight[i] * curvature;
    }
}

static void pass_over_chunk(void *context, int64_t c, int thread) {
    const dimension *o = context;
    const fmf_pairs *pairs = &o->side->pairs;
    const fmf_loss *loss = &o->side->loss;
    const range rows = {pairs->chunk[c], pairs->chunk[c + 1]};
    REAL *GH = o->scratch->GH, *step = o->scratch->step, *score = o->side->score;
    if (loss->code == FMF_SQUARE) {
        for (int64_t i = rows.from; i < rows.to; i++) {
            const int64_t a = pairs->ptr[i];
            segment_square(pairs->other + a, score + a, weights_at(pairs, a), pairs->ptr[i + 1] - a, o->scratch->VV,
                           o->before >= 0 ? step[i] : 0, GH + 2 * i, GH + 2 * i + 1);
        }
    } else {
        const int64_t mine = (int64_t)thread * loss->batch;
        chunk_by_batches(o, rows, (REAL *)o->scratch->g + mine, (REAL *)o->scratch->h + mine);
    }
    for (int64_t i = rows.from; i < rows.to; i++) {
        if (loss->beta >= 0) GH[2 * i + 1] *= (REAL)loss->beta;
    }
    if (o->side->cells.weight) add_cells(o, rows);
    memset(step + rows.from, 0, (size_t)(rows.to - rows.from) * sizeof *step);
}
