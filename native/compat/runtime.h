/* Fields of the interpreter's global state that no API exposes. */
#pragma once

#include <stdbool.h>

#include "compat/compat.h"

/* Return why nothing can be recorded here, or NULL: a subinterpreter, or an unknown layout. */
const char *sm_interpreter_objection(void);
/* The same for all that is recorded only where there is a GIL: everything but calls by their starts. */
const char *sm_gil_objection(void);

/* Addresses in the interpreter's state, from its debug offsets (3.13). Read with the GIL. */
typedef struct {
    const int *collecting; /* not 0 while the main interpreter's cycle collector runs */
    /* The newest interpreter, from before its first object until after its last. */
    PyInterpreterState *const *newest;
    /* The thread state that holds the main interpreter's GIL, or held it last. */
    PyThreadState *const *holder;
    uint64_t interpreter_size; /* of the state of an interpreter, in bytes */
} sm_runtime_places;

/* Find the addresses. Return false if this interpreter does not expose them. */
bool sm_runtime_find(sm_runtime_places *places);

/* Return how many interpreters have ended, plus one for the main interpreter. Several living subinterpreters count as
 * one, because reading their list needs a lock that is inaccessible. */
uint64_t sm_interpreters_gone(void);
/* Return how many interpreters this process has made, with the main one. */
uint64_t sm_interpreters_made(void);

#define SM_SETS_FIRST_PATH (PY_VERSION_HEX >= 0x030D0000) /* earlier ones give other interpreters none */
/* Set the first entry of sys.path that the process gives to other interpreters. Return -1 with an exception set. */
int sm_set_first_path(PyObject *path);

/* Return the address of the interpreter's list of callbacks around a collection (gc.callbacks), or NULL. */
PyObject **sm_collector_callbacks(void);
/* Report an exception that a callback of the collector raised, as the interpreter does. */
void sm_collector_unraisable(PyObject *callback);

/* Return the address of the flag that a KeyboardInterrupt ended the main module, which makes the process die of SIGINT.
 * Return NULL if nothing clears the flag (up to 3.13, exec and eval do) or the structures are unknown. */
int *sm_interrupt_note(void);

/* Make the main thread check for a pending call after Py_AddPendingCall without the GIL. Up to 3.12 the interpreter
 * checks whether the calling thread may run it, so a program with one thread never would. */
void sm_wake_for_pending_calls(void);
/* Withdraw the request if the main thread has not responded. On 3.11 a traced thread restarts a function as long as the
 * request exists, and the main thread may be waiting for it. */
#define SM_WAKING_STOPS_OTHERS (PY_VERSION_HEX < 0x030C0000)
void sm_stop_waking_for_pending_calls(void);
