/* Leaves short or deep calls out of a trace; trace_filter.c explains it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    uint64_t least; /* units of the shortest call that stays, or 0 */
    uint32_t depth; /* depth of the deepest calls that stay, or UINT32_MAX */
} sm_trace_filter_limits;

typedef struct { /* the events that are missing below a call, at all levels */
    uint64_t calls, resumes, exceptions;
} sm_left_out;

typedef struct sm_trace_filter_level sm_trace_filter_level;

typedef struct {    /* an instant that counts what was left out, and a mark */
    size_t at, end; /* range in `out`; empty if there is none */
    sm_left_out of;
    uint64_t written; /* sm_trace_filter.written before it */
    bool joins;       /* true if a later pair may replace it */
} sm_trace_filter_pair;

typedef struct { /* the filter's state for a stream; guarded by `disk` */
    sm_trace_filter_limits limits;
    sm_buffer out; /* owned; the bytes that stay of the block */
    size_t sent;
    uint32_t read;                /* processed bytes of the block */
    sm_trace_filter_level *level; /* owned; calls that began in this block, outermost first */
    size_t levels, room;
    size_t sure;        /* number of outermost calls that certainly stay */
    sm_left_out below;  /* left out of the innermost call that stays, not written yet */
    uint64_t units;     /* at the last mark that was read, since the block's beginning */
    uint64_t written;   /* number of bytes at the last mark that was written */
    uint32_t at, shown; /* depth of the thread, and of what is written */
    bool marked;        /* nothing was written since the last mark */
    bool no_memory;
    sm_trace_filter_pair pair;
} sm_trace_filter;

/* Begin a block, at this depth of the thread. */
void sm_trace_filter_begin(sm_trace_filter *sieve, const sm_trace_filter_limits *limits, uint32_t depth);
/* Process a block's bytes up to `to`. now: units of the clock since its beginning, read later; whole: it has ended. */
void sm_trace_filter_take(sm_trace_filter *sieve, const uint8_t *bytes, uint32_t to, uint64_t now, bool whole);
/* Return the end of the bytes that will not change any more. */
size_t sm_trace_filter_ready(const sm_trace_filter *sieve);
void sm_trace_filter_free(sm_trace_filter *sieve);
