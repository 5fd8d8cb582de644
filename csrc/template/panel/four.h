/* panel/four.h -- four rows or features side by side in double precision, a vector holding one number of each: their small
   matrices are factored together, and their random numbers drawn together. */

enum { FOUR = 4 };

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_masks __attribute__((vector_size(32))); /* what comparing gives */
typedef uint64_t four_bits __attribute__((vector_size(32)));

/* The same number four times. */
static inline four all_four(double a) { return a - (four){0}; }

static inline four pick_four(four_masks mask, four yes, four no) {
    return (four)(((four_masks)yes & mask) | ((four_masks)no & ~mask));
}

static inline four larger_four(four a, four b) { return pick_four(a > b, a, b); }

static inline four root_four(four a) {
    for (int f = 0; f < FOUR; f++) a[f] = sqrt(a[f]);
    return a;
}

/* ---- matrices of PANEL x PANEL ---- */

typedef four small[PANEL][PANEL];

/* M = L L' */
typedef struct {
    small L;
    four inverse[PANEL]; /* of its diagonal; 0 where a column was dropped */
} triangle;

/* Of the first `size` dimensions of an M without a negative eigenvalue but for rounding.  Its pivots are at least `least`, where
   that is known, and as large as the rounding of the matrix; else one that is nothing but rounding is dropped, with its column. */
ALWAYS_INLINE void factor(small M, int64_t size, const four *least, triangle *t) {
    const double rounding = sizeof(REAL) == 4 ? 2e-7 : 1e-15;
    four dust = {0};
    for (int k = 0; k < size; k++) dust += rounding * M[k][k];
    for (int k = 0; k < size; k++) {
        four pivot = M[k][k];
        for (int l = 0; l < k; l++) pivot -= t->L[k][l] * t->L[k][l];
        const four floor = least ? larger_four(least[k], dust) : larger_four(dust, all_four(0));
        const four_masks sound = pivot > floor; /* not so where it is no number */
        t->L[k][k] = root_four(pick_four(sound, pivot, floor));
        t->inverse[k] = 1 / t->L[k][k];
        if (!least) {
            t->L[k][k] = pick_four(sound, t->L[k][k], all_four(0));
            t->inverse[k] = pick_four(sound, t->inverse[k], all_four(0));
        }
        for (int r = k + 1; r < size; r++) {
            four sum = M[r][k];
            for (int l = 0; l < k; l++) sum -= t->L[r][l] * t->L[k][l];
            t->L[r][k] = sum * t->inverse[k];
        }
    }
}

/* x = L^-1 x, for an x that begins with `from` zeros; then x = L^-T x. */
ALWAYS_INLINE void solve_lower(const triangle *t, int64_t from, int64_t size, four *x) {
    for (int64_t k = from; k < size; k++) {
        for (int64_t l = from; l < k; l++) x[k] -= t->L[k][l] * x[l];
        x[k] *= t->inverse[k];
    }
}

ALWAYS_INLINE void solve_upper(const triangle *t, int64_t size, four *x) {
    for (int64_t k = size - 1; k >= 0; k--) {
        for (int64_t l = k + 1; l < size; l++) x[k] -= t->L[l][k] * x[l];
        x[k] *= t->inverse[k];
    }
}

/* ---- normal numbers ---- */

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Mixes all bits of each number (the last steps of splitmix64). */
static inline four_bits mixed(four_bits z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Numbers in [1, 2) whose digits are the low 52 bits. */
static inline four between_one_and_two(four_bits digits) {
    return (four)((digits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000));
}

/* ln u for u in (0, 1], to 1e-10: u = 2^n m, and ln m = 2 artanh z for z = (m - 1) / (m + 1). */
static inline four log_four(four u) {
    const four_bits bits = (four_bits)u;
    four m = between_one_and_two(bits), n = (four)((bits >> 52) | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    const four_masks high = m > all_four(1.41421356237309505);
    m = pick_four(high, 0.5 * m, m);
    n = pick_four(high, n + 1, n);
    const four z = (m - 1) / (m + 1), q = z * z;
    const four series = 1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11)))));
    return n * 0.693147180559945309 + 2 * z * series;
}

/* Two independent normal numbers for each of four random numbers (Box and Muller): 40 bits make the length, 22 the angle within a
   quarter of the circle, and two say which quarter. */
static inline void normal_pair(four_bits bits, four *one, four *other) {
    const four u = 2 - between_one_and_two(bits << 12);
    const four x = 1.57079632679489662 * (between_one_and_two((bits >> 10) & ~UINT64_C(0x3fffffff)) - 1.5), q = x * x;
    const four sine = x * (1 - q * (1.0 / 6 - q * (1.0 / 120 - q * (1.0 / 5040 - q * (1.0 / 362880)))));
    const four even = 1.0 / 24 - q * (1.0 / 720 - q * (1.0 / 40320 - q * (1.0 / 3628800)));
    const four cosine = 1 - q * (0.5 - q * even);
    const four length = root_four(-2 * log_four(u));
    const four_bits sign = bits & UINT64_C(0x8000000000000000);
    const four_masks swapped = (four_masks)(bits << 1) < 0;
    *one = (four)((four_bits)(length * pick_four(swapped, sine, cosine)) ^ sign);
    *other = (four)((four_bits)(length * pick_four(swapped, cosine, sine)) ^ sign);
}

/* PANEL normal numbers for each of four rows or features: a function of the stream, and of their numbers. */
static inline void normals(uint64_t stream, four_bits numbers, four *e) {
    const four_bits key = mixed(mixed(stream + (four_bits){0}) + GOLDEN * numbers);
    for (uint64_t p = 0; p < PANEL / 2; p++) normal_pair(mixed(key + GOLDEN * (p + 1)), e + 2 * p, e + 2 * p + 1);
}
