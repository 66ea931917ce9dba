/* What of the interpreter's global state is read, and nothing else tells. Read only. */
#ifndef SM_COMPAT_RUNTIME_H
#define SM_COMPAT_RUNTIME_H

#include <stdbool.h>

#include "compat/compat.h"

/* Why nothing can be recorded here (a plain sentence), or NULL: it is a free-threaded build, another interpreter than
 * the main one, a version that is not known, or one whose structures are not where they should be, as far as it tells
 * (3.13). With the GIL. Reading recordings needs none of this. */
const char *sm_interpreter_objection(void);

/* By its debug offsets (3.13), with the GIL. */
typedef struct {
    const int *collecting; /* not 0: the main interpreter's cycle collector is at work */
    /* The newest interpreter: the main one while it is the only one. An interpreter is here before it makes its first
     * object, and until after its last is gone. */
    PyInterpreterState *const *newest;
    /* The state of the thread that holds the main interpreter's lock, or held it last. */
    PyThreadState *const *holder;
} sm_runtime_places;

/* False: this interpreter does not tell. */
bool sm_runtime_find(sm_runtime_places *places);

/* How many interpreters there have been in this process before now, the main one included, but for those that live on:
 * all that run from now on are those that sm_interpreters_made() counts later, less this number. Where several live
 * in addition to the main one, they are taken for one: their list belongs to a lock that is not to be had. 0 for both:
 * this interpreter does not tell. */
uint64_t sm_interpreters_gone(void);
uint64_t sm_interpreters_made(void);

/* Where the interpreter keeps the list of what it calls around a collection; gc.callbacks is the same list. NULL: this
 * interpreter does not tell. */
PyObject **sm_collector_callbacks(void);
/* Tells of an exception that one of them raised, as the interpreter does. */
void sm_collector_unraisable(PyObject *callback);

/* Where the interpreter notes, as it unwinds the main module, that a KeyboardInterrupt ended the program, so that the
 * process then dies of SIGINT. Up to 3.13 each evaluation of a text (exec, eval) clears that note. NULL: nothing clears
 * it, or the interpreter's structures are not those that are known. */
int *sm_interrupt_note(void);

/* After Py_AddPendingCall by a thread without the GIL: has the main thread look for it. Up to 3.12 the interpreter asks
 * whether the thread that asked may run it, and so a program of one thread never looks. */
void sm_wake_for_pending_calls(void);
/* Takes that back, where the main thread has not come. 3.11 has to: a thread that is traced comes back to the beginning
 * of a function again and again while that is asked for, although it may not run the call, and the main thread may be
 * waiting for this very thread. */
#define SM_WAKING_STOPS_OTHERS (PY_VERSION_HEX < 0x030C0000)
void sm_stop_waking_for_pending_calls(void);

#endif
