/* panel/panel.h -- Algorithm 3 with a panel of PANEL latent dimensions at once.

   Per row, over its pairs: G_i (PANEL numbers) and A_i (PANEL x PANEL), see gram.h.  The step of the side's parameters in this
   panel lowers the quadratic bound
       sum_i G_i u_i + 1/2 u_i A_i u_i + penalty,     u_i = sum_s x_is delta_s.
   Features that several rows share come first (conjugate.h or panel_sets.h), then a row's own feature solves its PANEL x PANEL
   problem (own.h).  The bias is a panel of one dimension whose V_j is 1. */

/* What phases find out for those that come after them: shared by all threads, written by the one that finishes a phase. */
typedef struct {
    double K[ROOM];     /* the matrix of common steps */
    double weight;      /* residual times scaled, of the direction before */
    double curvature;   /* along the common part of the direction, before it is taken off */
    REAL common[PANEL]; /* the common step, or the common part of a direction */
    REAL keep;          /* how much of the direction before goes on */
    double length;      /* of the step last taken */
    double first;       /* the first direction's weight */
} panel_findings;

/* What brings scores up to date before a pass: nothing, scoring anew, the bias's move, or that of the panel before. */
typedef enum { KEEP, SCORE, MOVE_BIAS, MOVE_PANEL } refresh;

typedef struct {
    sweep sets; /* first: see sets.h */
    const fmf_side *side;
    const fmf_panel *scratch;
    const fmf_penalty *penalty;
    panel_findings *found;
    int64_t column; /* of the parameters: the panel's first */
    int64_t size;   /* dimensions that it has */
    int64_t number; /* in the order of the updates */
    int32_t step;   /* the number of the direction */
    refresh scores;
} panel;

/* Makes `o` the side's bias (column < 0) or the panel that begins at a column. */
static inline void choose_panel(panel *o, int64_t column) {
    o->penalty = column < 0 ? &o->side->bias : &o->side->factors;
    o->column = column < 0 ? o->side->rank : column;
    o->size = column < 0 ? 1 : smaller(o->side->rank - column, PANEL);
    o->number = column < 0 ? 0 : column / PANEL + (o->side->bias_slot >= 0);
}

static inline int is_bias(const panel *o) { return o->column == o->side->rank; }

/* Feature s: its parameters in this panel, and the elastic net's l2. */
static inline REAL *parameters_of(const panel *o, int64_t s) {
    return (REAL *)o->side->parameters + s * o->side->width + o->column;
}

static inline REAL l2_of(const panel *o, int64_t s) { return (REAL)o->penalty->l2 * ((const REAL *)o->penalty->strength)[s]; }

/* (PANEL) what multiplies its strength. */
static inline const REAL *panel_growth(const panel *o, int64_t s) {
    return growth_of(o->penalty, s) + (is_bias(o) ? 0 : o->column);
}

/* Row i of a scratch array of PANEL, or ROOM, numbers a row. */
static inline REAL *row_of(void *array, int64_t i) { return (REAL *)array + i * PANEL; }

static inline REAL *matrix_of(void *array, int64_t i) { return (REAL *)array + i * ROOM; }
