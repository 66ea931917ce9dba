/* The cycle collector's pauses in the journal (hooks/gc_callbacks.h). */
#pragma once

#include "engine/engine.h"

/* Start after the journal, and stop. With the GIL. */
void sm_pauses_start(void);
void sm_pauses_stop(void);
