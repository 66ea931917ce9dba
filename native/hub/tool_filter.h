/* A tool's filter, with the verdicts that it has given. */
#pragma once

#include "filter/filter.h"
#include "hub/hub.h"

typedef struct {
    sm_filter *filter;        /* a held reference; NULL if everything is wanted */
    sm_filter_code *verdicts; /* owned; by sm_function.id; both masks are 0 if undecided or unwanted */
    uint32_t size;
} sm_tool_filter;

void sm_tool_filter_clear(sm_tool_filter *choice);

/* Return the kinds (SM_HOOK_BIT()s) that may be wanted in this code object. seismo's own code has none. */
uint32_t sm_tool_filter_of_code(sm_tool_filter *choice, PyCodeObject *code, PyObject *globals);

/* Return true if the event is wanted. Runs no Python code and preserves the current exception. */
bool sm_tool_filter_of_event(sm_tool_filter *choice, const sm_hook_event *event);

/* Return the name of the thread or task, "" if there is none, or NULL if it is no valid text. context: a PyObject *,
 * owned, which keeps it alive until the next call. */
const char *sm_tool_filter_text(void *context, sm_fact fact);
