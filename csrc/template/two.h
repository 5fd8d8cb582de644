/* two.h -- vectors of 64 bytes that hold LANES numbers of two pairs, the one in the lower half, the other in the upper, where the
   instruction set has them and LANES are a panel. */

#if FMF_BITS == 32 && defined(__AVX512F__)
#define TWO_AT_ONCE 1
#include <immintrin.h>

typedef float two __attribute__((vector_size(64)));
typedef int32_t two_index __attribute__((vector_size(64)));

#ifdef __clang__
#define SHUFFLE_TWO(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE_TWO(a, b, ...) __builtin_shuffle(a, b, (two_index){__VA_ARGS__})
#endif

static inline two load_two(const REAL *one, const REAL *other) {
    return (two)_mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(one)), _mm256_loadu_ps(other), 1);
}

/* a in the lower half, b in the upper. */
static inline two each_of_two(REAL a, REAL b) {
    return (two)_mm512_mask_blend_ps(0xff00, _mm512_set1_ps(a), _mm512_set1_ps(b));
}

static inline vec lower_half(two a) { return (vec)_mm512_castps512_ps256((__m512)a); }

static inline vec upper_half(two a) { return (vec)_mm512_extractf32x8_ps((__m512)a, 1); }

/* rotate of either half. */
ALWAYS_INLINE two rotate_two(two a, int by) {
    switch (by) { /* `by` is a constant wherever this is used: one case is left */
        case 1: return SHUFFLE_TWO(a, a, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8);
        case 2: return SHUFFLE_TWO(a, a, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
        case 3: return SHUFFLE_TWO(a, a, 3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
        case 4: return SHUFFLE_TWO(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
        default: return a;
    }
}

/* add_each of either half. */
static inline two add_each_of_two(const two *v) {
#define FOLD(a, b)                                                                 \
    (SHUFFLE_TWO(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) + \
     SHUFFLE_TWO(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31))
#define FOLD_TWO(a, b)                                                             \
    (SHUFFLE_TWO(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) + \
     SHUFFLE_TWO(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    const two first = FOLD_TWO(FOLD(v[0], v[1]), FOLD(v[2], v[3])), second = FOLD_TWO(FOLD(v[4], v[5]), FOLD(v[6], v[7]));
#undef FOLD
#undef FOLD_TWO
    return SHUFFLE_TWO(first, second, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) +
           SHUFFLE_TWO(first, second, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
}

#endif
