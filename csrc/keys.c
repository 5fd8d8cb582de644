/* keys.c -- from keys to row numbers. */
#include <stdint.h>
#include <string.h>

#include "fmf.h"
#include "memory.h"

enum { EMPTY = -1 };

/* A key's slot in a table of `mask` + 1 slots: its own, or the next one that is free. */
static uint64_t slot_of(const int32_t *number, const int64_t *first, const uint64_t *key, uint64_t mask, uint64_t wanted) {
    uint64_t slot = (wanted * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & mask; /* multiplied, should keys be small numbers */
    while (number[slot] != EMPTY && key[first[number[slot]]] != wanted) slot = (slot + 1) & mask;
    return slot;
}

static int32_t *new_table(uint64_t slots) {
    int32_t *number = fmf_allocate(slots, sizeof *number);
    if (number) memset(number, 0xFF, slots * sizeof *number); /* all EMPTY */
    return number;
}

int64_t fmf_number_keys(int64_t n, const uint64_t *key, int32_t *number_of, int64_t *first) {
    uint64_t slots = 1024;
    int32_t *number = new_table(slots);
    int64_t count = 0;
    for (int64_t i = 0; i < n && number; i++) {
        const uint64_t slot = slot_of(number, first, key, slots - 1, key[i]);
        if (number[slot] == EMPTY) {
            first[count] = i;
            number[slot] = (int32_t)count++;
        }
        number_of[i] = number[slot];
        if ((uint64_t)count * 2 > slots) { /* grow, and put all of them where they belong now */
            fmf_release(number);
            slots *= 4;
            number = new_table(slots);
            for (int64_t k = 0; k < count && number; k++) {
                number[slot_of(number, first, key, slots - 1, key[first[k]])] = (int32_t)k;
            }
        }
    }
    const int64_t found = number ? count : -1;
    fmf_release(number);
    return found;
}
