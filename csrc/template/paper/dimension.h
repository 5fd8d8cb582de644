/* paper/dimension.h -- one latent dimension of one side: what Algorithms 1 to 3 work on. */

typedef struct {
    sweep sets; /* first: see sets.h */
    const fmf_side *side;
    const fmf_dimension *scratch;
    const fmf_penalty *penalty;
    int64_t column; /* of the parameters */
    int64_t number; /* in the order of the updates */
    int64_t slot;   /* of the embeddings */
    int64_t before; /* slot of the dimension updated before, or -1 */
    REAL growth;    /* of strengths in this dimension */
} dimension;

/* How many dimensions the side has; the bias, if there is one, comes first. */
static inline int64_t dimensions_of(const fmf_side *side) { return side->rank + (side->bias_slot >= 0); }

static inline int64_t slot_of(const fmf_side *side, int64_t number) {
    if (side->bias_slot < 0) return number;
    return number == 0 ? side->bias_slot : number - 1;
}

/* Makes `o` the side's dimension of that number. */
static inline void choose_dimension(dimension *o, int64_t number) {
    const int bias = o->side->bias_slot >= 0 && number == 0;
    o->penalty = bias ? &o->side->bias : &o->side->factors;
    o->number = number;
    o->slot = slot_of(o->side, number);
    o->column = bias ? o->side->rank : o->slot;
    o->before = number ? slot_of(o->side, number - 1) : -1;
    o->growth = ((const REAL *)o->penalty->growth)[bias ? 0 : o->column];
}

static inline REAL *parameter(const dimension *o, int64_t s) {
    return (REAL *)o->side->parameters + s * o->side->width + o->column;
}

static inline REAL strength_of(const dimension *o, int64_t s) { return o->growth * ((const REAL *)o->penalty->strength)[s]; }

/* The step of feature s alone, taken. */
static inline REAL take_step(const dimension *o, int64_t s, REAL x, REAL y) {
    REAL *w = parameter(o, s);
    const REAL delta = one_T(o->penalty, x, y, *w, strength_of(o, s));
    *w += delta;
    return delta;
}
