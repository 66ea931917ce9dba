/* A native thread of ours.
 *
 * It blocks all signals and sleeps on a futex, so that hooks and signal handlers, which take no lock, can wake it.
 * It is stopped before a fork, because os.fork warns of a second thread from 3.12 on.
 *
 * `lock` is held to start or stop the thread, and from before a fork until after it. An event does not wait for it
 * but tries again at the next event (sm_worker_want). The thread that stops a worker may hold the GIL while the
 * worker waits for a lock that depends on the GIL. So that thread waits at most `patience_ns` and then detaches the
 * worker, whose run ends later because its number is not `current` any more. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct sm_worker {
    /* Runs until sm_worker_goes_on() returns false. */
    void (*work)(struct sm_worker *worker, uintptr_t number);
    uint64_t patience_ns; /* limit on waiting for its end, or 0 for none */
    pthread_mutex_t lock;
    uint32_t wake;       /* atomic; 1 from a wake until the next sleep, which it ends */
    bool ready;          /* it has a place; guarded by the GIL */
    uintptr_t place;     /* index among all workers, once it is ready */
    uint64_t not_before; /* monotonic ns before which sm_worker_want starts nothing; guarded by `lock` */
    uintptr_t current;   /* atomic, written with `lock`: number of the active run, or 0 */
    uintptr_t last;      /* the last number given; guarded by `lock` */
    uintptr_t ended;     /* atomic; number of the run that ended last */
    pthread_t thread;    /* guarded by `lock` */
    pid_t tid;           /* written by the thread, read after joining it */
} sm_worker;

#define SM_WORKER(WORK, PATIENCE_NS) {.work = (WORK), .patience_ns = (PATIENCE_NS), .lock = PTHREAD_MUTEX_INITIALIZER}

bool sm_worker_init(sm_worker *worker); /* before all else; false if there are too many */

/* For the thread itself: return true while this run may continue; sleep until a monotonic time in ns, or until woken.
 */
bool sm_worker_goes_on(const sm_worker *worker, uintptr_t number);
void sm_worker_sleep(sm_worker *worker, uint64_t until);
/* Return the CPU time of all workers in this process and its ancestors, each up to its last sleep. */
uint64_t sm_workers_cpu_ns(void);

void sm_worker_wake(sm_worker *worker); /* can be called anywhere, even in signal handlers */
bool sm_worker_runs(const sm_worker *worker);
bool sm_worker_start(sm_worker *worker); /* idempotent; false if the system gives no thread */
/* Start it from an event, without waiting and not before `not_before`. Return true if it runs. */
bool sm_worker_want(sm_worker *worker);
void sm_worker_stop(sm_worker *worker);

/* Around a fork: stop the thread and start none; allow starts again; and the same in the child, which has no thread. */
void sm_worker_before_fork(sm_worker *worker);
void sm_worker_after_fork(sm_worker *worker);
void sm_worker_forked(sm_worker *worker);
