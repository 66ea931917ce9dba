/* The journal's blocks, on their way from the threads to the file. For trace.c and trace_blocks.c only; trace.h tells
 * the story. */
#ifndef SM_RECORDER_CALLS_TRACE_BLOCKS_H
#define SM_RECORDER_CALLS_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file/writer.h"
#include "recorder/calls/trace_filter.h"

#define SM_TRACE_SLACK 64 /* bytes: a token with operands, a mark, and what ends a stream */

typedef struct { /* of a thread's tree: where its newest nodes are, and how many there are */
    const struct sm_tree_chunk *newest;
    uint32_t count;
} sm_block_nodes;

typedef struct sm_block {
    struct sm_block *next;    /* in the queue */
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

typedef struct sm_stream { /* a thread's journal */
    struct sm_stream *next;
    uint8_t *const *at; /* the thread's, while it has one: atomic. NULL: it has ended */
    uint32_t thread, number;
    uint32_t blocks;                     /* so many have begun */
    uint32_t queued, behind;             /* blocks in either queue; with `lists` */
    struct sm_zoom_slicer *slicer;       /* owned; with `sums`: trace_zoom.h */
    const uint8_t *after;                /* where the last mark ended, if nothing came since: there is none to make */
    bool gap;                            /* events are missing since the last block */
    sm_block *open;                      /* owned */
    sm_trace_filter *sieve;              /* owned; with `disk`. NULL: nothing is left out */
    uint32_t sieved;                     /* number of the block that it is in, and 1 */
    bool lost;                           /* with `disk`: the rest of that block, for want of memory */
    uint8_t nowhere[2 * SM_TRACE_SLACK]; /* where events go that have no block */
} sm_stream;

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
