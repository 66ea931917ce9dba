/* Beginnings and ends of other interpreters, as audit events report them.
 *
 * An audit hook in C is the only code that an interpreter runs for us without an import. It cannot be removed, and
 * while there is one, Python makes a tuple for each audited operation, which counts of objects include. So it is added
 * when the program is about to make the first interpreter, by _interpreters.create. */
#pragma once

#include <stdbool.h>

/* Each is called with the running interpreter's GIL, and without an exception. */
typedef struct {
    void (*comes)(void); /* in the main interpreter, when the hook is there: others may come */
    void (*runs)(void);  /* in another one than the main one, from its first event on, before it imports anything */
    void (*ends)(void);  /* in it, before its objects are freed */
} sm_interpreter_calls;

/* Have them called. In the main interpreter. */
void sm_interpreter_events_start(const sm_interpreter_calls *calls);
/* Let no others come. `runs` and `ends` are still called if some have come, since the hook cannot be removed. */
void sm_interpreter_events_stop(void);
