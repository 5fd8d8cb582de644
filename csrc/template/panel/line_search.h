/* panel/line_search.h -- steps whose length is found by exact line search on the bound: none can raise it. */

/* Sums over portions, in order, so that they do not depend on who made them. */
static inline void add_portions(const double *sums, int64_t portions, double *slope, double *curvature) {
    for (int64_t n = 0; n < portions; n++) {
        *slope += sums[2 * n];
        *curvature += sums[2 * n + 1];
    }
}

static inline double best_length(double slope, double curvature) {
    return curvature > 0 && slope < 0 ? -slope / curvature : 0.0;
}

/* Row i moves along the step it was last shown. */
static inline void move_row(const panel *o, int64_t i, REAL length) {
    REAL *G = row_of(o->scratch->G, i), *move = row_of(o->scratch->move, i);
    pvec g = pload(G), m = pload(move);
    padd(&g, length, pload(row_of(o->scratch->Au, i)));
    padd(&m, length, pload(row_of(o->scratch->u, i)));
    pstore(G, g);
    pstore(move, m);
}
