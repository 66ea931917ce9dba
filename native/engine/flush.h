/* When and by whom the recording's file is written; flush.c explains it. */
#pragma once

#include "engine/engine.h"

bool sm_flush_init(void); /* once per process; false if out of memory */

/* Write a recording at times from now on, here or in a forked child. With the GIL. */
void sm_flush_start(sm_recording *recording);
/* Leave it alone. With the GIL, which the worker does not need. */
void sm_flush_stop(sm_recording *recording);

/* These are called with the GIL and without the engine's lock. Those before the snapshot do nothing without a file. */
/* Write what has changed. since: only call paths from this number on, and what they need; 0 for everything. */
void sm_engine_flush(sm_recording *recording, uint32_t since);
/* Write everything and the end. over: the recorder has stopped, so a journal's file may be rewritten, too. */
void sm_flush_end(sm_recording *recording, bool over);
/* Write everything and the end, as if the process ended now in this way (an exec). "" takes it back. */
void sm_engine_ahead(sm_recording *recording, const char *exit);
/* Continue in the file behind fd, a copy of the recording's. Return false if it has fewer bytes. */
bool sm_engine_move(sm_recording *recording, int fd);
PyObject *sm_engine_snapshot(sm_recording *recording);
