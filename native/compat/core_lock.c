#include "compat/core_lock.h"

#if SM_HAS_CORE_LOCK

#include <sched.h>

#include "base/time.h"

static PyMutex lock;
static uint32_t waiting; /* atomic: threads in the middle of an event that do not have the lock yet */
static SM_FAST_TLS uint32_t depth;
static SM_FAST_TLS bool locked;
static uint32_t stops; /* of the world; guard: the lock */

void sm_core_take(void) {
    if (depth++ > 0 || sm_is_finalizing())
        return;
    if (SM_FREE_THREADED)
        __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    PyMutex_Lock(&lock);
    if (SM_FREE_THREADED)
        __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
    locked = true;
}

void sm_core_give(void) {
    if (depth == 0 || --depth > 0 || !locked) /* 0: the lock was not needed yet where this began */
        return;
    locked = false;
    PyMutex_Unlock(&lock);
}

uint32_t sm_core_suspend(void) {
    uint32_t taken = depth;
    if (taken > 0) {
        depth = 1;
        sm_core_give();
    }
    return taken;
}

void sm_core_resume(uint32_t taken) {
    sm_core_take();
    depth = taken;
}

void sm_core_forked(void) {
    lock = (PyMutex){._bits = 0};
    waiting = depth = stops = 0;
    locked = false;
}

#endif

#if SM_FREE_THREADED

PyAPI_FUNC(void) _PyEval_StopTheWorld(PyInterpreterState *interpreter);
PyAPI_FUNC(void) _PyEval_StartTheWorld(PyInterpreterState *interpreter);

void sm_world_stop(void) {
    if (stops++ == 0)
        _PyEval_StopTheWorld(PyInterpreterState_Main());
}

void sm_world_start(void) {
    if (--stops == 0)
        _PyEval_StartTheWorld(PyInterpreterState_Main());
}

bool sm_world_is_stopped(void) {
    return stops > 0;
}

/* Return true if an event is not over. */
static bool in_event(void) {
    sm_world_stop(); /* then each attached thread is between two events, and the others are counted */
    sm_world_start();
    return __atomic_load_n(&waiting, __ATOMIC_SEQ_CST) != 0;
}

void sm_core_drain(void) {
    while (in_event() && locked && depth == 1) {
        sm_core_leave();
        PyThreadState *tstate = PyEval_SaveThread();
        sched_yield();
        PyEval_RestoreThread(tstate);
        sm_core_enter();
    }
}

#define EVENT_NS 12   /* cost of an event at an enabled place */
#define MOST_NS 50000 /* what takes longer waits for other threads that stop the world, and for processors */
#define MEASURED 8

/* To disable a place takes 0.1 us alone and tens of microseconds beside busy threads. With this rule, events and stops
 * together cost at most about twice what the better extreme does: to disable all places, or none. One stop in so many
 * is measured by another one, since the interpreter's own happens after the callback. */
static SM_FAST_TLS struct {
    uint64_t spent, cost; /* in ns: since the last stop; of a stop */
    uint32_t stops;
} ledger;

bool sm_world_stop_pays(void) {
    ledger.spent += EVENT_NS;
    if (ledger.spent < ledger.cost)
        return false;
    ledger.spent = 0;
    if (ledger.stops++ % MEASURED == 0) {
        PyInterpreterState *interpreter = PyInterpreterState_Get();
        uint64_t began = sm_monotonic_ns();
        _PyEval_StopTheWorld(interpreter);
        _PyEval_StartTheWorld(interpreter);
        uint64_t took = sm_monotonic_ns() - began;
        ledger.cost = took < MOST_NS ? took : MOST_NS;
    }
    return true;
}

/* The newest thread is the first one, and that has the first number. */
bool sm_is_only_thread(void) {
    PyThreadState *now = PyThreadState_Get();
    return sm_tstate_id(now) == 1 && PyInterpreterState_ThreadHead(sm_tstate_interpreter(now)) == now;
}

#elif SM_HAS_CORE_LOCK

bool sm_core_is_shared = false;

#endif
