/* sets.c -- sets of features with a bound on how much they meet in a row. */
#include <math.h>
#include <stdint.h>

#include "sets.h"

enum { ALL = (1 << SETS) - 1 };

/* Which sets, as bits, can take one more value of a row. */
static inline int room(const row_state *row, double size, double bound) {
    int sets = 0;
    for (int k = 0; k < SETS; k++) {
        const double least = row->least[k] < size ? row->least[k] : size;
        sets |= (row->sum[k] + size <= bound * least) << k;
    }
    return sets;
}

/* Which sets can take a feature. A stored zero is in nobody's way. */
static int open_to(const columns *x, const row_state *rows, int32_t feature, double bound) {
    int sets = ALL;
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1] && sets; e++)
        if (x->size[e] > 0) sets &= room(&rows[x->row[e]], x->size[e], bound);
    return sets;
}

static void join(const columns *x, row_state *rows, int32_t feature, int set) {
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1]; e++) {
        if (!(x->size[e] > 0)) continue;
        row_state *row = &rows[x->row[e]];
        row->sum[set] += x->size[e];
        if (x->size[e] < row->least[set]) row->least[set] = x->size[e];
    }
}

static void clear(const columns *x, row_state *rows, int32_t feature) {
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1]; e++)
        for (int k = 0; k < SETS; k++) {
            rows[x->row[e]].sum[k] = 0;
            rows[x->row[e]].least[k] = INFINITY;
        }
}

void first_fit(const columns *x, int64_t n, double bound, row_state *rows, int32_t *order, int32_t *joined, int32_t *set_of) {
    for (int32_t first = 0; n > 0; first += SETS) {
        int64_t left = 0, taken = 0;
        for (int64_t t = 0; t < n; t++) {
            const int32_t feature = order[t];
            const int sets = open_to(x, rows, feature, bound);
            if (sets) {
                const int set = __builtin_ctz((unsigned)sets);
                join(x, rows, feature, set);
                set_of[feature] = first + set;
                joined[taken++] = feature;
            } else order[left++] = feature;
        }
        for (int64_t t = 0; t < taken && left; t++) clear(x, rows, joined[t]);
        n = left;
    }
}
