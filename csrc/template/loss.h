/* loss.h -- the built-in losses as functions over blocks of pairs.
   square    (s - y)^2           g = 2 (s - y)    beta = 2
   logistic  ln(1 + e^s) - y s   g = sigma(s) - y beta = 1/4 */

static inline vec FN(pick)(ivec mask, vec yes, vec no) {
    return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask));
}

/* e^x to about one unit in the last place: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial in r, and n put into the
   exponent.  Arguments are held to the range whose result is a normal number. */
static inline vec FN(exp_lanes)(vec x) {
    const int single = sizeof(REAL) == 4;
    const REAL low = single ? (REAL)-87.0 : (REAL)-708.0, high = single ? (REAL)88.0 : (REAL)709.0;
    const REAL log2e = (REAL)1.44269504088896340736;
    /* ln 2 in two parts, the first short enough for n times it to be exact */
    const REAL ln2_head = single ? (REAL)0.693359375 : (REAL)6.93147180369123816490e-01;
    const REAL ln2_tail = single ? (REAL)-2.12194440e-4 : (REAL)1.90821492927058770002e-10;
    /* adding this leaves the nearest integer in the low bits */
    const REAL round = single ? (REAL)12582912.0 : (REAL)6755399441055744.0;
    const int mantissa = single ? 23 : 52;

    const vec lows = low - (vec){0}, highs = high - (vec){0};
    x = FN(pick)(x < lows, lows, x);
    x = FN(pick)(x > highs, highs, x);
    const vec shifted = x * log2e + round;
    const vec n = shifted - round;
    const vec r = x - n * ln2_head - n * ln2_tail;
    vec p;
    if (single) {
        p = r * (REAL)1.9875691500e-4 + (REAL)1.3981999507e-3;
        p = p * r + (REAL)8.3334519073e-3;
        p = p * r + (REAL)4.1665795894e-2;
        p = p * r + (REAL)1.6666665459e-1;
        p = p * r + (REAL)5.0000001201e-1;
    } else { /* 1/k! from 13 down to 2 */
        p = r * (REAL)(1.0 / 6227020800.0) + (REAL)(1.0 / 479001600.0);
        p = p * r + (REAL)(1.0 / 39916800.0);
        p = p * r + (REAL)(1.0 / 3628800.0);
        p = p * r + (REAL)(1.0 / 362880.0);
        p = p * r + (REAL)(1.0 / 40320.0);
        p = p * r + (REAL)(1.0 / 5040.0);
        p = p * r + (REAL)(1.0 / 720.0);
        p = p * r + (REAL)(1.0 / 120.0);
        p = p * r + (REAL)(1.0 / 24.0);
        p = p * r + (REAL)(1.0 / 6.0);
        p = p * r + (REAL)0.5;
    }
    p = p * r * r + r + (REAL)1.0;
    return (vec)((ivec)p + ((ivec)shifted << mantissa));
}

static inline vec FN(sigmoid_lanes)(vec s) { return (REAL)1.0 / ((REAL)1.0 + FN(exp_lanes)(-s)); }

static inline vec FN(load_some)(const REAL *a, int64_t n) {
    vec v = {0};
    if (n >= LANES) return FN(load)(a);
    for (int l = 0; l < n; l++) v[l] = a[l];
    return v;
}

static inline const fmfkit_loss *FN(native)(const fmf_loss *loss) { return loss->native; }

/* Gradients of n pairs, weighted if weight is given. */
static void FN(gradient_block)(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, int64_t n) {
    int64_t t = 0;
    if (loss->code == FMF_SQUARE) { /* score is already less y */
        for (; t < n; t++) g[t] = (REAL)2.0 * score[t];
    } else if (loss->code == FMF_NATIVE) {
        FN(native)(loss)->FN(gradient)(score, y, g, n, loss->params);
    } else {
        for (; t + LANES <= n; t += LANES) FN(store)(g + t, FN(sigmoid_lanes)(FN(load)(score + t)) - FN(load)(y + t));
        const vec rest = FN(sigmoid_lanes)(FN(load_some)(score + t, n - t));
        for (int l = 0; t < n; t++, l++) g[t] = rest[l] - y[t];
    }
    if (weight) {
        for (t = 0; t < n; t++) g[t] *= weight[t];
    }
}

/* The weighted loss of n pairs, of a plugin's functions. */
static double FN(native_value)(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, int64_t n) {
    REAL value[BLOCK];
    double total = 0.0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t m = n - begin < BLOCK ? n - begin : BLOCK;
        FN(native)(loss)->FN(value)(score + begin, y + begin, value, m, loss->params);
        for (int64_t t = 0; t < m; t++) total += (weight ? (double)weight[begin + t] : 1.0) * (double)value[t];
    }
    return total;
}

/* The weighted loss of n pairs. */
static double FN(value_block)(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, int64_t n) {
    double total = 0.0;
    if (loss->code == FMF_NATIVE) return FN(native_value)(loss, score, y, weight, n);
    if (loss->code == FMF_SQUARE) {
        for (int64_t t = 0; t < n; t++) {
            total += (weight ? (double)weight[t] : 1.0) * (double)score[t] * (double)score[t];
        }
        return total;
    }
    /* ln(1 + e^s) = max(s, 0) + ln(1 + e^-|s|).  Without weights the logarithms of 16 lanes at a time are taken at once,
       as the logarithm of their product, which lies in [1, 2^16]. */
    double product = 1.0;
    int factors = 0;
    for (int64_t t = 0; t < n; t += LANES) {
        const int64_t m = n - t < LANES ? n - t : LANES;
        const vec s = FN(load_some)(score + t, m);
        const vec small = FN(exp_lanes)(FN(pick)(s < 0, s, -s));
        for (int l = 0; l < m; l++) {
            const double linear = (s[l] > 0 ? (double)s[l] : 0.0) - (double)y[t + l] * (double)s[l];
            if (weight) {
                total += (double)weight[t + l] * (linear + log1p((double)small[l]));
            } else {
                total += linear;
                product *= 1.0 + (double)small[l];
                if (++factors == 16) {
                    total += log(product);
                    product = 1.0;
                    factors = 0;
                }
            }
        }
    }
    return total + log(product);
}

static void FN(native_bend)(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, REAL *h,
                            int64_t n) {
    const fmfkit_loss *native = loss->native;
    if (native->FN(bend)) {
        native->FN(bend)(score, y, g, h, n, loss->params);
    } else {
        native->FN(gradient)(score, y, g, n, loss->params);
        for (int64_t t = 0; t < n; t++) h[t] = (REAL)loss->beta;
    }
    if (!weight) return;
    for (int64_t t = 0; t < n; t++) {
        g[t] *= weight[t];
        h[t] *= weight[t];
    }
}

/* Gradients of n pairs and curvatures that hold at their scores, both weighted.  Logistic: (sigma(s) - 1/2) / s, never
   above 1/4, majorises for every step from s (Jaakkola and Jordan). */
static void FN(bend_block)(const fmf_loss *loss, const REAL *score, const REAL *y, const REAL *weight, REAL *g, REAL *h, int64_t n) {
    if (loss->code == FMF_NATIVE) {
        FN(native_bend)(loss, score, y, weight, g, h, n);
        return;
    }
    for (int64_t t = 0; t < n; t += LANES) {
        const int64_t m = n - t < LANES ? n - t : LANES;
        const vec s = FN(load_some)(score + t, m), ones = (REAL)1.0 - (vec){0};
        const vec w = weight ? FN(load_some)(weight + t, m) : ones;
        vec gradient, curvature;
        if (loss->code == FMF_SQUARE) {
            gradient = (REAL)2.0 * s;
            curvature = (REAL)2.0 * ones;
        } else {
            const vec sigma = FN(sigmoid_lanes)(s), size = FN(pick)(s < 0, -s, s);
            const vec near = (REAL)0.25 - s * s * (REAL)(1.0 / 48.0);
            gradient = sigma - FN(load_some)(y + t, m);
            curvature = FN(pick)(size < (REAL)0.01, near, (sigma - (REAL)0.5) / FN(pick)(size < (REAL)0.01, ones, s));
        }
        gradient *= w;
        curvature *= w;
        for (int l = 0; l < m; l++) {
            g[t + l] = gradient[l];
            h[t + l] = curvature[l];
        }
    }
}
