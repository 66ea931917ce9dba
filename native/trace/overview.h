/* The contents of a picture of a journal: runs for each stream and depth, as many as its columns can show. No Python.h.
 *
 * A *run* is one call, or consecutive calls of one depth that begin and end within the width of a column. */
#pragma once

#include "trace/overview_runs.h"
#include "trace/zoom_sheets.h"

typedef struct {
    sm_buffer runs; /* array of sm_run; by stream, depth and start */
    sm_buffer gaps; /* array of sm_window_gap */
    sm_wrong wrong;
} sm_overview;

/* Fill the overview. Return 0, or -1 if out of memory. The caller frees it in both cases. */
int sm_overview_fill(sm_overview *overview, const sm_trace *journal, const sm_overview_asked *asked);
void sm_overview_free(sm_overview *overview);
