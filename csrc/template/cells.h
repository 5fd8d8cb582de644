/* cells.h -- the term over all cells of the matrix, observed or not.  It is quadratic in the scores, so all that a side's update
   needs of the other side is its Gram matrix, made here once a turn; no cell is ever visited. */

enum { GRAM_LINES = 256 }; /* rows that are summed in working precision before they are added in double */

typedef struct {
    const fmf_gram *given;
    int64_t size; /* rows of a portion */
} gram_pass;

/* Block (first, second) of sum_j b_j V_j V_j' over some rows: LANES x LANES numbers, added to sums. */
static void add_gram_block(const fmf_gram *given, range rows, int64_t first, int64_t second, double *sums) {
    const REAL *V = given->embedding, *b = given->weight;
    vec block[LANES] = {0};
    for (int64_t j = rows.from; j < rows.to; j++) {
        const REAL *line = V + j * given->stride;
        const vec weighed = b[j] * load(line + second);
        UNROLL(8)
        for (int l = 0; l < LANES; l++) block[l] += line[first + l] * weighed;
    }
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < LANES; k++) sums[(first + l) * given->stride + second + k] += (double)block[l][k];
    }
}

/* sum_j b_j V_j over some rows, added to sums. */
static void add_level(const fmf_gram *given, range rows, double *sums) {
    const REAL *V = given->embedding, *b = given->weight;
    for (int64_t c = 0; c < given->stride; c += LANES) {
        vec sum = {0};
        for (int64_t j = rows.from; j < rows.to; j++) sum += b[j] * load(V + j * given->stride + c);
        for (int l = 0; l < LANES; l++) sums[c + l] += (double)sum[l];
    }
}

/* A portion's sums: the upper half, by blocks. */
static void gram_portion(void *context, int64_t p, int thread) {
    const gram_pass *o = context;
    const fmf_gram *given = o->given;
    const int64_t stride = given->stride;
    const range some = portion(given->rows, o->size, p);
    double *sums = given->portion + p * (stride + 1) * stride;
    (void)thread;
    memset(sums, 0, (size_t)((stride + 1) * stride) * sizeof *sums);
    for (int64_t from = some.from; from < some.to; from += GRAM_LINES) {
        const range lines = {from, smaller(from + GRAM_LINES, some.to)};
        for (int64_t first = 0; first < stride; first += LANES) {
            for (int64_t second = first; second < stride; second += LANES) {
                add_gram_block(given, lines, first, second, sums);
            }
        }
        add_level(given, lines, sums + stride * stride);
    }
}

static void gram_sums(const fmf_gram *given, int32_t threads) {
    const int64_t stride = given->stride, size = portions_of(given->rows, given->portions);
    gram_pass o = {given, size};
    fmf_share_out(threads, given->portions, gram_portion, &o);
    memset(given->sums, 0, (size_t)((stride + 1) * stride) * sizeof *given->sums);
    for (int64_t p = 0; p < given->portions; p++) {
        const double *sums = given->portion + p * (stride + 1) * stride;
        for (int64_t n = 0; n < (stride + 1) * stride; n++) given->sums[n] += sums[n];
    }
    for (int64_t r = 0; r < stride; r++) {
        for (int64_t c = 0; c < r; c++) given->sums[r * stride + c] = given->sums[c * stride + r];
    }
}

/* Gradient and curvature that row i gets in the group of one dimension, both without c_i. */
static inline void cell_sums(const fmf_side *side, int64_t i, int64_t group, REAL *gradient, REAL *curvature) {
    const fmf_cells *cells = &side->cells;
    const REAL *U = (const REAL *)side->mine + i * side->stride, *M = (const REAL *)cells->M + group * side->stride;
    *gradient = dot(M, U, side->stride) + ((const REAL *)cells->m)[group];
    *curvature = ((const REAL *)cells->curvature)[group];
}
