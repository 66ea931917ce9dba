/* Makes levels of detail (trace/zoom_slices.h) while the journal is written. For trace.c and trace_blocks.c.
 *
 * The worker makes them from written blocks, so no thread of the program pays for it. A block has the place and number
 * of the tree's nodes at its end, which never move or change, so they are read without the GIL. */
#pragma once

#include "file/writer.h"
#include "recorder/calls/trace_stream.h"
#include "recorder/calls/tree.h"

/* Return the nodes that a block may name, with the GIL. */
sm_block_nodes sm_levels_nodes(const sm_tree_thread *tree);

/* Add the next block of its stream. This and the functions below are called with `sums` of trace_blocks.c. */
void sm_levels_block(sm_writer *writer, const sm_block *block);
void sm_levels_end(sm_stream *stream);
void sm_levels_forget(sm_stream *stream); /* ends it, and writes nothing more */
void sm_levels_write(sm_writer *writer);  /* writes the longest calls so far */
void sm_levels_forget_all(void);
