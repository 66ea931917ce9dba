/* A stream of a trace, and its blocks; see trace.h. */
#ifndef SM_RECORDER_CALLS_TRACE_STREAM_H
#define SM_RECORDER_CALLS_TRACE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/calls/trace_filter.h"

#define SM_TRACE_SLACK 64 /* bytes: a token with operands, a mark, and what ends a stream */

typedef struct { /* never changed once it is made. Of a thread's tree: where its newest nodes are, and how many there
                    are */
    const struct sm_tree_chunk *newest;
    uint32_t count;
} sm_block_nodes;

/* Guard: its thread's, until it is sealed; read only from then on, except where noted. */
typedef struct sm_block {
    struct sm_block *next;    /* in a queue; with `lists` */
    struct sm_stream *stream; /* lives as long as its blocks */
    uint32_t room;            /* bytes */
    uint32_t sealed;          /* its size, once it has one */
    uint32_t taken;           /* bytes that are in the file, or on their way; who holds `disk` */
    uint32_t number;          /* in its stream */
    bool after_gap;           /* events before it are missing */
    uint32_t kinds;           /* of instants in it, as in trace/pieces.h; atomic: set before they are published */
    uint64_t rank;            /* where it begins: of the node */
    uint64_t ns;              /* since the recording's start */
    double unit_ns;
    sm_block_nodes nodes; /* that it may name; once it is sealed */
    uint64_t mark;        /* units of the clock, at its beginning */
    uint32_t depth;       /* of the thread, there */
    uint8_t bytes[];
} sm_block;

/* A thread's journal. Guard: its thread's, with the GIL, except where noted; `lists`, `sums` and `disk` are locks of
 * trace_blocks.c. */
typedef struct sm_stream {
    struct sm_stream *next; /* with `lists` */
    uint8_t *const *at;     /* the thread's, while it has one: atomic. NULL: it has ended */
    uint32_t thread, number;
    uint32_t blocks;                     /* so many have begun */
    uint32_t queued, behind;             /* blocks in either queue; with `lists` */
    struct sm_zoom_slicer *slicer;       /* owned; with `sums`: trace_zoom.h */
    const uint8_t *after;                /* where the last mark ended, if nothing came since: there is none to make */
    bool gap;                            /* events are missing since the last block */
    sm_block *open;                      /* owned; exchanged with `lists` */
    sm_trace_filter *sieve;              /* owned; with `disk`. NULL: nothing is left out */
    uint32_t sieved;                     /* with `disk`: number of the block that it is in, and 1 */
    bool lost;                           /* with `disk`: the rest of that block, for want of memory */
    uint8_t nowhere[2 * SM_TRACE_SLACK]; /* where events go that have no block */
} sm_stream;

#endif
