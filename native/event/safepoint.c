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
 * Ownership and threads: `want`, `started` and the thread belong to the GIL; `asked` and `outstanding` are atomic. The
 * thread blocks all signals. It is joined before a fork (a second thread would be a warning of os.fork) and begins
 * again, by a pending call, when the fork is over. */
#include "event/safepoint.h"

#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#define SM_SAFEPOINT_NS 50000000

static struct {
    void (*function)(void);
    bool want, started, at_fork;
    bool stop; /* atomic */
    bool asked, outstanding;
    sem_t wake;
    pthread_t thread;
} point;

static int call(void *Py_UNUSED(unused)) {
    __atomic_store_n(&point.outstanding, false, __ATOMIC_RELEASE);
    __atomic_store_n(&point.asked, false, __ATOMIC_RELEASE);
    if (point.want)
        point.function();
    return 0;
}

static void *run(void *unused) {
    while (!__atomic_load_n(&point.stop, __ATOMIC_ACQUIRE)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += SM_SAFEPOINT_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (sem_timedwait(&point.wake, &until) != 0 && errno == EINTR) {
        }
        if (__atomic_load_n(&point.stop, __ATOMIC_ACQUIRE) ||
            __atomic_exchange_n(&point.outstanding, true, __ATOMIC_ACQ_REL))
            continue;
        if (Py_AddPendingCall(call, NULL) < 0) { /* its queue is full: at the next turn */
            __atomic_store_n(&point.outstanding, false, __ATOMIC_RELEASE);
            __atomic_store_n(&point.asked, false, __ATOMIC_RELEASE);
        }
    }
    return unused;
}

static void start(void) {
    if (point.started || !point.want)
        return;
    pthread_attr_t attributes;
    sigset_t all, before;
    point.stop = point.asked = point.outstanding = false;
    if (sem_init(&point.wake, 0, 0) != 0 || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    point.started = pthread_create(&point.thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void join(void) {
    if (!point.started)
        return;
    __atomic_store_n(&point.stop, true, __ATOMIC_RELEASE);
    sem_post(&point.wake);
    pthread_join(point.thread, NULL);
    sem_destroy(&point.wake);
    point.started = false;
}

static int restart(void *Py_UNUSED(unused)) {
    start();
    return 0;
}

static void parent_forked(void) {
    if (point.want)
        Py_AddPendingCall(restart, NULL); /* the GIL is held, so nobody has the queue's lock for long */
}

int sm_safepoint_start(void (*function)(void)) {
    if (!point.at_fork) {
        if (pthread_atfork(join, parent_forked, NULL) != 0) {
            PyErr_NoMemory();
            return -1;
        }
        point.at_fork = true;
    }
    point.function = function;
    point.want = true;
    start();
    if (!point.started) {
        point.want = false;
        PyErr_SetString(PyExc_RuntimeError, "the system gives no thread, and reference tracing needs one");
        return -1;
    }
    return 0;
}

void sm_safepoint_stop(void) {
    point.want = false;
    join();
}

void sm_safepoint_ask(void) {
    if (point.started && !__atomic_exchange_n(&point.asked, true, __ATOMIC_ACQ_REL))
        sem_post(&point.wake);
}

void sm_safepoint_forked(void) {
    start();
}
