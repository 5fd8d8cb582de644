/* panel/vector.h -- vectors of FMF_PANEL numbers, one for each dimension of a panel. */

#define PANEL FMF_PANEL
#define PARTS (FMF_PANEL / LANES)

typedef struct {
    vec part[PARTS];
} pvec;

static inline pvec pload(const REAL *a) {
    pvec r;
    for (int n = 0; n < PARTS; n++) r.part[n] = load(a + n * LANES);
    return r;
}

static inline void pstore(REAL *a, pvec v) {
    for (int n = 0; n < PARTS; n++) store(a + n * LANES, v.part[n]);
}

static inline void padd(pvec *sum, REAL factor, pvec v) { /* sum += factor v */
    for (int n = 0; n < PARTS; n++) sum->part[n] += factor * v.part[n];
}

static inline void padd_product(pvec *sum, pvec a, pvec b) {
    for (int n = 0; n < PARTS; n++) sum->part[n] += a.part[n] * b.part[n];
}

static inline REAL pdot(pvec a, pvec b) {
    vec sum = a.part[0] * b.part[0];
    for (int n = 1; n < PARTS; n++) sum += a.part[n] * b.part[n];
    return add_lanes(sum);
}

/* Number l of the result is number l + by (mod PANEL) of a. */
ALWAYS_INLINE pvec turn(pvec a, int by) {
    pvec r;
    for (int n = 0; n < PARTS; n++) r.part[n] = rotate(a.part[0], a.part[PARTS - 1], (by + n * LANES) % PANEL);
    return r;
}

/* sum_t x_t line_t, as sum_lines has it. */
ALWAYS_INLINE pvec psum_lines(const int32_t *index, const REAL *x, int64_t n, const REAL *lines, int64_t room) {
    pvec sum;
    if (x) sum_lines(index, x, n, lines, room, PARTS, sum.part);
    else sum_lines(index, NULL, n, lines, room, PARTS, sum.part);
    return sum;
}
