/* shared.h -- a side with features that several rows share, block by block: a pass over the pairs for every row's G and A,
   the shared features' step, then the rows' own. */

/* What brings scores up to date before a pass: nothing, the bias, or the block before. */
enum { FN(KEEP), FN(SCORE), FN(MOVE_BIAS), FN(MOVE_BLOCK) };

/* VV_j: the block before (if any), then this one, zeros where the rank ends. */
static void FN(load_block)(const fmf_block *b, int64_t before, int64_t column, int thread, int team) {
    const fmf_descent *d = &b->d;
    const REAL *V = d->other;
    REAL *VV = d->VV;
    const int64_t from = d->other_rows * thread / team, to = d->other_rows * (thread + 1) / team;
    const int64_t size = FN(block_size)(b, column);
    for (int64_t j = from; j < to; j++) {
        REAL *line = VV + j * 2 * B;
        for (int l = 0; l < B; l++) line[l] = before < 0 ? 0 : V[j * d->stride + before + l];
        for (int l = 0; l < B; l++) line[B + l] = l < size ? V[j * d->stride + column + l] : 0;
    }
}

static inline void FN(refresh_scores)(const fmf_block *b, int64_t i, int64_t from, int64_t n, int refresh) {
    const fmf_descent *d = &b->d;
    const REAL *move = (const REAL *)b->move + i * B;
    REAL *score = (REAL *)d->score + from;
    if (refresh == FN(MOVE_BLOCK)) {
        const bvec u = FN(bload)(move);
        FN(add_dots)(d->pairs.other + from, score, n, d->VV, 2 * B, u.part, PARTS);
    } else if (refresh == FN(MOVE_BIAS)) {
        for (int64_t t = 0; t < n; t++) score[t] += move[0];
    }
}

/* G and A of rows first..end, whose scores are up to date, of a loss that is called for the whole chunk at once. */
static void FN(called_sums)(const fmf_block *b, int64_t first, int64_t end, int bias) {
    const fmf_descent *d = &b->d;
    const int64_t *ptr = d->pairs.ptr, at = ptr[first], pairs = ptr[end] - at;
    const REAL *weight = d->pairs.weight;
    REAL *g = (REAL *)b->called + 2 * b->called_room * FMF_THREAD, *h = g + b->called_room, *G = b->G, *A = b->A;
    if (!pairs) return;
    fmf_call_bend(d->loss.python, (const REAL *)d->score + at, (const REAL *)d->pairs.y + at, g, h, pairs);
    for (int64_t t = 0; weight && t < pairs; t++) {
        g[t] *= weight[at + t];
        h[t] *= weight[at + t];
    }
    for (int64_t i = first; i < end; i++) {
        const int64_t from = ptr[i] - at, n = ptr[i + 1] - ptr[i];
        if (!bias) {
            FN(gram)(d->pairs.other + ptr[i], g + from, h + from, n, (const REAL *)d->VV + B, 2 * B, G + i * B, A + i * ROOM);
            continue;
        }
        for (int64_t t = 0; t < n; t++) {
            G[i * B] += g[from + t];
            A[i * ROOM] += h[from + t];
        }
    }
}

/* G and A of rows first..end.  A bias's block needs no V_j: they are 1. */
static void FN(chunk_sums)(const fmf_block *b, int64_t first, int64_t end, int refresh, int bias) {
    const fmf_descent *d = &b->d;
    const int64_t *ptr = d->pairs.ptr;
    const REAL *y = d->pairs.y, *weight = d->pairs.weight, *VV = d->VV;
    REAL *score = d->score, *G = b->G, *A = b->A;
    const int plain = d->loss.code == FMF_SQUARE && !weight, called = d->loss.code == FMF_CALLED;
    REAL g[BLOCK], h[BLOCK];
    memset(G + first * B, 0, (size_t)(end - first) * B * sizeof(REAL));
    memset(A + first * ROOM, 0, (size_t)(end - first) * ROOM * sizeof(REAL));
    for (int64_t i = first; i < end; i++) {
        const int64_t n = ptr[i + 1] - ptr[i];
        if (refresh == FN(SCORE)) {
            FN(row_scores)(&d->pairs, d->loss.code, i, b->mine, d->other, d->stride, (REAL)b->offset, score + ptr[i]);
        } else {
            FN(refresh_scores)(b, i, ptr[i], n, refresh);
        }
        if (called) continue;
        if (bias) {
            REAL sums[2] = {0};
            FN(pair_sums)(d, ptr[i], n, score + ptr[i], sums);
            G[i * B] = sums[0];
            A[i * ROOM] = sums[1];
        } else if (plain) {
            FN(gram)(d->pairs.other + ptr[i], score + ptr[i], NULL, n, VV + B, 2 * B, G + i * B, A + i * ROOM);
        }
    }
    if (called) FN(called_sums)(b, first, end, bias);
    if (bias || called) return;
    if (plain) FN(double_sums)(G + first * B, A + first * ROOM, end - first);
    /* other losses by blocks of pairs, which may hold many short rows or a part of a long one */
    for (int64_t begin = ptr[first], i = first; !plain && begin < ptr[end]; begin += BLOCK) {
        const int64_t stop = begin + BLOCK < ptr[end] ? begin + BLOCK : ptr[end];
        FN(bend_block)(&d->loss, score + begin, y + begin, weight ? weight + begin : NULL, g, h, stop - begin);
        while (ptr[i + 1] <= begin) i++;
        for (int64_t r = i; r < end && ptr[r] < stop; r++) {
            const int64_t from = ptr[r] > begin ? ptr[r] : begin, to = ptr[r + 1] < stop ? ptr[r + 1] : stop;
            FN(gram)(d->pairs.other + from, g + (from - begin), h + (from - begin), to - from, VV + B, 2 * B, G + r * B,
                     A + r * ROOM);
        }
    }
}

/* What features see of a row: its gradient, and the curvature of A in each dimension: the diagonal, or, where steps must
   hold without a line search, the sums of the rows of |A|.  Values that are a row's own are multiplied in here. */
static void FN(write_view)(const fmf_block *b, const fmf_dimension *k, int64_t i) {
    const REAL *G = (const REAL *)b->G + i * B, *A = (const REAL *)b->A + i * ROOM, *scale = b->d.features.row_scale;
    REAL *view = (REAL *)b->view + i * 2 * B;
    const REAL x = scale ? scale[i] : 1;
    for (int l = 0; l < B; l++) {
        view[l] = x * G[l];
        view[B + l] = x * x * A[l];
    }
    if (k->l1 > 0) {
        REAL full[B * B];
        FN(unfold)(A, full);
        for (int l = 0; l < B; l++) {
            view[B + l] = 0;
            for (int m = 0; m < B; m++) view[B + l] += full[l * B + m] < 0 ? -full[l * B + m] : full[l * B + m];
        }
    }
}

static void FN(block_pass)(const fmf_block *b, const fmf_dimension *k, int refresh, int thread, int team) {
    const fmf_pairs *pairs = &b->d.pairs;
    const int64_t total = pairs->ptr[pairs->rows];
    const int64_t from = total * thread / team, to = thread + 1 == team ? total + 1 : total * (thread + 1) / team;
    for (int64_t c = 0; c < pairs->chunks; c++) {
        const int64_t first = pairs->chunk[c], at = pairs->ptr[first];
        if (at < from || at >= to) continue;
        while (b->d.loss.code == FMF_CALLED && c + 1 < pairs->chunks && pairs->ptr[pairs->chunk[c + 1]] < to &&
               pairs->ptr[pairs->chunk[c + 2]] - at <= b->called_room) {
            c++; /* a call costs the same for many pairs as for few */
        }
        const int64_t end = pairs->chunk[c + 1];
        FN(chunk_sums)(b, first, end, refresh, k->column == b->rank);
        memset((REAL *)b->move + first * B, 0, (size_t)(end - first) * B * sizeof(REAL));
        for (int64_t i = first; !b->directions && i < end; i++) FN(write_view)(b, k, i);
    }
}

/* Sums over portions, in order: every thread finds the same. */
static inline void FN(add_portions)(const double *portion, int64_t portions, double *slope, double *curvature) {
    for (int64_t n = 0; n < portions; n++) {
        *slope += portion[2 * n];
        *curvature += portion[2 * n + 1];
    }
}

static inline double FN(best_length)(double slope, double curvature) {
    return curvature > 0 && slope < 0 ? -slope / curvature : 0.0;
}

#include "directions.h"
#include "steps.h"

static void FN(own_steps)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const int64_t rows = b->d.pairs.rows;
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) {
        FN(own_step)(b, k, i, (const REAL *)b->G + i * B, (const REAL *)b->A + i * ROOM, (REAL *)b->move + i * B);
    }
}

/* The paper's eta in the first dimension of the first block. */
static void FN(block_eta)(const fmf_block *b, int thread, int team) {
    const int64_t rows = b->d.pairs.rows;
    const REAL *A = b->A;
    REAL *GH = b->d.GH;
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) {
        GH[2 * i] = 0;
        GH[2 * i + 1] = A[i * ROOM];
    }
#pragma omp barrier
    FN(measure_eta)(&b->d, thread, team);
#pragma omp barrier
}

static void FN(block_descend)(const fmf_block *b, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads) {
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        const int64_t first = bias ? -B : 0;
        for (int64_t column = first; column < b->rank; column += B) {
            fmf_dimension k = column < 0 ? *bias : *factors;
            if (column >= 0) {
                k.column = column;
                k.growth = (const REAL *)factors->growth + column;
            }
            if (column >= 0) FN(load_block)(b, column - B, column, thread, team);
#pragma omp barrier
            FN(block_pass)(b, &k,
                           column > 0        ? FN(MOVE_BLOCK)
                           : column != first ? FN(MOVE_BIAS)
                           : b->scored       ? FN(KEEP)
                                             : FN(SCORE),
                           thread, team);
#pragma omp barrier
            if (b->directions) {
                FN(follow_directions)(b, &k, thread, team);
            } else {
                if (column == first) FN(block_eta)(b, thread, team);
                FN(block_sweep)(b, &k, thread, team);
#pragma omp barrier
            }
            FN(own_steps)(b, &k, thread, team);
#pragma omp barrier
        }
    }
}
