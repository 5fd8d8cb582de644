/* penalty.h -- the elastic net  a |w| + l/2 w^2. */

/* T: the change of w that minimises x d + y/2 d^2 + a |w + d| + l/2 (w + d)^2, by the paper's two branches. */
static inline REAL FN(elastic_net_T)(REAL x, REAL y, REAL w, REAL a, REAL l) {
    const REAL curvature = y + l;
    if (!(curvature > 0)) return a > 0 ? -w : 0; /* nothing pulls but the l1 term */
    const REAL slope = x + l * w;
    if (w - slope / curvature >= 0) {
        const REAL d = -(slope + a) / curvature;
        return d > -w ? d : -w;
    }
    const REAL d = -(slope - a) / curvature;
    return d < -w ? d : -w;
}

static double FN(elastic_net_penalty)(int64_t rows, int64_t width, int64_t column, int64_t count, const void *parameters,
                                      const void *strength, const void *growth, double l1, double l2, int32_t threads) {
    enum { ROWS = 4096 }; /* summed apart, then in order: the same total for any number of threads */
    const REAL *W = (const REAL *)parameters + column, *S = strength, *grown = growth;
    const int64_t blocks = (rows + ROWS - 1) / ROWS;
    double *part = malloc((size_t)(blocks ? blocks : 1) * sizeof *part);
    double total = 0.0;
    if (!part) return NAN;
    int64_t b;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (b = 0; b < blocks; b++) {
        const int64_t end = (b + 1) * ROWS < rows ? (b + 1) * ROWS : rows;
        double sum = 0.0;
        for (int64_t s = b * ROWS; s < end; s++) {
            double absolute = 0.0, square = 0.0;
            for (int64_t c = 0; c < count; c++) {
                const double w = (double)W[s * width + c];
                absolute += (double)grown[c] * fabs(w);
                square += (double)grown[c] * w * w;
            }
            sum += (double)S[s] * (l1 * absolute + 0.5 * l2 * square);
        }
        part[b] = sum;
    }
    for (b = 0; b < blocks; b++) total += part[b];
    free(part);
    return total;
}
