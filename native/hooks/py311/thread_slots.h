/* The profile slot and the trace slot of every thread, as something that several can use: 3.11 only, where they are the
 * only hooks that see C calls and lines. Later interpreters have sys.monitoring, and next to nothing here is compiled.
 *
 * A *user* is one of ours that wants the events of a slot: the profilefunc source, the hub. Whoever else uses a slot, a
 * debugger, coverage, cProfile, is a *foreign tool*: it may have been there before us or come later, and receives every
 * event that it would receive without us; sys.getprofile() and sys.gettrace() answer as if we were not there.
 *
 * Ownership and threads: everything with the GIL. Users are static: they are never freed. */
#ifndef SM_HOOKS_PY311_THREAD_SLOTS_H
#define SM_HOOKS_PY311_THREAD_SLOTS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/compat.h"

#if SM_SHARES_SLOTS

typedef enum { SM_THREAD_SLOT_PROFILE, SM_THREAD_SLOT_TRACE, SM_THREAD_SLOTS } sm_thread_slot;

typedef struct sm_thread_slot_user {
    /* Set by the user, and fixed. */
    sm_thread_slot slot;
    /* The event, as the interpreter reports it: no exception is pending. Its first argument is not for it. -1 with an
     * exception: raised in the program. May be called once more after it has left. */
    Py_tracefunc function;
    /* Does it want this thread's events? NULL: every thread's. May not run Python code. */
    bool (*wants)(PyThreadState *tstate);
    /* It sleeps on each thread until it is woken there. */
    bool idle;
    /* Called when another tool is in one of the two slots of any thread, before its first event, and when none is any
     * more. It is called in the midst of what sets a slot: may not run Python code. NULL: does not care. */
    void (*alongside)(bool present);
    /* Our own. */
    bool joined;
    struct sm_thread_slot_user *next;
} sm_thread_slot_user;

/* From here on the user receives its slot on every thread that it wants, running and future. -1 with an exception. */
int sm_thread_slots_join(sm_thread_slot_user *user);
/* Not any more: what was there before us, or came later, has the slots for itself. Leaves a pending exception alone. */
void sm_thread_slots_leave(sm_thread_slot_user *user);

/* Ask `wants` anew: of one thread, or of all (NULL). */
void sm_thread_slots_review(PyThreadState *tstate);

/* While it sleeps, a user is not called in this thread, and when no other tool is there, the slot costs nothing. Does
 * nothing where the user is not in the slot. Cheap; sleep ends with sm_thread_slots_wake. */
void sm_thread_slots_sleep(PyThreadState *tstate, const sm_thread_slot_user *user);
void sm_thread_slots_wake(PyThreadState *tstate, const sm_thread_slot_user *user);

/* Looks after what no hook reports: threads that C code made, slots that C code took. Returns how many threads it found
 * without us. */
unsigned sm_thread_slots_look(void);

/* Does a foreign tool have this slot, alone or with us? */
bool sm_thread_slots_foreign(PyThreadState *tstate, sm_thread_slot slot);

typedef struct {
    uint64_t shared;                   /* times that a foreign tool was found in a slot, or came to one */
    uint64_t evicted[SM_THREAD_SLOTS]; /* times that C code took a slot from us; events until we noticed are lost */
    uint64_t late;                     /* threads found only by looking */
    uint64_t lost;                     /* threads that were left out for want of memory */
} sm_thread_slots_facts;
extern sm_thread_slots_facts sm_thread_slots;

/* Takes a foreign tool out of the running thread's slot, as sys.settrace(None) does. */
void sm_thread_slots_clear(bool trace);

/* setter_overrides.c: sys's functions, while there are users. For thread_slots.c only. */
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
#endif
