/* The cycle collector's pauses, which are known to begin and end: native/hooks/gc_callbacks.h. */
#ifndef SM_RECORDER_CALLS_GC_PAUSES_H
#define SM_RECORDER_CALLS_GC_PAUSES_H

#include "engine/engine.h"

/* A recording begins, after its journal; it ends. With the GIL. */
void sm_pauses_start(void);
void sm_pauses_stop(void);

#endif
