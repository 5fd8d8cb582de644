/* panel/gram.h -- G_i = sum_j g_ij V_j and A_i = sum_j h_ij V_j V_j'.

   A_i is symmetric and kept as TURNS rows of PANEL: row r holds A_kl for l = k + r (mod PANEL). */

#define TURNS (FMF_PANEL / 2 + 1)
#define ROOM (TURNS * FMF_PANEL) /* numbers that hold an A_i */

#ifdef TWO_AT_ONCE

/* The same for an even number of pairs, two at once. */
ALWAYS_INLINE void gram_by_two(const int32_t *other, const REAL *g, const REAL *h, int64_t n, const REAL *V, int64_t room,
                               pvec *G, pvec *A) {
    two sum = {0}, turned[TURNS] = {{0}};
    for (int64_t t = 0; t < n; t += 2) {
        const two v = load_two(V + (other ? other[t] : t) * room, V + (other ? other[t + 1] : t + 1) * room);
        const two hv = h ? each_of_two(h[t], h[t + 1]) * v : v;
        sum += each_of_two(g[t], g[t + 1]) * v;
        turned[0] += hv * v;
        UNROLL(4)
        for (int r = 1; r < TURNS; r++) turned[r] += hv * rotate_two(v, r);
    }
    G->part[0] += lower_half(sum) + upper_half(sum);
    for (int r = 0; r < TURNS; r++) A[r].part[0] += lower_half(turned[r]) + upper_half(turned[r]);
}

#endif

/* G += sum of g V_j and A += sum of h V_j V_j' over pairs of one row; h = NULL stands for ones, other = NULL for lines that
   lie in the order of the pairs. */
ALWAYS_INLINE void gram(const int32_t *other, const REAL *g, const REAL *h, int64_t n, const REAL *V, int64_t room, REAL *G,
                        REAL *A) {
    pvec sum = pload(G), turned[TURNS];
    int64_t t = 0;
    for (int r = 0; r < TURNS; r++) turned[r] = pload(A + r * PANEL);
#ifdef TWO_AT_ONCE
    t = n & ~INT64_C(1);
    gram_by_two(other, g, h, t, V, room, &sum, turned);
#endif
    for (; t < n; t++) {
        const pvec v = pload(V + (other ? other[t] : t) * room);
        pvec hv = v;
        if (h) {
            hv = (pvec){0};
            padd(&hv, h[t], v);
        }
        padd(&sum, g[t], v);
        padd_product(&turned[0], hv, v);
        UNROLL(4)
        for (int r = 1; r < TURNS; r++) padd_product(&turned[r], hv, turn(v, r));
    }
    for (int r = 0; r < TURNS; r++) pstore(A + r * PANEL, turned[r]);
    pstore(G, sum);
}

/* A u */
static inline pvec times(const REAL *A, pvec u) {
    pvec sum = {0};
    padd_product(&sum, pload(A), u);
    UNROLL(4)
    for (int r = 1; r < TURNS; r++) {
        const pvec row = pload(A + r * PANEL);
        padd_product(&sum, row, turn(u, r));
        if (2 * r == PANEL) continue; /* both halves of A are in this row */
        pvec mirrored = {0};
        padd_product(&mirrored, row, u);
        padd(&sum, 1, turn(mirrored, PANEL - r));
    }
    return sum;
}

/* sum_l |A_kl| for each k. */
static inline pvec absolute_sums(const REAL *A) {
    pvec sum = {0};
    UNROLL(5)
    for (int r = 0; r < TURNS; r++) {
        pvec row = pload(A + r * PANEL);
        for (int n = 0; n < PARTS; n++) row.part[n] = pick(row.part[n] < 0, -row.part[n], row.part[n]);
        padd(&sum, 1, row);
        if (r % (PANEL / 2)) padd(&sum, 1, turn(row, PANEL - r)); /* both halves of A are in the last row */
    }
    return sum;
}

/* The square loss's factor 2, left out while summing. */
static inline void double_sums(REAL *G, REAL *A, int64_t rows) {
    for (int64_t n = 0; n < rows * PANEL; n++) G[n] *= (REAL)2.0;
    for (int64_t n = 0; n < rows * ROOM; n++) A[n] *= (REAL)2.0;
}

/* Whether gradients and curvatures are the scores and ones, times 2. */
static inline int is_plain(const fmf_side *side) { return side->loss.code == FMF_SQUARE && !side->pairs.weight; }

/* Gradient and curvature of n pairs, from pair `at` on, in a dimension whose V_j are 1: a bias. */
static void bias_sums(const fmf_side *side, int64_t at, int64_t n, const REAL *score, REAL *g, REAL *h, REAL *sums) {
    const REAL *y = (const REAL *)side->pairs.y + at, *weight = weights_at(&side->pairs, at);
    if (is_plain(side)) {
        sums[0] = (REAL)2.0 * sum_of(score, n);
        sums[1] = (REAL)2.0 * (REAL)n;
        return;
    }
    sums[0] = sums[1] = 0;
    for (int64_t t = 0; t < n; t += side->loss.batch) {
        const int64_t m = smaller(n - t, side->loss.batch);
        curvatures(&side->loss, score + t, y + t, weight ? weight + t : NULL, g, h, m);
        sums[0] += sum_of(g, m);
        sums[1] += sum_of(h, m);
    }
}
