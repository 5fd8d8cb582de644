/* panel/phases.h -- an update by panels phase by phase, where rows are divided into shards: what the phases of together.h and
   descend.h add up over rows is handed out for each shard, and taken back added up over all of them. */

typedef struct {
    panel o; /* first: what is swept */
    int32_t which;
} one_phase;

/* A portion of the rows, or of the pairs, of a shard. */
static void shard_portion(void *context, int64_t p, int thread) {
    const one_phase *phase = context;
    const panel *o = &phase->o;
    switch (phase->which) {
        case FMF_LOAD: load_panel(context, p, thread); break;
        case FMF_PASS: panel_pass(context, p, thread); break;
        case FMF_WEIGH_ROWS: weigh_rows(o, p); break;
        case FMF_MOVE_ROWS: move_rows_in_common(o, p); break;
        case FMF_VIEW_COLUMNS: view_features(context, p, thread); break;
        case FMF_PUSH_COLUMNS: push_features(context, p, thread); break;
        case FMF_EMBED_ROWS: embed_scaled(context, p, thread); break;
        case FMF_DIRECT_ROWS: direction_rows(o, p); break;
        case FMF_FOLLOW_ROWS: end_rows_steps(o, p); break;
        case FMF_MEASURE_ROWS: measure_rows(context, p, thread); break;
        default: break;
    }
}

static int64_t shard_portions(const one_phase *phase) {
    const panel *o = &phase->o;
    switch (phase->which) {
        case FMF_LOAD: return portions_of(o->side->their_rows, COPIED / PANEL);
        case FMF_PASS: return o->side->pairs.chunks;
        case FMF_VIEW_COLUMNS:
        case FMF_PUSH_COLUMNS: return entry_portions(&o->sets);
        default: return row_portions(o);
    }
}

/* What a shard's rows add up to. */
static void sum_shard(one_phase *phase) {
    const panel *o = &phase->o;
    double *sums = o->scratch->sums;
    switch (phase->which) {
        case FMF_WEIGH_ROWS: add_common_of_rows(o, PANEL + ROOM, sums); break;
        case FMF_EMBED_ROWS: add_common_of_rows(o, PANEL, sums); break;
        case FMF_VIEW_COLUMNS: view_join_pieces(phase); break;
        case FMF_PUSH_COLUMNS: push_join_pieces(phase); break;
        case FMF_MEASURE_ROWS: add_measured_of(o, feature_portions(o), feature_portions(o) + row_portions(o)); break;
        case FMF_DIRECT_ROWS:
            sums[0] = sums[1] = 0.0;
            add_portions(o->scratch->row_sums, row_portions(o), &sums[0], &sums[1]);
            break;
        default: break;
    }
}

static panel phase_panel(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int64_t column) {
    panel o = {
        .sets = {.plan = plan, .wide = PANEL},
        .side = side,
        .scratch = scratch,
        .found = scratch->found,
    };
    choose_panel(&o, column);
    o.scores = refresh_for(&o, column);
    return o;
}

static void shard_phase(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int32_t which, int64_t column,
                        int32_t threads) {
    one_phase phase = {phase_panel(side, plan, scratch, column), which};
    if (which == FMF_LOAD && column < 0) return; /* a bias meets no V_j */
    fmf_share_out(threads, shard_portions(&phase), shard_portion, &phase);
    sum_shard(&phase);
}

/* ---- shared features, given what all shards add up to ---- */

static void settle_features(void *context, int64_t p, int thread) {
    const one_phase *phase = context;
    const panel *o = &phase->o;
    const range some = portion(shared_features(o), FMF_PORTION, p);
    const REAL *columns = o->scratch->columns;
    if (phase->which == FMF_LOWER) take_direction(o, p);
    for (int64_t t = some.from; t < some.to; t++) {
        const int64_t s = o->sets.plan->order[t];
        if (phase->which == FMF_BEGIN) begin_residual(o, s, columns + t * 2 * PANEL);
        else lower_residual(o, s, columns + t * PANEL);
    }
    scale_residuals(context, p, thread);
}

static void feature_portion(void *context, int64_t p, int thread) {
    const one_phase *phase = context;
    const panel *o = &phase->o;
    switch (phase->which) {
        case FMF_COMMON: move_features_in_common(o, p); break;
        case FMF_TURN: turn_direction(o, p); break;
        case FMF_TAKE: take_direction(o, p); break;
        case FMF_MEASURE: measure_features(context, p, thread); break;
        default: settle_features(context, p, thread); break;
    }
}

static void weigh_portion(void *context, int64_t p, int thread) {
    (void)thread;
    weigh_features(context, p);
}

static void feature_phase(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int32_t which, int64_t column,
                          int32_t threads) {
    one_phase phase = {phase_panel(side, plan, scratch, column), which};
    const int64_t portions = feature_portions(&phase.o);
    double *sums = scratch->sums;
    if (which == FMF_COMMON) {
        fmf_share_out(threads, portions, weigh_portion, &phase);
        common_step_by(&phase.o, sums);
    }
    if (which == FMF_TURN) direction_by(&phase.o, sums);
    if (which == FMF_LENGTH) length_by(&phase.o, sums[0], sums[1]);
    else fmf_share_out(threads, portions, feature_portion, &phase);
    if (which == FMF_MEASURE) add_measured_of(&phase.o, 0, portions);
}

/* ---- the steps of rows that all shards have, once G and A have the pairs of all ---- */

static void end_portion(void *context, int64_t p, int thread) {
    const panel *o = context;
    (void)thread;
    end_rows(o, portion(o->side->features.rows, FMF_PORTION, p));
}

static void steps_program(fmf_worker *me, void *context) {
    panel o = *(const panel *)context;
    fmf_phase(me, row_portions(&o), end_portion, NULL, &o);
    take_steps(me, &o, (is_bias(&o) ? -PANEL : o.column) == first_column(o.side));
}

static void panel_steps_of(const fmf_side *side, const fmf_plan *plan, const fmf_panel *scratch, int64_t column,
                           int32_t threads) {
    panel o = phase_panel(side, plan, scratch, column);
    fmf_run(threads, steps_program, &o);
}

_Static_assert(sizeof(panel_findings) <= FMF_FOUND, "findings have no room");
