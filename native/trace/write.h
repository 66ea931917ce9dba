/* Write a journal from events with times and a dictionary (excerpt.h). No Python.h.
 *
 * A block is one piece. A unit of marks is a nanosecond, so that readings of the clock stay exact. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/path_dictionary.h"

typedef struct {
    const sm_dictionary *dictionary; /* borrowed; of the output */
    void *receiver;
    int (*piece)(void *receiver, const uint8_t *payload, size_t size); /* returns nonzero to stop */
    /* Private. */
    uint32_t *rank, *among; /* owned; by node: rank in its thread, number among its siblings */
    sm_buffer bytes;
    uint8_t *packed;          /* owned */
    struct sm_packer *packer; /* owned */
    uint32_t thread;
    uint64_t stream, block, block_rank;
    int64_t origin, block_time;
    int64_t mark;
    bool open, after_gap, failed, stopped;
} sm_trace_writer;

/* Fill the private fields. Return 0, or -1 if out of memory; the caller frees in both cases. */
int sm_trace_writer_make(sm_trace_writer *w);
void sm_trace_writer_free(sm_trace_writer *w);

/* Begin a stream. origin: the start of its process, which is subtracted from all times. */
void sm_write_stream(sm_trace_writer *w, uint32_t thread, uint64_t number, int64_t origin);
void sm_write_block(sm_trace_writer *w, int64_t place, int64_t time, bool after_gap);
void sm_write_end(sm_trace_writer *w);

/* Write an event into the open block. place: the current place before it. */
void sm_write_enter(sm_trace_writer *w, int64_t place, uint32_t node, bool resumed);
void sm_write_token(sm_trace_writer *w, uint8_t token);
void sm_write_goto(sm_trace_writer *w, int64_t place);
void sm_write_instant(sm_trace_writer *w, uint64_t kind, const uint8_t *bytes, size_t size);
void sm_write_mark(sm_trace_writer *w, int64_t time);
void sm_write_room(sm_trace_writer *w, int64_t place);
