/* The journal's blocks, on their way from the threads to the file (trace.h). For trace.c and trace_blocks.c. */
#ifndef SM_RECORDER_CALLS_TRACE_BLOCKS_H
#define SM_RECORDER_CALLS_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file/writer.h"
#include "recorder/calls/trace_filter.h"

#define SM_TRACE_SLACK 64 /* bytes of a token with operands, a mark, and the end of a stream */

typedef struct { /* the newest nodes of a thread's tree, and the number of all */
    const struct sm_tree_chunk *newest;
    uint32_t count;
} sm_block_nodes;

typedef struct sm_block {
    struct sm_block *next;
    struct sm_stream *stream; /* lives as long as its blocks */
    uint32_t room;
    uint32_t sealed; /* its size, once it has one */
    uint32_t taken;  /* bytes that are in the file, or on their way; guarded by `disk` */
    uint32_t number;
    bool after_gap; /* events before it are missing */
    uint32_t kinds; /* of its instants, as in trace/pieces.h; atomic: set before they are published */
    uint64_t rank;  /* of the node at its beginning */
    uint64_t ns;
    double unit_ns;
    sm_block_nodes nodes; /* that it may name; set when sealed */
    uint64_t mark;        /* units of the clock at its beginning */
    uint32_t depth;       /* of the thread at its beginning */
    uint8_t bytes[];
} sm_block;

typedef struct sm_stream { /* a thread's journal */
    struct sm_stream *next;
    uint8_t *const *at; /* the thread's, atomic; NULL once it has ended */
    uint32_t thread, number;
    uint32_t blocks;
    uint32_t queued, behind;       /* blocks in either queue; guarded by `lists` */
    struct sm_zoom_slicer *slicer; /* owned; guarded by `sums` */
    const uint8_t *after;          /* end of the last mark, if nothing followed it */
    bool gap;                      /* events are missing since the last block */
    sm_block *open;                /* owned; guarded by `lists` */
    sm_trace_filter *sieve;        /* owned; guarded by `disk`; NULL without a filter */
    uint32_t sieved;               /* number of its block + 1 */
    bool lost;                     /* the rest of its block is lost, for want of memory; guarded by `disk` */
    uint8_t nowhere[2 * SM_TRACE_SLACK];
} sm_stream;

bool sm_blocks_init(void); /* once per process; false if out of memory or semaphores */
typedef struct {
    uint64_t least_ns; /* shorter calls are left out */
    uint32_t depth;    /* deeper calls are left out, unless UINT32_MAX */
    unsigned shift;    /* log2 of the ticks in a unit of the clock */
} sm_blocks_filter;

/* Forget everything. Blocks go to this file from now on, or nowhere if it is NULL. filter: NULL to keep all calls. */
void sm_blocks_start(sm_writer *writer, const sm_blocks_filter *filter);
void sm_blocks_stop(void); /* writes what is there, and forgets everything */
void sm_blocks_flush(void);
void sm_blocks_help(void); /* flushes if the worker is late and no other thread does so */

sm_stream *sm_blocks_stream(uint32_t thread, uint8_t *const *at); /* NULL if out of memory */
sm_block *sm_blocks_new(sm_stream *stream, size_t least);         /* NULL if out of memory, or too much is queued */
void sm_blocks_open(sm_stream *stream, sm_block *block);
void sm_blocks_seal(sm_stream *stream, const uint8_t *end, sm_block_nodes nodes); /* its open block is full */
void sm_blocks_drop(sm_stream *stream);                                           /* its open block is empty */
void sm_blocks_end(sm_stream *stream);

#endif
