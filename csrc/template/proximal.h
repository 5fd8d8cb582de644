/* proximal.h -- gradients in all latent dimensions at once, for regularizers of a feature's whole row of parameters.

   With u = X d, a step d of all features changes the objective by at most sum_i G_i u_i + 1/2 u_i A_i u_i and what their
   penalty changes by.  A_i is at most its trace, and |u_i|^2 at most C_i sum_s |x_is| |d_s|^2 with C_i = sum_s |x_is|: so each
   feature has one curvature for its whole row, sum_i |x_is| C_i trace A_i, and the features' steps do not meet. */

/* G_i += c_i (M U_i + m), and what c_i M adds to the trace; see cells.h. */
static void add_wide_cells(const fmf_side *side, const fmf_wide *o, int64_t i, REAL *G, REAL *trace) {
    const REAL c = ((const REAL *)o->cell_weight)[i], *U = (const REAL *)side->mine + i * side->stride, *M = o->M;
    for (int64_t at = 0; at < side->stride; at += LANES) {
        vec sum = load((const REAL *)o->m + at);
        for (int64_t k = 0; k < side->stride; k++) sum += U[k] * load(M + k * side->stride + at);
        store(G + at, load(G + at) + c * sum);
    }
    *trace += c * (REAL)o->cell_trace;
}

static void add_line(REAL *sum, REAL times, const REAL *line, int64_t stride) {
    for (int64_t at = 0; at < stride; at += LANES) store(sum + at, load(sum + at) + times * load(line + at));
}

typedef struct {
    const fmf_side *side;
    const fmf_wide *wide;
} wide_pass;

/* G_i and C_i trace A_i of a chunk's rows. */
static void wide_rows(void *context, int64_t chunk, int thread) {
    const fmf_side *side = ((const wide_pass *)context)->side;
    const fmf_wide *o = ((const wide_pass *)context)->wide;
    const fmf_pairs *pairs = &side->pairs;
    const REAL *V = side->theirs, *square = o->square, *g = o->g, *h = o->h;
    (void)thread;
    for (int64_t i = pairs->chunk[chunk]; i < pairs->chunk[chunk + 1]; i++) {
        REAL *G = (REAL *)o->G + i * side->stride, trace = 0;
        memset(G, 0, (size_t)side->stride * sizeof *G);
        for (int64_t e = pairs->ptr[i]; e < pairs->ptr[i + 1]; e++) {
            const int64_t j = pairs->other[e];
            if (e + PAIRS_AHEAD < pairs->ptr[i + 1]) __builtin_prefetch(V + pairs->other[e + PAIRS_AHEAD] * side->stride);
            add_line(G, g[e], V + j * side->stride, side->stride);
            trace += h[e] * square[j];
        }
        if (o->cell_weight) add_wide_cells(side, o, i, G, &trace);
        ((REAL *)o->bound)[i] = ((const REAL *)o->conflict)[i] * trace;
    }
}

/* Their sums by feature. */
static void wide_columns(void *context, int64_t p, int thread) {
    const fmf_side *side = ((const wide_pass *)context)->side;
    const fmf_wide *o = ((const wide_pass *)context)->wide;
    const fmf_features *X = &side->features;
    const range some = portion(X->cols, WIDE_COLUMNS, p);
    (void)thread;
    for (int64_t s = some.from; s < some.to; s++) {
        REAL *sum = (REAL *)o->slope + s * side->stride, curvature = 0;
        memset(sum, 0, (size_t)side->stride * sizeof *sum);
        for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
            const int64_t i = X->col_index[e];
            const REAL x = value_in_column(X, s, e);
            add_line(sum, x, (const REAL *)o->G + i * side->stride, side->stride);
            curvature += (x < 0 ? -x : x) * ((const REAL *)o->bound)[i];
        }
        ((REAL *)o->curvature)[s] = curvature;
    }
}

static void wide_program(fmf_worker *me, void *context) {
    const fmf_side *side = ((const wide_pass *)context)->side;
    fmf_phase(me, side->pairs.chunks, wide_rows, NULL, context);
    fmf_phase(me, portions_of(side->features.cols, WIDE_COLUMNS), wide_columns, NULL, context);
}

static void wide_gradients(const fmf_side *side, const fmf_wide *wide, int32_t threads) {
    wide_pass o = {side, wide};
    fmf_run(threads, wide_program, &o);
}
