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
 * The thread may be waiting for the lock of the pending calls, which the interpreter may have handed to a thread that
 * waits for the GIL, which is held by whoever stops ours: so the patience with its end is short (base/worker.h). After
 * a fork it comes back when that is over. What hooks and the thread look at is atomic. */
#include "hooks/safepoint.h"

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "base/worker.h"
#include "compat/forks.h"
#include "compat/runtime.h"

#define SM_SAFEPOINT_NS 50000000
#define SM_WAKING_NS 2000000 /* for so long the others may be held up, where they are (compat/runtime.h) */
#define SM_PATIENCE_NS 200000000

static struct {
    int (*functions[SM_SAFE_USERS])(void); /* set before a user is wanted */
    uint32_t want;                         /* users, a bit each: with the GIL; atomic */
    uint64_t next[SM_SAFE_USERS];          /* monotonic ns: when each is due; 0: always. Atomic */
    uint32_t due;                          /* users, a bit each; atomic */
    bool asked, outstanding;               /* atomic */
} point;

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

/* Has the main thread look for the request; with a request that has waited since the last turn, again. */
static void wake_main(sm_worker *worker) {
    sm_wake_for_pending_calls();
    if (!SM_WAKING_STOPS_OTHERS)
        return;
    sm_worker_sleep(worker, sm_monotonic_ns() + SM_WAKING_NS);
    if (__atomic_load_n(&point.outstanding, __ATOMIC_ACQUIRE))
        sm_stop_waking_for_pending_calls();
}

static void work(sm_worker *worker, uintptr_t number) {
    __atomic_store_n(&point.asked, false, __ATOMIC_RELAXED);
    __atomic_store_n(&point.outstanding, false, __ATOMIC_RELAXED);
    while (sm_worker_goes_on(worker, number)) {
        sm_worker_sleep(worker, sm_monotonic_ns() + SM_SAFEPOINT_NS);
        look_who_is_due();
        if (!sm_worker_goes_on(worker, number))
            continue;
        if (__atomic_exchange_n(&point.outstanding, true, __ATOMIC_ACQ_REL)) {
            if (SM_WAKING_STOPS_OTHERS)
                wake_main(worker);
        } else if (Py_AddPendingCall(call, NULL) < 0) { /* its queue is full: at the next turn */
            __atomic_store_n(&point.outstanding, false, __ATOMIC_RELEASE);
            __atomic_store_n(&point.asked, false, __ATOMIC_RELEASE);
        } else {
            wake_main(worker);
        }
    }
}

static sm_worker worker = SM_WORKER(work, SM_PATIENCE_NS);

static bool is_wanted(void) {
    return __atomic_load_n(&point.want, __ATOMIC_RELAXED) != 0;
}

static void before_fork(void) {
    sm_worker_before_fork(&worker, 0);
}

static bool parent_forked(void) {
    sm_worker_after_fork(&worker);
    return is_wanted();
}

static void child_forked(void) {
    sm_worker_forked(&worker);
}

void sm_safepoint_forked(void) {
    if (is_wanted())
        (void)sm_worker_start(&worker);
}

static int prepare(void) {
    static const sm_fork_calls calls = {before_fork, parent_forked, child_forked, sm_safepoint_forked};
    if (sm_worker_init(&worker) && sm_forks_register(SM_FORK_SAFEPOINT, &calls))
        return 0;
    PyErr_NoMemory();
    return -1;
}

int sm_safepoint_start(sm_safe_user who, int (*function)(void)) {
    uint32_t bit = 1u << who;
    if (prepare() < 0)
        return -1;
    point.functions[who] = function;
    __atomic_fetch_or(&point.want, bit, __ATOMIC_RELAXED);
    if (!sm_worker_start(&worker)) {
        __atomic_fetch_and(&point.want, ~bit, __ATOMIC_RELAXED);
        PyErr_SetString(PyExc_RuntimeError, who == SM_SAFE_REFERENCES
                                                ? "the system gives no thread, and reference tracing needs one"
                                                : "the system gives no thread, and keeping a recording needs one");
        return -1;
    }
    return 0;
}

void sm_safepoint_stop(sm_safe_user who) {
    if (__atomic_and_fetch(&point.want, ~(1u << who), __ATOMIC_RELAXED) == 0)
        sm_worker_stop(&worker);
}

void sm_safepoint_ask(void) {
    if (sm_worker_runs(&worker) && !__atomic_exchange_n(&point.asked, true, __ATOMIC_ACQ_REL))
        sm_worker_wake(&worker);
}
