/* Level of detail: a journal summed up while it is written, so that a picture of any time reads little. docs/format.md
 * says what is in the file. No Python.h.
 *
 * A *slice* of level 0 is the next two thousand calls of a stream to end, or a few more. Its *rows* are: for each depth
 * the calls that began and ended in it, as one row; each call that ended in it and had begun before, by itself; each
 * call that began in it and goes on. A slice of level n + 1 is SM_ZOOM_SLICES of level n. So what crosses the border of
 * a slice is known exactly, and what is summed up is no longer than a slice. A *sheet* is SM_ZOOM_SLICES slices of one
 * level: those of one slice of the next. */
#ifndef SM_TRACE_ZOOM_SLICES_H
#define SM_TRACE_ZOOM_SLICES_H

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/live_dictionary.h"

enum {
    SM_ZOOM_SLICES = 16,         /* of a level that make one of the next */
    SM_ZOOM_SLICE_CALLS = 2048,  /* that end in a slice of level 0, at least */
    SM_ZOOM_SLICE_ROWS = 128,    /* calls in it for each of its rows, at least: what summing up costs in bytes */
    SM_ZOOM_SLICE_DEPTHS = 4096, /* depths that have rows */
    SM_LEVELS = 12,
    SM_SHARES = 3, /* functions of a row that are told apart */
    SM_ZOOM_SHEET_MOST = 1 << 23,

    SM_ZOOM_SLICE_AFTER_GAP = 1, /* flags of a slice: events before it are missing */
    SM_ZOOM_SLICE_LAST = 2,      /* nothing follows: all calls of the stream have ended */

    SM_ROW_ENDED = 0, /* kinds of rows: a call that had begun before */
    SM_ROW_RUN = 1,   /* calls that began and ended */
    SM_ROW_OPEN = 2,  /* a call that goes on */
};

typedef struct {
    uint32_t rank, function; /* rank: of the node with most of it */
    int64_t ns;
} sm_share;

typedef struct {
    uint8_t kind, shares;
    uint32_t depth, flags; /* flags: SM_CALL_..., of single calls */
    uint64_t calls;
    int64_t start, end, busy;
    sm_share share[SM_SHARES]; /* the largest first; of a single call its node, and all of it */
} sm_row;

typedef struct {
    uint64_t flags, block, skip, calls; /* block, skip: where it begins: behind so many ends of calls in that block */
    int64_t start, end;
} sm_zoom_slice;

typedef struct { /* the longest call of a function */
    int64_t ns, start;
    uint32_t thread, rank, depth;
    uint32_t flags; /* of SM_LONGEST_FLAGS */
    uint64_t stream;
    bool fresh;        /* since somebody took it off */
    int64_t sum, most; /* for zoom_rows.c, while a row is made */
    uint32_t most_rank;
} sm_longest;

typedef struct {    /* guard: its owner's, which that of the slicers is that it is given to */
    sm_longest *of; /* owned; by function */
    size_t count;
} sm_functions;

bool sm_functions_know(sm_functions *functions, size_t count); /* room for so many. False: out of memory */
void sm_functions_free(sm_functions *functions);
/* Appends those longest calls that have come since the last time, as a payload has them. 0, or -1: out of memory. */
int sm_longest_pack(sm_functions *functions, sm_buffer *to);
/* Reads one of a payload. Returns where the next is; NULL: it makes no sense. */
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

/* Sums up a stream. places: of its thread, which others may share; functions: of all. NULL: out of memory. */
sm_zoom_slicer *sm_zoom_slicer_new(uint32_t thread, uint64_t stream, sm_places *places, sm_functions *functions,
                                   sm_zoom_sheet_taker taker, void *receiver);
void sm_zoom_slicer_free(sm_zoom_slicer *slicer);

typedef struct {
    uint64_t number, rank;
    int64_t ns;
    double unit;
    bool after_gap;
} sm_block_head;

/* The next block of the stream. */
void sm_zoom_slicer_block(sm_zoom_slicer *slicer, const sm_block_head *head, const uint8_t *bytes, size_t size);
/* No more comes: the last sheets are handed on. */
void sm_zoom_slicer_end(sm_zoom_slicer *slicer);

#endif
