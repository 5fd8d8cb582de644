/* kernels.c -- the kernels, compiled once for each instruction set and precision; see README.md for where to begin.

   Set by CMakeLists.txt: FMF_BITS (32 or 64, the precision) and FMF_TABLE (the table's name). */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fmf.h"
#include "fmfkit.h"
#include "team.h"

#if FMF_BITS == 32
#define REAL float
#define BITS int32_t            /* an integer as wide */
#define NATIVE(name) name##_f32 /* a function of a table of fmfkit.h */
#define ROUNDING FLT_EPSILON
#else
#define REAL double
#define BITS int64_t
#define NATIVE(name) name##_f64
#define ROUNDING DBL_EPSILON
#endif

enum {
    AHEAD = 4,         /* columns fetched ahead of their use */
    PAIRS_AHEAD = 32,  /* pairs whose partner's numbers are fetched ahead */
    SGD_AHEAD = 4,     /* rows of P or Q that stochastic gradient descent fetches ahead */
    COPIED = 4096,     /* rows that a thread copies at a time */
    WIDE_COLUMNS = 16, /* features whose gradients in all dimensions a thread sums at a time */
};

/* What all share. */
#include "template/vector.h"
#include "template/two.h"
#include "template/loss.h"
#include "template/penalty.h"
#include "template/embed.h"
#include "template/score.h"
#include "template/cells.h"
#include "template/plan.h"
#include "template/sets.h"
#include "template/top.h"

/* The paper's algorithms, one latent dimension at a time. */
#include "template/paper/dimension.h"
#include "template/paper/eta.h"
#include "template/paper/dimension_pass.h"
#include "template/paper/dimension_sweep.h"
#include "template/paper/algorithms_2_3.h"
#include "template/paper/algorithm_1.h"

/* Panels of latent dimensions. */
#include "template/panel/vector.h"
#include "template/panel/gram.h"
#include "template/panel/panel.h"
#include "template/panel/panel_cells.h"
#include "template/panel/spread.h"
#include "template/panel/own.h"
#include "template/panel/four.h"
#include "template/panel/draw.h"
#include "template/panel/rows.h"
#include "template/panel/pass.h"
#include "template/panel/line_search.h"
#include "template/panel/conjugate.h"
#include "template/panel/findings.h"
#include "template/panel/together.h"
#include "template/panel/measure.h"
#include "template/panel/draw_together.h"
#include "template/panel/draw_exact.h"
#include "template/panel/asked.h"
#include "template/panel/panel_sets.h"
#include "template/panel/descend.h"
#include "template/panel/parts.h"
#include "template/panel/phases.h"

/* All latent dimensions at once. */
#include "template/proximal.h"

/* Stochastic gradient descent. */
#include "template/sgd/row.h"
#include "template/sgd/grouped.h"
#include "template/sgd/hogwild.h"

extern const fmf_kernels FMF_TABLE;
const fmf_kernels FMF_TABLE = {
    .embed = embed,
    .gather = gather,
    .scores = scores,
    .pair_scores = pair_scores,
    .gram_sums = gram_sums,
    .elastic_net = elastic_net,
    .plan = lay_out,
    .runs = runs,
    .naive = naive,
    .descend = descend,
    .panel_descend = panel_descend,
    .panel_rows = panel_rows,
    .panel_sums = panel_sums,
    .panel_own = panel_own,
    .panel_step = panel_step,
    .panel_move = panel_move,
    .shard_phase = shard_phase,
    .feature_phase = feature_phase,
    .panel_steps = panel_steps_of,
    .pair_gradients = pair_gradients,
    .feature_sums = feature_sums,
    .row_sums = row_sums,
    .row_products = row_products,
    .wide_gradients = wide_gradients,
    .pack_targets = pack_targets,
    .top = top,
    .sgd_grouped = sgd_grouped,
    .sgd_per_pair = sgd_per_pair,
};
