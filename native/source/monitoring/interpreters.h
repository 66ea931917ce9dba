/* Records what other interpreters of the process run, for the monitoring source. */
#pragma once

#include "source/sources.h"

#if SM_RECORDS_INTERPRETERS
typedef struct { /* of the source */
    const char *name;
    const int *order;    /* of the tool ids to try */
    const long *bits;    /* the event of each callback in use, or 0 */
    bool *sites_on;      /* set to false while an event of another interpreter is handled */
    void (*share)(void); /* makes the events of the main interpreter take the core's lock from now on */
} sm_interpreters_source;

/* Record those that the program makes from now on. */
void sm_interpreters_start(const sm_interpreters_source *of);
void sm_interpreters_forked(void); /* in the child */
#else
static inline void sm_interpreters_forked(void) {}
#endif
