/* memory.h -- the few allocations that C makes itself.  They can be made to fail, so that tests see what becomes of it. */
#ifndef FMF_MEMORY_H
#define FMF_MEMORY_H

#include <stddef.h>

/* Zeros, or NULL. */
void *fmf_allocate(size_t count, size_t size);
void fmf_release(void *memory);

#endif
