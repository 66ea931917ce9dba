/* Records what other interpreters of the process run, for the monitoring source. */
#pragma once

#include "source/sources.h"

#if SM_RECORDS_INTERPRETERS
/* Record those that the program makes from now on, with callbacks for these events (0 for none), as a tool of this name
 * with the first free id of this order. */
void sm_interpreters_start(const char *name, const int order[6], const long events[SM_MONITORING_EVENTS]);
void sm_interpreters_stop(void);
#endif
