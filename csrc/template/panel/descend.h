/* panel/descend.h -- a side with features that several rows share, panel by panel: a pass over the pairs for every row's G and A,
   the shared features' step, then the rows' own.  The first function to read, with panel.h. */

static void panel_program(fmf_worker *me, void *context) {
    panel o = *(const panel *)context;
    const fmf_side *side = o.side;
    const int64_t first = side->bias_slot >= 0 ? -PANEL : 0, rows = side->features.rows;
    eta_measure eta = {&side->features, o.sets.plan, o.scratch->A, ROOM, o.scratch->eta};
    for (int64_t column = first; column < side->rank; column += PANEL) {
        choose_panel(&o, column);
        o.scores = column > 0 ? MOVE_PANEL : column != first ? MOVE_BIAS : o.scratch->scored ? KEEP : SCORE;
        if (column >= 0) fmf_phase(me, portions_of(side->their_rows, COPIED / PANEL), load_panel, NULL, &o);
        fmf_phase(me, side->pairs.chunks, panel_pass, NULL, &o);
        if (o.scratch->directions) {
            o.sets.set = 0;
            if (side->draws.steps) draw_exactly(me, &o);
            else if (side->draws.noise > 0) draw_together(me, &o);
            else step_together(me, &o);
            if (side->spread.found) measure(me, &o);
            continue;
        }
        if (column == first) fmf_phase(me, ETA_PARTS, measure_eta, NULL, &eta);
        sweep_sets(me, &o);
        fmf_phase(me, portions_of(rows, own_portion(&o)), own_steps, NULL, &o);
    }
}

static void panel_descend(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int32_t threads) {
    panel_findings found = {.length = 0.0};
    panel o = {
        .sets = {.plan = plan, .wide = PANEL, .steps = panel_steps},
        .side = side,
        .scratch = scratch,
        .found = &found,
    };
    fmf_run(threads, panel_program, &o);
}
