/* block.h -- Algorithm 3 with B = FMF_BLOCK latent dimensions at once.

   Per row, over its pairs: G_i = sum_j g_ij V_j (B numbers), A_i = sum_j h_ij V_j V_j' (B x B).  Features that several
   rows share come first, set after set: a step per feature from the diagonal of A (or, where steps must hold without a
   line search, from the rows of |A|), then, the step's length t by exact line search on the quadratic bound
       sum_i t G_i u_i + t^2/2 u_i A_i u_i + penalty,     u_i = sum_s x_is delta_s.
   Then a row's own feature solves its B x B problem. */

#define B FMF_BLOCK
#define PARTS (FMF_BLOCK / LANES)
#define bvec FN(bvec)
typedef struct {
    vec part[PARTS];
} bvec;

static inline bvec FN(bload)(const REAL *a) {
    bvec r;
    for (int n = 0; n < PARTS; n++) r.part[n] = FN(load)(a + n * LANES);
    return r;
}

static inline void FN(bstore)(REAL *a, bvec v) {
    for (int n = 0; n < PARTS; n++) FN(store)(a + n * LANES, v.part[n]);
}

static inline void FN(badd)(bvec *sum, REAL factor, bvec v) { /* sum += factor v */
    for (int n = 0; n < PARTS; n++) sum->part[n] += factor * v.part[n];
}

static inline REAL FN(bdot)(bvec a, bvec b) {
    vec sum = a.part[0] * b.part[0];
    for (int n = 1; n < PARTS; n++) sum += a.part[n] * b.part[n];
    return FN(add_lanes)(sum);
}

static inline int64_t FN(block_size)(const fmf_block *b, int64_t column) {
    return b->rank - column < B ? b->rank - column : B;
}

/* ---- the pass over the pairs ---- */

/* VV_j: the block before (if any), then this one, zeros where the rank ends; or this one alone. */
static void FN(load_block)(const fmf_block *b, int64_t before, int64_t column, int alone, int thread, int team) {
    const fmf_descent *d = &b->d;
    const REAL *V = d->other;
    REAL *VV = d->VV;
    const int64_t from = d->other_rows * thread / team, to = d->other_rows * (thread + 1) / team;
    const int64_t room = alone ? B : 2 * B, size = FN(block_size)(b, column);
    for (int64_t j = from; j < to; j++) {
        REAL *line = VV + j * room;
        if (!alone) {
            for (int l = 0; l < B; l++) line[l] = before < 0 ? 0 : V[j * d->stride + before + l];
            line += B;
        }
        for (int l = 0; l < B; l++) line[l] = l < size ? V[j * d->stride + column + l] : 0;
    }
}

/* Scores of a row brought up to date: by the block before, or by the row's bias. */
static inline void FN(update_row)(const int32_t *other, REAL *score, int64_t n, const REAL *VV, int64_t room, const REAL *move,
                                  REAL bias) {
    if (move) {
        const bvec u = FN(bload)(move);
        FN(add_dots)(other, score, n, VV, room, u.part, PARTS);
    } else if (bias != 0) {
        for (int64_t t = 0; t < n; t++) score[t] += bias;
    }
}

/* G += sum of g V_j and A += sum of h V_j V_j' over pairs of one row; h = NULL stands for ones. */
static inline void FN(gram)(const int32_t *other, const REAL *g, const REAL *h, int64_t n, const REAL *V, int64_t room,
                            REAL *G, REAL *A) {
    enum { AT_ONCE = 8 / PARTS }; /* rows of A that stay in registers together */
    bvec sum = FN(bload)(G);
    for (int first = 0; first < B; first += AT_ONCE) {
        bvec rows[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) rows[k] = FN(bload)(A + (first + k) * B);
        for (int64_t t = 0; t < n; t++) {
            if (first == 0 && t + PAIRS_AHEAD < n) __builtin_prefetch(V + other[t + PAIRS_AHEAD] * room);
            const REAL *at = V + other[t] * room;
            const bvec v = FN(bload)(at);
            if (first == 0) FN(badd)(&sum, g[t], v);
            for (int k = 0; k < AT_ONCE; k++) FN(badd)(&rows[k], h ? h[t] * at[first + k] : at[first + k], v);
        }
        for (int k = 0; k < AT_ONCE; k++) FN(bstore)(A + (first + k) * B, rows[k]);
    }
    FN(bstore)(G, sum);
}

/* The square loss's factor 2, left out while summing. */
static inline void FN(double_sums)(REAL *G, REAL *A, int64_t rows) {
    for (int64_t n = 0; n < rows * B; n++) G[n] *= (REAL)2.0;
    for (int64_t n = 0; n < rows * B * B; n++) A[n] *= (REAL)2.0;
}

/* The sums of rows first..end, whose pairs are summed in blocks; `move` is carried over from the block before, `bias` from
   the bias.  Square loss without weights: the scores, held less y, are half the gradients, and the factor 2 comes last. */
static void FN(block_chunk)(const fmf_block *b, int64_t first_row, int64_t end_row, int move, int bias) {
    const fmf_descent *d = &b->d;
    const int64_t *ptr = d->pairs.ptr;
    const REAL *y = d->pairs.y, *weight = d->pairs.weight, *VV = d->VV, *step = d->step;
    REAL *score = d->score, *G = b->G, *A = b->A;
    const int plain = d->loss == FMF_SQUARE && !weight;
    REAL g[BLOCK], h[BLOCK];
    int64_t first = first_row;
    memset(G + first_row * B, 0, (size_t)(end_row - first_row) * B * sizeof(REAL));
    memset(A + first_row * B * B, 0, (size_t)(end_row - first_row) * B * B * sizeof(REAL));
    for (int64_t begin = ptr[first_row]; begin < ptr[end_row]; begin += BLOCK) {
        const int64_t end = begin + BLOCK < ptr[end_row] ? begin + BLOCK : ptr[end_row];
        while (ptr[first + 1] <= begin) first++;
        for (int64_t i = first; (move || bias) && i < end_row && ptr[i] < end; i++) {
            const int64_t from = ptr[i] > begin ? ptr[i] : begin, to = ptr[i + 1] < end ? ptr[i + 1] : end;
            FN(update_row)(d->pairs.other + from, score + from, to - from, VV, 2 * B,
                           move ? (const REAL *)b->move + i * B : NULL, bias ? step[i] : 0);
        }
        if (!plain) {
            FN(bend_block)(d->loss, score + begin, y + begin, weight ? weight + begin : NULL, g, h, end - begin);
        }
        for (int64_t i = first; i < end_row && ptr[i] < end; i++) {
            const int64_t from = ptr[i] > begin ? ptr[i] : begin, to = ptr[i + 1] < end ? ptr[i + 1] : end;
            FN(gram)(d->pairs.other + from, plain ? score + from : g + (from - begin), plain ? NULL : h + (from - begin),
                     to - from, VV + B, 2 * B, G + i * B, A + i * B * B);
        }
    }
    if (plain) FN(double_sums)(G + first_row * B, A + first_row * B * B, end_row - first_row);
}

static void FN(block_pass)(const fmf_block *b, int move, int bias, int thread, int team) {
    const fmf_pairs *pairs = &b->d.pairs;
    const int64_t total = pairs->ptr[pairs->rows];
    const int64_t from = total * thread / team, to = thread + 1 == team ? total + 1 : total * (thread + 1) / team;
    const REAL *A = b->A;
    REAL *bend = b->bend;
    for (int64_t c = 0; c < pairs->chunks; c++) {
        const int64_t first = pairs->chunk[c], end = pairs->chunk[c + 1];
        if (pairs->ptr[first] < from || pairs->ptr[first] >= to) continue;
        FN(block_chunk)(b, first, end, move, bias);
        memset((REAL *)b->move + first * B, 0, (size_t)(end - first) * B * sizeof(REAL));
        for (int64_t i = first; i < end; i++) {
            for (int k = 0; k < B; k++) {
                const REAL *row = A + (i * B + k) * B;
                REAL bound = row[k];
                if (b->safe) {
                    bound = 0;
                    for (int l = 0; l < B; l++) bound += row[l] < 0 ? -row[l] : row[l];
                }
                bend[i * B + k] = bound;
            }
        }
    }
}

/* ---- shared features ---- */

static inline void FN(block_column_piece)(const fmf_block *b, int64_t s, int64_t skip, REAL *sums) {
    const fmf_features *X = &b->d.features;
    const int64_t at = X->col_ptr[s] + skip, left = X->col_ptr[s + 1] - at, n = left < FMF_CUT ? left : FMF_CUT;
    const int32_t *row = X->col_index + at;
    const REAL *x = (const REAL *)X->col_value + at, *conflict = (const REAL *)b->d.plan.conflict + at;
    const REAL *G = b->G, *bend = b->bend;
    bvec gradient = {0}, curvature = {0};
    for (int64_t t = 0; t < n; t++) {
        FN(badd)(&gradient, x[t], FN(bload)(G + (int64_t)row[t] * B));
        FN(badd)(&curvature, conflict[t], FN(bload)(bend + (int64_t)row[t] * B));
    }
    FN(bstore)(sums, gradient);
    FN(bstore)(sums + B, curvature);
}

/* A feature's steps, and what its penalty adds to the line search. */
static inline void FN(block_settle)(const fmf_block *b, const fmf_dimension *k, int64_t s, int64_t place, const REAL *sums) {
    const REAL *w = (const REAL *)b->d.parameters + s * b->d.width + k->column;
    const REAL strength = ((const REAL *)k->strength)[s], l1 = (REAL)k->l1 * strength, l2 = (REAL)k->l2 * strength;
    REAL *delta = (REAL *)b->d.delta + place * B;
    const int64_t size = FN(block_size)(b, k->column);
    double first = 0.0, second = 0.0;
    for (int l = 0; l < B; l++) {
        delta[l] = 0;
        if (l >= size) continue;
        delta[l] = FN(elastic_net_T)(sums[l], sums[B + l], w[l], l1, l2);
        first += (double)(w[l] * delta[l]);
        second += (double)(delta[l] * delta[l]);
    }
    b->penalty[2 * place] = (double)l2 * first;
    b->penalty[2 * place + 1] = (double)l2 * second;
}

static inline void FN(block_fetch)(const fmf_block *b, const fmf_dimension *k, int64_t s) { FN(fetch)(&b->d, k, s); }

#define PHASE(name) FN(block_##name)
#define CONTEXT fmf_block
#define PLAN(c) (&(c)->d.plan)
#define SCRATCH(c) ((REAL *)(c)->d.partial)
#define SUMS (2 * B)
#include "sets.h"
#undef PHASE
#undef CONTEXT
#undef PLAN
#undef SCRATCH
#undef SUMS

/* The thread's share of a set's runs, in whole portions of FMF_RUNS. */
static inline void FN(share_of_runs)(const fmf_plan *plan, int64_t S, int thread, int team, int64_t *from, int64_t *to) {
    const int64_t portions = (plan->set_run[S + 1] - plan->set_run[S] + FMF_RUNS - 1) / FMF_RUNS;
    *from = portions * thread / team;
    *to = portions * (thread + 1) / team;
}

/* u_i and A_i u_i of the rows that set S touches, and their part in the line search. */
static void FN(block_row_phase)(const fmf_block *b, int64_t S, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *delta = b->d.delta, *value = plan->entry_value, *G = b->G, *A = b->A;
    REAL *U = b->u, *AU = b->Au;
    int64_t from, to;
    FN(share_of_runs)(plan, S, thread, team, &from, &to);
    for (int64_t portion = from; portion < to; portion++) {
        const int64_t begin = plan->set_run[S] + portion * FMF_RUNS;
        const int64_t end = begin + FMF_RUNS < plan->set_run[S + 1] ? begin + FMF_RUNS : plan->set_run[S + 1];
        double slope = 0.0, curvature = 0.0;
        for (int64_t run = begin; run < end; run++) {
            const int64_t i = plan->run_row[run];
            bvec u = {0}, Au = {0};
            for (int64_t e = plan->run_ptr[run]; e < plan->run_ptr[run + 1]; e++) {
                FN(badd)(&u, value[e], FN(bload)(delta + (int64_t)plan->entry_place[e] * B));
            }
            FN(bstore)(U + i * B, u);
            for (int k = 0; k < B; k++) FN(badd)(&Au, U[i * B + k], FN(bload)(A + (i * B + k) * B));
            FN(bstore)(AU + i * B, Au);
            slope += (double)FN(bdot)(u, FN(bload)(G + i * B));
            curvature += (double)FN(bdot)(u, Au);
        }
        b->search[2 * portion] = slope;
        b->search[2 * portion + 1] = curvature;
    }
}

/* The length of a set's step: sums in a fixed order, so that every thread finds the same. */
static double FN(line_search)(const fmf_block *b, int64_t S) {
    const fmf_plan *plan = &b->d.plan;
    const int64_t portions = (plan->set_run[S + 1] - plan->set_run[S] + FMF_RUNS - 1) / FMF_RUNS;
    double slope = 0.0, curvature = 0.0;
    if (b->safe) return 1.0;
    for (int64_t n = 0; n < portions; n++) {
        slope += b->search[2 * n];
        curvature += b->search[2 * n + 1];
    }
    for (int64_t n = 0; n < plan->set_ptr[S + 1] - plan->set_ptr[S]; n++) {
        slope += b->penalty[2 * n];
        curvature += b->penalty[2 * n + 1];
    }
    return curvature > 0 && slope < 0 ? -slope / curvature : 0.0;
}

static void FN(block_apply)(const fmf_block *b, const fmf_dimension *k, int64_t S, REAL t, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    const REAL *delta = b->d.delta, *U = b->u, *AU = b->Au;
    REAL *P = b->d.parameters, *G = b->G, *move = b->move;
    const int64_t first = plan->set_ptr[S], features = plan->set_ptr[S + 1] - first;
    const int64_t size = FN(block_size)(b, k->column);
    int64_t from, to;
    for (int64_t n = features * thread / team; n < features * (thread + 1) / team; n++) {
        REAL *w = P + plan->order[first + n] * b->d.width + k->column;
        for (int l = 0; l < size; l++) w[l] += t * delta[n * B + l];
    }
    FN(share_of_runs)(plan, S, thread, team, &from, &to);
    const int64_t end = plan->set_run[S] + to * FMF_RUNS < plan->set_run[S + 1] ? plan->set_run[S] + to * FMF_RUNS
                                                                                : plan->set_run[S + 1];
    for (int64_t run = plan->set_run[S] + from * FMF_RUNS; run < end; run++) {
        const int64_t i = plan->run_row[run] * (int64_t)B;
        bvec g = FN(bload)(G + i), m = FN(bload)(move + i);
        FN(badd)(&g, t, FN(bload)(AU + i));
        FN(badd)(&m, t, FN(bload)(U + i));
        FN(bstore)(G + i, g);
        FN(bstore)(move + i, m);
    }
}

static void FN(block_sweep)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const fmf_plan *plan = &b->d.plan;
    int alone = 0; /* the sets before were the first thread's */
    for (int64_t S = 0; S < plan->sets; S++) {
        const int64_t size = plan->start[plan->set_ptr[S + 1]] - plan->start[plan->set_ptr[S]];
        const int cut = FN(has_cut)(plan, S);
        if (size * B < FMF_SMALL_SET || team == 1) {
            if (thread == 0) {
                FN(block_feature_phase)(b, k, S, 0, 1);
                if (cut) FN(block_join_pieces)(b, k, S);
                FN(block_row_phase)(b, S, 0, 1);
                FN(block_apply)(b, k, S, (REAL)FN(line_search)(b, S), 0, 1);
            }
            alone = 1;
            continue;
        }
        if (alone) {
#pragma omp barrier
            alone = 0;
        }
        FN(block_feature_phase)(b, k, S, thread, team);
#pragma omp barrier
        if (cut) {
            if (thread == 0) FN(block_join_pieces)(b, k, S);
#pragma omp barrier
        }
        FN(block_row_phase)(b, S, thread, team);
#pragma omp barrier
        FN(block_apply)(b, k, S, (REAL)FN(line_search)(b, S), thread, team);
#pragma omp barrier
    }
}

/* ---- a row's own feature ---- */

/* Solves (x^2 A + l2 I) delta = -(x G + l2 w) by elimination.  Tells whether the answer can be trusted: along delta the
   bound must be least near delta, which rounding in a nearly singular system may spoil. */
static inline int FN(solve_row)(const REAL *G, const REAL *A, REAL x, REAL l2, const REAL *w, int64_t size, REAL *delta) {
    bvec M[B];
    REAL right[B];
    for (int k = 0; k < B; k++) {
        M[k] = (bvec){0};
        FN(badd)(&M[k], x * x, FN(bload)(A + k * B));
        M[k].part[k / LANES][k % LANES] += k < size ? l2 : 1; /* past the rank: delta = 0 */
        right[k] = k < size ? -(x * G[k] + l2 * w[k]) : 0;
    }
    for (int k = 0; k < B; k++) {
        const REAL pivot = M[k].part[k / LANES][k % LANES];
        if (!(pivot > 0)) return 0;
        for (int r = k + 1; r < B; r++) {
            const REAL factor = -M[r].part[k / LANES][k % LANES] / pivot;
            FN(badd)(&M[r], factor, M[k]);
            right[r] += factor * right[k];
        }
    }
    for (int k = B - 1; k >= 0; k--) {
        REAL rest = right[k];
        for (int l = k + 1; l < B; l++) rest -= M[k].part[l / LANES][l % LANES] * delta[l];
        delta[k] = rest / M[k].part[k / LANES][k % LANES];
    }
    double slope = 0.0, curvature = 0.0;
    for (int k = 0; k < size; k++) {
        double row = (double)l2 * (double)delta[k];
        for (int l = 0; l < size; l++) row += (double)x * (double)x * (double)A[k * B + l] * (double)delta[l];
        slope += ((double)x * (double)G[k] + (double)l2 * (double)w[k]) * (double)delta[k];
        curvature += (double)delta[k] * row;
    }
    return slope == 0 ? curvature == 0 : -slope > 0.5 * curvature && -slope < 2.0 * curvature;
}

/* Sweeps over the dimensions with T, each from where the one before left it: never raises the bound. */
static inline void FN(sweep_row)(const REAL *G, const REAL *A, REAL x, REAL l1, REAL l2, const REAL *w, int64_t size,
                                 REAL *delta) {
    enum { SWEEPS = 2 };
    REAL slope[B];
    for (int k = 0; k < B; k++) {
        slope[k] = x * G[k];
        delta[k] = 0;
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (int k = 0; k < size; k++) {
            const REAL d = FN(elastic_net_T)(slope[k], x * x * A[k * B + k], w[k] + delta[k], l1, l2);
            delta[k] += d;
            for (int l = 0; l < B; l++) slope[l] += x * x * A[k * B + l] * d;
        }
    }
}

/* Takes the step of row i's own feature in this block; returns whether there is one. */
static inline int FN(own_step)(const fmf_block *b, const fmf_dimension *k, int64_t i, const REAL *G, const REAL *A, REAL *move) {
    const int64_t s = b->own[i], size = FN(block_size)(b, k->column);
    if (s < 0) return 0;
    REAL *w = (REAL *)b->d.parameters + s * b->d.width + k->column, delta[B];
    const REAL x = ((const REAL *)b->own_value)[i], strength = ((const REAL *)k->strength)[s];
    const REAL l1 = (REAL)k->l1 * strength, l2 = (REAL)k->l2 * strength;
    if (l1 > 0 || !FN(solve_row)(G, A, x, l2, w, size, delta)) FN(sweep_row)(G, A, x, l1, l2, w, size, delta);
    for (int l = 0; l < size; l++) {
        w[l] += delta[l];
        move[l] += x * delta[l];
    }
    return 1;
}

static void FN(own_steps)(const fmf_block *b, const fmf_dimension *k, int thread, int team) {
    const int64_t rows = b->d.pairs.rows;
    const REAL *G = b->G, *A = b->A;
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) {
        FN(own_step)(b, k, i, G + i * B, A + i * B * B, (REAL *)b->move + i * B);
    }
}

/* ---- a side ---- */

/* The bias, by the scalar kernels: shared features in sets, then each row's own. */
static void FN(bias_step)(const fmf_block *b, const fmf_dimension *bias, int thread, int team) {
    const fmf_descent *d = &b->d;
    const int64_t rows = d->pairs.rows;
    const REAL *GH = d->GH;
    REAL *step = d->step;
    FN(load_slots)(d, -1, bias->slot, thread, team);
#pragma omp barrier
    FN(pass_over_pairs)(d, 0, thread, team);
#pragma omp barrier
    if (d->plan.sets) {
        if (d->eta) FN(measure_eta)(d, thread, team);
#pragma omp barrier
        FN(sweep_sets)(d, bias, thread, team);
#pragma omp barrier
    }
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) {
        if (b->own[i] < 0) continue;
        const REAL x = ((const REAL *)b->own_value)[i];
        step[i] += x * FN(take_step)(d, bias, b->own[i], x * GH[2 * i], x * x * GH[2 * i + 1]);
    }
#pragma omp barrier
}

/* Without a bias, eta is taken in the first dimension of the first block. */
static void FN(block_eta)(const fmf_block *b, int thread, int team) {
    const int64_t rows = b->d.pairs.rows;
    const REAL *A = b->A;
    REAL *GH = b->d.GH;
    for (int64_t i = rows * thread / team; i < rows * (thread + 1) / team; i++) {
        GH[2 * i] = 0;
        GH[2 * i + 1] = A[i * B * B];
    }
#pragma omp barrier
    FN(measure_eta)(&b->d, thread, team);
#pragma omp barrier
}

static void FN(block_descend)(const fmf_block *b, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads) {
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        fmf_dimension k = *factors;
        if (bias) FN(bias_step)(b, bias, thread, team);
        for (k.column = 0; k.column < b->rank; k.column += B) {
            FN(load_block)(b, k.column - B, k.column, 0, thread, team);
#pragma omp barrier
            FN(block_pass)(b, k.column > 0, bias && k.column == 0, thread, team);
#pragma omp barrier
            if (!bias && k.column == 0 && b->d.eta && b->d.plan.sets) FN(block_eta)(b, thread, team);
            FN(block_sweep)(b, &k, thread, team);
#pragma omp barrier
            FN(own_steps)(b, &k, thread, team);
#pragma omp barrier
        }
    }
}

/* Rows first..end with nothing but features of their own: sums, steps, and scores, row by row, while V_j is near. */
static void FN(rows_chunk)(const fmf_block *b, const fmf_dimension *k, int64_t first, int64_t end, int bias) {
    const fmf_descent *d = &b->d;
    const int32_t *other = d->pairs.other;
    const REAL *y = d->pairs.y, *weight = d->pairs.weight, *V = d->VV, *step = d->step;
    const int plain = d->loss == FMF_SQUARE && !weight;
    REAL *score = d->score;
    REAL g[BLOCK], h[BLOCK];
    for (int64_t i = first; i < end; i++) {
        const int64_t begin = d->pairs.ptr[i], n = d->pairs.ptr[i + 1] - begin;
        REAL G[B] = {0}, A[B * B] = {0}, move[B] = {0};
        if (bias) FN(update_row)(other + begin, score + begin, n, V, B, NULL, step[i]);
        if (plain) {
            FN(gram)(other + begin, score + begin, NULL, n, V, B, G, A);
            FN(double_sums)(G, A, 1);
        } else {
            for (int64_t a = 0; a < n; a += BLOCK) {
                const int64_t m = n - a < BLOCK ? n - a : BLOCK, at = begin + a;
                FN(bend_block)(d->loss, score + at, y + at, weight ? weight + at : NULL, g, h, m);
                FN(gram)(other + at, g, h, m, V, B, G, A);
            }
        }
        if (FN(own_step)(b, k, i, G, A, move)) {
            FN(update_row)(other + begin, score + begin, n, V, B, move, 0);
        }
    }
}

static void FN(block_rows)(const fmf_block *b, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads) {
    const fmf_pairs *pairs = &b->d.pairs;
#pragma omp parallel num_threads(threads)
    {
        const int thread = FMF_THREAD, team = FMF_TEAM;
        const int64_t total = pairs->ptr[pairs->rows];
        const int64_t from = total * thread / team, to = thread + 1 == team ? total + 1 : total * (thread + 1) / team;
        fmf_dimension k = *factors;
        if (bias) FN(bias_step)(b, bias, thread, team);
        for (k.column = 0; k.column < b->rank; k.column += B) {
            FN(load_block)(b, -1, k.column, 1, thread, team);
#pragma omp barrier
            for (int64_t c = 0; c < pairs->chunks; c++) {
                if (pairs->ptr[pairs->chunk[c]] < from || pairs->ptr[pairs->chunk[c]] >= to) continue;
                FN(rows_chunk)(b, &k, pairs->chunk[c], pairs->chunk[c + 1], bias && k.column == 0);
            }
#pragma omp barrier
        }
    }
}

#undef B
#undef PARTS
#undef bvec
