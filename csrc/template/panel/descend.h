/* panel/descend.h -- a side with features that several rows share, panel by panel: a pass over the pairs for every row's G and A,
   the shared features' step, then the rows' own.  The first function to read, with panel.h. */

/* The bias comes first, where there is one. */
static inline int64_t first_column(const fmf_side *side) { return side->bias_slot >= 0 ? -PANEL : 0; }

/* What brings scores up to date before the pass of a panel. */
static inline refresh refresh_for(const panel *o, int64_t column) {
    if (column > 0) return MOVE_PANEL;
    if (column != first_column(o->side)) return MOVE_BIAS;
    return o->scratch->scored ? KEEP : SCORE;
}

/* The panel's steps, once G and A are there. */
static void take_steps(fmf_worker *me, panel *o, int first) {
    eta_measure eta = {&o->side->features, o->sets.plan, o->scratch->A, ROOM, o->scratch->eta};
    if (o->scratch->directions) {
        o->sets.set = 0;
        if (o->side->draws.steps) draw_exactly(me, o);
        else if (o->side->draws.noise > 0) draw_together(me, o);
        else step_together(me, o);
        if (o->side->spread.found) measure(me, o);
        return;
    }
    if (first) fmf_phase(me, ETA_PARTS, measure_eta, NULL, &eta);
    sweep_panel(me, o);
    fmf_phase(me, portions_of(o->side->features.rows, own_portion(o)), own_steps, NULL, o);
}

static void panel_program(fmf_worker *me, void *context) {
    panel o = *(const panel *)context;
    const fmf_side *side = o.side;
    const int64_t first = first_column(side);
    for (int64_t column = first; column < side->rank; column += PANEL) {
        choose_panel(&o, column);
        o.scores = refresh_for(&o, column);
        if (column >= 0) fmf_phase(me, portions_of(side->their_rows, COPIED / PANEL), load_panel, NULL, &o);
        fmf_phase(me, side->pairs.chunks, panel_pass, NULL, &o);
        take_steps(me, &o, column == first);
    }
}

static void panel_descend(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int32_t threads) {
    panel_findings found = {.length = 0.0};
    panel o = {
        .sets = {.plan = plan, .wide = PANEL},
        .side = side,
        .scratch = scratch,
        .found = &found,
    };
    fmf_run(threads, panel_program, &o);
}
