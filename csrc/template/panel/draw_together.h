/* panel/draw_together.h -- draws of all shared features at once: perturb, and solve.

   The step of conjugate.h solves  (X' A X + Lambda) d = -(X' G + Lambda w).  With normal numbers of covariance A_i added to every
   G_i, and the prior's mean moved by normal numbers of covariance Lambda^-1, its solution is a draw.  Rows' own features are
   integrated out before: with K = A + Lambda_own,

       A -> Lambda_own K^-1 A = Lambda_own - Lambda_own K^-1 Lambda_own,        G -> Lambda_own K^-1 G - (the new A) own part,

   and drawn given the shared ones.  Where these move U_i by u, a draw of the own feature's part changes by
   -K^-1 A u = -Lambda_own^-1 (the new A) u: so it is drawn before, as if they did not move, and that is added afterwards. */

/* A and G with own features integrated out, in place; t factors K. */
ALWAYS_INLINE void integrate_own(const own_parts *own, const triangle *t, int64_t size, small A, four *g) {
    small Y;
    four seen[PANEL];
    for (int l = 0; l < size; l++) seen[l] = g[l];
    solve_lower(t, 0, size, seen);
    solve_upper(t, size, seen);
    for (int c = 0; c < size; c++) { /* column c of L^-1 Lambda_own is row c of Y */
        for (int k = 0; k < size; k++) Y[c][k] = k == c ? own->precision[c] : all_four(0);
        solve_lower(t, c, size, Y[c]);
    }
    for (int k = 0; k < size; k++) {
        for (int l = 0; l <= k; l++) {
            four sum = k == l ? own->precision[k] : all_four(0);
            for (int n = k; n < size; n++) sum -= Y[k][n] * Y[l][n]; /* zeros before */
            A[k][l] = A[l][k] = pick_four(own->has, sum, A[k][l]);
        }
    }
    for (int k = 0; k < size; k++) {
        seen[k] *= own->precision[k];
        for (int l = 0; l < size; l++) seen[k] -= A[k][l] * own->part[l];
        g[k] = pick_four(own->has, seen[k], g[k]);
    }
}

/* What shared features see of some rows: own features integrated out, and noise of this deviation added.  Own features are drawn
   as if shared ones did not move.  t factors the new A. */
ALWAYS_INLINE void see_rows(const panel *o, int64_t size, const four_rows *r, double deviation, triangle *t) {
    four_sums sums;
    own_parts own;
    small seen;
    four g[PANEL], e[PANEL], change[PANEL];
    for (int f = 0; f < FOUR; f++) {
        sums.G[f] = row_of(o->scratch->G, r->row[f]);
        sums.A[f] = matrix_of(o->scratch->A, r->row[f]);
    }
    own_of(o, size, r, &own);
    unfold_four(sums.A, seen);
    for (int l = 0; l < size; l++) g[l] = load_four(sums.G, l);
    factor_own(&own, size, seen, t);
    own_changes(o, size, r, &own, t, g, change);
    integrate_own(&own, t, size, seen, g);
    factor(seen, size, NULL, t);
    if (deviation > 0) normals(stream_of(o, FOR_ROWS), numbers_of(r->row), e);
    for (int k = 0; deviation > 0 && k < size; k++) {
        for (int l = 0; l <= k; l++) g[k] += deviation * t->L[k][l] * e[l];
    }
    for (int f = 0; f < r->count; f++) {
        REAL *G = row_of(o->scratch->G, r->row[f]), *A = matrix_of(o->scratch->A, r->row[f]);
        REAL *own_change = row_of(o->side->draws.own, r->row[f]);
        for (int k = 0; k < size; k++) {
            G[k] = (REAL)g[k][f];
            own_change[k] = (REAL)change[k][f];
        }
        for (int n = 0; n < TURNS; n++) {
            for (int k = 0; k < PANEL; k++) A[n * PANEL + k] = (REAL)seen[k][(k + n) % PANEL][f];
        }
    }
}

static void perturb_rows(const panel *o, const four_rows *r) {
    const double deviation = 1 / sqrt(o->side->draws.noise);
    triangle t;
    if (o->size == PANEL) see_rows(o, PANEL, r, deviation, &t);
    else see_rows(o, o->size, r, deviation, &t);
}

/* Parameters of some features as if the prior's mean were 0: they are moved back afterwards. */
static void shift_features(const panel *o, const int32_t *features, int count) {
    four e[PANEL];
    int64_t s[FOUR];
    for (int f = 0; f < FOUR; f++) s[f] = features[f < count ? f : 0];
    normals(stream_of(o, FOR_FEATURES), numbers_of(s), e);
    for (int f = 0; f < count; f++) {
        const REAL *growth = panel_growth(o, s[f]), l2 = l2_of(o, s[f]);
        REAL *w = parameters_of(o, s[f]), *shift = row_of(o->side->draws.shift, s[f]);
        for (int l = 0; l < o->size; l++) {
            shift[l] = (REAL)(e[l][f] / sqrt(o->side->draws.noise * (double)l2 * (double)growth[l]));
            w[l] += shift[l];
        }
    }
}

/* A phase whose portions are those of the features, then those of the rows. */
static void perturb(void *context, int64_t p, int thread) {
    const panel *o = context;
    const int64_t features = feature_portions(o);
    (void)thread;
    if (p < features) {
        const range some = portion(shared_features(o), FMF_PORTION, p);
        for (int64_t t = some.from; t < some.to; t += FOUR) {
            shift_features(o, o->sets.plan->order + t, (int)smaller(some.to - t, FOUR));
        }
        return;
    }
    const range some = portion(o->side->features.rows, FMF_PORTION, p - features);
    for (int64_t i = some.from; i < some.to; i += FOUR) {
        const four_rows r = rows_from(i, some.to);
        perturb_rows(o, &r);
    }
}

/* The own feature of row i, given the shared ones. */
static void settle_own(const panel *o, int64_t i) {
    const int64_t s = o->side->features.own[i];
    if (s < 0) return;
    const REAL x = ((const REAL *)o->side->features.own_value)[i], l2 = l2_of(o, s) / (x * x), *growth = panel_growth(o, s);
    const REAL *drawn = row_of(o->side->draws.own, i);
    REAL *move = row_of(o->scratch->move, i), change[PANEL];
    pstore(change, times(matrix_of(o->scratch->A, i), pload(move)));
    for (int l = 0; l < o->size; l++) change[l] = drawn[l] - change[l] / (l2 * growth[l]);
    change_own(o, i, change, move);
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
        move_row(o, i, (REAL)o->found->length);
        settle_own(o, i);
    }
}

/* All that a panel does where parameters are drawn. */
static void draw_together(fmf_worker *me, panel *o) {
    const int64_t portions = feature_portions(o) + row_portions(o);
    fmf_phase(me, portions, perturb, NULL, o);
    follow_directions(me, o, o->side->draws.most);
    fmf_phase(me, portions, settle_draws, NULL, o);
}
