/* dispatch.c -- chooses the kernels once per process, guards against fork(), tells how it was built. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define FMF_CPU_HAS(feature) __builtin_cpu_supports(feature)
#else
#define FMF_CPU_HAS(feature) 1
#endif

typedef struct {
    const char *name;
    const fmf_kernels *kernels;
} fmf_isa_entry;

static int32_t runnable(const char *name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcmp(name, "v3") == 0) {
        return FMF_CPU_HAS("avx2") && FMF_CPU_HAS("fma") && FMF_CPU_HAS("bmi2");
    }
    if (strcmp(name, "v4") == 0) {
        return FMF_CPU_HAS("avx512f") && FMF_CPU_HAS("avx512bw") && FMF_CPU_HAS("avx512cd") && FMF_CPU_HAS("avx512dq") &&
               FMF_CPU_HAS("avx512vl");
    }
#endif
    (void)name;
    return 1;
}

static const fmf_isa_entry built[] = {
    {"v2", fmf_kernels_v2},
#ifdef FMF_HAVE_V3
    {"v3", fmf_kernels_v3},
#endif
#ifdef FMF_HAVE_V4
    {"v4", fmf_kernels_v4},
#endif
};
enum { BUILT = sizeof built / sizeof *built };

static const fmf_isa_entry *chosen; /* a race to set it is harmless: every thread finds the same */

static const fmf_isa_entry *current(void) {
    if (!chosen) {
        const fmf_isa_entry *best = built;
        for (size_t i = 1; i < BUILT; i++) {
            if (runnable(built[i].name)) best = &built[i];
        }
        chosen = best;
    }
    return chosen;
}

const fmf_kernels *fmf_kernels_for(int32_t bytes) { return &current()->kernels[bytes == 8]; }

int32_t fmf_choose_isa(const char *name) {
    for (size_t i = 0; i < BUILT; i++) {
        if (strcmp(built[i].name, name) == 0 && runnable(name)) {
            chosen = &built[i];
            return 1;
        }
    }
    return 0;
}

const char *fmf_isa(void) { return current()->name; }

const char *fmf_isa_available(int32_t k) {
    for (size_t i = 0; i < BUILT; i++) {
        if (runnable(built[i].name) && k-- == 0) return built[i].name;
    }
    return NULL;
}

int32_t fmf_openmp(void) {
#ifdef _OPENMP
    return _OPENMP;
#else
    return 0;
#endif
}

const char *fmf_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

const char *fmf_version(void) { return FMF_VERSION; }

#if defined(_OPENMP) && !defined(_WIN32)
#include <unistd.h>
/* libgomp's pool of threads does not survive fork(): a child that asks for it waits for ever. */
int32_t fmf_safe_threads(int32_t wanted) {
    static volatile long owner; /* process that first used more than one thread */
    const long self = (long)getpid();
    if (wanted <= 1) return 1;
    if (owner == 0) owner = self;
    return owner == self ? wanted : 1;
}
#else
int32_t fmf_safe_threads(int32_t wanted) {
#ifdef _OPENMP
    return wanted < 1 ? 1 : wanted;
#else
    (void)wanted;
    return 1;
#endif
}
#endif

/* A binary heap of sets by load, ties by number, so that the result is one for a given order. */
static int lighter(const int64_t *load, int32_t a, int32_t b) { return load[a] != load[b] ? load[a] < load[b] : a < b; }

int32_t fmf_balance(int64_t cols, const int32_t *order, const int64_t *size, int64_t sets, int32_t *set_of) {
    int64_t *load = calloc((size_t)sets, sizeof *load);
    int32_t *heap = malloc((size_t)sets * sizeof *heap);
    if (!load || !heap) {
        free(load);
        free(heap);
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
    free(load);
    free(heap);
    return FMF_OK;
}
