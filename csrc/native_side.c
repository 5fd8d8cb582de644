/* native_side.c -- a side as solvers of plugins have it in C: the fmfkit_side of fmfkit.h, made from what the kernels take. */
#include <stddef.h>
#include <stdint.h>

#include "fmf.h"
#include "fmfkit.h"
#include "team.h"

_Static_assert(FMFKIT_PANEL == FMF_PANEL && FMFKIT_SYMMETRIC == FMF_PANEL * (FMF_PANEL / 2 + 1), "as fmfkit.h has it");

typedef struct {
    fmfkit_side shown; /* first: a solver's pointer is one to all of it */
    const fmf_side *side;
    const fmf_panel *scratch;
    const fmf_kernels *kernels;
} native_side;

static const native_side *whole(const fmfkit_side *shown) { return (const native_side *)(const void *)shown; }

static int64_t column_of(int64_t panel) { return panel == FMFKIT_BIAS ? -1 : panel * FMF_PANEL; }

static void sums(const fmfkit_side *shown, int64_t panel) {
    const native_side *o = whole(shown);
    o->kernels->panel_sums(o->side, o->scratch, column_of(panel), shown->threads);
}

static void own_steps(const fmfkit_side *shown, int64_t panel) {
    const native_side *o = whole(shown);
    o->kernels->panel_own(o->side, o->scratch, column_of(panel), shown->threads);
}

static void step(const fmfkit_side *shown, int64_t panel, int64_t s, const void *G, const void *A, void *d) {
    const native_side *o = whole(shown);
    o->kernels->panel_step(o->side, column_of(panel), s, G, A, d);
}

static void move_scores(const fmfkit_side *shown, int64_t panel) {
    const native_side *o = whole(shown);
    o->kernels->panel_move(o->side, o->scratch, column_of(panel), shown->threads);
}

static void gradients(const fmfkit_side *shown, void *g, void *h) {
    const native_side *o = whole(shown);
    o->kernels->pair_gradients(o->side, g, h, shown->threads);
}

static void by_feature(const fmfkit_side *shown, const void *rows, int32_t squared, void *out) {
    const native_side *o = whole(shown);
    o->kernels->feature_sums(&o->side->features, rows, squared, out, shown->threads);
}

static void by_row(const fmfkit_side *shown, const void *features, void *out) {
    const native_side *o = whole(shown);
    o->kernels->row_sums(&o->side->features, features, out, shown->threads);
}

static void times(const fmfkit_side *shown, const void *A, const void *rows, void *products) {
    const native_side *o = whole(shown);
    o->kernels->row_products(&o->side->features, A, rows, products, shown->threads);
}

static void share_out(const fmfkit_side *shown, int64_t portions, fmfkit_work *work, void *context) {
    fmf_share_out(shown->threads, portions, work, context);
}

static void show_arrays(fmfkit_side *shown, const fmf_side *side) {
    const fmf_features *X = &side->features;
    shown->pair_ptr = side->pairs.ptr;
    shown->other = side->pairs.other;
    shown->y = side->pairs.y;
    shown->weight = side->pairs.weight;
    shown->score = side->score;
    shown->less_y = side->loss.code == FMF_SQUARE;
    shown->row_ptr = X->row_ptr;
    shown->row_index = X->row_index;
    shown->row_value = X->row_value;
    shown->col_ptr = X->col_ptr;
    shown->col_index = X->col_index;
    shown->col_value = X->col_value;
    shown->row_scale = X->row_scale;
    shown->own = X->own;
    shown->own_value = X->own_value;
    shown->parameters = side->parameters;
    shown->mine = side->mine;
    shown->theirs = side->theirs;
}

int64_t fmf_native_side_bytes(void) { return (int64_t)sizeof(native_side); }

void fmf_native_side(const fmf_side *side, const fmf_panel *scratch, int32_t bytes, int32_t threads, void *made) {
    native_side *o = made;
    *o = (native_side){
        .shown = {.real_bytes = bytes,
                  .threads = threads,
                  .rows = side->features.rows,
                  .features = side->features.cols,
                  .pairs = side->pairs.ptr[side->pairs.rows],
                  .their_rows = side->their_rows,
                  .rank = side->rank,
                  .width = side->width,
                  .stride = side->stride,
                  .first_panel = side->bias_slot < 0 ? 0 : FMFKIT_BIAS,
                  .panels = (side->rank + FMF_PANEL - 1) / FMF_PANEL,
                  .offset = side->offset,
                  .G = scratch->G,
                  .A = scratch->A,
                  .move = scratch->move,
                  .sums = sums,
                  .own_steps = own_steps,
                  .step = step,
                  .move_scores = move_scores,
                  .gradients = gradients,
                  .by_feature = by_feature,
                  .by_row = by_row,
                  .times = times,
                  .share_out = share_out},
        .side = side,
        .scratch = scratch,
        .kernels = fmf_kernels_for(bytes),
    };
    show_arrays(&o->shown, side);
}
