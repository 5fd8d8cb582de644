/* panel/together.h -- the whole step of all shared features at once: the phases of conjugate.h, and what findings.h finds out. */

/* Phases whose portions are those of the features, then those of the rows. */
static void weigh(void *context, int64_t p, int thread) {
    const panel *o = context;
    (void)thread;
    if (p < feature_portions(o)) weigh_features(o, p);
    else weigh_rows(o, p - feature_portions(o));
}

static void move_in_common(void *context, int64_t p, int thread) {
    const panel *o = context;
    (void)thread;
    if (p < feature_portions(o)) move_features_in_common(o, p);
    else move_rows_in_common(o, p - feature_portions(o));
}

static void show_direction(void *context, int64_t p, int thread) {
    const panel *o = context;
    (void)thread;
    if (p < feature_portions(o)) turn_direction(o, p);
    else direction_rows(o, p - feature_portions(o));
}

static void end_rows_steps(const panel *o, int64_t p) {
    const range some = portion(o->side->features.rows, FMF_PORTION, p);
    for (int64_t i = some.from; i < some.to; i++) move_row(o, i, (REAL)o->found->length);
    own_steps_of(o, some);
}

/* Features and rows move along the last direction, and rows' own features follow. */
static void move_along(void *context, int64_t p, int thread) {
    const panel *o = context;
    (void)thread;
    if (p < feature_portions(o)) take_direction(o, p);
    else end_rows_steps(o, p - feature_portions(o));
}

/* The features' step along the direction before, while its residuals are brought up to date. */
static void push_and_take(void *context, int64_t p, int thread) {
    const panel *o = context;
    if (p < feature_portions(o)) take_direction(o, p);
    else push_features(context, p - feature_portions(o), thread);
}

/* Shared features move together, all but their last step.  Threads that come late find out from `ended` where the others ended:
   it is written once for each panel. */
static void follow_directions(fmf_worker *me, panel *o, int32_t most) {
    const int64_t features = feature_portions(o), rows = row_portions(o), columns = entry_portions(&o->sets);
    fmf_phase(me, features + rows, weigh, find_common_step, o);
    fmf_phase(me, features + rows, move_in_common, NULL, o);
    for (o->step = 0; o->step < most; o->step++) {
        if (o->step == 0) fmf_phase(me, columns, view_features, view_join_pieces, o);
        else fmf_phase(me, features + columns, push_and_take, push_join_pieces, o);
        fmf_phase(me, features, scale_residuals, NULL, o);
        fmf_phase(me, rows, embed_scaled, find_direction, o);
        const int32_t *ended = o->side->draws.ended;
        if (ended && __atomic_load_n(ended + o->number, __ATOMIC_RELAXED) == o->step) break;
        fmf_phase(me, features + rows, show_direction, find_length, o);
    }
}

/* All that a panel does where shared features move together, rows' own features included. */
static void step_together(fmf_worker *me, panel *o) {
    follow_directions(me, o, o->scratch->directions);
    fmf_phase(me, feature_portions(o) + row_portions(o), move_along, NULL, o);
}
