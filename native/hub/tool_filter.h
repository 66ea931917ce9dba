/* A tool's filter with the verdicts it has given: what answers sm_tool.wants, and at an event whether it is wanted. */
#ifndef SM_HUB_TOOL_FILTER_H
#define SM_HUB_TOOL_FILTER_H

#include "filter/filter.h"
#include "hub/hub.h"

typedef struct {
    sm_filter *filter;        /* held; NULL: everything is wanted */
    sm_filter_code *verdicts; /* owned: by sm_function.id (yes and maybe both 0: not asked yet, or no) */
    uint32_t size;
} sm_tool_filter;

void sm_tool_filter_clear(sm_tool_filter *choice);

/* The kinds (SM_HOOK_BIT()s) that may be wanted in this code object. seismo's own code is never. */
uint32_t sm_tool_filter_of_code(sm_tool_filter *choice, PyCodeObject *code, PyObject *globals);

/* Is this event wanted? Runs no Python code; no exception is left or lost. */
bool sm_tool_filter_of_event(sm_tool_filter *choice, const sm_hook_event *event);

#endif
