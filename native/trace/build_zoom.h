/* Levels of detail made by the reader, for streams whose journal has none. No Python.h. */
#pragma once

#include "trace/call.h"
#include "trace/zoom_sheets.h"

/* Add the sheets of each stream that has none and at least `least` bytes of tokens. No other thread may use the sheets
 * meanwhile. Return 0, or -1 if out of memory, perhaps with some sheets added. */
int sm_zoom_sheets_build(sm_zoom_sheets *sheets, const sm_trace *journal, const int64_t *function, size_t functions,
                         size_t least);
