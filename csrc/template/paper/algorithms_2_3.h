/* paper/algorithms_2_3.h -- Algorithms 2 and 3: one side's update over all its dimensions. */

static void descend_program(fmf_worker *me, void *context) {
    dimension o = *(const dimension *)context;
    const int64_t chunks = o.side->pairs.chunks;
    eta_measure eta = {&o.side->features, o.sets.plan, (const REAL *)o.scratch->GH + 1, 2, o.scratch->eta};
    for (int64_t number = 0; number < dimensions_of(o.side); number++) {
        choose_dimension(&o, number);
        fmf_phase(me, portions_of(o.side->their_rows, COPIED), load_slots, NULL, &o);
        fmf_phase(me, chunks, pass_over_chunk, NULL, &o);
        if (eta.eta && number == 0) fmf_phase(me, ETA_PARTS, measure_eta, NULL, &eta);
        if (o.sets.plan->sets) sweep_sets(me, &o);
        else fmf_phase(me, 1, sweep_singly, NULL, &o);
    }
}

static void descend(const fmf_side *side, const fmf_plan *plan, const fmf_dimension *scratch, int32_t threads) {
    dimension o = {.sets = {.plan = plan, .wide = 1, .steps = dimension_steps}, .side = side, .scratch = scratch};
    fmf_run(threads, descend_program, &o);
}
