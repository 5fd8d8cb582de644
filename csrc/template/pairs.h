/* pairs.h -- the pass over the observed pairs: scores brought up to date with the dimension before, then
   G_i = sum_j g_ij V_kj and H_i = beta sum_j w_ij V_kj^2.  VV holds (V_j of the dimension before, V_j of this one). */

/* Square loss, scores held less y: update, and sums of w r v and w v^2. */
static inline void FN(segment_square)(const int32_t *other, REAL *r, const REAL *weight, int64_t n, const REAL *VV, REAL du,
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
        const vec now = FN(load)(r + t) + du * before;
        FN(store)(r + t, now);
        const vec wv = weight ? FN(load)(weight + t) * v : v;
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
    *G = (REAL)2.0 * FN(add_lanes)(g);
    *H = FN(add_lanes)(h);
}

static inline void FN(segment_update)(const int32_t *other, REAL *score, int64_t n, const REAL *VV, REAL du) {
    for (int64_t t = 0; t < n; t++) score[t] += du * VV[2 * (int64_t)other[t]];
}

static inline void FN(segment_sums)(const int32_t *other, const REAL *gradient, const REAL *weight, int64_t n,
                                    const REAL *VV, REAL *G, REAL *H) {
    vec g = {0}, h = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec v;
        for (int l = 0; l < LANES; l++) v[l] = VV[2 * (int64_t)other[t + l] + 1];
        g += FN(load)(gradient + t) * v;
        h += weight ? FN(load)(weight + t) * v * v : v * v;
    }
    for (int l = 0; t < n; t++, l++) {
        const REAL v = VV[2 * (int64_t)other[t] + 1];
        g[l] += gradient[t] * v;
        h[l] += weight ? weight[t] * v * v : v * v;
    }
    *G += FN(add_lanes)(g);
    *H += FN(add_lanes)(h);
}

/* The thread's share of V_j, this dimension's beside the one before (before < 0: there is none). */
static void FN(load_slots)(const fmf_descent *d, int64_t before, int64_t slot, int thread, int team) {
    const REAL *V = d->other;
    REAL *VV = d->VV;
    const int64_t from = d->other_rows * thread / team, to = d->other_rows * (thread + 1) / team;
    for (int64_t j = from; j < to; j++) {
        VV[2 * j] = before < 0 ? 0 : V[j * d->stride + before];
        VV[2 * j + 1] = V[j * d->stride + slot];
    }
}

/* Chunk of pairs of any other loss, by blocks that may hold many short rows or a part of a long one.  An external loss
   has its scores updated only: its gradients are not known yet. */
static void FN(chunk_by_block)(const fmf_descent *d, int64_t first_row, int64_t end_row, int carry) {
    const int64_t *ptr = d->pairs.ptr;
    const int32_t *other = d->pairs.other;
    const REAL *y = d->pairs.y, *weight = d->pairs.weight, *VV = d->VV, *step = d->step;
    REAL *GH = d->GH, *score = d->score;
    REAL g[BLOCK];
    int64_t first = first_row;
    for (int64_t i = first_row; i < end_row; i++) GH[2 * i] = GH[2 * i + 1] = 0;
    for (int64_t begin = ptr[first_row]; begin < ptr[end_row]; begin += BLOCK) {
        const int64_t end = begin + BLOCK < ptr[end_row] ? begin + BLOCK : ptr[end_row];
        while (ptr[first + 1] <= begin) first++;
        if (carry) {
            for (int64_t i = first; i < end_row && ptr[i] < end; i++) {
                const int64_t a = ptr[i] > begin ? ptr[i] : begin, b = ptr[i + 1] < end ? ptr[i + 1] : end;
                FN(segment_update)(other + a, score + a, b - a, VV, step[i]);
            }
        }
        if (d->loss.code == FMF_EXTERNAL) continue;
        FN(gradient_block)(&d->loss, score + begin, y + begin, weight ? weight + begin : NULL, g, end - begin);
        for (int64_t i = first; i < end_row && ptr[i] < end; i++) {
            const int64_t a = ptr[i] > begin ? ptr[i] : begin, b = ptr[i + 1] < end ? ptr[i + 1] : end;
            FN(segment_sums)(other + a, g + (a - begin), weight ? weight + a : NULL, b - a, VV, GH + 2 * i, GH + 2 * i + 1);
        }
    }
}

static void FN(pass_over_pairs)(const fmf_descent *d, int carry, int thread, int team) {
    const fmf_pairs *pairs = &d->pairs;
    const REAL *weight = pairs->weight;
    REAL *GH = d->GH, *step = d->step, *score = d->score;
    const int64_t total = pairs->ptr[pairs->rows];
    const int64_t from = total * thread / team, to = thread + 1 == team ? total + 1 : total * (thread + 1) / team;
    for (int64_t c = 0; c < pairs->chunks; c++) {
        const int64_t first = pairs->chunk[c], end = pairs->chunk[c + 1];
        if (pairs->ptr[first] < from || pairs->ptr[first] >= to) continue; /* it begins in another thread's share */
        if (d->loss.code == FMF_SQUARE) {
            for (int64_t i = first; i < end; i++) {
                const int64_t a = pairs->ptr[i];
                FN(segment_square)(pairs->other + a, score + a, weight ? weight + a : NULL, pairs->ptr[i + 1] - a, d->VV,
                                   carry ? step[i] : 0, GH + 2 * i, GH + 2 * i + 1);
            }
        } else {
            FN(chunk_by_block)(d, first, end, carry);
        }
        for (int64_t i = first; i < end; i++) {
            GH[2 * i + 1] *= (REAL)d->beta;
            step[i] = 0;
        }
    }
}

static void FN(begin)(const fmf_descent *d, int64_t before, int64_t slot, int32_t threads) {
#pragma omp parallel num_threads(threads)
    {
        FN(load_slots)(d, before, slot, FMF_THREAD, FMF_TEAM);
#pragma omp barrier
        FN(pass_over_pairs)(d, before >= 0, FMF_THREAD, FMF_TEAM);
    }
}

/* G and H from the gradients of an external loss. */
static void FN(accumulate)(const fmf_descent *d, int32_t threads) {
    const fmf_pairs *pairs = &d->pairs;
    const REAL *weight = d->curvature ? d->curvature : pairs->weight, *gradient = d->gradient;
    REAL *GH = d->GH;
    int64_t c;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (c = 0; c < pairs->chunks; c++) {
        for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
            const int64_t a = pairs->ptr[i];
            GH[2 * i] = GH[2 * i + 1] = 0;
            FN(segment_sums)(pairs->other + a, gradient + a, weight ? weight + a : NULL, pairs->ptr[i + 1] - a, d->VV,
                             GH + 2 * i, GH + 2 * i + 1);
            GH[2 * i + 1] *= (REAL)d->beta;
        }
    }
}
