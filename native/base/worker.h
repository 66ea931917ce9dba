/* A native thread of ours next to the program's. No Python.h.
 *
 * It blocks all signals and sleeps on a semaphore, so that a hook or a signal handler may wake it, which can take no
 * lock. It is not there across a fork: a second thread is a warning of os.fork from 3.12 on, and the child would not
 * have it. So it is stopped before a fork and wanted again later.
 *
 * Locks. `lock` is held by whoever starts or stops the thread, most often with the GIL; a thread of C may fork without
 * it, so it is held from before a fork until after it, and nobody starts the thread in between. An event does not wait
 * for that: what it wants then, it wants again with the next one (sm_worker_want).
 *
 * Patience. Whoever stops the thread may hold the GIL, and the thread may be waiting for a lock that the interpreter
 * has handed to a thread that waits for the GIL. Where that can be, nobody waits for its end for longer than
 * `patience_ns`: a thread that is not done by then is let go, and ends by itself when it gets there. So each run has a
 * number, and the one that may go on is `current`. */
#ifndef SM_BASE_WORKER_H
#define SM_BASE_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sm_worker {
    /* What it does, until sm_worker_goes_on() says no. */
    void (*work)(struct sm_worker *worker, uintptr_t number);
    uint64_t patience_ns; /* 0: its end is waited for */
    pthread_mutex_t lock;
    sem_t wake;          /* made once, and stays */
    bool ready;          /* `wake` is there; with the GIL */
    uintptr_t place;     /* among all workers, once it is ready */
    uint64_t not_before; /* monotonic ns: sm_worker_want starts nothing until then; with `lock` */
    uintptr_t current;   /* written with `lock`; atomic: the number of the run that is to go on; 0: none */
    uintptr_t last;      /* the number given last; with `lock` */
    uintptr_t ended;     /* atomic: of the run that ended last */
    pthread_t thread;    /* with `lock` */
    pid_t tid;           /* written by the thread, read once it is joined */
} sm_worker;

#define SM_WORKER(WORK, PATIENCE_NS) {.work = (WORK), .patience_ns = (PATIENCE_NS), .lock = PTHREAD_MUTEX_INITIALIZER}

bool sm_worker_init(sm_worker *worker); /* before all else, and again: false: the system gives no semaphore */

/* For the thread. until: monotonic ns; UINT64_MAX: for ever. Whoever wakes it, it looks again whether it goes on. */
bool sm_worker_goes_on(const sm_worker *worker, uintptr_t number);
void sm_worker_sleep(sm_worker *worker, uint64_t until);
/* The CPU time that all workers have used in this process and those it was forked from, each up to its last sleep. */
uint64_t sm_workers_cpu_ns(void);

void sm_worker_wake(sm_worker *worker); /* from anywhere, a signal handler included */
bool sm_worker_runs(const sm_worker *worker);
bool sm_worker_start(sm_worker *worker); /* false: the system gives no thread. No effect if it runs */
/* From an event: the same without waiting for anybody, and not before `not_before`. Does it run? */
bool sm_worker_want(sm_worker *worker);
void sm_worker_stop(sm_worker *worker);

/* Around a fork, with the GIL or without: stops it and keeps others from starting it; lets them; and in the child,
 * where it is not there. quiet_ns: so long sm_worker_want starts nothing, since there may be more forks. */
void sm_worker_before_fork(sm_worker *worker, uint64_t quiet_ns);
void sm_worker_after_fork(sm_worker *worker);
void sm_worker_forked(sm_worker *worker);

#endif
