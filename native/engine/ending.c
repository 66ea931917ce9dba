/* Servers, containers and batch jobs are ended by SIGTERM, and a program that does not handle it dies where it stands,
 * with what was recorded since the last flush. So while a recording goes into a file, and while the signal would kill,
 * a handler of ours stands there. It is C's, and nothing of Python's sees it: signal.getsignal and what signal.signal
 * returns come from the interpreter's own table, where the signal has its default disposition. A program that sets a
 * handler of its own replaces ours without knowing; where it then sets SIG_DFL, ours comes back (the entry of
 * signal.signal in its module's table leads through us). What the program execs has the default, as exec resets it.
 *
 * A handler may do next to nothing: it may have interrupted the allocator, the interpreter or a recorder. It wakes a
 * thread of ours, which
 *  - asks for a pending call, so that the main thread, if it runs Python, ends the recording before its next
 * instruction;
 *  - starts one more thread that waits for the GIL and ends the recording if that comes first: where all of the program
 *    sleeps or waits in C;
 *  - waits until one of them has done it, two seconds at most, and lets the process die of the signal.
 *
 * What the handler's own thread does meanwhile. A bare process would execute nothing more. If the thread holds the GIL,
 * it has to go on to where the interpreter can stop: the handler waits only until the pending call is queued, which the
 * interpreter looks for before the next instruction. Without the GIL the thread waits in the handler for its death.
 *
 * Process 1 ignores signals that it has no handler for, so nothing is done there. In a forked child nobody would wake:
 * there the handler dies of the signal at once, until the child has said how it goes on. The thread (base/worker.h)
 * comes back after a fork, when that is over. */
#include "engine/ending.h"

#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/worker.h"
#include "compat/compat.h"
#include "compat/exception.h"
#include "compat/runtime.h"
#include "slots/forks.h"

enum {
    PATIENCE_MS = 2000, /* from the signal to the end, at most */
    QUEUE_MS = 200,     /* that a thread with the GIL waits for the request */
};

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGXCPU, "SIGXCPU"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct {
    void (*end[SM_ENDINGS])(const char *);
    bool armed;
    bool queued, begun, done; /* atomic */
    int number;               /* the signal that ends us; atomic. 0: none */
    pid_t owner;
    PyMethodDef *entry; /* of signal.signal */
    PyCFunction original;
} ending;

static void work(sm_worker *worker, uintptr_t number);
static sm_worker worker = SM_WORKER(work, 0);

static void nap(void) {
    struct timespec little = {.tv_nsec = 1000000};
    nanosleep(&little, NULL);
}

static bool wait_for(const bool *fact, int ms) {
    for (; ms > 0 && !__atomic_load_n(fact, __ATOMIC_ACQUIRE); ms--)
        nap();
    return __atomic_load_n(fact, __ATOMIC_ACQUIRE);
}

/* ---- the handler ---- */

static void set_default(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
}

static void handler(int number) {
    int saved_errno = errno, none = 0;
    if (!sm_worker_runs(&worker) || getpid() != ending.owner) {
        set_default(number);
        raise(number); /* when this returns */
    } else {
        if (__atomic_compare_exchange_n(&ending.number, &none, number, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            sm_worker_wake(&worker);
        bool never = false;
        if (!PyGILState_Check())
            wait_for(&never, 2 * PATIENCE_MS);
        else if (wait_for(&ending.queued, QUEUE_MS))
            sm_look_for_pending_calls();
    }
    errno = saved_errno;
}

static bool is_default(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
}

static void arm(int number) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    if (is_default(number))
        sigaction(number, &action, NULL);
}

static void disarm(int number) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler)
        set_default(number);
}

/* ---- the end ---- */

/* With the GIL. Whoever comes first does it; nobody goes on to the program's next instruction. What it does may be
 * Python, which lets go of the GIL while it writes, so whoever comes second does so, too, until it is done. */
static void finish(void) {
    const char *name = "";
    if (!__atomic_exchange_n(&ending.begun, true, __ATOMIC_ACQ_REL)) {
        for (int i = 0; i < SIGNALS; i++)
            name = signals[i].number == ending.number ? signals[i].name : name;
        for (int i = SM_ENDINGS - 1; i >= 0; i--) {
            if (ending.end[i] != NULL)
                ending.end[i](name);
        }
        __atomic_store_n(&ending.done, true, __ATOMIC_RELEASE);
    } else {
        Py_BEGIN_ALLOW_THREADS wait_for(&ending.done, PATIENCE_MS);
        Py_END_ALLOW_THREADS
    }
    bool never = false;
    wait_for(&never, PATIENCE_MS);
}

static int finish_here(void *Py_UNUSED(unused)) {
    if (__atomic_load_n(&ending.number, __ATOMIC_ACQUIRE) != 0)
        finish();
    return 0;
}

static void *finish_there(void *unused) {
    if (!sm_is_finalizing()) {
        PyGILState_STATE state = PyGILState_Ensure();
        finish();
        PyGILState_Release(state);
    }
    return unused;
}

static void die(void) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, ending.number);
    set_default(ending.number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(ending.number);
    for (;;) /* the system is about to end us */
        nap();
}

static void work(sm_worker *self, uintptr_t run) {
    while (sm_worker_goes_on(self, run)) {
        sm_worker_sleep(self, UINT64_MAX);
        if (__atomic_load_n(&ending.number, __ATOMIC_ACQUIRE) == 0)
            continue;
        (void)Py_AddPendingCall(finish_here, NULL);
        sm_wake_for_pending_calls();
        __atomic_store_n(&ending.queued, true, __ATOMIC_RELEASE);
        pthread_t
            other; /* no worker: it takes nothing but the GIL, which it may never get, and the process ends with it */
        if (pthread_create(&other, NULL, finish_there, NULL) == 0)
            pthread_detach(other);
        wait_for(&ending.done, PATIENCE_MS);
        die();
    }
}

/* ---- the thread ---- */

static void start(void) {
    if (sm_worker_runs(&worker) || !ending.armed)
        return;
    ending.queued = ending.begun = ending.done = false;
    ending.number = 0;
    ending.owner = getpid();
    (void)sm_worker_start(&worker);
}

static void before_fork(void) {
    sm_worker_before_fork(&worker, 0);
}

static bool parent_forked(void) {
    sm_worker_after_fork(&worker);
    return ending.armed;
}

static void child_forked(void) {
    sm_worker_forked(&worker);
    memset(ending.end, 0, sizeof ending.end); /* what the parent records is the parent's */
}

/* ---- signal.signal ---- */

static PyObject *set_signal(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyObject *before = ((PyObject * (*)(PyObject *, PyObject *const *, Py_ssize_t))(void (*)(void))ending.original)(
        module, args, count);
    for (int i = 0; before != NULL && ending.armed && i < SIGNALS; i++)
        arm(signals[i].number); /* those that are at their default now */
    return before;
}

static void watch_signal(bool on) {
    PyCFunction ours = (PyCFunction)(void (*)(void))set_signal;
    if (ending.entry == NULL) {
        PyObject *module = PyImport_ImportModule("_signal"); /* built in, and there from the interpreter's start */
        PyModuleDef *definition = module ? PyModule_GetDef(module) : NULL;
        Py_XDECREF(module);
        PyErr_Clear();
        for (PyMethodDef *entry = definition ? definition->m_methods : NULL; entry && entry->ml_name; entry++) {
            if (strcmp(entry->ml_name, "signal") == 0 && entry->ml_flags == METH_FASTCALL)
                ending.entry = entry;
        }
    }
    if (ending.entry == NULL)
        return;
    if (on && ending.entry->ml_meth != ours) {
        ending.original = ending.entry->ml_meth;
        ending.entry->ml_meth = ours;
    } else if (!on && ending.entry->ml_meth == ours) {
        ending.entry->ml_meth = ending.original;
    }
}

/* ---- on and off ---- */

static void turn(bool on) {
    sm_exception kept = sm_exception_keep();
    ending.armed = on;
    if (on)
        start();
    else
        sm_worker_stop(&worker);
    watch_signal(on);
    for (int i = 0; i < SIGNALS; i++)
        (on ? arm : disarm)(signals[i].number);
    sm_exception_restore(kept);
}

void sm_ending_want(sm_ending who, void (*end)(const char *signal_name)) {
    static const sm_fork_calls calls = {before_fork, parent_forked, child_forked, start};
    ending.end[who] = end;
    bool wanted = false;
    for (int i = 0; i < SM_ENDINGS; i++)
        wanted = wanted || ending.end[i] != NULL;
    if (wanted && sm_worker_init(&worker) && getpid() != 1 && sm_forks_register(SM_FORK_ENDING, &calls))
        turn(true);
    else if (!wanted && ending.armed)
        turn(false);
}
