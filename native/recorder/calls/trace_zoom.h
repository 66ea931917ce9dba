/* Level of detail, made while the journal is written: trace/zoom_slices.h says what it is. For trace.c, trace_blocks.c
 * only.
 *
 * It is made out of full blocks that are in the file, by the worker that wrote them, so that no thread of the program
 * pays for it. A block says how many nodes of the tree there were when it was full, and where they are: those never
 * move, and what is read of them never changes, so that they can be read without the interpreter's lock. */
#ifndef SM_RECORDER_CALLS_TRACE_ZOOM_H
#define SM_RECORDER_CALLS_TRACE_ZOOM_H

#include "file/writer.h"
#include "recorder/calls/trace_stream.h"
#include "recorder/calls/tree.h"

/* Where the nodes are that a block may name: those of the thread that has its tree; with the GIL. */
sm_block_nodes sm_levels_nodes(const sm_tree_thread *tree);

/* The following with trace_blocks.c's `sums`. A stream's block, the next one: */
void sm_levels_block(sm_writer *writer, const sm_block *block);
void sm_levels_end(sm_writer *writer, sm_stream *stream); /* there are no more of it */
void sm_levels_forget(sm_stream *stream);                 /* the same, and nothing more is written */
void sm_levels_write(sm_writer *writer);                  /* the longest calls so far */
void sm_levels_forget_all(void);                          /* when all streams are forgotten */

#endif
