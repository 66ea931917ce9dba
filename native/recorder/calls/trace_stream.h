/* A stream of a trace, and its blocks; see trace.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/calls/trace_filter.h"

#define SM_TRACE_SLACK 64 /* bytes: a token with operands, a mark, and what ends a stream */

typedef struct { /* a snapshot of a thread's tree, immutable: the chunk of its newest nodes, and the number of all its
                    nodes */
    const struct sm_tree_chunk *newest;
    uint32_t count;
} sm_block_nodes;

/* Guard: its thread, until the block is sealed; read-only from then on, except where noted. */
typedef struct sm_block {
    struct sm_block *next;    /* in a queue; guarded by `lists` */
    struct sm_stream *stream; /* lives as long as its blocks */
    uint32_t room;            /* bytes */
    uint32_t sealed;          /* the block's size, once it is known */
    uint32_t taken;           /* bytes that are in the file, or on their way; guarded by `disk` */
    uint32_t number;          /* the block's number in its stream */
    bool after_gap;           /* events before it are missing */
    uint32_t kinds;           /* kinds of instants in it, as in trace/pieces.h; atomic: set before they are published */
    uint64_t rank;            /* rank of the node at which the block begins */
    uint64_t ns;              /* ns since the recording's start */
    double unit_ns;
    sm_block_nodes nodes; /* nodes that it may name; set when it is sealed */
    uint64_t mark;        /* units of the clock at its beginning */
    uint32_t depth;       /* the thread's depth at its beginning */
    uint8_t bytes[];
} sm_block;

/* A thread's journal. Guard: its thread, or who ends it once it reports no more events, except where noted; `lists`,
 * `sums` and `disk` are locks of trace_blocks.c. */
typedef struct sm_stream {
    struct sm_stream *next; /* guarded by `lists` */
    uint8_t *const *at;     /* the thread's write position; atomic; NULL once the thread ended */
    uint32_t thread, number;
    uint32_t blocks;                     /* number of blocks that have begun */
    uint32_t queued, behind;             /* blocks in each queue; guarded by `lists` */
    struct sm_zoom_slicer *slicer;       /* owned; guarded by `sums` (trace_zoom.h) */
    const uint8_t *after;                /* end of the last mark, if no event came since, so that no mark is due */
    bool gap;                            /* events are missing since the last block */
    sm_block *open;                      /* owned; exchanged under `lists` */
    sm_trace_filter *sieve;              /* owned; guarded by `disk`; NULL if nothing is left out */
    uint32_t sieved;                     /* number of its current block + 1; guarded by `disk` */
    bool lost;                           /* the rest of that block is lost, out of memory; guarded by `disk` */
    uint8_t nowhere[2 * SM_TRACE_SLACK]; /* receives the events that have no block */
} sm_stream;
