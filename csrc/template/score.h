/* score.h -- embeddings U = X P and scores offset + U_i . V_j.

   Both gather rows of numbers from all over memory, so they go by panels of PANEL columns: a panel, packed, has a cache
   line per row and mostly stays in the cache while all rows or pairs are visited once. */

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

/* score_e += u . line_j for the pairs of one row, j = other[e]; u and lines are `parts` vectors, lines `room` numbers apart. */
static inline void FN(add_dots)(const int32_t *other, REAL *score, int64_t n, const REAL *lines, int64_t room, const vec *u,
                                int parts) {
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        vec products[LANES];
#pragma GCC unroll 8
        for (int l = 0; l < LANES; l++) {
            const REAL *line = lines + other[t + l] * room;
            if (t + l + PAIRS_AHEAD < n) __builtin_prefetch(lines + other[t + l + PAIRS_AHEAD] * room);
            products[l] = u[0] * FN(load)(line);
            for (int p = 1; p < parts; p++) products[l] += u[p] * FN(load)(line + p * LANES);
        }
        FN(store)(score + t, FN(load)(score + t) + FN(add_each)(products));
    }
    for (; t < n; t++) {
        const REAL *line = lines + other[t] * room;
        vec product = u[0] * FN(load)(line);
        for (int p = 1; p < parts; p++) product += u[p] * FN(load)(line + p * LANES);
        score[t] += FN(add_lanes)(product);
    }
}

static void FN(embed)(const fmf_features *X, const void *parameters, int64_t rank, void *embedding, int64_t stride,
                      int64_t bias_slot, void *scratch, int32_t threads) {
    const REAL *value = X->row_value;
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
                for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
                    const REAL *row = panel + (int64_t)X->row_index[e] * PANEL;
                    for (int n = 0; n < PANEL_PARTS; n++) sum[n] += value[e] * FN(load)(row + n * LANES);
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

static double FN(scores)(const fmf_pairs *pairs, int32_t loss, const void *own, const void *other, int64_t other_rows,
                         int64_t stride, double offset, void *score, double *chunk_loss, void *scratch, int32_t threads) {
    const REAL *U = own, *y = pairs->y, *weight = pairs->weight;
    REAL *s = score, *panel = scratch;
    double total = 0.0;
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        for (int64_t from = 0; from < stride; from += PANEL) {
            int64_t c;
            FN(pack)(other, other_rows, stride, from, stride, panel, thread, team);
#pragma omp barrier
#pragma omp for schedule(dynamic, 4)
            for (c = 0; c < pairs->chunks; c++) {
                const int64_t begin = pairs->ptr[pairs->chunk[c]], end = pairs->ptr[pairs->chunk[c + 1]];
                for (int64_t e = begin; from == 0 && e < end; e++) {
                    s[e] = loss == FMF_SQUARE ? (REAL)offset - y[e] : (REAL)offset;
                }
                for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
                    const int64_t at = pairs->ptr[i];
                    vec u[PANEL_PARTS] = {0};
                    for (int p = 0; p < PANEL_PARTS && from + p * LANES < stride; p++) {
                        u[p] = FN(load)(U + i * stride + from + p * LANES);
                    }
                    FN(add_dots)(pairs->other + at, s + at, pairs->ptr[i + 1] - at, panel, PANEL, u, PANEL_PARTS);
                }
                if (from + PANEL < stride) continue;
                chunk_loss[c] = 0.0;
                if (loss != FMF_EXTERNAL) {
                    chunk_loss[c] = FN(value_block)(loss, s + begin, y + begin, weight ? weight + begin : NULL, end - begin);
                }
            }
        }
    }
    for (int64_t c = 0; c < pairs->chunks; c++) total += chunk_loss[c];
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
