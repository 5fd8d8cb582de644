/* score.h -- embeddings U = X P and scores offset + U_i . V_j.

   Embeddings gather rows of P from all over memory, so they go by panels of PANEL columns: a panel, packed, has a cache
   line per row and mostly stays in the cache while all rows are visited once. */

#define PANEL ((int)(64 / sizeof(REAL)))
#define PANEL_PARTS (PANEL / LANES)

/* The thread's share of a panel: columns [from, from + PANEL) of a matrix, zeros past `columns`. */
static void FN(pack)(const REAL *matrix, int64_t rows, int64_t stride, int64_t from, int64_t columns, REAL *panel, int thread,
                     int team) {
    const int64_t size = columns - from < PANEL ? columns - from : PANEL;
    for (int64_t s = rows * thread / team; s < rows * (thread + 1) / team; s++) {
        for (int c = 0; c < PANEL; c++) panel[s * PANEL + c] = c < size ? matrix[s * stride + from + c] : 0;
    }
}

/* score_e += u . line_j for the pairs of one row, j = other[e] (or e, if other = NULL); u and lines are `parts` vectors, lines `room` numbers apart. */
ALWAYS_INLINE void FN(add_dots)(const int32_t *other, REAL *score, int64_t n, const REAL *lines, int64_t room, const vec *u,
                                int parts) {
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec products[LANES];
#pragma GCC unroll 8
        for (int l = 0; l < LANES; l++) {
            const REAL *line = lines + (other ? other[t + l] : t + l) * room;
            if (other && t + l + PAIRS_AHEAD < n) __builtin_prefetch(lines + other[t + l + PAIRS_AHEAD] * room);
            products[l] = u[0] * FN(load)(line);
            for (int p = 1; p < parts; p++) products[l] += u[p] * FN(load)(line + p * LANES);
        }
        FN(store)(score + t, FN(load)(score + t) + FN(add_each)(products));
    }
    for (; t < n; t++) {
        const REAL *line = lines + (other ? other[t] : t) * room;
        vec product = u[0] * FN(load)(line);
        for (int p = 1; p < parts; p++) product += u[p] * FN(load)(line + p * LANES);
        score[t] += FN(add_lanes)(product);
    }
}

static void FN(embed)(const fmf_features *X, const void *parameters, int64_t rank, void *embedding, int64_t stride,
                      int64_t bias_slot, void *scratch, int32_t threads) {
    const REAL *value = X->row_value, *scale = X->row_scale, *own_value = X->own_value;
    const int64_t width = rank + (bias_slot >= 0);
    REAL *U = embedding, *panel = scratch;
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        int64_t first, end;
        share_by_total(X->row_ptr, X->rows, thread, team, &first, &end);
        for (int64_t from = 0; from < width; from += PANEL) {
            FN(pack)(parameters, X->cols, width, from, width, panel, thread, team);
#pragma omp barrier
            for (int64_t i = first; i < end; i++) {
                REAL sums[PANEL];
                vec sum[PANEL_PARTS] = {0};
                for (int64_t e = X->row_ptr[i] + (X->own[i] >= 0); e < X->row_ptr[i + 1]; e++) {
                    const REAL *row = panel + (int64_t)X->row_index[e] * PANEL, x = value ? value[e] : 1;
                    for (int n = 0; n < PANEL_PARTS; n++) sum[n] += x * FN(load)(row + n * LANES);
                }
                for (int n = 0; scale && n < PANEL_PARTS; n++) sum[n] *= scale[i];
                if (X->own[i] >= 0) {
                    const REAL *row = panel + (int64_t)X->own[i] * PANEL;
                    for (int n = 0; n < PANEL_PARTS; n++) sum[n] += own_value[i] * FN(load)(row + n * LANES);
                }
                for (int n = 0; n < PANEL_PARTS; n++) FN(store)(sums + n * LANES, sum[n]);
                for (int c = 0; c < PANEL && from + c < width; c++) {
                    U[i * stride + (from + c < rank ? from + c : bias_slot)] = sums[c];
                }
            }
#pragma omp barrier
        }
    }
}

/* Where V_j of `count` pairs from t on begin; the lines of pairs a little later are fetched. */
ALWAYS_INLINE void FN(find_lines)(const int32_t *other, int64_t t, int64_t n, const REAL *V, int64_t stride, const REAL **at) {
    for (int l = 0; l < LANES; l++) {
        at[l] = V + other[t + l < n ? t + l : t] * stride;
        if (t + l + PAIRS_AHEAD >= n) continue;
        const REAL *next = V + other[t + l + PAIRS_AHEAD] * stride;
        for (int64_t c = 0; c < stride; c += 2 * LANES) __builtin_prefetch(next + c);
    }
}

/* score_t += U_i . V_j for pairs [t, t + LANES) of n, V_j given by their places. */
ALWAYS_INLINE void FN(score_group)(const REAL *U, const REAL **at, int64_t stride, int64_t t, int64_t n, REAL *score) {
    vec sums[LANES] = {0};
    for (int64_t c = 0; c < stride; c += LANES) {
        const vec u = FN(load)(U + c);
#pragma GCC unroll 8
        for (int l = 0; l < LANES; l++) sums[l] += u * FN(load)(at[l] + c);
    }
    const vec dots = FN(add_each)(sums);
    if (t + LANES <= n) {
        FN(store)(score + t, FN(load)(score + t) + dots);
    } else {
        for (int l = 0; t + l < n; l++) score[t + l] += dots[l];
    }
}

/* Scores of row i's pairs: offset + U_i . V_j, less y for the square loss. */
static void FN(row_scores)(const fmf_pairs *pairs, int32_t loss, int64_t i, const REAL *U, const REAL *V, int64_t stride,
                           REAL offset, REAL *score) {
    const int64_t begin = pairs->ptr[i], n = pairs->ptr[i + 1] - begin;
    const REAL *y = (const REAL *)pairs->y + begin;
    for (int64_t t = 0; t < n; t++) score[t] = loss == FMF_SQUARE ? offset - y[t] : offset;
    for (int64_t t = 0; t < n; t += LANES) {
        const REAL *at[LANES];
        FN(find_lines)(pairs->other + begin, t, n, V, stride, at);
        FN(score_group)(U + i * stride, at, stride, t, n, score);
    }
}

static double FN(scores)(const fmf_pairs *pairs, const fmf_loss *loss, const void *own, const void *other, int64_t stride,
                         double offset, void *score, void *row_score, int64_t longest, double *chunk_loss, int32_t threads) {
    const REAL *y = pairs->y, *weight = pairs->weight;
    double total = 0.0;
    int64_t c;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (c = 0; c < pairs->chunks; c++) {
        double sum = 0.0;
        for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
            const int64_t at = pairs->ptr[i], n = pairs->ptr[i + 1] - at;
            REAL *s = score ? (REAL *)score + at : (REAL *)row_score + (int64_t)FMF_THREAD * longest;
            FN(row_scores)(pairs, loss->code, i, own, other, stride, (REAL)offset, s);
            if (loss->code != FMF_EXTERNAL) sum += FN(value_block)(loss, s, y + at, weight ? weight + at : NULL, n);
        }
        chunk_loss[c] = sum;
    }
    for (c = 0; c < pairs->chunks; c++) total += chunk_loss[c];
    return total;
}

static void FN(pair_scores)(int64_t n, const int32_t *rows, const int32_t *others, const void *own, const void *other,
                            int64_t stride, double offset, void *score, int32_t threads) {
    const REAL *U = own, *V = other;
    REAL *s = score;
    int64_t e;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (e = 0; e < n; e++) s[e] = (REAL)offset + FN(dot)(U + rows[e] * stride, V + others[e] * stride, stride);
}

#undef PANEL
#undef PANEL_PARTS
