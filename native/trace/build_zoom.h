/* Levels of a journal that was written without them, or lacks them for some streams: made by the reader. No Python.h.
 */
#ifndef SM_TRACE_BUILD_ZOOM_H
#define SM_TRACE_BUILD_ZOOM_H

#include "trace/call.h"
#include "trace/zoom_sheets.h"

/* Adds the sheets of all streams that have none and hold at least so many bytes of tokens. function: by node, below
 * `functions`. 0, or -1 when out of memory: there may be some. */
int sm_zoom_sheets_build(sm_zoom_sheets *sheets, const sm_trace *journal, const int64_t *function, size_t functions,
                         size_t least);

#endif
