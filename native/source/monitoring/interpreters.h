/* Records what other interpreters of the process run, for the monitoring source. */
#pragma once

#include "compat/compat.h"

#if SM_RECORDS_INTERPRETERS
/* Record those that the program makes from now on, with these events: the bit of each callback in use, or 0. The array
 * stays valid. */
void sm_interpreters_start(const long *events);
void sm_interpreters_forked(void); /* in the child */
#else
static inline void sm_interpreters_start(const long *Py_UNUSED(events)) {}
static inline void sm_interpreters_forked(void) {}
#endif
