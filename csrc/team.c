/* team.c -- teams of threads and their phases.  The only file with OpenMP in it. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "team.h"

#ifdef _OPENMP
#ifdef FMF_PTHREADS
#include <pthread.h>
#include <stdlib.h>
#else
#include <omp.h>
#endif
#include <sched.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

enum {
    LINE = 64,   /* bytes of a cache line */
    SPINS = 100, /* how often a waiting thread looks before it sleeps: a few microseconds, then its processor is free */
};

/* A thread's share of the phase: the number of the phase (high half) and how much of the share was taken (low half). */
typedef struct {
    _Alignas(LINE) _Atomic uint64_t taken;
} share;

typedef struct {
    _Alignas(LINE) _Atomic uint32_t phase; /* the phase that is open */
    _Atomic uint32_t sleepers;
    _Alignas(LINE) _Atomic int64_t done;  /* portions of it that are done */
    _Alignas(LINE) _Atomic uint32_t left; /* threads that have left the program */
    share *shares;
    int team;
} crew;

struct fmf_worker {
    crew *crew;
    int thread;
    int team;
    uint32_t phase; /* the one this thread is in */
};

/* Where part k of n things begins, if `of` parts share them. */
static int64_t part_of(int64_t n, int64_t k, int64_t of) { return n / of * k + n % of * k / of; }

#ifdef _OPENMP

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
#else
    if (atomic_load(word) == value) sched_yield();
#endif
}

static void wake_all(_Atomic uint32_t *word) {
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#else
    (void)word;
#endif
}

/* Waits until *word has reached `wanted`: looks `spins` times, then sleeps, so that the processor is free for whoever is
   waited for. */
static void wait_for(crew *all, _Atomic uint32_t *word, uint32_t wanted, int spins) {
    for (int look = 0; look < spins; look++) {
        if ((int32_t)(atomic_load_explicit(word, memory_order_acquire) - wanted) >= 0) return;
        pause_briefly();
    }
    atomic_fetch_add(&all->sleepers, 1);
    for (uint32_t now = atomic_load(word); (int32_t)(now - wanted) < 0; now = atomic_load(word)) sleep_while(word, now);
    atomic_fetch_sub(&all->sleepers, 1);
}

/* The next portion of a thread's share, which has `size`; -1: all are taken, or the phase is over. */
static int64_t take(share *from, uint32_t phase, int64_t size) {
    uint64_t seen = atomic_load_explicit(&from->taken, memory_order_acquire);
    do {
        if ((uint32_t)(seen >> 32) != phase || (int64_t)(uint32_t)seen >= size) return -1;
    } while (!atomic_compare_exchange_weak(&from->taken, &seen, seen + 1));
    return (int64_t)(uint32_t)seen;
}

static void open_phase(crew *all, uint32_t phase) {
    atomic_store_explicit(&all->done, 0, memory_order_relaxed);
    for (int t = 0; t < all->team; t++) {
        atomic_store_explicit(&all->shares[t].taken, (uint64_t)phase << 32, memory_order_release);
    }
    atomic_store(&all->phase, phase);
    if (atomic_load(&all->sleepers)) wake_all(&all->phase);
}

static void shared_phase(fmf_worker *me, int64_t portions, fmf_work *work, fmf_finish *finish, void *context) {
    crew *all = me->crew;
    const uint32_t phase = me->phase++;
    const int64_t units = portions ? portions : 1; /* a phase without portions still finishes */
    if (atomic_load_explicit(&all->phase, memory_order_acquire) != phase) return;
    for (int turn = 0; turn < me->team; turn++) {
        const int owner = (me->thread + turn) % me->team;
        const int64_t first = part_of(units, owner, me->team), size = part_of(units, owner + 1, me->team) - first;
        for (int64_t at = take(&all->shares[owner], phase, size); at >= 0; at = take(&all->shares[owner], phase, size)) {
            if (portions) work(context, first + at, me->thread);
            if (atomic_fetch_add(&all->done, 1) + 1 < units) continue;
            if (finish) finish(context);
            open_phase(all, phase + 1);
            return;
        }
    }
    /* where there is not a portion for everybody, one works for long while the others had better sleep */
    wait_for(all, &all->phase, phase + 1, units < me->team ? 0 : SPINS);
}

/* Everybody leaves; the first thread waits for the others here, not in OpenMP's own barrier, which would spin. */
static void leave(fmf_worker *me) {
    crew *all = me->crew;
    if (me->thread > 0) {
        atomic_fetch_add(&all->left, 1);
        if (atomic_load(&all->sleepers)) wake_all(&all->left);
    } else {
        wait_for(all, &all->left, (uint32_t)(me->team - 1), SPINS);
    }
}

typedef struct {
    crew *all;
    fmf_program *program;
    void *context;
} job;

static void work_in(const job *what, int thread, int team) {
    fmf_worker me = {what->all, thread, team, 0};
    what->program(&me, what->context);
    if (me.team > 1) leave(&me);
}

#ifdef FMF_PTHREADS /* for the thread sanitizer, which does not see how OpenMP's threads wait for each other */

typedef struct {
    const job *what;
    int thread;
    pthread_t id;
} hand;

static void *start(void *context) {
    const hand *me = context;
    work_in(me->what, me->thread, me->what->all->team);
    return NULL;
}

static void start_all(const job *what) {
    hand hands[what->all->team];
    for (int t = 1; t < what->all->team; t++) {
        hands[t] = (hand){.what = what, .thread = t};
        if (pthread_create(&hands[t].id, NULL, start, &hands[t])) abort();
    }
    work_in(what, 0, what->all->team);
    for (int t = 1; t < what->all->team; t++) pthread_join(hands[t].id, NULL);
}

#else

static void start_all(const job *what) {
#pragma omp parallel num_threads(what->all->team)
    work_in(what, omp_get_thread_num(), omp_get_num_threads());
}

#endif

static void run_team(int32_t threads, fmf_program *program, void *context) {
    share shares[threads];
    crew all = {.shares = shares, .team = threads};
    const job what = {&all, program, context};
    for (int t = 0; t < threads; t++) atomic_init(&shares[t].taken, 0);
    start_all(&what);
}

#else

static void shared_phase(fmf_worker *me, int64_t portions, fmf_work *work, fmf_finish *finish, void *context) {
    (void)me, (void)portions, (void)work, (void)finish, (void)context, (void)part_of;
}

#endif

void fmf_run(int32_t threads, fmf_program *program, void *context) {
#ifdef _OPENMP
    if (threads > 1) {
        run_team(threads, program, context);
        return;
    }
#endif
    (void)threads;
    fmf_worker alone = {NULL, 0, 1, 0};
    program(&alone, context);
}

static void run_phase(fmf_worker *me, int64_t portions, fmf_work *work, fmf_finish *finish, void *context) {
    if (me->team > 1) {
        if (portions || finish) shared_phase(me, portions, work, finish, context);
        return;
    }
    for (int64_t portion = 0; portion < portions; portion++) work(context, portion, me->thread);
    if (finish) finish(context);
}

void fmf_named_phase(fmf_worker *me, int64_t portions, fmf_work *work, fmf_finish *finish, void *context, const char *name) {
    const double began = me->thread == 0 ? fmf_clock() : 0.0;
    run_phase(me, portions, work, finish, context);
    if (me->thread == 0) fmf_note(name, began);
}

typedef struct {
    int64_t portions;
    fmf_work *work;
    void *context;
    const char *name;
} one_phase;

static void run_one_phase(fmf_worker *me, void *context) {
    const one_phase *o = context;
    fmf_named_phase(me, o->portions, o->work, NULL, o->context, o->name);
}

void fmf_share_named(int32_t threads, int64_t portions, fmf_work *work, void *context, const char *name) {
    one_phase o = {portions, work, context, name};
    fmf_run(threads, run_one_phase, &o);
}
