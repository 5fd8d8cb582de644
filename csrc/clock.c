/* clock.c -- see clock.h.  Each thread that calls kernels has a clock of its own.  */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "fmf.h"

enum { KINDS = 64 }; /* of phases that are told apart */

static _Thread_local struct {
    int32_t on;
    int32_t kinds;
    fmf_phase_time times[KINDS];
} watch;

double fmf_clock(void) {
    struct timespec now;
    if (!watch.on) return 0.0;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void fmf_note(const char *name, double began) {
    int32_t k = 0;
    if (!watch.on) return;
    while (k < watch.kinds && strcmp(watch.times[k].name, name) != 0) k++;
    if (k == KINDS) return;
    if (k == watch.kinds) watch.times[watch.kinds++] = (fmf_phase_time){.name = name};
    watch.times[k].seconds += fmf_clock() - began;
    watch.times[k].count++;
}

void fmf_watch(int32_t on) {
    watch.on = on;
    watch.kinds = 0;
}

int32_t fmf_watched(int32_t k, fmf_phase_time *time) {
    if (k >= watch.kinds) return 0;
    *time = watch.times[k];
    return 1;
}
