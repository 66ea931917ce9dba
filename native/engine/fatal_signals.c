/* End recordings when a signal kills the process.
 *
 * Servers, containers and batch jobs are ended by SIGTERM, which would lose what was recorded since the last flush. So
 * while a recording goes into a file, and while the signal would kill, a handler of the core is installed. Python does
 * not see it: signal.getsignal and signal.signal use the interpreter's table, which has the default. A program that
 * sets a handler replaces ours; if it then sets SIG_DFL, ours returns, since the entry of signal.signal leads through
 * set_signal(). An exec resets to the default.
 *
 * A handler may do next to nothing. It wakes a thread, the guard, which starts another one. That one adds a pending
 * call, so that a main thread that runs Python ends the recordings before its next instruction; and it waits for the
 * GIL, and ends them if it gets that first. Then the process dies of the signal.
 *
 * No thread waits for another while it holds the GIL or a lock, so there is no deadlock. The guard takes no lock of the
 * interpreter. When it is stopped, by the end of a recording or a fork, the stopping thread kills the process. Two
 * threads may end the recordings: ends in Python release the GIL, so both do all of it, and ends in C keep it until the
 * process dies. The interrupted thread may hold a lock that the others need, so it pauses, but then continues.
 *
 * C code of the program may hold the GIL for long. So after PATIENCE_MS the guard lets the process die without an end,
 * which the file states, unless a recording is being ended.
 *
 * Process 1 ignores signals without a handler, so nothing is done there. The guard (base/worker.h) does not run during
 * a fork, nor until os.fork has returned (compat/forks.c): the forking thread ends the recordings then. A second signal
 * before it returns, or one in a child before its recording begins, kills at once. */
#include "engine/fatal_signals.h"

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
#include "compat/forks.h"
#include "compat/method_entry.h"
#include "compat/runtime.h"

enum { PATIENCE_MS = 2000, PAUSE_MS = 100 };

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGINT, "SIGINT"}, {SIGXCPU, "SIGXCPU"}};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct {
    /* Guard: the GIL, except as noted. */
    void (*end[SM_FATAL_SIGNALS])(const char *);
    bool armed;
    bool queued; /* atomic: the main thread has a pending call */
    bool busy;   /* atomic: a recording is being ended */
    bool away;   /* atomic: the guard is not back from a fork; a pending call, which starts it, is on its way */
    int forking; /* atomic: number of forking threads */
    int number;  /* atomic: the signal that kills the process, or 0 */
    pid_t owner;
    PyMethodDef *entry;
    PyCFunction original;
} ending;

static void work(sm_worker *worker, uintptr_t number);
static sm_worker guard = SM_WORKER(work, 0);

static void nap(void) {
    struct timespec little = {.tv_nsec = 1000000};
    nanosleep(&little, NULL);
}

/* Return the number. Either a thread that stopped the guard or forked sees it here, or the handler sees that. */
static int signal_that_ends_us(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&ending.number, __ATOMIC_RELAXED);
}

static void set_default(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
}

static void handler(int number) {
    int saved_errno = errno, before = 0;
    bool ours = getpid() == ending.owner;
    if (ours)
        __atomic_compare_exchange_n(&ending.number, &before, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool guarded = ours && sm_worker_runs(&guard);
    bool forks = ours && (__atomic_load_n(&ending.forking, __ATOMIC_RELAXED) != 0 ||
                          (__atomic_load_n(&ending.away, __ATOMIC_RELAXED) && before == 0));
    if (!guarded && !forks) {
        set_default(number);
        raise(number);
    } else if (guarded) {
        sm_worker_wake(&guard);
        bool holds = PyGILState_Check();
        for (int ms = 0; ms < PAUSE_MS && !(holds && __atomic_load_n(&ending.queued, __ATOMIC_ACQUIRE)); ms++)
            nap();
        if (holds)
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

static _Noreturn void die(void) {
    int number = signal_that_ends_us();
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    set_default(number);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    for (;;)
        nap();
}

/* End the recordings, those in Python first, and then the process. With the GIL. */
static _Noreturn void finish(void) {
    const char *name = "";
    __atomic_store_n(&ending.busy, true, __ATOMIC_RELEASE);
    for (int i = 0; i < SIGNALS; i++)
        name = signals[i].number == signal_that_ends_us() ? signals[i].name : name;
    for (int i = SM_FATAL_SIGNALS - 1; i >= 0; i--) {
        if (ending.end[i] != NULL)
            ending.end[i](name);
    }
    die();
}

static int finish_here(void *Py_UNUSED(unused)) {
    if (signal_that_ends_us() != 0)
        finish();
    return 0;
}

static void *finish_there(void *unused) {
    (void)Py_AddPendingCall(finish_here, NULL);
    sm_wake_for_pending_calls();
    __atomic_store_n(&ending.queued, true, __ATOMIC_RELEASE);
    if (!sm_is_finalizing()) {
        (void)PyGILState_Ensure();
        finish();
    }
    return unused;
}

static void work(sm_worker *self, uintptr_t run) {
    while (sm_worker_goes_on(self, run) && signal_that_ends_us() == 0)
        sm_worker_sleep(self, UINT64_MAX);
    pthread_t other; /* no worker, as it may never get the GIL */
    if (sm_worker_goes_on(self, run) && pthread_create(&other, NULL, finish_there, NULL) == 0) {
        pthread_detach(other);
        for (int ms = 0; sm_worker_goes_on(self, run) && ms < PATIENCE_MS && !sm_is_finalizing();) {
            nap();
            ms += !__atomic_load_n(&ending.busy, __ATOMIC_ACQUIRE);
        }
    }
    if (sm_worker_goes_on(self, run))
        die();
}

static void start(void) {
    if (ending.armed && !sm_worker_runs(&guard)) {
        ending.queued = ending.busy = false;
        ending.owner = getpid();
        (void)sm_worker_start(&guard);
    }
    if (__atomic_exchange_n(&ending.away, false, __ATOMIC_SEQ_CST) && signal_that_ends_us() != 0)
        finish();
}

static void before_fork(void) {
    bool holds = sm_holds_gil();
    while (!holds && signal_that_ends_us() != 0) /* a thread of C: others end the process */
        nap();
    __atomic_fetch_add(&ending.forking, 1, __ATOMIC_RELAXED);
    sm_worker_before_fork(&guard);
    if (signal_that_ends_us() != 0) {
        if (holds)
            finish();
        die();
    }
}

static void parent_forked(void) {
    sm_worker_after_fork(&guard);
    __atomic_store_n(&ending.away, ending.armed && sm_holds_gil(), __ATOMIC_RELAXED);
    __atomic_fetch_sub(&ending.forking, 1, __ATOMIC_SEQ_CST);
    if (signal_that_ends_us() != 0) {
        if (sm_holds_gil())
            finish();
        (void)sm_worker_start(&guard);
    }
}

static bool is_armed(void) {
    return ending.armed;
}

static void child_forked(void) {
    sm_worker_forked(&guard);
    ending.forking = ending.number = 0;
    ending.away = false;
    memset(ending.end, 0, sizeof ending.end); /* the child has none of the parent's recordings */
}

static PyObject *set_signal(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyObject *before = ((PyObject * (*)(PyObject *, PyObject *const *, Py_ssize_t))(void (*)(void))ending.original)(
        module, args, count);
    for (int i = 0; before != NULL && ending.armed && i < SIGNALS; i++)
        arm(signals[i].number); /* those that have the default now */
    return before;
}

static void watch_signal(bool on) {
    PyCFunction ours = (PyCFunction)(void (*)(void))set_signal;
    if (ending.entry == NULL) {
        PyMethodDef *entry = sm_method_entry_in("_signal", "signal");
        ending.entry = entry != NULL && entry->ml_flags == METH_FASTCALL ? entry : NULL;
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

static void turn(bool on) {
    SM_EXCEPTION_GUARD;
    ending.armed = on;
    if (on)
        start();
    else
        sm_worker_stop(&guard);
    watch_signal(on);
    for (int i = 0; i < SIGNALS; i++)
        (on ? arm : disarm)(signals[i].number);
    if (!on && signal_that_ends_us() != 0)
        die();
}

void sm_fatal_signal_begin(void) {
    __atomic_store_n(&ending.busy, true, __ATOMIC_RELEASE);
}

void sm_fatal_signal_want(sm_fatal_signal who, void (*end)(const char *signal_name)) {
    static const sm_fork_calls calls = {NULL, before_fork, parent_forked, child_forked, is_armed, start};
    ending.end[who] = end;
    __atomic_store_n(&ending.busy, false, __ATOMIC_RELEASE);
    bool wanted = false;
    for (int i = 0; i < SM_FATAL_SIGNALS; i++)
        wanted = wanted || ending.end[i] != NULL;
    if (wanted && sm_worker_init(&guard) && getpid() != 1 && sm_forks_register(SM_FORK_ENDING, &calls))
        turn(true);
    else if (!wanted && ending.armed)
        turn(false);
}
