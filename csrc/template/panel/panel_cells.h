/* panel/panel_cells.h -- what the term over all cells adds to a row's G and A; see cells.h. */

/* G += c_i (M U_i + m) and A += c_i M, for U_i as the panels before have left it. */
static inline void add_panel_cells(const panel *o, int64_t i, REAL *G, REAL *A) {
    enum { APART = 4 }; /* sums that go on side by side; a stride is a multiple of it */
    const fmf_side *side = o->side;
    const REAL c = ((const REAL *)side->cells.weight)[i], *U = (const REAL *)side->mine + i * side->stride;
    const REAL *M = (const REAL *)side->cells.M + o->group * side->stride * PANEL;
    const REAL *curvature = (const REAL *)side->cells.curvature + o->group * ROOM;
    pvec sum[APART] = {0};
    if (c == 0) return;
    for (int64_t k = 0; k < side->stride; k += APART) {
        UNROLL(4)
        for (int n = 0; n < APART; n++) padd(&sum[n], U[k + n], pload(M + (k + n) * PANEL));
    }
    pvec g = pload(G);
    padd(&g, c, pload((const REAL *)side->cells.m + o->group * PANEL));
    for (int n = 0; n < APART; n++) padd(&g, c, sum[n]);
    pstore(G, g);
    for (int r = 0; r < TURNS; r++) {
        pvec turned = pload(A + r * PANEL);
        padd(&turned, c, pload(curvature + r * PANEL));
        pstore(A + r * PANEL, turned);
    }
}

/* U_i after a move in the current panel. */
static inline void move_embedding(const panel *o, int64_t i, const REAL *move) {
    REAL *U = (REAL *)o->side->mine + i * o->side->stride + (is_bias(o) ? o->side->bias_slot : o->column);
    for (int l = 0; l < o->size; l++) U[l] += move[l];
}
