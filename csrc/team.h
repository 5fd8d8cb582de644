/* team.h -- how threads share work.

   A program is run by every thread of a team.  It is a row of phases, the same for all of them.  A phase has portions, which
   threads take one at a time, their own share first, then what is left of the others'; the thread that ends the last
   portion runs `finish`, if there is one, and opens the next phase.  So a thread that comes late (the processor being busy
   elsewhere) holds up nobody: the others do its work, and it skips the phases that are over.  Two rules follow.  What
   `finish` leaves for later phases must stand in memory that all share, for no other thread may count on having taken part;
   and what a program decides between phases must not depend on such results. */
#ifndef FMF_TEAM_H
#define FMF_TEAM_H

typedef struct fmf_worker fmf_worker;
typedef void fmf_program(fmf_worker *me, void *context);
typedef void fmf_work(void *context, int64_t portion, int thread);
typedef void fmf_finish(void *context);

/* Runs a program on a team of so many threads. */
void fmf_run(int32_t threads, fmf_program *program, void *context);
/* A phase of a program; its name is that of the work. */
#define fmf_phase(me, portions, work, finish, context) fmf_named_phase(me, portions, work, finish, context, #work)
void fmf_named_phase(fmf_worker *me, int64_t portions, fmf_work *work, fmf_finish *finish, void *context, const char *name);
/* A program of one phase. */
#define fmf_share_out(threads, portions, work, context) fmf_share_named(threads, portions, work, context, #work)
void fmf_share_named(int32_t threads, int64_t portions, fmf_work *work, void *context, const char *name);

#endif
