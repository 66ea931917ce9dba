/* Levels of detail: sums of a journal, made while it is written, so that drawing any stretch of time reads little data
 * (docs/format.md). No Python.h.
 *
 * A *slice* of level 0 is the next two thousand calls of a stream to end, or a few more. Its *rows* are: for each
 * depth, the sum of the calls that began and ended in it; each call that began before and ended in it; each call that
 * began in it and goes on. So calls that cross a slice's border are known exactly. A *sheet* holds the SM_ZOOM_SLICES
 * slices of a level that make one slice of the next. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/live_dictionary.h"

enum {
    SM_ZOOM_SLICES = 16,
    SM_ZOOM_SLICE_CALLS = 2048, /* least number of calls that end in a slice of level 0 */
    SM_ZOOM_SLICE_ROWS = 128,   /* least number of calls per row, which bounds the bytes */
    SM_ZOOM_SLICE_DEPTHS = 4096,
    SM_LEVELS = 12,
    SM_SHARES = 3,
    SM_ZOOM_SHEET_MOST = 1 << 23,

    SM_ZOOM_SLICE_AFTER_GAP = 1, /* flags of a slice: events before it are missing */
    SM_ZOOM_SLICE_LAST = 2,      /* nothing follows: all calls of the stream have ended */

    SM_ROW_ENDED = 0, /* kinds of rows: a call that began before */
    SM_ROW_RUN = 1,   /* calls that began and ended */
    SM_ROW_OPEN = 2,  /* a call that has not ended */
};

typedef struct {
    uint32_t rank, function; /* rank: of the node with most of it */
    int64_t ns;
} sm_share;

typedef struct {
    uint8_t kind, shares;
    uint32_t depth, flags; /* flags: SM_CALL_... of a single call */
    uint64_t calls;
    int64_t start, end, busy;
    sm_share share[SM_SHARES]; /* the largest first; a single call has one */
} sm_row;

typedef struct {
    uint64_t flags, block, skip, calls; /* begins after `skip` ends of calls in `block` */
    int64_t start, end;
} sm_zoom_slice;

typedef struct { /* the longest call of a function */
    int64_t ns, start;
    uint32_t thread, rank, depth;
    uint32_t flags;
    uint64_t stream;
    bool fresh; /* true until it is packed */
    int64_t sum, most;
    uint32_t most_rank;
} sm_longest;

typedef struct {    /* guard: the lock of the slicers that use it */
    sm_longest *of; /* owned; by function */
    size_t count;
} sm_functions;

bool sm_functions_know(sm_functions *functions, size_t count);
void sm_functions_free(sm_functions *functions);
/* Append the longest calls that are new since the last time. Return 0, or -1 if out of memory. */
int sm_longest_pack(sm_functions *functions, sm_buffer *to);
/* Parse one call of a payload. Return its end, or NULL if it is invalid. */
const uint8_t *sm_longest_parse(const uint8_t *at, const uint8_t *end, sm_longest *longest);

typedef struct {
    uint64_t number, stream;
    uint32_t thread, level;
    int64_t start, end;
    const uint8_t *bytes;
    size_t size;
} sm_zoom_sheet;

typedef void (*sm_zoom_sheet_taker)(void *receiver, const sm_zoom_sheet *sheet);

typedef struct sm_zoom_slicer sm_zoom_slicer;

/* Return a new slicer of a stream, or NULL if out of memory. Streams of a thread share places, and all share functions.
 * One lock guards all three: `sums` of recorder/calls/trace_blocks.c while recording. */
sm_zoom_slicer *sm_zoom_slicer_new(uint32_t thread, uint64_t stream, sm_places *places, sm_functions *functions,
                                   sm_zoom_sheet_taker taker, void *receiver);
void sm_zoom_slicer_free(sm_zoom_slicer *slicer);

typedef struct {
    uint64_t number, rank;
    int64_t ns;
    double unit;
    bool after_gap;
} sm_block_head;

void sm_zoom_slicer_block(sm_zoom_slicer *slicer, const sm_block_head *head, const uint8_t *bytes, size_t size);
/* End the stream, and pass its last sheets on. */
void sm_zoom_slicer_end(sm_zoom_slicer *slicer);
