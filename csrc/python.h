/* python.h -- Python's functions, which the binding defines; the C code reaches them through these pointers only, so that it
   links without Python.  They may be called by several threads, which take their turns in Python. */
#ifndef FMF_PYTHON_H
#define FMF_PYTHON_H

/* What is wanted of a loss: FMF_VALUE or FMF_GRADIENT to `out`; FMF_CURVATURE: gradient to `out`, curvature to `h`. */
typedef void (*fmf_loss_callback)(void *python, int32_t wanted, const void *score, const void *y, void *out, void *h,
                                  int64_t n);
typedef void (*fmf_T_callback)(void *python, const void *x, const void *y, const void *w, const void *strength, void *d,
                               int64_t n);
extern fmf_loss_callback fmf_call_loss;
extern fmf_T_callback fmf_call_T;

#endif
