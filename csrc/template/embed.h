/* embed.h -- embeddings U = X P.

   They gather rows of P from all over memory, so they go by strips of STRIP columns: a strip, packed, has a cache line per
   row and mostly stays in the cache while all rows are visited once. */

#define STRIP ((int)(64 / sizeof(REAL)))
#define STRIP_PARTS (STRIP / LANES)

typedef struct {
    const fmf_embedding *given;
    int64_t width; /* columns of the parameters */
    int64_t from;  /* first column of the strip */
    int64_t parts; /* of the rows, by their non-zeros */
} embedding_pass;

/* Columns [from, from + STRIP) of some parameters, zeros past the last. */
static void pack_strip(void *context, int64_t p, int thread) {
    const embedding_pass *o = context;
    const REAL *P = o->given->parameters;
    REAL *strip = o->given->strip;
    const int64_t size = smaller(o->width - o->from, STRIP);
    const range some = portion(o->given->features.cols, COPIED, p);
    (void)thread;
    for (int64_t s = some.from; s < some.to; s++) {
        for (int c = 0; c < STRIP; c++) strip[s * STRIP + c] = c < size ? P[s * o->width + o->from + c] : 0;
    }
}

/* A strip's columns of the embedding of row i. */
static inline void embed_row(const fmf_features *X, int64_t i, const REAL *strip, REAL *sums) {
    const REAL *value = X->row_value, *scale = X->row_scale, *own_value = X->own_value;
    const int64_t from = X->row_ptr[i] + (X->own[i] >= 0), n = X->row_ptr[i + 1] - from;
    vec sum[STRIP_PARTS];
    if (value) sum_lines(X->row_index + from, value + from, n, strip, STRIP, STRIP_PARTS, sum);
    else sum_lines(X->row_index + from, NULL, n, strip, STRIP, STRIP_PARTS, sum);
    for (int p = 0; scale && p < STRIP_PARTS; p++) sum[p] *= scale[i];
    if (X->own[i] >= 0) {
        const REAL *row = strip + (int64_t)X->own[i] * STRIP;
        for (int p = 0; p < STRIP_PARTS; p++) sum[p] += own_value[i] * load(row + p * LANES);
    }
    for (int p = 0; p < STRIP_PARTS; p++) store(sums + p * LANES, sum[p]);
}

static void embed_rows(void *context, int64_t p, int thread) {
    const embedding_pass *o = context;
    const fmf_embedding *given = o->given;
    const fmf_features *X = &given->features;
    const range some = part_by_total(X->row_ptr, X->rows, p, o->parts);
    REAL *U = given->embedding;
    (void)thread;
    for (int64_t i = some.from; i < some.to; i++) {
        REAL sums[STRIP];
        embed_row(X, i, given->strip, sums);
        for (int c = 0; c < STRIP && o->from + c < o->width; c++) {
            U[i * given->stride + (o->from + c < given->rank ? o->from + c : given->bias_slot)] = sums[c];
        }
    }
}

static void embed_program(fmf_worker *me, void *context) {
    embedding_pass o = *(const embedding_pass *)context;
    for (o.from = 0; o.from < o.width; o.from += STRIP) {
        fmf_phase(me, portions_of(o.given->features.cols, COPIED), pack_strip, NULL, &o);
        fmf_phase(me, o.parts, embed_rows, NULL, &o);
    }
}

static void embed(const fmf_embedding *given, int32_t threads) {
    embedding_pass o = {given, given->rank + (given->bias_slot >= 0), 0, smaller(8 * threads, given->features.rows)};
    fmf_run(threads, embed_program, &o);
}

static double gather(int64_t n, const int32_t *index, const void *lines) {
    vec sum[STRIP_PARTS];
    double total = 0.0;
    sum_lines(index, NULL, n, lines, STRIP, STRIP_PARTS, sum);
    for (int p = 0; p < STRIP_PARTS; p++) total += (double)add_lanes(sum[p]);
    return total;
}

#undef STRIP
#undef STRIP_PARTS
