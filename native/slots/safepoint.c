/* Inside a hook that reports every object, no object may be made and no lock be taken, so what such a hook has
 * collected must be handed over elsewhere. The interpreter has a place for that: Py_AddPendingCall has the main thread
 * call a function between two instructions, as it does with signal handlers. But it takes a lock, and waiting for that
 * lock releases the GIL in the middle of whatever the hook was reporting. So the hook only posts a semaphore, and a
 * thread of ours, which needs no GIL for it, makes the request.
 *
 * The thread wakes by itself every SM_SAFEPOINT_NS, too: then little is delivered as well as much, and what the
 * interpreter never tells is noticed in time (that another tool took the reference tracer's slot).
 *
 * While the main thread sits in one long C call, requests wait: one is outstanding at most. What hooks collect
 * meanwhile has to be bounded by themselves.
 *
 * Ending it. Whoever stops the thread may hold the GIL, and the thread may be waiting for the lock of the pending
 * calls, which the interpreter may have handed to a thread that waits for the GIL. So nobody waits for its end for
 * longer than SM_PATIENCE_NS: a thread that is not done by then is let go, and ends by itself when it gets there. Each
 * has a number, and the one that may go on is `current`.
 *
 * Ownership and threads: `life` is held by whoever starts or stops the thread, most often with the GIL; a thread of C
 * may fork without it. It is held from before a fork until after it. What hooks and the thread look at is atomic. The
 * semaphore is made once and stays. The thread blocks all signals. It is stopped before a fork (a second thread would
 * be a warning of os.fork) and begins again, by a pending call, when the fork is over. */
#include "slots/safepoint.h"

#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/time.h"
#include "compat/runtime.h"

#define SM_SAFEPOINT_NS 50000000
#define SM_PATIENCE_NS 200000000
#define SM_LOOK_NS 50000

static struct {
    pthread_mutex_t life;
    int (*functions[SM_SAFE_USERS])(void); /* set before a user is wanted */
    uint32_t want;                         /* users, a bit each: with the GIL; atomic */
    uint64_t next[SM_SAFE_USERS];          /* monotonic ns: when each is due; 0: always. Atomic */
    uint32_t due;                          /* users, a bit each; atomic */
    bool ready;                            /* with the GIL: the semaphore and the handlers of forks are there */
    uintptr_t current;       /* written with `life`; atomic: the number of the thread that is to go on; 0: none */
    uintptr_t last, ended;   /* the number given last; atomic: of the thread that ended last */
    bool asked, outstanding; /* atomic */
    sem_t wake;
    pthread_t thread; /* with `life` */
} point = {.life = PTHREAD_MUTEX_INITIALIZER};

static int call(void *Py_UNUSED(unused)) {
    __atomic_store_n(&point.outstanding, false, __ATOMIC_RELEASE);
    __atomic_store_n(&point.asked, false, __ATOMIC_RELEASE);
    for (int who = 0; who < SM_SAFE_USERS; who++) {
        bool wanted = (__atomic_load_n(&point.want, __ATOMIC_RELAXED) >> who & 1) != 0;
        if (wanted && sm_safepoint_due(who) && point.functions[who]() < 0)
            return -1;
    }
    return 0;
}

static void look_who_is_due(void) {
    uint64_t now = sm_monotonic_ns();
    for (int who = 0; who < SM_SAFE_USERS; who++) {
        if (now >= __atomic_load_n(&point.next[who], __ATOMIC_RELAXED))
            __atomic_fetch_or(&point.due, 1u << who, __ATOMIC_RELAXED);
    }
}

bool sm_safepoint_due(sm_safe_user who) {
    return (__atomic_load_n(&point.due, __ATOMIC_RELAXED) >> who & 1) != 0;
}

void sm_safepoint_wait(sm_safe_user who, uint64_t ns) {
    __atomic_store_n(&point.next[who], sm_monotonic_ns() + ns, __ATOMIC_RELAXED);
    __atomic_fetch_and(&point.due, ~(1u << who), __ATOMIC_RELAXED);
}

/* Waits until somebody asks, or for SM_SAFEPOINT_NS, by a clock that nobody sets. */
static void wait_for_asking(void) {
#if __GLIBC_PREREQ(2, 30)
    uint64_t when = sm_monotonic_ns() + SM_SAFEPOINT_NS;
    struct timespec until = {.tv_sec = (time_t)(when / 1000000000), .tv_nsec = (long)(when % 1000000000)};
    while (sem_clockwait(&point.wake, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
    }
#else
    for (int looks = 0; looks < 25 && sem_trywait(&point.wake) != 0; looks++)
        nanosleep(&(struct timespec){.tv_nsec = SM_SAFEPOINT_NS / 25}, NULL);
#endif
}

static bool goes_on(uintptr_t number) {
    return __atomic_load_n(&point.current, __ATOMIC_ACQUIRE) == number;
}

static void *run(void *number) {
    while (goes_on((uintptr_t)number)) {
        wait_for_asking();
        look_who_is_due();
        if (!goes_on((uintptr_t)number) || __atomic_exchange_n(&point.outstanding, true, __ATOMIC_ACQ_REL))
            continue;
        if (Py_AddPendingCall(call, NULL) < 0) { /* its queue is full: at the next turn */
            __atomic_store_n(&point.outstanding, false, __ATOMIC_RELEASE);
            __atomic_store_n(&point.asked, false, __ATOMIC_RELEASE);
        } else {
            sm_wake_for_pending_calls();
        }
    }
    __atomic_store_n(&point.ended, (uintptr_t)number, __ATOMIC_RELEASE);
    return NULL;
}

/* False: the system gives no thread. */
static bool start(void) { /* with `life` */
    if (point.current != 0 || __atomic_load_n(&point.want, __ATOMIC_RELAXED) == 0)
        return true;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    __atomic_store_n(&point.asked, false, __ATOMIC_RELAXED);
    __atomic_store_n(&point.outstanding, false, __ATOMIC_RELAXED);
    uintptr_t number = ++point.last;
    __atomic_store_n(&point.current, number, __ATOMIC_RELEASE);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&point.thread, &attributes, run, (void *)number) == 0;
    if (!made)
        __atomic_store_n(&point.current, 0, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

static void join(void) { /* with `life` */
    uintptr_t number = point.current;
    if (number == 0)
        return;
    __atomic_store_n(&point.current, 0, __ATOMIC_RELEASE);
    sem_post(&point.wake);
    uint64_t until = sm_monotonic_ns() + SM_PATIENCE_NS;
    bool ended;
    while (!(ended = __atomic_load_n(&point.ended, __ATOMIC_ACQUIRE) == number) && sm_monotonic_ns() < until)
        nanosleep(&(struct timespec){.tv_nsec = SM_LOOK_NS}, NULL);
    if (ended)
        pthread_join(point.thread, NULL);
    else
        pthread_detach(point.thread);
}

static int try_start(void) {
    pthread_mutex_lock(&point.life);
    bool made = start();
    pthread_mutex_unlock(&point.life);
    return made ? 0 : -1;
}

static int restart(void *Py_UNUSED(unused)) { /* a pending call */
    (void)try_start();
    return 0;
}

static void before_fork(void) {
    pthread_mutex_lock(&point.life);
    join();
}

static void parent_forked(void) {
    pthread_mutex_unlock(&point.life);
    if (__atomic_load_n(&point.want, __ATOMIC_RELAXED) != 0)
        Py_AddPendingCall(restart, NULL); /* can be asked for without the GIL */
}

static void child_forked(void) {
    pthread_mutex_init(&point.life, NULL);
}

static int prepare(void) {
    if (point.ready)
        return 0;
    if (sem_init(&point.wake, 0, 0) != 0 || pthread_atfork(before_fork, parent_forked, child_forked) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    point.ready = true;
    return 0;
}

int sm_safepoint_start(sm_safe_user who, int (*function)(void)) {
    uint32_t bit = 1u << who;
    if (prepare() < 0)
        return -1;
    point.functions[who] = function;
    __atomic_fetch_or(&point.want, bit, __ATOMIC_RELAXED);
    if (try_start() < 0) {
        __atomic_fetch_and(&point.want, ~bit, __ATOMIC_RELAXED);
        PyErr_SetString(PyExc_RuntimeError, who == SM_SAFE_REFERENCES
                                                ? "the system gives no thread, and reference tracing needs one"
                                                : "the system gives no thread, and keeping a recording needs one");
        return -1;
    }
    return 0;
}

void sm_safepoint_stop(sm_safe_user who) {
    if (__atomic_and_fetch(&point.want, ~(1u << who), __ATOMIC_RELAXED) != 0)
        return;
    pthread_mutex_lock(&point.life);
    join();
    pthread_mutex_unlock(&point.life);
}

void sm_safepoint_ask(void) {
    if (__atomic_load_n(&point.current, __ATOMIC_RELAXED) != 0 &&
        !__atomic_exchange_n(&point.asked, true, __ATOMIC_ACQ_REL))
        sem_post(&point.wake);
}

void sm_safepoint_forked(void) {
    (void)try_start();
}
