/* fmf.h -- everything Python may ask of C.  Read twice: by the compiler and by cffi, hence no preprocessor lines here.
   `void *` stands for arrays of the problem's precision, float or double.

   Words, for either side of the problem ("query" and "target" mirror each other):
     row        an instance of the side being updated (query i)
     feature    a column of the side's feature matrix X; a row's own feature is one that no other row has
     parameters P, one row of `width` numbers per feature: `rank` latent dimensions, then the side's bias if it has one
     embedding  U = X P, one row of `stride` numbers per instance; a score is offset + dot(U_i, V_j)
     mine       this side's embedding, U;  theirs: the other side's, V
     panel      FMF_PANEL latent dimensions that are updated together
     batch      pairs, or features of a set, that a function of a plugin gets at once
     strength   what multiplies a regularizer's omega: strength of the feature times growth of the dimension */

enum { FMF_SQUARE = 1, FMF_LOGISTIC = 2, FMF_NATIVE = 3 };
enum { FMF_OK = 0, FMF_OUT_OF_MEMORY = 1 };
enum {
    FMF_CUT = 2048,             /* longer columns are summed in pieces of this size, whatever the number of threads */
    FMF_PANEL = 8,              /* latent dimensions of a panel */
    FMF_PORTION = 512,          /* rows or features whose part in a line search is summed apart */
    FMF_SMALL_SET = 4096,       /* sets with fewer non-zeros are not shared out: one thread sweeps them */
    FMF_PENALTY_ROWS = 4096,    /* features whose penalty is summed apart */
    FMF_TOP_QUERIES = 96,       /* queries that are answered at once */
    FMF_TOP_PACK = 16           /* targets that are scored at once, at most */
};
/* Phases of an update by panels where rows are divided into shards: of a shard, handing out sums over its rows; */
enum {
    FMF_LOAD = 0,               /* V_j of the panel, side by side */
    FMF_PASS = 1,               /* scores brought up to date, then G and A */
    FMF_WEIGH_ROWS = 2,         /* sums: rho_i G_i, then rho_i^2 A_i */
    FMF_MOVE_ROWS = 3,          /* rows take the common step */
    FMF_VIEW_COLUMNS = 4,       /* columns: gradient and diagonal of each shared feature */
    FMF_PUSH_COLUMNS = 5,       /* columns: A_i u_i, summed for each shared feature */
    FMF_EMBED_ROWS = 6,         /* sums: rho_i A_i (X z)_i */
    FMF_DIRECT_ROWS = 7,        /* sums: slope and curvature along the direction */
    FMF_FOLLOW_ROWS = 8,        /* rows take the last direction, and their own features follow */
    FMF_MEASURE_ROWS = 9        /* what the next strengths are made from */
};
/* of the features that rows share, given these sums over all shards. */
enum {
    FMF_COMMON = 0,             /* the common step */
    FMF_BEGIN = 1,              /* residuals and diagonal, by columns */
    FMF_TURN = 2,               /* the next direction, by sums */
    FMF_LENGTH = 3,             /* its length, by sums */
    FMF_LOWER = 4,              /* the direction taken; residuals, by columns */
    FMF_TAKE = 5,               /* the last direction taken */
    FMF_MEASURE = 6             /* what the next strengths are made from */
};
enum { FMF_FOUND = 1024 };      /* bytes of what phases find out for one another */
enum { FMF_VALUE = 0, FMF_GRADIENT = 1, FMF_CURVATURE = 2 };   /* what a loss written in Python is asked for */

typedef struct fmf_loss {
    int32_t code;               /* FMF_SQUARE, FMF_LOGISTIC, or FMF_NATIVE: the functions of a table */
    double beta;                /* the largest curvature there is; below 0 where no one number holds */
    const void *native;         /* a fmfkit_loss of fmfkit.h */
    const void *params;         /* what its functions read */
    int64_t batch;              /* pairs that are asked for at once */
} fmf_loss;

typedef struct fmf_penalty {
    double l1;                  /* of the elastic net, where native is NULL */
    double l2;
    const void *native;         /* a fmfkit_regularizer of fmfkit.h */
    const void *params;         /* what its functions read */
    int64_t batch;              /* features of a set whose T is asked for at once */
    const void *strength;       /* (cols) */
    const void *growth;         /* (groups, growth_room) multiplies strength, by the feature's group and the dimension */
    int64_t growth_room;        /* dimensions, in whole panels */
    const int32_t *group;       /* (cols) or NULL where there is one group; panels only */
    const double *shared;       /* (growth_room) strength times growth, summed over the features that rows share; panels only */
} fmf_penalty;

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
   save that of its own feature; SGD, embed and the panels' directions can do with it. */
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

/* The term over all cells, alpha sum_i sum_j a_i b_j (score_ij - value)^2, as an update of one side sees it: row i gets the
   gradient c_i (M U_i + m) and the curvature c_i M, where M = sum_j b_j V_j V_j' and m = (offset - value) sum_j b_j V_j.  Both
   lie in groups of the `wide` dimensions that are updated together, in the order of the updates: the bias, if there is one, is
   the first group.  Wide is 1 for Algorithms 1 to 3, and FMF_PANEL for panels. */
typedef struct fmf_cells {
    const void *weight;         /* (rows) c_i = 2 alpha a_i; NULL: there is no such term */
    const void *M;              /* (groups, stride, wide) the group's columns of M, zeros where the rank ends */
    const void *m;              /* (groups, wide) */
    const void *curvature;      /* (groups, 1) or, for panels, (groups, B / 2 + 1, B): M within the group, as A_i is kept */
} fmf_cells;

/* Strengths that are learnt: what the uncertainty of the other side adds to an update of this one, and what the update finds
   out for the next strengths.  Row i pays 1/2 c_i sum_k m_k U_ik^2.  Variances are 1 / (noise times curvature). */
typedef struct fmf_spread {
    const void *weight;         /* (rows) c_i, the curvature of all pairs of the row; NULL: strengths are not learnt */
    const void *m;              /* (panels, FMF_PANEL) the mean variance of V_jk over the pairs, zeros where the rank ends */
    double noise;               /* what makes the loss the negative logarithm of a likelihood */
    int64_t groups;             /* of features, as the penalties have them */
    double *found;              /* (updates in their order, groups + 1, B) by group, the sum over its features of w^2 + variance;
                                   last, the sum of c_i times the variance of U_i; NULL: nothing is to be found out */
    double *portion;            /* (portions of features, then of rows, groups + 1, B); or (chunks, as found) */
} fmf_spread;

/* Draws from the posterior instead of steps, panel by panel.  Random numbers are a function of the key, the panel, and the row or
   feature: the same for any number of threads. */
typedef struct fmf_draws {
    double noise;               /* what makes the loss the negative logarithm of a likelihood; 0: nothing is drawn */
    uint64_t key;               /* of this update */
    /* where rows share features: */
    void *own;                  /* (rows, B) what own features will add to U_i, should shared ones not move */
    /* perturb and solve: */
    double tolerance;           /* how far residuals must fall, as a share of the first */
    int32_t most;               /* directions, at most */
    int32_t *ended;             /* (updates) the direction before which each panel ended; -1 to begin with */
    void *shift;                /* (cols, B) by how much the prior's mean is moved */
    /* by the paper's bound: */
    int32_t steps;              /* 0: perturb and solve */
    double tau;                 /* what multiplies each step */
    const double *chebyshev;    /* (steps, 3) alpha, and the deviations of noise along the matrix and across it */
    void *conflict;             /* (rows) C_i */
    void *root;                 /* (rows, B (B + 1) / 2) sqrt(C_i) times the Cholesky factor of A_i, row after row */
    void *bound;                /* (cols, B (B + 1) / 2) the Cholesky factor of the bound's matrix */
} fmf_draws;

/* One side of the problem, as an update of its parameters sees it. */
typedef struct fmf_side {
    fmf_pairs pairs;
    fmf_features features;
    fmf_loss loss;
    fmf_penalty factors;
    fmf_penalty bias;
    fmf_cells cells;
    fmf_spread spread;
    fmf_draws draws;
    int64_t rank;
    int64_t bias_slot;          /* where embeddings hold this side's bias; -1: it has none */
    double offset;
    const void *theirs;         /* (their_rows, stride) */
    int64_t their_rows;
    int64_t stride;
    void *mine;                 /* (rows, stride); with cells it moves with the parameters, else it is only read */
    void *parameters;           /* (cols, width) */
    int64_t width;
    void *score;                /* (pairs) scores; for the square loss, scores less y */
} fmf_side;

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
    const int64_t *set_run;     /* (sets + 1) runs before each set; a run is one row's non-zeros in a set (panels) */
    int32_t *run_row;           /* (runs) */
    int64_t *run_ptr;           /* (runs + 1) into the entries */
} fmf_plan;

/* What laying out a plan needs beside it. */
typedef struct fmf_plan_scratch {
    int32_t *set_of;            /* (cols) */
    int32_t *place_of;          /* (cols) */
    int64_t *cursor;            /* (row_parts, sets) */
    int64_t row_parts;          /* rows are put in place in so many parts */
    void *C;                    /* (threads, rows) zeros */
} fmf_plan_scratch;

/* What Algorithms 1 to 3 need to update a side, one latent dimension at a time. */
typedef struct fmf_dimension {
    void *GH;                   /* (rows, 2) G_i and H_i of the current dimension */
    void *step;                 /* (rows) change of U_i in the current dimension */
    void *VV;                   /* (their_rows, 2) V_j of the dimension before and of this one */
    void *delta;                /* (largest set) steps of a set's features */
    void *x;                    /* (largest set) for a plugin's T: gradients, */
    void *y;                    /*   curvatures, */
    void *w;                    /*   parameters, */
    void *strength;             /*   strengths */
    void *partial;              /* (cut pieces, 2) sums of the pieces of cut columns */
    void *eta;                  /* (cols) the paper's eta without lambda, or NULL */
    void *g;                    /* (threads, batch) gradients of pairs */
    void *h;                    /* (threads, batch) curvatures */
    void *s;                    /* (batch) Algorithm 1: scores of gathered pairs */
    void *s_y;                  /* (batch)              their y */
} fmf_dimension;

/* What an update by panels needs where several rows share a feature; B stands for FMF_PANEL. */
typedef struct fmf_panel {
    int32_t scored;             /* scores are up to date */
    int32_t directions;         /* steps along conjugate directions, the plan being one set; 0: set after set */
    void *VV;                   /* (their_rows, 2 B) V_j of the panel before and of this one */
    void *G;                    /* (rows, B) */
    void *A;                    /* (rows, B / 2 + 1, B) */
    void *view;                 /* (rows, 2 B) what shared features see of G and A */
    void *move;                 /* (rows, B) change of U_i in the current panel */
    void *u;                    /* (rows, B) change of U_i by the current set or direction, at length 1 */
    void *Au;                   /* (rows, B) A_i u_i */
    void *partial;              /* (cut pieces, 2 B) sums of the pieces of cut columns */
    double *row_sums;           /* (portions of the rows, 2) slope and curvature along the step */
    double *feature_sums;       /* (portions of the features, or the largest set, 2) the penalty's part in them */
    void *g;                    /* (threads, batch) gradients of pairs */
    void *h;                    /* (threads, batch) curvatures */
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
    /* where rows are divided into shards: */
    int32_t divided;            /* these rows have pairs in other shards, too: the pass ends with G and A of its own */
    void *found;                /* FMF_FOUND bytes */
    double *sums;               /* (B + B (B / 2 + 1)) over rows: of a shard, or of all */
    void *columns;              /* (shared features, 2 B) or (shared features, B): the same by columns; NULL: not divided */
    /* set after set only: */
    void *delta;                /* (largest set, B) steps of a set's features */
    void *eta;                  /* (cols) the paper's eta without lambda */
    void *x;                    /* (largest set times B, or rows) for a plugin's T: gradients, */
    void *y;                    /*   curvatures, */
    void *w;                    /*   parameters, */
    void *strength;             /*   strengths; */
    void *d;                    /*   its steps */
} fmf_panel;

/* What an update by panels needs where every feature is some row's own. */
typedef struct fmf_rows {
    void *lines;                /* (threads, panels, lines_room, B) V_j of a row's pairs */
    int64_t lines_room;
    void *row_score;            /* (threads, score_room) the scores of the pairs of a row, or of rows that go together */
    int64_t score_room;
    int64_t together;           /* pairs of short rows that go together, at most */
    void *g;                    /* (threads, batch) gradients of pairs */
    void *h;                    /* (threads, batch) curvatures */
    double *chunk_loss;         /* (chunks) */
} fmf_rows;

/* Gradients of one side in all latent dimensions at once, and a curvature for each feature's whole row of parameters. */
typedef struct fmf_wide {
    const void *g;              /* (pairs) gradients of pairs */
    const void *h;              /* (pairs) curvatures */
    const void *square;         /* (their_rows) |V_j|^2 in the dimensions that this side's parameters have */
    const void *conflict;       /* (rows) C_i */
    const void *cell_weight;    /* (rows) c_i of the term over all cells; NULL: there is no such term */
    const void *M;              /* (stride, stride) */
    const void *m;              /* (stride) */
    double cell_trace;          /* of M in the dimensions that this side's parameters have */
    void *G;                    /* (rows, stride) */
    void *bound;                /* (rows) C_i trace A_i */
    void *slope;                /* (cols, stride) sum_i x_is G_i */
    void *curvature;            /* (cols) */
} fmf_wide;

/* What scoring needs. */
typedef struct fmf_scoring {
    void *chunk_score;          /* (threads, longest chunk) where the side has no room for scores, else NULL */
    int64_t longest;            /* pairs of a chunk */
    void *value;                /* (threads, batch) values of a table's loss */
    double *chunk_loss;         /* (chunks) */
} fmf_scoring;

/* Embeddings from features and parameters. */
typedef struct fmf_embedding {
    fmf_features features;
    const void *parameters;     /* (cols, rank, and one more where bias_slot >= 0) */
    int64_t rank;
    void *embedding;            /* (rows, stride) */
    int64_t stride;
    int64_t bias_slot;
    void *strip;                /* (cols, 64 bytes) some columns of the parameters, packed */
} fmf_embedding;

/* Sums over embeddings V_j with weights b_j, for the term over all cells. */
typedef struct fmf_gram {
    int64_t rows;
    int64_t stride;
    const void *embedding;      /* (rows, stride) */
    const void *weight;         /* (rows) b_j */
    int64_t portions;           /* of the rows, which are summed apart, then added in order */
    double *portion;            /* (portions, stride + 1, stride) */
    double *sums;               /* (stride + 1, stride) sum_j b_j V_j V_j', then sum_j b_j V_j */
} fmf_gram;

/* Scores of pairs that are given one by one. */
typedef struct fmf_pair_list {
    int64_t n;
    const int32_t *row;         /* (n) */
    const int32_t *other;       /* (n) */
    const void *mine;
    const void *theirs;
    int64_t stride;
    double offset;
    void *score;                /* (n) */
} fmf_pair_list;

/* Stochastic gradient descent on both sides. */
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
    fmf_penalty P_penalty;      /* of these, strength is that of one touch: over the number of touches in a round */
    fmf_penalty query_bias_penalty;
    fmf_penalty Q_penalty;
    fmf_penalty target_bias_penalty;
    const volatile int32_t *stop;     /* set when a function in Python failed */
    const int32_t *order;       /* grouped: (rows) the order of the queries */
    const int32_t *row_of;      /* per pair: (pairs) query of each pair */
    int64_t multiplier;         /* per pair: visit (multiplier * t + shift) mod pairs */
    int64_t shift;
    void *scratch;              /* (threads, 7, rank + 1) */
} fmf_sgd;

/* The best targets of some queries. */
typedef struct fmf_top {
    int64_t queries;
    const void *mine;           /* (queries, stride) */
    int64_t stride;
    int64_t targets;
    const void *packed;         /* (targets in packs of 64 bytes, stride, 64 bytes) by pack_targets */
    double offset;
    int64_t k;
    const int64_t *skip_ptr;    /* (queries + 1) or NULL */
    const int32_t *skip;        /* each query's targets to leave out, ascending */
    int64_t room;               /* for keys of a query: at least k + FMF_TOP_PACK */
    void *keys;                 /* (threads, the queries that are answered at once, room), twice as wide as a real */
    int32_t *target;            /* (queries, k); -1 where there are not that many targets */
    void *score;                /* (queries, k) highest first; -infinity there */
} fmf_top;

/* The kernels of one instruction set and one precision. */
typedef struct fmf_kernels {
    void (*embed)(const fmf_embedding *, int32_t threads);
    /* The sum of n lines of 64 bytes wherever they lie: nothing but gathering, to compare kernels with. */
    double (*gather)(int64_t n, const int32_t *index, const void *lines);
    /* Fills the side's scores, if it has room for them; returns the weighted loss. */
    double (*scores)(const fmf_side *, const fmf_scoring *, int32_t threads);
    void (*pair_scores)(const fmf_pair_list *, int32_t threads);
    void (*gram_sums)(const fmf_gram *, int32_t threads);
    /* The elastic net of `count` columns of parameters from `column` on; portion is (portions of FMF_PENALTY_ROWS). */
    double (*elastic_net)(const fmf_penalty *, int64_t cols, int64_t width, int64_t column, int64_t count, const void *parameters,
                          double *portion, int32_t threads);

    /* Fills the plan's conflict and entries; then its runs, once counted and once (counts = NULL) put down. */
    void (*plan)(const fmf_features *, const fmf_plan *, const fmf_plan_scratch *, int32_t threads);
    void (*runs)(const fmf_plan *, int64_t *counts, int32_t threads);

    /* Algorithm 1; Algorithm 2 (a plan of no sets) or 3, on one side. */
    void (*naive)(const fmf_side *, const fmf_dimension *);
    void (*descend)(const fmf_side *, const fmf_plan *, const fmf_dimension *, int32_t threads);

    /* By panels, on one side; the plan has the shared features only. */
    void (*panel_descend)(const fmf_side *, const fmf_plan *, const fmf_panel *, int32_t threads);
    /* The same where every feature is some row's own; makes the embedding too, and returns the weighted loss. */
    double (*panel_rows)(const fmf_side *, const fmf_rows *, int32_t threads);

    /* Parts of an update by panels, for solvers of plugins; a column below 0 is the bias.  G and A from the scores as they are;
       steps of own features; scores after rows' moves. */
    void (*panel_sums)(const fmf_side *, const fmf_panel *, int64_t column, int32_t threads);
    void (*panel_own)(const fmf_side *, const fmf_panel *, int64_t column, int32_t threads);
    void (*panel_move)(const fmf_side *, const fmf_panel *, int64_t column, int32_t threads);
    /* One feature, given the sums (B) of x_is G_i and (B / 2 + 1, B) of x_is^2 A_i over its rows: its parameters change by d, (B). */
    void (*panel_step)(const fmf_side *, int64_t column, int64_t feature, const void *G, const void *A, void *d);
    /* A phase of a shard, and of the features that all shards share, in the panel that begins at a column (below 0: the bias);
       and all steps of a panel whose G and A have been added up over the shards. */
    void (*shard_phase)(const fmf_side *, const fmf_plan *, const fmf_panel *, int32_t phase, int64_t column, int32_t threads);
    void (*feature_phase)(const fmf_side *, const fmf_plan *, const fmf_panel *, int32_t phase, int64_t column, int32_t threads);
    void (*panel_steps)(const fmf_side *, const fmf_plan *, const fmf_panel *, int64_t column, int32_t threads);
    void (*pair_gradients)(const fmf_side *, void *g, void *h, int32_t threads);
    /* (cols, B) sum_i x_is rows_i, or of x_is^2; (rows, B) sum_s x_is features_s; (rows, B) A_i rows_i. */
    void (*feature_sums)(const fmf_features *, const void *rows, int32_t squared, void *sums, int32_t threads);
    void (*row_sums)(const fmf_features *, const void *features, void *sums, int32_t threads);
    void (*row_products)(const fmf_features *, const void *A, const void *rows, void *products, int32_t threads);

    /* Slopes and curvatures of all features, from the embedding as it is and g and h at its scores. */
    void (*wide_gradients)(const fmf_side *, const fmf_wide *, int32_t threads);

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
/* The tables of a loss and of a regularizer written in Python: their functions take a handle as params. */
const void *fmf_python_loss(void);
const void *fmf_python_regularizer(void);
/* A side as solvers of plugins have it in C, a fmfkit_side of fmfkit.h: its size, and how to make it.  What it is made from, for
   reals of 4 or 8 bytes, must stay. */
int64_t fmf_native_side_bytes(void);
void fmf_native_side(const fmf_side *, const fmf_panel *, int32_t bytes, int32_t threads, void *made);
/* Share features into sets, each to the set with the fewest non-zeros so far, in the given order. */
int32_t fmf_balance(int64_t cols, const int32_t *order, const int64_t *size, int64_t sets, int32_t *set_of);
/* Number different keys in the order in which they come first: number_of is (n), first (n) where each came first.  Returns
   how many there are; -1 without memory. */
int64_t fmf_number_keys(int64_t n, const uint64_t *key, int32_t *number_of, int64_t *first);
/* Phases of one kind: the name of their work, the seconds that they took, and how many they were. */
typedef struct fmf_phase_time {
    const char *name;
    double seconds;
    int64_t count;
} fmf_phase_time;

/* From now on (on = 0: no longer) note the phases of kernels that this thread calls; and the k-th kind that was noted, 0 past
   the last. */
void fmf_watch(int32_t on);
int32_t fmf_watched(int32_t k, fmf_phase_time *time);
/* How many allocations of C are not released; let the one after so many fail (below 0: none). */
int64_t fmf_held(void);
void fmf_fail_after(int64_t allocations);
