/* Where sources and recorders meet. */
#ifndef SM_WIRING_H
#define SM_WIRING_H

#include "event/engine.h"

/* The sources in order of preference, NULL at the end. */
extern const sm_source *const sm_sources[];

/* Instantiates a source for the calltree recorder. */
void sm_wire(const sm_source *source);

#endif
