/* sets.c -- sets of features with a bound on how much they meet in a row. */
#include <stdint.h>
#include <string.h>

#include "sets.h"

enum { SETS = 64 };

static inline int lowest(uint64_t bits) { return __builtin_ctzll(bits); }

/* What a row has in a set that it has features in. */
static inline meeting *in_set(const row_state *row, int set) {
    return row->meetings + __builtin_popcountll(row->met & ((UINT64_C(1) << set) - 1));
}

static inline double lesser(double a, double b) { return a < b ? a : b; }

/* Which sets no row of a feature has closed. A stored zero is in nobody's way. */
static uint64_t open_to(const columns *x, const row_state *rows, int32_t feature) {
    uint64_t sets = UINT64_MAX;
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1] && sets; e++)
        if (x->size[e] > 0) sets &= ~rows[x->row[e]].closed;
    return sets;
}

/* Whether a set that is open can take a feature: other values of its rows may be smaller, or larger. */
static int takes(const columns *x, const row_state *rows, int32_t feature, int set, double bound) {
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1]; e++) {
        const row_state *row = &rows[x->row[e]];
        if (!(x->size[e] > 0) || !(row->met >> set & 1)) continue;
        const meeting *other = in_set(row, set);
        if (other->sum + x->size[e] > bound * lesser(other->least, x->size[e])) return 0;
    }
    return 1;
}

/* The first of 64 sets that can take a feature, or -1. */
static int first_set(const columns *x, const row_state *rows, int32_t feature, double bound) {
    for (uint64_t sets = open_to(x, rows, feature); sets; sets &= sets - 1)
        if (takes(x, rows, feature, lowest(sets), bound)) return lowest(sets);
    return -1;
}

/* Puts a value of a row into a set. */
static void meet(row_state *row, double size, int set, double bound) {
    meeting *at = in_set(row, set);
    if (!(row->met >> set & 1)) {
        const int after = __builtin_popcountll(row->met >> set);
        memmove(at + 1, at, (size_t)after * sizeof *at);
        *at = (meeting){0, size};
        row->met |= UINT64_C(1) << set;
    }
    at->sum += size;
    at->least = lesser(at->least, size);
    if (at->sum + row->least > bound * at->least) row->closed |= UINT64_C(1) << set;
}

static void join(const columns *x, row_state *rows, int32_t feature, int set, double bound) {
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1]; e++)
        if (x->size[e] > 0) meet(&rows[x->row[e]], x->size[e], set, bound);
}

static void clear(const columns *x, row_state *rows, int32_t feature) {
    for (int64_t e = x->begin[feature]; e < x->begin[feature + 1]; e++) rows[x->row[e]].closed = rows[x->row[e]].met = 0;
}

void first_fit(const columns *x, int64_t n, double bound, row_state *rows, int32_t *order, int32_t *joined, int32_t *set_of) {
    for (int32_t first = 0; n > 0; first += SETS) {
        int64_t left = 0, taken = 0;
        for (int64_t t = 0; t < n; t++) {
            const int32_t feature = order[t];
            const int set = first_set(x, rows, feature, bound);
            if (set >= 0) {
                join(x, rows, feature, set, bound);
                set_of[feature] = first + set;
                joined[taken++] = feature;
            } else order[left++] = feature;
        }
        for (int64_t t = 0; t < taken && left; t++) clear(x, rows, joined[t]);
        n = left;
    }
}
