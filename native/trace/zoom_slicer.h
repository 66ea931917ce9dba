/* What zoom_slicer.c and zoom_rows.c share: the first goes through the tokens, the second makes rows, slices and
 * sheets. */
#ifndef SM_TRACE_ZOOM_SLICER_H
#define SM_TRACE_ZOOM_SLICER_H

#include "trace/call.h"
#include "trace/zoom_slices.h"

/* What is told of a longest call: that its length is not all of it, or not its own. */
#define SM_LONGEST_FLAGS (SM_CALL_BEFORE | SM_CALL_BEGAN_UNSEEN | SM_CALL_ENDED_UNSEEN | SM_CALL_OPEN | SM_CALL_GAP)

#define SM_FINE 6 /* bits: inside, times are 64ths of a ns, for events are spread evenly between marks */

enum { SM_GATHERED = 5 }; /* functions of a row that levels above the first keep in mind */

typedef struct {
    int64_t start; /* fine */
    uint32_t rank, flags;
    int64_t last; /* fine: when the last call here ended that began in the open slice of level 0 */
} sm_frame;

typedef struct {    /* of a depth of the open slice of level 0 */
    int64_t start;  /* fine; of the first call */
    uint32_t first; /* of its tallies, + 1; 0: none */
} sm_depth;

typedef struct { /* of a depth of an open slice above */
    uint64_t calls;
    int64_t start, end, busy;
    sm_share share[SM_GATHERED];
    unsigned shares;
    bool ended; /* there is a call that had begun before: */
    sm_row call;
} sm_gathered;

typedef struct {
    sm_zoom_slice slice;
    uint32_t low;          /* how many of the calls that were open when it began are still */
    unsigned below;        /* slices of the level below in it */
    sm_gathered *gathered; /* owned; by depth; of level 0 NULL */
    size_t room, deepest;  /* deepest: + 1 */
    sm_buffer sheet;       /* slices that have ended */
    unsigned slices;       /* so many are in it */
    uint64_t sheets;       /* so many were handed on */
    int64_t begins, ends;  /* of the sheet */
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
    bool failed;      /* no memory: nothing more is summed up */
    sm_frame *stack;  /* owned; before its first frame is one of the root */
    sm_depth *depths; /* owned; as long as the stack */
    size_t room;
    uint32_t depth, place, low;
    int64_t now, base; /* fine; ns: the time that units count from */
    uint64_t units;
    double unit;
    uint64_t block;
    uint64_t ended, before; /* calls in all; in those before the slice; before the block */
    uint64_t ended_before_block;
    uint64_t left;        /* calls until it is to be looked whether the slice can end */
    size_t rows, deepest; /* of the open slice; deepest: + 1 */
    sm_row *single;       /* owned: calls that ended in it and had begun before */
    size_t singles, single_room;
    sm_level level[SM_LEVELS];
    sm_row *row; /* owned: of a slice that ends */
    size_t row_room;
};

/* The call at the top ends, which had begun before the slice. */
void sm_zoom_slice_single(sm_zoom_slicer *s, const sm_frame *frame, uint32_t flags);
typedef enum { SM_ZOOM_SLICE_GOES_ON, SM_ZOOM_SLICE_IS_LAST, SM_ZOOM_SLICE_IS_DROPPED } sm_zoom_slice_ending;
/* Ends the open slice, if a call ended in it, or it is the last of all. Dropped: nothing is written of it. */
void sm_zoom_slice_end(sm_zoom_slicer *s, sm_zoom_slice_ending how);
/* Hands on what there is of sheets. */
void sm_zoom_sheets_end(sm_zoom_slicer *s);
void sm_longest_note(sm_zoom_slicer *s, uint32_t rank, uint32_t depth, uint32_t flags, int64_t start, int64_t ns);

#endif
