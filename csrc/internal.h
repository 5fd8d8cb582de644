/* internal.h -- what the C files share: types, threads, the table of kernels per instruction set. */
#ifndef FMF_INTERNAL_H
#define FMF_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "fmf.h"
#include "../fmfkit/include/fmfkit.h"

#ifdef _OPENMP
#include <omp.h>
#define FMF_THREAD omp_get_thread_num()
#define FMF_TEAM omp_get_num_threads()
#else
#define FMF_THREAD 0
#define FMF_TEAM 1
#endif

/* Kernels of one instruction set: [0] float, [1] double. */
extern const fmf_kernels fmf_kernels_v2[2];
extern const fmf_kernels fmf_kernels_v3[2];
extern const fmf_kernels fmf_kernels_v4[2];

/* Defined by Python's side of the binding; the first two are called only where one thread runs. */
typedef double (*fmf_gradient_callback)(void *python, double score, double y);
typedef void (*fmf_step_callback)(void *python, int32_t which, int64_t feature, const void *x, double y, void *w, int64_t n,
                                  double share);
/* Gradients and curvatures of n pairs; called by several threads, which take their turns in Python. */
typedef void (*fmf_bend_callback)(void *python, const void *score, const void *y, void *g, void *h, int64_t n);
extern fmf_gradient_callback fmf_call_gradient;
extern fmf_bend_callback fmf_call_bend;
extern fmf_step_callback fmf_call_step;

#endif
