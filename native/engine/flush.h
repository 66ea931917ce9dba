/* The recording's file: who writes it, and when. flush.c tells the story. */
#ifndef SM_ENGINE_FLUSH_H
#define SM_ENGINE_FLUSH_H

#include "engine/engine.h"

bool sm_flush_init(void); /* once per process. False: out of memory */

/* A recording into a file begins, here or in a forked child: from now on its file is at most an interval old. With the
 * GIL. */
void sm_flush_start(void);
/* No other thread writes any more. With the GIL, which the worker does not need. */
void sm_flush_stop(void);

/* These are called with the GIL and without the engine's lock; the first four do nothing where there is no file. */
void sm_engine_flush(void);
/* Writes all and the file's end. over: the recorder has stopped, so that a journal's file may be written anew, too. */
void sm_flush_end(bool over);
/* Writes all and the file's end, as if the process ended now in this way (an exec); "" takes it back, for one that
 * goes on. */
void sm_engine_ahead(const char *exit);
/* Goes on in the file that fd is an opening of, a copy of the recording's. false: it has not as many bytes. */
bool sm_engine_move(int fd);
PyObject *sm_engine_snapshot(void);

#endif
