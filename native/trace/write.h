/* Writes a journal: events of one stream after the other become tokens, tokens blocks, blocks pieces. No Python.h.
 *
 * For who has events with times and a dictionary (excerpt.h); what is recorded is written by recorder/calls. A block is
 * one piece; a unit of marks is a nanosecond, so that times that were read stay what they are. */
#ifndef SM_TRACE_WRITE_H
#define SM_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/path_dictionary.h"

typedef struct {
    /* given */
    const sm_dictionary *dictionary; /* borrowed: of the recording that is written */
    void *receiver;
    int (*piece)(void *receiver, const uint8_t *payload, size_t size); /* nonzero: stop */
    /* its own */
    uint32_t *rank, *among;   /* owned; by node: its rank in its thread, its place among its siblings */
    sm_buffer bytes;          /* of the block that is open */
    uint8_t *packed;          /* owned */
    struct sm_packer *packer; /* owned */
    uint32_t thread;
    uint64_t stream, block, block_rank;
    int64_t origin, block_time;
    int64_t mark; /* the time of the last mark */
    bool open, after_gap, failed, stopped;
} sm_trace_writer;

/* Fills what is its own. 0, or -1 when out of memory; sm_trace_writer_free whatever comes of it. */
int sm_trace_writer_make(sm_trace_writer *w);
void sm_trace_writer_free(sm_trace_writer *w);

/* The events that follow are this stream's. origin: what is taken off all times, which is when its process started. */
void sm_write_stream(sm_trace_writer *w, uint32_t thread, uint64_t number, int64_t origin);
/* A block begins at this place and time. */
void sm_write_block(sm_trace_writer *w, int64_t place, int64_t time, bool after_gap);
/* The block that is open ends. */
void sm_write_end(sm_trace_writer *w);

/* Events, into the open block. place: where the stream is before it. */
void sm_write_enter(sm_trace_writer *w, int64_t place, uint32_t node, bool resumed);
void sm_write_token(sm_trace_writer *w, uint8_t token);
void sm_write_goto(sm_trace_writer *w, int64_t place);
void sm_write_instant(sm_trace_writer *w, uint64_t kind, const uint8_t *bytes, size_t size);
/* The event before happened at this time, which is not before that of the last mark. */
void sm_write_mark(sm_trace_writer *w, int64_t time);
/* Another block begins if this one is full. place: where the stream is. */
void sm_write_room(sm_trace_writer *w, int64_t place);

#endif
