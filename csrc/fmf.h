/* fmf.h -- everything Python may ask of C.  Read twice: by the compiler (through internal.h) and by cffi, hence no
   preprocessor lines here.  `void *` stands for arrays of the problem's precision, float or double.

   Words, for either side of the problem ("query" and "target" mirror each other):
     row        an instance of the side being updated (query i); `other` is the opposite side (target j)
     feature    a column of the side's feature matrix X
     parameters P, one row of `width` numbers per feature: `rank` latent dimensions, then the side's bias if it has one
     embedding  U = X P, one row of `stride` numbers per instance; a score is offset + dot(U_i, V_j) */

enum { FMF_EXTERNAL = 0, FMF_SQUARE = 1, FMF_LOGISTIC = 2, FMF_NATIVE = 3, FMF_CALLED = 4 };   /* losses; external: gradients
   come from Python; native: from a plugin's functions; called: from Python too, chunk by chunk (block solver) */
enum { FMF_OK = 0, FMF_OUT_OF_MEMORY = 1 };
enum {
    FMF_CUT = 2048,             /* longer columns are summed in pieces of this size, whatever the number of threads */
    FMF_BLOCK = 8,              /* latent dimensions that the block solver updates together */
    FMF_PORTION = 512,          /* rows or features whose part in a line search is summed apart */
    FMF_SMALL_SET = 4096        /* sets with fewer non-zeros are not worth two barriers: one thread sweeps them */
};

typedef struct fmf_loss {
    int32_t code;
    double beta;                /* native: the largest curvature */
    const void *native;         /* native: a fmfkit_loss of fmfkit.h */
    const void *params;         /* native: what its functions read */
    void *python;               /* called: handle for the callback */
} fmf_loss;

/* The observed pairs, grouped by row. */
typedef struct fmf_pairs {
    int64_t rows;
    const int64_t *ptr;         /* (rows + 1) */
    const int32_t *other;       /* (pairs) partner instance */
    const void *y;              /* (pairs) */
    const void *weight;         /* (pairs) or NULL for all ones */
    int64_t chunks;
    const int64_t *chunk;       /* (chunks + 1) row boundaries of the portions that threads share out */
} fmf_pairs;

/* A sparse feature matrix, stored by row and by column.  Values may be left out (NULL) where those of a row are all the same,
   save that of its own feature; SGD, embed and the block solver's directions can do with it. */
typedef struct fmf_features {
    int64_t rows;
    int64_t cols;
    const int64_t *row_ptr;     /* (rows + 1) */
    const int32_t *row_index;   /* (non-zeros) a row's own feature first */
    const void *row_value;      /* (non-zeros) */
    const int64_t *col_ptr;     /* (cols + 1) */
    const int32_t *col_index;   /* (non-zeros) */
    const void *col_value;      /* (non-zeros) */
    const void *row_scale;      /* (rows) the values left out, else NULL */
    const int32_t *own;         /* (rows) the feature that is this row's alone, or -1 */
    const void *own_value;      /* (rows) its value */
} fmf_features;

/* One round's partition of the features into sets S, laid out for the sweep of Algorithm 3. */
typedef struct fmf_plan {
    int64_t sets;
    const int32_t *order;       /* (cols) the features, set after set */
    const int64_t *set_ptr;     /* (sets + 1) into order */
    const int64_t *start;       /* (cols + 1) non-zeros before each place of order */
    const int64_t *cut;         /* (cols + 1) pieces before each place of order, of columns long enough to be cut */
    void *conflict;             /* (non-zeros) |x_is| C_i, by column */
    int32_t *entry_row;         /* (non-zeros) the sets' non-zeros by row: row, */
    int32_t *entry_place;       /*   place of the feature within its set, */
    void *entry_value;          /*   x_is */
    const int64_t *set_run;     /* (sets + 1) runs before each set; a run is one row's non-zeros in a set (block solver) */
    int32_t *run_row;           /* (runs) */
    int64_t *run_ptr;           /* (runs + 1) into the entries */
} fmf_plan;

/* One latent dimension as the side being updated sees it. */
typedef struct fmf_dimension {
    int64_t column;             /* of parameters */
    int64_t slot;               /* of the other side's embedding: where V_kj stands */
    double l1;
    double l2;
    const void *strength;       /* (cols) multiplies l1 and l2 */
    const void *growth;         /* (1) multiplies strength; block solver: (rank in whole blocks), one for each dimension */
    const void *native;         /* a fmfkit_regularizer of fmfkit.h instead of l1 and l2, else NULL */
    const void *params;         /* what its functions read */
    double shared_strength;     /* the sum of strength over the features that rows share (block solver) */
    double length;              /* of the step last taken along a direction (block solver) */
} fmf_dimension;

/* Coordinate descent on one side: what it reads, writes and needs for scratch. */
typedef struct fmf_descent {
    fmf_pairs pairs;
    fmf_features features;
    fmf_plan plan;
    fmf_loss loss;
    double beta;
    const void *other;          /* (other_rows, stride) embedding of the other side */
    int64_t other_rows;
    int64_t stride;
    void *parameters;           /* (cols, width) */
    int64_t width;
    void *score;                /* (pairs) scores; for the square loss, scores less y */
    const void *gradient;       /* (pairs) weighted gradients of an external loss, else NULL */
    const void *curvature;      /* (pairs) weighted curvatures of an external loss that has one per pair, else NULL */
    void *GH;                   /* (rows, 2) G_i and H_i of the current dimension */
    void *step;                 /* (rows) change of U_i in the current dimension */
    void *VV;                   /* (other_rows, 2) V_j of the dimension before and of this one */
    void *delta;                /* (largest set) steps of a set's features */
    void *sums;                 /* (largest set, 2) gradient and curvature of a set's features */
    void *partial;              /* (cut pieces, 2) sums of the pieces of cut columns */
    void *eta;                  /* (cols) the paper's eta without lambda, or NULL */
} fmf_descent;

/* Coordinate descent on one side, FMF_BLOCK latent dimensions at a time; B stands for FMF_BLOCK. */
typedef struct fmf_block {
    fmf_descent d;              /* its plan has the shared features only; VV is (other_rows, 2 B), delta (largest set, B),
                                   partial (cut pieces, 2 B); GH serves eta; step and sums are not used */
    int64_t rank;
    double offset;
    void *mine;                 /* (rows, stride) embedding of this side */
    int32_t scored;             /* score is up to date */
    int32_t directions;         /* steps along conjugate directions, the plan being one set; 0: set after set */
    void *G;                    /* (rows, B) */
    void *A;                    /* (rows, B / 2 + 1, B) */
    void *view;                 /* (rows, 2 B) what shared features see of G and A */
    void *move;                 /* (rows, B) change of U_i in the current block */
    void *u;                    /* (rows, B) change of U_i by the current set or direction, at length 1 */
    void *Au;                   /* (rows, B) A_i u_i */
    /* directions only: */
    const void *rho;            /* (rows) the sum of the row's values of shared features */
    void *push;                 /* (rows, B) A_i u_i as shared features see it */
    void *residual;             /* (cols, B) */
    void *diagonal;             /* (cols, B) of the quadratic bound */
    void *scaled;               /* (cols, B) residual over diagonal */
    void *direction;            /* (cols, B) */
    double *weights;            /* (portions of the features) residual times scaled */
    double *row_common;         /* (portions of the rows, B + B (B / 2 + 1)) sums for the common step */
    double *feature_common;     /* (portions of the features, B) */
    /* directions or sets: */
    double *row_sums;           /* (portions of the rows, 2) slope and curvature along the step */
    double *feature_sums;       /* (portions of the features, or the largest set, 2) the penalty's part in them */
    /* losses that are called only: */
    void *called;               /* (threads, 2, called_room) gradients and curvatures of some chunks' pairs */
    int64_t called_room;
    /* rows by themselves only: */
    void *lines;                /* (threads, blocks, lines_room, B) V_j of a row's pairs */
    int64_t lines_room;
    void *row_score;            /* (threads, longest) the scores of a row's pairs */
    int64_t longest;
    double *chunk_loss;         /* (chunks) */
} fmf_block;

/* Stochastic gradient descent on both sides. */
typedef struct fmf_touch {      /* the penalty's share in one touch of a feature */
    double l1;
    double l2;
    const void *share;          /* (cols) strength over the number of touches in a round */
} fmf_touch;

typedef struct fmf_sgd {
    fmf_pairs pairs;            /* by query */
    fmf_features X;
    fmf_features Z;
    void *P;                    /* (X.cols, rank + query_bias) */
    void *Q;                    /* (Z.cols, rank + target_bias) */
    int64_t rank;
    int32_t query_bias;
    int32_t target_bias;
    double offset;
    double rate;
    fmf_loss loss;
    fmf_touch touch_P;
    fmf_touch touch_query_bias;
    fmf_touch touch_Q;
    fmf_touch touch_target_bias;
    int32_t penalty_external;   /* penalties come from Python */
    void *python;               /* handle for the callbacks, NULL when all is native */
    const volatile int32_t *stop;     /* set by a callback that failed */
    const int32_t *order;       /* grouped: (rows) the order of the queries */
    const int32_t *row_of;      /* per pair: (pairs) query of each pair */
    int64_t multiplier;         /* per pair: visit (multiplier * t + shift) mod pairs */
    int64_t shift;
    void *scratch;              /* (threads, 4, rank + 1) */
} fmf_sgd;

/* The best targets of some queries. */
typedef struct fmf_top {
    int64_t queries;
    const void *own;            /* (queries, stride) */
    int64_t stride;
    int64_t targets;
    const void *packed;         /* (targets in packs of 64 bytes, stride, 64 bytes) by pack_targets */
    double offset;
    int64_t k;
    const int64_t *skip_ptr;    /* (queries + 1) or NULL */
    const int32_t *skip;        /* each query's targets to leave out, ascending */
    int32_t *target;            /* (queries, k) */
    void *score;                /* (queries, k) -inf where there are no more */
} fmf_top;

typedef struct fmf_kernels {
    /* U = X P into embedding rows of `stride`; the bias goes to bias_slot (negative: there is none).  panel: 64 bytes of
       scratch for each feature, from a cache line on. */
    void (*embed)(const fmf_features *, const void *P, int64_t rank, void *U, int64_t stride, int64_t bias_slot, void *panel,
                  int32_t threads);
    /* score_e = offset + dot(own_i, other_j); less y for the square loss.  Returns the weighted loss (0 if external);
       chunk_loss is scratch of one double per chunk.  With score = NULL, the loss alone: row_score is (threads, longest). */
    double (*scores)(const fmf_pairs *, const fmf_loss *, const void *own, const void *other, int64_t stride, double offset,
                     void *score, void *row_score, int64_t longest, double *chunk_loss, int32_t threads);
    /* offset + dot(own[rows[e]], other[others[e]]) for pairs given as index arrays. */
    void (*pair_scores)(int64_t n, const int32_t *rows, const int32_t *others, const void *own, const void *other,
                        int64_t stride, double offset, void *score, int32_t threads);
    /* l1 |w| + l2 / 2 w^2, each weight times its feature's strength and its dimension's growth, (count), summed over `count`
       columns from `column` on. */
    double (*elastic_net_penalty)(int64_t rows, int64_t width, int64_t column, int64_t count, const void *parameters,
                                  const void *strength, const void *growth, double l1, double l2, int32_t threads);
    int32_t (*plan)(const fmf_features *, const fmf_plan *, int32_t threads);
    /* The runs of each set: counted into set_run[1..] (run_row = NULL), or filled in. */
    void (*runs)(const fmf_plan *, int64_t *counts, int32_t threads);

    /* Algorithm 3 (with a plan) or 2 (`plan.sets` = 0) over all dimensions, everything native. */
    void (*descend)(const fmf_descent *, int64_t dimensions, const fmf_dimension *, int32_t threads);
    /* Its parts, for losses and regularizers written in Python.  `before` is the slot of the dimension updated last, or -1. */
    void (*begin)(const fmf_descent *, int64_t before, int64_t slot, int32_t threads);
    void (*accumulate)(const fmf_descent *, int32_t threads);
    void (*measure)(const fmf_descent *, int32_t threads);
    void (*sweep)(const fmf_descent *, const fmf_dimension *, int32_t threads);
    void (*set_sums)(const fmf_descent *, int64_t set, int32_t threads);
    void (*set_apply)(const fmf_descent *, int64_t set, int32_t threads);

    /* Algorithm 1, one coordinate: gradient and curvature over all pairs that feature touches, and the step's effect. */
    void (*naive_sums)(const fmf_descent *, int64_t slot, int64_t feature, double *sums);
    void (*naive_apply)(const fmf_descent *, int64_t slot, int64_t feature, double delta);
    void (*naive)(const fmf_descent *, int64_t dimensions, const fmf_dimension *);

    /* Block form of Algorithm 3 on one side, everything native.  Blocks start at the multiples of FMF_BLOCK; `bias` is the
       side's bias or NULL, `factors` tells the penalty (its column and slot are not used). */
    void (*block_descend)(const fmf_block *, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads);
    /* The same where every feature is some row's alone; makes the embedding too, and returns the weighted loss. */
    double (*block_rows)(const fmf_block *, const fmf_dimension *bias, const fmf_dimension *factors, int32_t threads);

    void (*pack_targets)(int64_t targets, const void *embedding, int64_t stride, void *packed, int32_t threads);
    void (*top)(const fmf_top *, int32_t threads);

    void (*sgd_grouped)(const fmf_sgd *, int32_t threads);
    void (*sgd_per_pair)(const fmf_sgd *, int32_t threads);
} fmf_kernels;

/* The kernels of the instruction set in use, for 4-byte or 8-byte reals. */
const fmf_kernels *fmf_kernels_for(int32_t bytes);
/* Choose an instruction set by name; returns 0 if this build or this processor has it not. */
int32_t fmf_choose_isa(const char *name);
const char *fmf_isa(void);
/* The k-th instruction set that this build and this processor have, best last; NULL past the end. */
const char *fmf_isa_available(int32_t k);
int32_t fmf_openmp(void);
const char *fmf_compiler(void);
const char *fmf_version(void);
/* The number of threads that may be used now: 1 in a child forked after OpenMP ran in its parent. */
int32_t fmf_safe_threads(int32_t wanted);
/* Share features into sets, each to the set with the fewest non-zeros so far, in the given order. */
int32_t fmf_balance(int64_t cols, const int32_t *order, const int64_t *size, int64_t sets, int32_t *set_of);
/* Number different keys in the order in which they come first: number_of is (n), first (n) where each came first.  Returns
   how many there are; -1 without memory. */
int64_t fmf_number_keys(int64_t n, const uint64_t *key, int32_t *number_of, int64_t *first);
