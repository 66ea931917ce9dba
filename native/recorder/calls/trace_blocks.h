/* The journal's blocks, on their way from the threads to the file (trace.h). For trace.c and trace_blocks.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file/writer.h"
#include "recorder/calls/trace_stream.h"

bool sm_blocks_init(void); /* called once per process; false if out of memory or semaphores */
typedef struct {
    uint64_t least_ns; /* shorter calls are left out */
    uint32_t depth;    /* deeper calls are left out, unless UINT32_MAX */
    unsigned shift;    /* log2 of the ticks in a unit of the clock */
} sm_blocks_filter;

/* Forget everything. Blocks go to this file from now on, or nowhere if it is NULL. filter: NULL to keep all calls. */
void sm_blocks_start(sm_writer *writer, const sm_blocks_filter *filter);
void sm_blocks_stop(void); /* writes all that is queued, and forgets everything */
void sm_blocks_flush(void);
void sm_blocks_help(void); /* flushes if the worker is late and no other thread does so */

sm_stream *sm_blocks_stream(uint32_t thread, uint8_t *const *at); /* NULL if out of memory */
sm_block *sm_blocks_new(sm_stream *stream, size_t least);         /* NULL if out of memory, or too much is queued */
void sm_blocks_open(sm_stream *stream, sm_block *block);
void sm_blocks_seal(sm_stream *stream, const uint8_t *end, sm_block_nodes nodes); /* the open block is full */
void sm_blocks_drop(sm_stream *stream);                                           /* the open block is empty */
void sm_blocks_end(sm_stream *stream);
