/* naive.h -- Algorithm 1: every coordinate sums over all the pairs it touches, and brings their scores up to date. */

static void FN(naive_sums)(const fmf_descent *d, int64_t slot, int64_t feature, double *sums) {
    const fmf_pairs *pairs = &d->pairs;
    const REAL *V = (const REAL *)d->other + slot, *x = d->features.col_value;
    const REAL *y = pairs->y, *weight = pairs->weight, *score = d->score, *external = d->gradient;
    const REAL *bend = d->curvature ? d->curvature : weight;
    REAL block[BLOCK];
    double gradient = 0.0, curvature = 0.0;
    for (int64_t e = d->features.col_ptr[feature]; e < d->features.col_ptr[feature + 1]; e++) {
        const int64_t i = d->features.col_index[e], end = pairs->ptr[i + 1];
        double G = 0.0, H = 0.0;
        for (int64_t begin = pairs->ptr[i]; begin < end; begin += BLOCK) {
            const int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
            const REAL *g = external ? external + begin : block;
            if (!external) FN(gradient_block)(&d->loss, score + begin, y + begin, weight ? weight + begin : NULL, block, n);
            for (int64_t t = 0; t < n; t++) {
                const double v = (double)V[pairs->other[begin + t] * d->stride];
                G += (double)g[t] * v;
                H += (bend ? (double)bend[begin + t] : 1.0) * v * v;
            }
        }
        gradient += G * (double)x[e];
        curvature += H * (double)x[e] * (double)x[e];
    }
    sums[0] = gradient;
    sums[1] = d->beta * curvature;
}

static void FN(naive_apply)(const fmf_descent *d, int64_t slot, int64_t feature, double delta) {
    const fmf_pairs *pairs = &d->pairs;
    const REAL *V = (const REAL *)d->other + slot, *x = d->features.col_value;
    REAL *score = d->score;
    for (int64_t e = d->features.col_ptr[feature]; e < d->features.col_ptr[feature + 1]; e++) {
        const int64_t i = d->features.col_index[e];
        const REAL moved = x[e] * (REAL)delta;
        for (int64_t t = pairs->ptr[i]; t < pairs->ptr[i + 1]; t++) score[t] += moved * V[pairs->other[t] * d->stride];
    }
}

static void FN(naive)(const fmf_descent *d, int64_t dimensions, const fmf_dimension *dimension) {
    for (int64_t k = 0; k < dimensions; k++) {
        for (int64_t s = 0; s < d->features.cols; s++) {
            double sums[2];
            FN(naive_sums)(d, dimension[k].slot, s, sums);
            const REAL delta = FN(take_step)(d, &dimension[k], s, (REAL)sums[0], (REAL)sums[1]);
            if (delta != 0) FN(naive_apply)(d, dimension[k].slot, s, (double)delta);
        }
    }
}
