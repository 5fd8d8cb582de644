/* loss.h -- losses as functions over batches of pairs.
     square    (s - y)^2           g = 2 (s - y)       curvature 2
     logistic  ln(1 + e^s) - y s   g = sigma(s) - y    curvature (sigma(s) - 1/2) / s, never above 1/4
   Others are a table of functions, a plugin's or Python's.  Scores of the square loss are held less y. */

/* e^x to about one unit in the last place, as fmfkit_exp of fmfkit.h makes it, LANES at a time. */
static inline vec exp_lanes(vec x) {
    const int single = sizeof(REAL) == 4;
    const REAL low = single ? (REAL)-87.0 : (REAL)-708.0, high = single ? (REAL)88.0 : (REAL)709.0;
    const REAL log2e = (REAL)1.44269504088896340736;
    /* ln 2 in two parts, the first short enough for n times it to be exact */
    const REAL ln2_head = single ? (REAL)0.693359375 : (REAL)6.93147180369123816490e-01;
    const REAL ln2_tail = single ? (REAL)-2.12194440e-4 : (REAL)1.90821492927058770002e-10;
    /* adding this leaves the nearest integer in the low bits */
    const REAL shift = single ? (REAL)12582912.0 : (REAL)6755399441055744.0;
    const int mantissa = single ? 23 : 52;

    const vec lows = low - (vec){0}, highs = high - (vec){0};
    x = pick(x < lows, lows, x);
    x = pick(x > highs, highs, x);
    const vec shifted = x * log2e + shift;
    const vec n = shifted - shift;
    const vec r = x - n * ln2_head - n * ln2_tail;
    vec p = NATIVE(FMFKIT_EXP_SERIES)(r);
    p = p * r * r + r + (REAL)1.0;
    return (vec)((ivec)p + ((ivec)shifted << mantissa));
}

static inline vec sigmoid_lanes(vec s) { return (REAL)1.0 / ((REAL)1.0 + exp_lanes(-s)); }

/* (sigma(s) - 1/2) / s majorises for every step from s (Jaakkola and Jordan); a larger one does, too. */
static inline vec logistic_curvature(vec s, vec sigma) {
    const vec ones = (REAL)1.0 - (vec){0}, size = pick(s < 0, -s, s);
    const vec near = (REAL)0.25 - s * s * (REAL)(1.0 / 48.0);
    const ivec small = size < (REAL)FMFKIT_LOGISTIC_NEAR;
    const vec found = pick(small, near, (sigma - (REAL)0.5) / pick(small, ones, s)), least = ones * (REAL)FMFKIT_LOGISTIC_LEAST;
    return pick(found < least, least, found);
}

static inline const fmfkit_loss *table_of(const fmf_loss *loss) { return loss->native; }

static inline const REAL *weights_at(const fmf_pairs *pairs, int64_t at) {
    return pairs->weight ? (const REAL *)pairs->weight + at : NULL;
}

/* Gradients of n pairs, weighted if weight is given. */
static void gradients(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, int64_t n) {
    int64_t t = 0;
    if (loss->code == FMF_SQUARE) {
        for (; t < n; t++) g[t] = (REAL)2.0 * score[t];
    } else if (loss->code == FMF_NATIVE) {
        table_of(loss)->NATIVE(gradient)(score, y, g, n, loss->params);
    } else {
        for (; t + LANES <= n; t += LANES) store(g + t, sigmoid_lanes(load(score + t)) - load(y + t));
        const vec rest = sigmoid_lanes(load_some(score + t, n - t));
        for (int l = 0; t < n; t++, l++) g[t] = rest[l] - y[t];
    }
    if (weight) {
        for (t = 0; t < n; t++) g[t] *= weight[t];
    }
}

static void table_curvatures(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, REAL *h,
                             int64_t n) {
    const fmfkit_loss *table = table_of(loss);
    if (table->NATIVE(curvature)) {
        table->NATIVE(curvature)(score, y, g, h, n, loss->params);
    } else {
        table->NATIVE(gradient)(score, y, g, n, loss->params);
        for (int64_t t = 0; t < n; t++) h[t] = (REAL)loss->beta;
    }
    if (!weight) return;
    for (int64_t t = 0; t < n; t++) {
        g[t] *= weight[t];
        h[t] *= weight[t];
    }
}

/* Gradients of n pairs and curvatures that hold at their scores, both weighted. */
static void curvatures(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, REAL *h,
                       int64_t n) {
    if (loss->code == FMF_NATIVE) {
        table_curvatures(loss, score, y, weight, g, h, n);
        return;
    }
    for (int64_t t = 0; t < n; t += LANES) {
        const int64_t m = smaller(n - t, LANES);
        const vec s = load_some(score + t, m), ones = (REAL)1.0 - (vec){0};
        const vec w = weight ? load_some(weight + t, m) : ones;
        vec gradient, curvature;
        if (loss->code == FMF_SQUARE) {
            gradient = (REAL)2.0 * s;
            curvature = (REAL)2.0 * ones;
        } else {
            const vec sigma = sigmoid_lanes(s);
            gradient = sigma - load_some(y + t, m);
            curvature = logistic_curvature(s, sigma);
        }
        store_some(g + t, gradient * w, m);
        store_some(h + t, curvature * w, m);
    }
}

/* The weighted loss of n pairs, of a table's functions; `value` has room for a batch. */
static double table_value(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, int64_t n, REAL *value) {
    double total = 0.0;
    for (int64_t begin = 0; begin < n; begin += loss->batch) {
        const int64_t m = smaller(n - begin, loss->batch);
        table_of(loss)->NATIVE(value)(score + begin, y + begin, value, m, loss->params);
        for (int64_t t = 0; t < m; t++) total += (weight ? (double)weight[begin + t] : 1.0) * (double)value[t];
    }
    return total;
}

/* ln(1 + e^s) = max(s, 0) + ln(1 + e^-|s|).  Without weights the logarithms of 16 lanes at a time are taken at once, as the
   logarithm of their product, which lies in [1, 2^16]. */
static double logistic_value(const REAL *score, const REAL *y, const REAL *weight, int64_t n) {
    double total = 0.0, product = 1.0;
    int factors = 0;
    for (int64_t t = 0; t < n; t += LANES) {
        const int64_t m = smaller(n - t, LANES);
        const vec s = load_some(score + t, m);
        const vec small = exp_lanes(pick(s < 0, s, -s));
        for (int l = 0; l < m; l++) {
            const double linear = (s[l] > 0 ? (double)s[l] : 0.0) - (double)y[t + l] * (double)s[l];
            if (weight) {
                total += (double)weight[t + l] * (linear + log1p((double)small[l]));
                continue;
            }
            total += linear;
            product *= 1.0 + (double)small[l];
            if (++factors == 16) {
                total += log(product);
                product = 1.0;
                factors = 0;
            }
        }
    }
    return total + log(product);
}

/* Sums go on side by side: one alone would wait for itself. */
static double square_value(const REAL *score, const REAL *weight, int64_t n) {
    enum { SUMS = 8 };
    double sum[SUMS] = {0};
    int64_t t = 0;
    for (; t + SUMS <= n; t += SUMS) {
        for (int l = 0; l < SUMS; l++) {
            const double s = (double)score[t + l];
            sum[l] += (weight ? (double)weight[t + l] : 1.0) * s * s;
        }
    }
    for (int l = 0; t < n; t++, l++) sum[l] += (weight ? (double)weight[t] : 1.0) * (double)score[t] * (double)score[t];
    for (int l = 1; l < SUMS; l++) sum[0] += sum[l];
    return sum[0];
}

/* The weighted loss of n pairs; `value` has room for a batch where the loss is a table. */
static double total_loss(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, int64_t n, REAL *value) {
    if (loss->code == FMF_NATIVE) return table_value(loss, score, y, weight, n, value);
    return loss->code == FMF_LOGISTIC ? logistic_value(score, y, weight, n) : square_value(score, weight, n);
}
