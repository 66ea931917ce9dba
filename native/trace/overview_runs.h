/* What a picture has room for: runs of calls, as they are added in time. No Python.h. */
#ifndef SM_TRACE_OVERVIEW_RUNS_H
#define SM_TRACE_OVERVIEW_RUNS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/call.h"
#include "trace/zoom_slices.h"

typedef struct {
    int64_t start, end; /* ns: of the first call, and of the last */
    int64_t busy;       /* ns in which one of them was open */
    int64_t most;       /* ns of these, at least, in the function of which node is one */
    int64_t bound;      /* of one call: ns that start or end may be off by; -1: not known, or several calls */
    uint64_t calls;
    uint64_t stream;             /* in the index */
    uint32_t node, depth, flags; /* flags: of one call; SM_CALL_... */
} sm_run;

typedef struct {
    int64_t from, to;                    /* ns */
    uint32_t columns;                    /* of the picture, from 1 */
    uint32_t first_depth, last_depth;    /* depths in [first, last) are wanted */
    const uint8_t *wanted;               /* by thread, or NULL: all */
    const int64_t *function;             /* borrowed; by node */
    const struct sm_zoom_sheets *sheets; /* borrowed */
} sm_overview_asked;

enum { SM_PAINT_SHARES = 6 }; /* functions of a run that are told apart */

typedef struct { /* what one function has of a run */
    int64_t function, ns;
    int64_t node_ns; /* of the node that has most of it */
    uint32_t node;
} sm_painted_share;

typedef struct {
    sm_run run; /* calls 0: none */
    sm_painted_share of[SM_PAINT_SHARES];
    unsigned shares;
} sm_paint_slot;

typedef struct {
    const sm_overview_asked *asked; /* borrowed */
    sm_buffer *runs;                /* borrowed: where they go */
    sm_paint_slot *slots;           /* owned; by depth, from the first wanted one */
    size_t room;
    int64_t width; /* ns of a column */
    bool failed;   /* out of memory */
} sm_run_painter;

/* Of a run that is not one call; node and most are those of the shares. */
void sm_paint_run(sm_run_painter *painter, const sm_run *run, const sm_share *shares, unsigned count);
/* One call: its node has all of it. */
void sm_paint_call(sm_run_painter *painter, const sm_call *call, uint64_t stream);
/* Hands on what is there: the stream ends. */
void sm_paint_end(sm_run_painter *painter);
void sm_run_painter_free(sm_run_painter *painter);

#endif
