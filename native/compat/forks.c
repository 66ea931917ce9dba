/* os.fork counts the process's threads at its end and warns of a second one, and pending calls may run before that.
 * So after a fork of the main thread, `over` waits until the frame that called os.fork continues. After a fork of
 * another Python thread it runs at once: there are two threads anyway. After a fork of a C thread without the GIL,
 * it runs when the main thread runs Python again. */
#include "compat/forks.h"

#include <Python.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compat/compat.h"

#define MOST_LOOKS 200 /* checks for the frame that forked */

static struct {
    const sm_fork_calls *calls[SM_FORK_USERS]; /* atomic */
    const sm_fork_calls
        *notified[SM_FORK_USERS]; /* users notified before the current fork; others may join meanwhile */
    bool ready;
    uint32_t over;       /* users that wait for it, a bit each; atomic */
    const void *forking; /* the frame that called fork; guarded by the GIL */
    int looks;           /* number of looks that are left; guarded by the GIL */
} forks;

static void before(void) {
    const sm_fork_calls *notified[SM_FORK_USERS];
    for (int who = 0; who < SM_FORK_USERS; who++) {
        const sm_fork_calls *calls = notified[who] = __atomic_load_n(&forks.calls[who], __ATOMIC_ACQUIRE);
        if (calls != NULL && calls->worker != NULL)
            sm_worker_before_fork(calls->worker);
        if (calls != NULL && calls->before != NULL)
            calls->before();
    }
    memcpy(forks.notified, notified,
           sizeof notified); /* only one forking thread is past this point at a time (base/worker.h) */
}

static void go_on(uint32_t over) {
    for (int who = 0; who < SM_FORK_USERS; who++) {
        const sm_fork_calls *calls = (over >> who & 1) != 0 ? forks.calls[who] : NULL;
        if (calls != NULL && calls->over != NULL)
            calls->over();
        else if (calls != NULL && calls->wanted())
            (void)sm_worker_start(calls->worker);
    }
}

static int look(void *unused) { /* a pending call, on the main thread between two instructions */
    bool early = forks.looks > 0 && sm_tstate_frame(PyThreadState_Get()) != forks.forking;
    forks.looks--;
    if (early && Py_AddPendingCall(look, unused) == 0)
        return 0;
    go_on(__atomic_exchange_n(&forks.over, 0, __ATOMIC_ACQ_REL));
    return 0;
}

static void parent(void) {
    uint32_t wanted = 0;
    for (int who = SM_FORK_USERS - 1; who >= 0; who--) {
        const sm_fork_calls *calls = forks.notified[who];
        if (calls != NULL && calls->parent != NULL)
            calls->parent();
        if (calls != NULL && calls->worker != NULL)
            sm_worker_after_fork(calls->worker);
        if (calls != NULL && calls->wanted != NULL && calls->wanted())
            wanted |= 1u << who;
    }
    bool gil = sm_holds_gil();
    if (gil && syscall(SYS_gettid) != getpid()) {
        go_on(wanted);
        return;
    }
    if (wanted == 0)
        return;
    __atomic_fetch_or(&forks.over, wanted, __ATOMIC_ACQ_REL);
    if (gil) {
        forks.forking = sm_tstate_frame(sm_tstate_unchecked());
        forks.looks = MOST_LOOKS;
    }
    if (Py_AddPendingCall(look, NULL) < 0 && gil) /* allowed without the GIL */
        go_on(__atomic_exchange_n(&forks.over, 0, __ATOMIC_ACQ_REL));
}

static void child(void) {
    __atomic_store_n(&forks.over, 0, __ATOMIC_RELAXED);
    for (int who = SM_FORK_USERS - 1; who >= 0; who--) {
        const sm_fork_calls *calls = forks.notified[who];
        if (calls != NULL && calls->worker != NULL)
            sm_worker_forked(calls->worker);
        if (calls != NULL && calls->child != NULL)
            calls->child();
    }
}

bool sm_forks_register(sm_fork_user who, const sm_fork_calls *calls) {
    if (!forks.ready)
        forks.ready = pthread_atfork(before, parent, child) == 0;
    if (forks.ready)
        __atomic_store_n(&forks.calls[who], calls, __ATOMIC_RELEASE);
    return forks.ready;
}
