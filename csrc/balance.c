/* balance.c -- shares features into sets of nearly equal size, for a scheduler. */
#include <stdint.h>

#include "fmf.h"
#include "memory.h"

/* A binary heap of sets by load, ties by number, so that the result is one for a given order. */
static int lighter(const int64_t *load, int32_t a, int32_t b) { return load[a] != load[b] ? load[a] < load[b] : a < b; }

int32_t fmf_balance(int64_t cols, const int32_t *order, const int64_t *size, int64_t sets, int32_t *set_of) {
    int64_t *load = fmf_allocate((size_t)sets, sizeof *load);
    int32_t *heap = fmf_allocate((size_t)sets, sizeof *heap);
    if (!load || !heap) {
        fmf_release(load);
        fmf_release(heap);
        return FMF_OUT_OF_MEMORY;
    }
    for (int64_t s = 0; s < sets; s++) heap[s] = (int32_t)s;
    for (int64_t place = 0; place < cols; place++) {
        const int32_t feature = order[place];
        const int32_t set = heap[0];
        set_of[feature] = set;
        load[set] += size[feature];
        int64_t at = 0;
        for (int64_t child = 1; child < sets; child = 2 * at + 1) { /* sift down */
            if (child + 1 < sets && lighter(load, heap[child + 1], heap[child])) child++;
            if (!lighter(load, heap[child], set)) break;
            heap[at] = heap[child];
            at = child;
        }
        heap[at] = set;
    }
    fmf_release(load);
    fmf_release(heap);
    return FMF_OK;
}
