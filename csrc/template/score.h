/* score.h -- embeddings U = X P and scores offset + U_i . V_j. */

static void FN(embed)(const fmf_features *X, const void *parameters, int64_t rank, void *embedding, int64_t stride,
                      int64_t bias_slot, int32_t threads) {
    const REAL *P = parameters, *value = X->row_value;
    const int64_t width = rank + (bias_slot >= 0);
    REAL *U = embedding;
#pragma omp parallel num_threads(threads)
    {
        int64_t from, to;
        share_by_total(X->row_ptr, X->rows, FMF_THREAD, FMF_TEAM, &from, &to);
        for (int64_t i = from; i < to; i++) {
            REAL *u = U + i * stride;
            REAL bias = 0;
            for (int64_t c = 0; c < rank; c++) u[c] = 0;
            for (int64_t e = X->row_ptr[i]; e < X->row_ptr[i + 1]; e++) {
                if (e + ROWS_AHEAD < X->row_ptr[to]) {
                    fetch_row(P + X->row_index[e + ROWS_AHEAD] * width, width * (int64_t)sizeof(REAL));
                }
                const REAL x = value[e];
                const REAL *p = P + X->row_index[e] * width;
                for (int64_t c = 0; c < rank; c++) u[c] += x * p[c];
                if (bias_slot >= 0) bias += x * p[rank];
            }
            if (bias_slot >= 0) u[bias_slot] = bias;
        }
    }
}

static double FN(scores)(const fmf_pairs *pairs, int32_t loss, const void *own, const void *other, int64_t stride,
                         double offset, void *score, double *chunk_loss, int32_t threads) {
    const REAL *U = own, *V = other, *y = pairs->y, *weight = pairs->weight;
    REAL *s = score;
    double total = 0.0;
    int64_t c;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (c = 0; c < pairs->chunks; c++) {
        const int64_t begin = pairs->ptr[pairs->chunk[c]], end = pairs->ptr[pairs->chunk[c + 1]];
        for (int64_t i = pairs->chunk[c]; i < pairs->chunk[c + 1]; i++) {
            for (int64_t e = pairs->ptr[i]; e < pairs->ptr[i + 1]; e++) {
                if (e + ROWS_AHEAD < end) fetch_row(V + pairs->other[e + ROWS_AHEAD] * stride, stride * (int64_t)sizeof(REAL));
                const REAL base = loss == FMF_SQUARE ? (REAL)(offset - (double)y[e]) : (REAL)offset;
                s[e] = base + FN(dot)(U + i * stride, V + pairs->other[e] * stride, stride);
            }
        }
        chunk_loss[c] = 0.0;
        if (loss != FMF_EXTERNAL) {
            chunk_loss[c] = FN(value_block)(loss, s + begin, y + begin, weight ? weight + begin : NULL, end - begin);
        }
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
