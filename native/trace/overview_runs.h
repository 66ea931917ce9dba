/* Merges calls, added in the order of time, into the runs of a picture. No Python.h. */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "trace/call.h"
#include "trace/zoom_slices.h"

typedef struct {
    int64_t start, end; /* ns */
    int64_t busy;       /* ns in which one of the calls was open */
    int64_t most;       /* ns; the least part of `busy` that is in the function of `node` */
    int64_t bound;      /* ns by which the times of one call may be off, or -1 if unknown or several calls */
    uint64_t calls;
    uint64_t stream;
    uint32_t node, depth, flags; /* flags: SM_CALL_... of one call */
} sm_run;

typedef struct {
    int64_t from, to; /* ns */
    uint32_t columns;
    uint32_t first_depth, last_depth;
    const uint8_t *wanted;               /* by thread, or NULL for all */
    const int64_t *function;             /* borrowed; by node */
    const struct sm_zoom_sheets *sheets; /* borrowed */
} sm_overview_asked;

enum { SM_PAINT_SHARES = 6 };

typedef struct { /* the share of one function in a run */
    int64_t function, ns;
    int64_t node_ns; /* ns of `node`, which has the largest part */
    uint32_t node;
} sm_painted_share;

typedef struct {
    sm_run run;
    sm_painted_share of[SM_PAINT_SHARES];
    unsigned shares;
} sm_paint_slot;

typedef struct {
    const sm_overview_asked *asked; /* borrowed */
    sm_buffer *runs;                /* borrowed; receives the runs */
    sm_paint_slot *slots;           /* owned; by depth, from the first wanted one */
    size_t room;
    int64_t width;
    bool failed;
} sm_run_painter;

/* Add a run of several calls. Its node follows from the shares. */
void sm_paint_run(sm_run_painter *painter, const sm_run *run, const sm_share *shares, unsigned count);
void sm_paint_call(sm_run_painter *painter, const sm_call *call, uint64_t stream);
/* Pass on the open runs at the end of a stream. */
void sm_paint_end(sm_run_painter *painter);
