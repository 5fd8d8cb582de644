/* panel/panel_cells.h -- what the term over all cells adds to a row's G and A; see cells.h. */

enum { CELL_ROWS = 4 }; /* rows that share what is loaded of M */

/* G += c (sum + m) and A += c M of row i, where sum is M U_i. */
static inline void add_cell_sums(const panel *o, int64_t i, pvec sum, REAL *G, REAL *A) {
    const fmf_cells *cells = &o->side->cells;
    const REAL c = ((const REAL *)cells->weight)[i], *curvature = (const REAL *)cells->curvature + o->number * ROOM;
    pvec g = pload(G);
    padd(&g, c, pload((const REAL *)cells->m + o->number * PANEL));
    padd(&g, c, sum);
    pstore(G, g);
    for (int r = 0; r < TURNS; r++) {
        pvec turned = pload(A + r * PANEL);
        padd(&turned, c, pload(curvature + r * PANEL));
        pstore(A + r * PANEL, turned);
    }
}

/* What row i gets, for U_i as the panels before have left it. */
static inline void add_panel_cells(const panel *o, int64_t i, REAL *G, REAL *A) {
    const fmf_side *side = o->side;
    const REAL *U = (const REAL *)side->mine + i * side->stride;
    const REAL *M = (const REAL *)side->cells.M + o->number * side->stride * PANEL;
    pvec sum[APART] = {0};
    if (((const REAL *)side->cells.weight)[i] == 0) return;
    for (int64_t k = 0; k < side->stride; k += APART) {
        UNROLL(4)
        for (int n = 0; n < APART; n++) padd(&sum[n], U[k + n], pload(M + (k + n) * PANEL));
    }
    for (int n = 1; n < APART; n++) padd(&sum[0], 1, sum[n]);
    add_cell_sums(o, i, sum[0], G, A);
}

/* The same for CELL_ROWS rows from i on, in the scratch arrays. */
static inline void add_panel_cells_of_rows(const panel *o, int64_t i) {
    const fmf_side *side = o->side;
    const REAL *U = (const REAL *)side->mine + i * side->stride;
    const REAL *M = (const REAL *)side->cells.M + o->number * side->stride * PANEL;
    pvec even[CELL_ROWS] = {0}, odd[CELL_ROWS] = {0};
    for (int64_t k = 0; k < side->stride; k += 2) {
        const pvec first = pload(M + k * PANEL), second = pload(M + (k + 1) * PANEL);
        UNROLL(4)
        for (int r = 0; r < CELL_ROWS; r++) {
            padd(&even[r], U[r * side->stride + k], first);
            padd(&odd[r], U[r * side->stride + k + 1], second);
        }
    }
    for (int r = 0; r < CELL_ROWS; r++) {
        padd(&even[r], 1, odd[r]);
        add_cell_sums(o, i + r, even[r], row_of(o->scratch->G, i + r), matrix_of(o->scratch->A, i + r));
    }
}

/* U_i after a move in the current panel. */
static inline void move_embedding(const panel *o, int64_t i, const REAL *move) {
    REAL *U = (REAL *)o->side->mine + i * o->side->stride + (is_bias(o) ? o->side->bias_slot : o->column);
    for (int l = 0; l < o->size; l++) U[l] += move[l];
}
