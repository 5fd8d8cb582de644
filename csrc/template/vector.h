/* vector.h -- vectors of 32 bytes, portions of work, and what else everything is made of. */

#define LANES ((int)(32 / sizeof(REAL)))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define UNROLL(n) _Pragma("unroll")
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define UNROLL_TEXT(text) _Pragma(#text)
#define UNROLL(n) UNROLL_TEXT(GCC unroll n)
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){__VA_ARGS__})
#endif

typedef REAL vec __attribute__((vector_size(32)));
typedef BITS ivec __attribute__((vector_size(32)));
typedef REAL loose_vec __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias)); /* anywhere in memory */

static inline vec load(const REAL *a) { return *(const loose_vec *)a; }
static inline void store(REAL *a, vec v) { *(loose_vec *)a = v; }

static inline vec load_some(const REAL *a, int64_t n) {
    vec v = {0};
    if (n >= LANES) return load(a);
    for (int l = 0; l < n; l++) v[l] = a[l];
    return v;
}

static inline void store_some(REAL *a, vec v, int64_t n) {
    if (n >= LANES) store(a, v);
    for (int l = 0; n < LANES && l < n; l++) a[l] = v[l];
}

static inline vec pick(ivec mask, vec yes, vec no) { return (vec)(((ivec)yes & mask) | ((ivec)no & ~mask)); }

/* Whether any lane of a mask is set. */
static inline int any_lane(ivec mask) {
    BITS any = 0;
    for (int l = 0; l < LANES; l++) any |= mask[l];
    return any != 0;
}

/* Lanes are added in one fixed order, halves first. */
static inline REAL add_lanes(vec a) {
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++) a[l] += a[l + half];
    }
    return a[0];
}

/* add_each: lane l of the result is the sum of the lanes of v[l], LANES vectors at once.  Two vectors fold into one that holds
   sums of two lanes of either.
   transpose: lane l of v[k] becomes lane k of v[l].
   rotate: lane l of the result is number `by` + l (mod FMF_PANEL) of a panel's numbers, which stand in `low` and `high` (the
   same vector if one holds them all). */
#if FMF_BITS == 32

static inline vec add_each(const vec *v) {
#define FOLD(a, b) (SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13) + SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15))
    const vec a = FOLD(v[0], v[1]), b = FOLD(v[2], v[3]), c = FOLD(v[4], v[5]), d = FOLD(v[6], v[7]);
#undef FOLD
    const vec first = SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    const vec second = SHUFFLE(c, d, 0, 1, 8, 9, 4, 5, 12, 13) + SHUFFLE(c, d, 2, 3, 10, 11, 6, 7, 14, 15);
    return SHUFFLE(first, second, 0, 1, 2, 3, 8, 9, 10, 11) + SHUFFLE(first, second, 4, 5, 6, 7, 12, 13, 14, 15);
}

ALWAYS_INLINE void transpose(vec *v) {
    vec a[LANES], b[LANES];
    UNROLL(4)
    for (int n = 0; n < LANES; n += 2) {
        a[n] = SHUFFLE(v[n], v[n + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[n + 1] = SHUFFLE(v[n], v[n + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    UNROLL(2)
    for (int n = 0; n < LANES; n += 4) {
        UNROLL(2)
        for (int m = 0; m < 2; m++) {
            b[n + 2 * m] = SHUFFLE(a[n + m], a[n + m + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[n + 2 * m + 1] = SHUFFLE(a[n + m], a[n + m + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    UNROLL(4)
    for (int n = 0; n < LANES / 2; n++) {
        v[n] = SHUFFLE(b[n], b[n + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[n + 4] = SHUFFLE(b[n], b[n + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

ALWAYS_INLINE vec rotate(vec low, vec high, int by) {
    (void)high;
    switch (by) { /* `by` is a constant wherever this is used: one case is left */
        case 1: return SHUFFLE(low, low, 1, 2, 3, 4, 5, 6, 7, 0);
        case 2: return SHUFFLE(low, low, 2, 3, 4, 5, 6, 7, 0, 1);
        case 3: return SHUFFLE(low, low, 3, 4, 5, 6, 7, 0, 1, 2);
        case 4: return SHUFFLE(low, low, 4, 5, 6, 7, 0, 1, 2, 3);
        case 5: return SHUFFLE(low, low, 5, 6, 7, 0, 1, 2, 3, 4);
        case 6: return SHUFFLE(low, low, 6, 7, 0, 1, 2, 3, 4, 5);
        case 7: return SHUFFLE(low, low, 7, 0, 1, 2, 3, 4, 5, 6);
        default: return low;
    }
}

#else

static inline vec add_each(const vec *v) {
    const vec a = SHUFFLE(v[0], v[1], 0, 4, 2, 6) + SHUFFLE(v[0], v[1], 1, 5, 3, 7);
    const vec b = SHUFFLE(v[2], v[3], 0, 4, 2, 6) + SHUFFLE(v[2], v[3], 1, 5, 3, 7);
    return SHUFFLE(a, b, 0, 1, 4, 5) + SHUFFLE(a, b, 2, 3, 6, 7);
}

ALWAYS_INLINE void transpose(vec *v) {
    const vec a = SHUFFLE(v[0], v[1], 0, 4, 2, 6), b = SHUFFLE(v[0], v[1], 1, 5, 3, 7);
    const vec c = SHUFFLE(v[2], v[3], 0, 4, 2, 6), d = SHUFFLE(v[2], v[3], 1, 5, 3, 7);
    v[0] = SHUFFLE(a, c, 0, 1, 4, 5);
    v[1] = SHUFFLE(b, d, 0, 1, 4, 5);
    v[2] = SHUFFLE(a, c, 2, 3, 6, 7);
    v[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}

ALWAYS_INLINE vec rotate(vec low, vec high, int by) {
    switch (by) {
        case 1: return SHUFFLE(low, high, 1, 2, 3, 4);
        case 2: return SHUFFLE(low, high, 2, 3, 4, 5);
        case 3: return SHUFFLE(low, high, 3, 4, 5, 6);
        case 4: return high;
        case 5: return SHUFFLE(low, high, 5, 6, 7, 0);
        case 6: return SHUFFLE(low, high, 6, 7, 0, 1);
        case 7: return SHUFFLE(low, high, 7, 0, 1, 2);
        default: return low;
    }
}

#endif

static inline REAL dot(const REAL *a, const REAL *b, int64_t n) {
    vec sum = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) sum += load(a + t) * load(b + t);
    for (int l = 0; t < n; t++, l++) sum[l] += a[t] * b[t];
    return add_lanes(sum);
}

/* The sum of n numbers. */
static inline REAL sum_of(const REAL *a, int64_t n) {
    vec sum = {0};
    int64_t t = 0;
    for (; t + LANES <= n; t += LANES) sum += load(a + t);
    for (int l = 0; t < n; t++, l++) sum[l] += a[t];
    return add_lanes(sum);
}

enum { APART = 4 }; /* sums that go on side by side: one alone would wait for itself */

/* sum_t x_t line_t for n lines (x = NULL: ones), line_t being `parts` vectors at lines + index[t] * room. */
ALWAYS_INLINE void sum_lines(const int32_t *index, const REAL *x, int64_t n, const REAL *lines, int64_t room, int parts,
                             vec *sum) {
    vec apart[APART][2] = {{{0}}}; /* parts are at most 2 */
    int64_t t = 0;
    for (; t + APART <= n; t += APART) {
        UNROLL(4)
        for (int a = 0; a < APART; a++) {
            const REAL *line = lines + index[t + a] * room;
            for (int p = 0; p < parts; p++) apart[a][p] += x ? x[t + a] * load(line + p * LANES) : load(line + p * LANES);
        }
    }
    for (; t < n; t++) {
        const REAL *line = lines + index[t] * room;
        for (int p = 0; p < parts; p++) apart[0][p] += x ? x[t] * load(line + p * LANES) : load(line + p * LANES);
    }
    for (int p = 0; p < parts; p++) sum[p] = (apart[0][p] + apart[1][p]) + (apart[2][p] + apart[3][p]);
}

/* ---- portions ---- */

typedef struct {
    int64_t from;
    int64_t to;
} range;

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many portions of `size` n things make, and which things portion p has. */
static inline int64_t portions_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

static inline range portion(int64_t n, int64_t size, int64_t p) { return (range){p * size, smaller((p + 1) * size, n)}; }

/* First place of a[0..n] whose value is >= x (a ascending, n + 1 values). */
static inline int64_t first_at_least(const int64_t *a, int64_t n, int64_t x) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Part k of n things with running totals a[0..n], shared out into `parts` that are as even as whole things allow. */
static inline range part_by_total(const int64_t *a, int64_t n, int64_t k, int64_t parts) {
    const int64_t base = a[0], each = (a[n] - a[0]) / parts, rest = (a[n] - a[0]) % parts;
    return (range){
        k == 0 ? 0 : first_at_least(a, n, base + each * k + rest * k / parts),
        k + 1 == parts ? n : first_at_least(a, n, base + each * (k + 1) + rest * (k + 1) / parts),
    };
}
