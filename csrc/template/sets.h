/* sets.h -- set after set, for one dimension and for a panel of them: a set's steps are phases that threads share out; sets too
   small for that are left to one thread, as many of them as come one after another. */

/* What is swept; the first member of a context. */
typedef struct sweep {
    const fmf_plan *plan;
    int64_t wide;                 /* dimensions that are swept at once: the more, the smaller the sets worth sharing out */
    const struct set_step *steps; /* up to one without work */
    int64_t set;                  /* the current one */
    int64_t until;                /* small sets: up to here */
} sweep;

typedef struct set_step {
    int64_t (*portions)(const sweep *o);
    fmf_work *work;
    fmf_finish *finish; /* once all portions are done, or NULL */
} set_step;

static inline int64_t set_size(const fmf_plan *plan, int64_t S) { return set_start(plan, S + 1) - set_start(plan, S); }

static inline int64_t set_features_count(const sweep *o) { return o->plan->set_ptr[o->set + 1] - o->plan->set_ptr[o->set]; }

static inline int has_cut(const fmf_plan *plan, int64_t S) {
    return plan->cut[plan->set_ptr[S + 1]] > plan->cut[plan->set_ptr[S]];
}

/* The non-zeros of a portion of the current set. */
static inline int64_t entries_at_once(const sweep *o) {
    const int64_t least = FMF_SMALL_SET / o->wide, many = set_size(o->plan, o->set) / 128;
    return many > least ? many : least;
}

/* A set's portions where its non-zeros are shared out. */
static int64_t entry_portions(const sweep *o) {
    const int64_t portions = portions_of(set_size(o->plan, o->set), entries_at_once(o));
    return portions ? portions : 1; /* features without non-zeros have a step, too */
}

static inline int is_small(const sweep *o, int64_t S) { return set_size(o->plan, S) * o->wide < FMF_SMALL_SET; }

static void sweep_small_sets(void *context, int64_t portion, int thread) {
    sweep *o = context;
    const int64_t first = o->set;
    (void)portion;
    for (; o->set < o->until; o->set++) {
        for (const set_step *step = o->steps; step->work; step++) {
            const int64_t portions = step->portions(o);
            for (int64_t p = 0; p < portions; p++) step->work(context, p, thread);
            if (step->finish) step->finish(context);
        }
    }
    o->set = first;
}

/* `context` begins with a sweep; it is this thread's. */
static void sweep_sets(fmf_worker *me, void *context) {
    sweep *o = context;
    for (o->set = 0; o->set < o->plan->sets;) {
        o->until = o->set;
        while (o->until < o->plan->sets && is_small(o, o->until)) o->until++;
        if (o->until > o->set) {
            fmf_phase(me, 1, sweep_small_sets, NULL, context);
            o->set = o->until;
            continue;
        }
        for (const set_step *step = o->steps; step->work; step++) {
            fmf_phase(me, step->portions(o), step->work, step->finish, context);
        }
        o->set++;
    }
}
