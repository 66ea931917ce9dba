/* Beginnings and ends of other interpreters, as audit events report them.
 *
 * An audit hook in C is the only code that an interpreter runs for us without an import. It cannot be removed, so it is
 * added at the first start that needs it. */
#pragma once

#include <stdbool.h>

/* Each is called with the running interpreter's GIL, and without an exception. */
typedef struct {
    void (*comes)(void); /* in the main interpreter, which imports what can make others */
    void (*runs)(void);  /* in another one than the main one, from its first event on, before it imports anything */
    void (*ends)(void);  /* in it, before its objects are freed */
} sm_interpreter_calls;

bool sm_interpreters_may_come(void); /* true if that has been imported */
/* Have them called from now on. Return false if the hook cannot be added: another one forbids it. */
bool sm_interpreter_events_want(const sm_interpreter_calls *calls);
