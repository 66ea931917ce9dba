/* The profile slot and the trace slot of every thread, shared on 3.11, where only they report C calls and lines. A
 * *user* is a part of seismo. Any other tool that sets a slot is a *foreign tool*: it receives all of its events,
 * and sys.getprofile() and sys.gettrace() return its functions. Guarded by the GIL. Users are static. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/compat.h"

#if SM_SHARES_SLOTS

typedef enum { SM_THREAD_SLOT_PROFILE, SM_THREAD_SLOT_TRACE, SM_THREAD_SLOTS } sm_thread_slot;

typedef struct sm_thread_slot_user {
    /* The user sets these, and never changes them. */
    sm_thread_slot slot;
    /* Receives the event, with a NULL object and no exception set. Returns -1 with an exception set to raise it in
     * the program. May be called once more after the user has left. */
    Py_tracefunc function;
    /* Returns true if it wants this thread's events; NULL means all threads. Runs no Python code. */
    bool (*wants)(PyThreadState *tstate);
    /* The user sleeps on each thread until sm_thread_slots_lull wakes it. */
    bool idle;
    /* Called when another tool appears in a slot of any thread, before its first event, and when the last one has gone.
     * A slot is being set meanwhile, so it runs no Python code. May be NULL. */
    void (*alongside)(bool present);
    /* Private. */
    bool joined;
    struct sm_thread_slot_user *next;
} sm_thread_slot_user;

/* Give the user its slot on all wanted threads, present and future. Return -1 with an exception set. */
int sm_thread_slots_join(sm_thread_slot_user *user);
/* Remove the user, and return the slots to foreign tools. Preserves the current exception. */
void sm_thread_slots_leave(sm_thread_slot_user *user);

/* Call `wants` again for one thread, or for all if NULL, and check for threads made and slots set by C code. Return the
 * number of threads that had no guard. */
unsigned sm_thread_slots_review(PyThreadState *tstate);

/* Stop calling a user on this thread, or call it again. Without another tool, the slot of a sleeping user costs
 * nothing. */
void sm_thread_slots_lull(PyThreadState *tstate, const sm_thread_slot_user *user, bool asleep);

/* Return true if a foreign tool uses this slot, alone or with us. */
bool sm_thread_slots_foreign(PyThreadState *tstate, sm_thread_slot slot);

typedef struct {
    uint64_t evicted[SM_THREAD_SLOTS]; /* slots overwritten by C code, with a loss of events */
    uint64_t lost;                     /* threads skipped for lack of memory */
} sm_thread_slots_facts;
extern sm_thread_slots_facts sm_thread_slots;

/* Remove a foreign tool from the running thread's slot, as sys.settrace(None) does. */
void sm_thread_slots_clear(bool trace);

/* For setter_overrides.c. */
void sm_thread_slots_watch_methods(bool on);
PyObject *sm_thread_slots_set(sm_thread_slot slot, PyCFunction original, PyObject *module, PyObject *value);
PyObject *sm_thread_slots_shown(PyObject *value);

#else

static inline void sm_thread_slots_clear(bool trace) {
    const PyThreadState *tstate = PyThreadState_Get();
    if (trace && tstate->c_tracefunc != NULL)
        PyEval_SetTrace(NULL, NULL);
    else if (!trace && tstate->c_profilefunc != NULL)
        PyEval_SetProfile(NULL, NULL);
}

#endif
