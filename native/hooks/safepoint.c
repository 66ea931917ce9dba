/* Safe points. A hook that reports objects may make no object and take no lock. Py_AddPendingCall lets the main thread
 * call a function later, but it takes a lock, and waiting for it would release the GIL during the hook. So the hook
 * only posts a semaphore, and a thread of ours, without the GIL, makes the request. This thread also wakes every
 * SM_SAFEPOINT_NS. While the main thread is in a long C call, one request is outstanding, and hooks bound what they
 * collect.
 *
 * The lock of the pending calls may be held by a thread that waits for the GIL, which the thread that stops ours
 * holds. So the wait for its end is short (base/worker.h), and a fork restarts it afterwards. */
#include "hooks/safepoint.h"

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "base/worker.h"
#include "compat/exception.h"
#include "compat/forks.h"
#include "compat/runtime.h"

#define SM_SAFEPOINT_NS 50000000
#define SM_WAKING_NS 2000000 /* limit on holding up other threads (compat/runtime.h) */
#define SM_PATIENCE_NS 200000000

static struct {
    int (*functions[SM_SAFE_USERS])(void); /* each is set before its user's bit */
    uint32_t want;                         /* bit set of users; atomic, written with the GIL */
    uint64_t next[SM_SAFE_USERS];          /* next time of each user in monotonic ns, or 0 for always; atomic */
    uint32_t due;                          /* bit set of users that are due; atomic */
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
    for (int who = 0; who < SM_SAFE_USERS; who++)
        if (now >= __atomic_load_n(&point.next[who], __ATOMIC_RELAXED))
            __atomic_fetch_or(&point.due, 1u << who, __ATOMIC_RELAXED);
}

bool sm_safepoint_due(sm_safe_user who) {
    return (__atomic_load_n(&point.due, __ATOMIC_RELAXED) >> who & 1) != 0;
}

void sm_safepoint_wait(sm_safe_user who, uint64_t ns) {
    __atomic_store_n(&point.next[who], sm_monotonic_ns() + ns, __ATOMIC_RELAXED);
    __atomic_fetch_and(&point.due, ~(1u << who), __ATOMIC_RELAXED);
}

/* Make the main thread check for the request, and again if one has waited since the last turn. */
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
        } else if (Py_AddPendingCall(call, NULL) < 0) { /* the queue is full: try again next turn */
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

void sm_safepoint_forked(void) {
    if (is_wanted())
        (void)sm_worker_start(&worker);
}

static int prepare(void) {
    static const sm_fork_calls calls = {.worker = &worker, .wanted = is_wanted};
    if (sm_worker_init(&worker) && sm_forks_register(SM_FORK_SAFEPOINT, &calls))
        return 0;
    return sm_no_memory();
}

int sm_safepoint_start(sm_safe_user who, int (*function)(void)) {
    uint32_t bit = 1u << who;
    if (prepare() < 0)
        return -1;
    point.functions[who] = function;
    __atomic_fetch_or(&point.want, bit, __ATOMIC_RELAXED);
    if (!sm_worker_start(&worker)) {
        __atomic_fetch_and(&point.want, ~bit, __ATOMIC_RELAXED);
        return SM_FAIL(PyExc_RuntimeError, who == SM_SAFE_REFERENCES
                                               ? "the system gives no thread, and reference tracing needs one"
                                               : "the system gives no thread, and keeping a recording needs one");
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
