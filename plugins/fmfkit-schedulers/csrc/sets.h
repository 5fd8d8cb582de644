/* sets.h -- what Python may ask of sets.c; read by the compiler and by cffi. */

/* Features by column: feature s is in rows row[e] with |x| = size[e], begin[s] <= e < begin[s + 1]. */
typedef struct {
    const int64_t *begin;
    const int32_t *row;
    const double *size;
} columns;

/* The features of a row in one set: the sum of their |x|, and the least. */
typedef struct {
    double sum, least;
} meeting;

/* A row in 64 sets at a time, a bit for each set. */
typedef struct {
    uint64_t closed;   /* sets that can take no feature of the row any more */
    uint64_t met;      /* sets that have features of the row, */
    meeting *meetings; /*   and what they sum to, in the order of the bits: room for as many as the row has features */
    double least;      /* the least |x| of the row that is not 0 */
} row_state;

/* Puts each feature of order, one after another, into the first set that keeps the sum of every row within bound times the
   least of its values. set_of gets a number for each feature. No set of rows has features at first; order and joined, of n
   features each, are overwritten. */
void first_fit(const columns *x, int64_t n, double bound, row_state *rows, int32_t *order, int32_t *joined, int32_t *set_of);
