/* memory.c -- see memory.h. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "fmf.h"
#include "memory.h"

static _Atomic int64_t held = 0;
static _Atomic int64_t left = -1; /* allocations until one fails; below 0: none does */

void *fmf_allocate(size_t count, size_t size) {
    if (atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0) return NULL;
    void *memory = calloc(count, size);
    if (memory) atomic_fetch_add(&held, 1);
    return memory;
}

void fmf_release(void *memory) {
    if (memory) atomic_fetch_sub(&held, 1);
    free(memory);
}

int64_t fmf_held(void) { return atomic_load(&held); }

void fmf_fail_after(int64_t allocations) { atomic_store(&left, allocations); }
