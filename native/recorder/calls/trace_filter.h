/* What a trace leaves out: calls that were too short, or too deep. trace_filter.c tells the story. */
#ifndef SM_RECORDER_CALLS_TRACE_FILTER_H
#define SM_RECORDER_CALLS_TRACE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

typedef struct {
    uint64_t least; /* units of the clock that a call takes at least that stays; 0: all do */
    uint32_t depth; /* of the deepest calls that stay; UINT32_MAX: any */
} sm_trace_filter_limits;

typedef struct { /* left out below a call, and in all that is below */
    uint64_t calls, resumes, exceptions;
} sm_left_out;

typedef struct sm_trace_filter_level sm_trace_filter_level;

typedef struct {      /* two tokens that say what was left out, and when */
    size_t at, end;   /* in `out`; equal: there are none */
    sm_left_out of;   /* what they say */
    uint64_t written; /* as of sm_trace_filter, before them */
    bool joins;       /* another such pair may take this one's place */
} sm_trace_filter_pair;

typedef struct { /* of a stream; who holds `disk` */
    sm_trace_filter_limits limits;
    sm_buffer out;                /* owned: of the block, what is left of it */
    size_t sent;                  /* bytes of it that are in the file */
    uint32_t read;                /* bytes of the block that have been gone through */
    sm_trace_filter_level *level; /* owned: calls that began in this block, from the outermost on */
    size_t levels, room;
    size_t sure;        /* so many of the outermost stay, however they end */
    sm_left_out below;  /* left out of the innermost call that stays, and not said yet */
    uint64_t units;     /* at the last mark that was read, and */
    uint64_t written;   /* ... written, from the block's beginning */
    uint32_t at, shown; /* depth of the thread, and of what is told of it */
    bool marked;        /* nothing was written since the last mark */
    bool no_memory;
    sm_trace_filter_pair pair;
} sm_trace_filter;

/* A block begins, at this depth of the thread. */
void sm_trace_filter_begin(sm_trace_filter *sieve, const sm_trace_filter_limits *limits, uint32_t depth);
/* Goes through a block's bytes up to `to`; bytes: of the block's beginning. now: the clock, in units since then, read
 * after `to` was; whole: no more will come. */
void sm_trace_filter_take(sm_trace_filter *sieve, const uint8_t *bytes, uint32_t to, uint64_t now, bool whole);
/* Up to here, from `sent` on, nothing will change any more. */
size_t sm_trace_filter_ready(const sm_trace_filter *sieve);
void sm_trace_filter_free(sm_trace_filter *sieve);

#endif
