/* os.fork counts the threads of the process in the end and warns of a second one, and hooks of the program run in it,
 * each of which may be where pending calls are run. So what comes back after a fork of the main thread does when the
 * frame that called os.fork goes on: a pending call looks out for that. After a fork of another thread of Python it
 * comes back at once: there are two threads in any case, and the main one may be busy in C for ever. Where a thread of
 * C forks without the GIL, the main thread sees to it when it runs Python next. */
#include "compat/forks.h"

#include <Python.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compat/compat.h"

#define MOST_LOOKS 200 /* for the frame that forked */

static struct {
    const sm_fork_calls *calls[SM_FORK_USERS]; /* atomic */
    const sm_fork_calls *told[SM_FORK_USERS];  /* before the fork that is under way: others may come meanwhile */
    bool ready;
    uint32_t over;       /* users that wait for it, a bit each; atomic */
    const void *forking; /* the frame that called fork; with the GIL, as what follows */
    int looks;           /* left */
} forks;

static void before(void) {
    const sm_fork_calls *told[SM_FORK_USERS];
    for (int who = 0; who < SM_FORK_USERS; who++) {
        told[who] = __atomic_load_n(&forks.calls[who], __ATOMIC_ACQUIRE);
        if (told[who] != NULL && told[who]->before != NULL)
            told[who]->before();
    }
    memcpy(forks.told, told, sizeof told); /* of two threads that fork, one is past this at a time: see base/worker.h */
}

static void go_on(uint32_t over) {
    for (int who = 0; who < SM_FORK_USERS; who++) {
        if ((over >> who & 1) != 0)
            forks.calls[who]->over();
    }
}

static int look(void *unused) { /* a pending call: on the main thread, between two instructions */
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
        if (forks.told[who] != NULL && forks.told[who]->parent != NULL && forks.told[who]->parent())
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
    (void)Py_AddPendingCall(look, NULL); /* can be asked for without the GIL */
}

static void child(void) {
    __atomic_store_n(&forks.over, 0, __ATOMIC_RELAXED);
    for (int who = SM_FORK_USERS - 1; who >= 0; who--) {
        if (forks.told[who] != NULL && forks.told[who]->child != NULL)
            forks.told[who]->child();
    }
}

bool sm_forks_register(sm_fork_user who, const sm_fork_calls *calls) {
    if (!forks.ready)
        forks.ready = pthread_atfork(before, parent, child) == 0;
    if (forks.ready)
        __atomic_store_n(&forks.calls[who], calls, __ATOMIC_RELEASE);
    return forks.ready;
}
