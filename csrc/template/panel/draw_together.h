/* panel/draw_together.h -- draws of all shared features at once: perturb, and solve.

   The step of conjugate.h solves  (X' A X + Lambda) d = -(X' G + Lambda w).  With normal numbers of covariance A_i added to every
   G_i, and the prior's mean moved by normal numbers of covariance Lambda^-1, its solution is a draw.  Rows' own features are
   integrated out before: with K = A + Lambda_own,

       A -> Lambda_own K^-1 A = Lambda_own - Lambda_own K^-1 Lambda_own,        G -> Lambda_own K^-1 G - (the new A) own part,

   and drawn afterwards, given the shared ones. */

/* What shared features see of row i: its own feature integrated out, and noise added. */
ALWAYS_INLINE void perturb_row_of(const panel *o, int64_t size, int64_t i) {
    const own_part own = own_of(o, i);
    const double scale = 1 / sqrt(o->side->draws.noise);
    REAL *G = row_of(o->scratch->G, i), *A = matrix_of(o->scratch->A, i);
    small seen;
    triangle t;
    double g[PANEL] = {0}, e[PANEL];
    memcpy(row_of(o->side->draws.G, i), G, PANEL * sizeof(REAL));
    memcpy(matrix_of(o->side->draws.A, i), A, ROOM * sizeof(REAL));
    unfold_double(A, seen);
    for (int l = 0; l < size; l++) g[l] = (double)G[l];
    if (own.s >= 0) {
        small K, Y = {{0}};
        add_precision(&own, size, seen, K);
        factor(K, size, own.precision, &t);
        solve_lower(&t, 0, size, g);
        solve_upper(&t, size, g);
        for (int c = 0; c < size; c++) { /* column c of L^-1 Lambda_own is row c of Y */
            Y[c][c] = own.precision[c];
            solve_lower(&t, c, size, Y[c]);
        }
        for (int k = 0; k < size; k++) {
            for (int l = 0; l <= k; l++) {
                double sum = k == l ? own.precision[k] : 0.0;
                for (int n = k; n < PANEL; n++) sum -= Y[k][n] * Y[l][n]; /* zeros before */
                seen[k][l] = seen[l][k] = sum;
            }
        }
        for (int k = 0; k < size; k++) {
            g[k] *= own.precision[k];
            for (int l = 0; l < size; l++) g[k] -= seen[k][l] * own.part[l];
        }
    }
    factor(seen, size, NULL, &t);
    normals(o, FOR_ROWS, i, e);
    for (int k = 0; k < size; k++) {
        for (int l = 0; l <= k; l++) g[k] += scale * t.L[k][l] * e[l];
        G[k] = (REAL)g[k];
    }
    for (int r = 0; r < TURNS; r++) {
        for (int k = 0; k < PANEL; k++) A[r * PANEL + k] = (REAL)seen[k][(k + r) % PANEL];
    }
}

static void perturb_row(const panel *o, int64_t i) {
    if (o->size == PANEL) perturb_row_of(o, PANEL, i);
    else perturb_row_of(o, o->size, i);
}

/* Parameters as if the prior's mean were 0: they are moved back afterwards. */
static void shift_feature(const panel *o, int64_t s) {
    const REAL *growth = panel_growth(o, s), l2 = l2_of(o, s);
    REAL *w = parameters_of(o, s), *shift = row_of(o->side->draws.shift, s);
    double e[PANEL];
    normals(o, FOR_FEATURES, s, e);
    for (int l = 0; l < o->size; l++) {
        shift[l] = (REAL)(e[l] / sqrt(o->side->draws.noise * (double)l2 * (double)growth[l]));
        w[l] += shift[l];
    }
}

/* A phase whose portions are those of the features, then those of the rows. */
static void perturb(void *context, int64_t p, int thread) {
    const panel *o = context;
    const int64_t features = feature_portions(o);
    (void)thread;
    if (p < features) {
        const range some = portion(shared_features(o), FMF_PORTION, p);
        for (int64_t t = some.from; t < some.to; t++) shift_feature(o, o->sets.plan->order[t]);
        return;
    }
    const range some = portion(o->side->features.rows, FMF_PORTION, p - features);
    for (int64_t i = some.from; i < some.to; i++) perturb_row(o, i);
}

/* The last step, the prior's mean moved back, and rows' own features, given the shared ones. */
static void settle_draws(void *context, int64_t p, int thread) {
    const panel *o = context;
    const int64_t features = feature_portions(o);
    (void)thread;
    if (p < features) {
        const range some = portion(shared_features(o), FMF_PORTION, p);
        take_direction(o, p);
        for (int64_t t = some.from; t < some.to; t++) {
            const int64_t s = o->sets.plan->order[t];
            REAL *w = parameters_of(o, s);
            for (int l = 0; l < o->size; l++) w[l] -= row_of(o->side->draws.shift, s)[l];
        }
        return;
    }
    const range some = portion(o->side->features.rows, FMF_PORTION, p - features);
    for (int64_t i = some.from; i < some.to; i++) {
        REAL *G = row_of(o->side->draws.G, i), *A = matrix_of(o->side->draws.A, i), *move = row_of(o->scratch->move, i);
        move_row(o, i, (REAL)o->found->length);
        pvec g = pload(G);
        padd(&g, 1, times(A, pload(move)));
        pstore(G, g);
        own_draw(o, i, G, A, move);
    }
}

/* All that a panel does where parameters are drawn. */
static void draw_together(fmf_worker *me, panel *o) {
    const int64_t portions = feature_portions(o) + row_portions(o);
    fmf_phase(me, portions, perturb, NULL, o);
    follow_directions(me, o, o->side->draws.most);
    fmf_phase(me, portions, settle_draws, NULL, o);
}
