/* The journal's blocks, on their way from the threads to the file. For trace.c and trace_blocks.c only; trace.h tells
 * the story. */
#ifndef SM_RECORDER_CALLS_TRACE_BLOCKS_H
#define SM_RECORDER_CALLS_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file/writer.h"
#include "recorder/calls/trace_stream.h"

bool sm_blocks_init(void); /* once per process. False: out of memory, or the system gives no semaphore */
typedef struct {
    uint64_t least_ns; /* calls that are shorter are left out */
    uint32_t depth;    /* and those that are deeper; UINT32_MAX: none */
    unsigned shift;    /* a unit of the clock is so many ticks, as a power of two */
} sm_blocks_filter;

/* From now on blocks go to this file; NULL: nowhere. Everything there is is forgotten. filter: NULL: nothing is left
 * out. */
void sm_blocks_start(sm_writer *writer, const sm_blocks_filter *filter);
void sm_blocks_stop(void);  /* writes what is there, and everything is forgotten */
void sm_blocks_flush(void); /* writes what is there */
void sm_blocks_help(void);  /* the same where the worker is late, and nobody else is at it: cheap, where it is not */

sm_stream *sm_blocks_stream(uint32_t thread, uint8_t *const *at); /* NULL: out of memory */
sm_block *sm_blocks_new(sm_stream *stream, size_t least);         /* NULL: out of memory, or too much is queued */
void sm_blocks_open(sm_stream *stream, sm_block *block);          /* the thread is at its first byte */
void sm_blocks_seal(sm_stream *stream, const uint8_t *end, sm_block_nodes nodes); /* its open block is full */
void sm_blocks_drop(sm_stream *stream); /* its open block is empty, and never becomes one of the file */
void sm_blocks_end(sm_stream *stream);  /* the thread does not touch it again */

#endif
