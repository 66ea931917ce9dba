/* From the engine's state to the tables of a recording. */
#ifndef SM_OUTPUT_H
#define SM_OUTPUT_H

#include "event/engine.h"

/* writer: taken over, also on failure. False: out of memory. */
bool sm_output_open(sm_output *output, sm_writer *writer, bool whole);
void sm_output_close(sm_output *output);
/* Writes what changed (whole: everything) and flushes. last: the end of the recording, with the END chunk. */
void sm_output_save(sm_output *output, bool last);

#endif
