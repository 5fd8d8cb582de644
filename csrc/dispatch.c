/* dispatch.c -- chooses the kernels once per process, guards against fork(), tells how it was built. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fmf.h"

#if defined(__x86_64__)
#define FMF_CPU_HAS(feature) __builtin_cpu_supports(feature)
#else
#define FMF_CPU_HAS(feature) 1
#endif

extern const fmf_kernels fmf_kernels_v2_f32, fmf_kernels_v2_f64;
extern const fmf_kernels fmf_kernels_v3_f32, fmf_kernels_v3_f64;
extern const fmf_kernels fmf_kernels_v4_f32, fmf_kernels_v4_f64;

typedef struct {
    const char *name;
    const fmf_kernels *single;
    const fmf_kernels *twice; /* double precision */
} instruction_set;

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

static const instruction_set built[] = {
    {"v2", &fmf_kernels_v2_f32, &fmf_kernels_v2_f64},
#ifdef FMF_HAVE_V3
    {"v3", &fmf_kernels_v3_f32, &fmf_kernels_v3_f64},
#endif
#ifdef FMF_HAVE_V4
    {"v4", &fmf_kernels_v4_f32, &fmf_kernels_v4_f64},
#endif
};
enum { BUILT = sizeof built / sizeof *built };

static const instruction_set *chosen; /* a race to set it is harmless: every thread finds the same */

static const instruction_set *current(void) {
    if (!chosen) {
        const instruction_set *best = built;
        for (size_t i = 1; i < BUILT; i++) {
            if (runnable(built[i].name)) best = &built[i];
        }
        chosen = best;
    }
    return chosen;
}

const fmf_kernels *fmf_kernels_for(int32_t bytes) { return bytes == 8 ? current()->twice : current()->single; }

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
