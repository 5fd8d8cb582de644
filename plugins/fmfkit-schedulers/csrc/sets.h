/* sets.h -- what Python may ask of sets.c; read by the compiler and by cffi. */

/* Sets that are filled side by side: a row's state fits one cache line. */
#define SETS 4

/* A row in each of the sets: the sum of |x| of its features there, and the least of them. 0 and infinity where it has none. */
typedef struct {
    double sum[SETS], least[SETS];
} row_state;

/* Features by column: those of feature s are in rows row[e] with |x| = size[e], begin[s] <= e < begin[s + 1]. */
typedef struct {
    const int64_t *begin;
    const int32_t *row;
    const double *size;
} columns;

/* Puts each feature of order, one after another, into the first set that keeps the sum of every row within bound times the
   least of its values. set_of gets a number for each feature. rows are without features at first; order and joined, of n
   features each, are overwritten. */
void first_fit(const columns *x, int64_t n, double bound, row_state *rows, int32_t *order, int32_t *joined, int32_t *set_of);
