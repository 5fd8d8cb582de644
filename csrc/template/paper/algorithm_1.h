/* paper/algorithm_1.h -- Algorithm 1: every coordinate sums over all the pairs it touches, and brings their scores up to date. */

/* A place among the pairs that a coordinate touches: non-zero `entry` of its column, pair `at` of that row. */
typedef struct {
    int64_t entry;
    int64_t at;
} touched_pair;

/* Pairs [from, to) of one row, the coordinate's value x there. */
typedef struct {
    int64_t from;
    int64_t to;
    double x;
} touched_row;

static touched_pair first_touched(const dimension *o, int64_t s) {
    const fmf_features *X = &o->side->features;
    const int64_t entry = X->col_ptr[s];
    return (touched_pair){entry, entry < X->col_ptr[s + 1] ? o->side->pairs.ptr[X->col_index[entry]] : 0};
}

/* The next touched pairs that stand side by side, `room` of them at most; none (from = to) only where a row has none. */
static touched_row next_touched(const dimension *o, int64_t s, touched_pair *place, int64_t room) {
    const fmf_features *X = &o->side->features;
    const int64_t *ptr = o->side->pairs.ptr, end = ptr[X->col_index[place->entry] + 1];
    const touched_row found = {place->at, smaller(end, place->at + room), (double)((const REAL *)X->col_value)[place->entry]};
    place->at = found.to;
    if (found.to == end && ++place->entry < X->col_ptr[s + 1]) place->at = ptr[X->col_index[place->entry]];
    return found;
}

/* Gradients, and curvatures if the loss has no beta, of the next batch of touched pairs; returns where it ends.  The scores of
   other rows stand elsewhere: for a table's loss they are gathered. */
static touched_pair touched_gradients(const dimension *o, int64_t s, touched_pair place) {
    const fmf_pairs *pairs = &o->side->pairs;
    const fmf_loss *loss = &o->side->loss;
    const REAL *score = o->side->score, *y = pairs->y;
    REAL *g = o->scratch->g, *gathered = o->scratch->s, *gathered_y = o->scratch->s_y;
    int64_t n = 0;
    while (n < loss->batch && place.entry < o->side->features.col_ptr[s + 1]) {
        const touched_row some = next_touched(o, s, &place, loss->batch - n);
        const int64_t count = some.to - some.from;
        if (loss->code != FMF_NATIVE) {
            gradients(loss, score + some.from, y + some.from, NULL, g + n, count);
        } else {
            memcpy(gathered + n, score + some.from, (size_t)count * sizeof(REAL));
            memcpy(gathered_y + n, y + some.from, (size_t)count * sizeof(REAL));
        }
        n += count;
    }
    if (loss->code != FMF_NATIVE || n == 0) return place;
    if (loss->beta >= 0) gradients(loss, gathered, gathered_y, NULL, g, n);
    else curvatures(loss, gathered, gathered_y, NULL, g, o->scratch->h, n);
    return place;
}

/* Gradient and curvature of coordinate s. */
static void touched_sums(const dimension *o, int64_t s, double *sums) {
    const fmf_pairs *pairs = &o->side->pairs;
    const REAL *V = (const REAL *)o->side->theirs + o->slot, *weight = pairs->weight, *g = o->scratch->g;
    const REAL *h = o->side->loss.beta >= 0 ? NULL : o->scratch->h;
    const int64_t end = o->side->features.col_ptr[s + 1];
    double G = 0.0, H = 0.0; /* of the row that is being summed */
    sums[0] = sums[1] = 0.0;
    for (touched_pair place = first_touched(o, s); place.entry < end;) {
        const touched_pair stop = touched_gradients(o, s, place);
        for (int64_t n = 0; place.entry < stop.entry || (place.entry < end && place.at < stop.at);) {
            const int64_t entry = place.entry;
            const touched_row some = next_touched(o, s, &place, o->side->loss.batch - n);
            for (int64_t t = some.from; t < some.to; t++, n++) {
                const double v = (double)V[pairs->other[t] * o->side->stride];
                const REAL w = weight ? weight[t] : 1;
                G += (double)(w * g[n]) * v;
                H += (double)(h ? w * h[n] : w) * v * v;
            }
            if (place.entry == entry) continue; /* the row goes on in the next batch */
            sums[0] += G * some.x;
            sums[1] += H * some.x * some.x;
            G = H = 0.0;
        }
    }
    if (!h) sums[1] *= o->side->loss.beta;
}

/* What the term over all cells adds to them. */
static void touched_cells(const dimension *o, int64_t s, double *sums) {
    const fmf_features *X = &o->side->features;
    const REAL *weight = o->side->cells.weight;
    for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
        const int64_t i = X->col_index[e];
        const double x = (double)((const REAL *)X->col_value)[e];
        REAL gradient, curvature;
        cell_sums(o->side, i, o->number, &gradient, &curvature);
        sums[0] += (double)(weight[i] * gradient) * x;
        sums[1] += (double)(weight[i] * curvature) * x * x;
    }
}

/* Brings the scores of all touched pairs up to date with a step, and the embeddings for the term over all cells. */
static void move_touched(const dimension *o, int64_t s, REAL delta) {
    const fmf_pairs *pairs = &o->side->pairs;
    const fmf_features *X = &o->side->features;
    const REAL *V = (const REAL *)o->side->theirs + o->slot, *x = X->col_value;
    REAL *score = o->side->score;
    for (int64_t e = X->col_ptr[s]; e < X->col_ptr[s + 1]; e++) {
        const int64_t i = X->col_index[e];
        const REAL moved = x[e] * delta;
        for (int64_t t = pairs->ptr[i]; t < pairs->ptr[i + 1]; t++) score[t] += moved * V[pairs->other[t] * o->side->stride];
        if (o->side->cells.weight) ((REAL *)o->side->mine)[i * o->side->stride + o->slot] += moved;
    }
}

static void naive(const fmf_side *side, const fmf_dimension *scratch) {
    dimension o = {.side = side, .scratch = scratch};
    for (int64_t number = 0; number < dimensions_of(side); number++) {
        choose_dimension(&o, number);
        for (int64_t s = 0; s < side->features.cols; s++) {
            double sums[2];
            touched_sums(&o, s, sums);
            if (side->cells.weight) touched_cells(&o, s, sums);
            const REAL delta = take_step(&o, s, (REAL)sums[0], (REAL)sums[1]);
            if (delta != 0) move_touched(&o, s, delta);
        }
    }
}
