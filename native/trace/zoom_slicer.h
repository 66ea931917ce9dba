/* Structures shared by zoom_slicer.c, which reads the tokens, and zoom_rows.c, which makes rows, slices and sheets. */
#pragma once

#include "trace/call.h"
#include "trace/zoom_slices.h"

/* The flags of a longest call whose duration is incomplete or uncertain. */
#define SM_LONGEST_FLAGS (SM_CALL_BEFORE | SM_CALL_BEGAN_UNSEEN | SM_CALL_ENDED_UNSEEN | SM_CALL_OPEN | SM_CALL_GAP)

#define SM_FINE 6 /* bits: *fine* times are 64ths of a ns, since events are spread evenly between marks */

enum { SM_GATHERED = 5 };

typedef struct {
    int64_t start; /* fine */
    uint32_t rank, flags;
    int64_t last; /* fine; end of the last call at this depth that began in the open slice of level 0 */
} sm_frame;

typedef struct { /* a depth of the open slice of level 0 */
    int64_t start;
    uint32_t first; /* first place with calls + 1, or 0 */
} sm_depth;

typedef struct { /* a depth of an open slice of a higher level */
    uint64_t calls;
    int64_t start, end, busy;
    sm_share share[SM_GATHERED];
    unsigned shares;
    bool ended; /* `call` began before and ended */
    sm_row call;
} sm_gathered;

typedef struct {
    sm_zoom_slice slice;
    uint32_t low; /* number of calls open at its beginning that still are */
    unsigned below;
    sm_gathered *gathered; /* owned; by depth; NULL on level 0 */
    size_t room, deepest;  /* deepest: the largest depth + 1 */
    sm_buffer sheet;
    unsigned slices;
    uint64_t sheets;
    int64_t begins, ends;
    uint64_t last_block;
} sm_level;

/* Guard: its owner's; of a trace that is being recorded, `sums` of recorder/calls/trace_blocks.c. */
struct sm_zoom_slicer {
    uint32_t thread;
    uint64_t stream;
    sm_places *places;       /* borrowed */
    sm_functions *functions; /* borrowed */
    sm_zoom_sheet_taker taker;
    void *receiver;
    bool begun, broken, last;
    bool failed;      /* out of memory, or ended */
    sm_frame *stack;  /* owned; the root's frame is before the first */
    sm_depth *depths; /* owned; as long as the stack */
    size_t room;
    uint32_t depth, place, low;
    int64_t now, base; /* fine; base: ns from which units count */
    uint64_t units;
    double unit;
    uint64_t block;
    uint64_t ended, before; /* numbers of ended calls: in all; before the slice; before the block */
    uint64_t ended_before_block;
    uint64_t left;        /* calls until the next check whether the slice can end */
    size_t rows, deepest; /* rows of the open slice, and its largest depth + 1 */
    sm_row *single;       /* owned; calls that began before it and ended in it */
    size_t singles, single_room;
    sm_level level[SM_LEVELS];
    sm_row *row;
    size_t row_room;
};

/* Note the end of the top call, which began before the slice. */
void sm_zoom_slice_single(sm_zoom_slicer *s, const sm_frame *frame, uint32_t flags);
typedef enum { SM_ZOOM_SLICE_GOES_ON, SM_ZOOM_SLICE_IS_LAST, SM_ZOOM_SLICE_IS_DROPPED } sm_zoom_slice_ending;
/* End the open slice if a call ended in it or it is the last. A dropped slice is not written. */
void sm_zoom_slice_end(sm_zoom_slicer *s, sm_zoom_slice_ending how);
void sm_zoom_sheets_end(sm_zoom_slicer *s);
void sm_longest_note(sm_zoom_slicer *s, uint32_t rank, uint32_t depth, uint32_t flags, int64_t start, int64_t ns);
