/* Spans: the calls of chosen functions, so that what happens on a thread can be told to belong to one of them.
 *
 * A *span* is the outermost call of a chosen function on its thread, from its first instruction to its last: chosen
 * functions that run inside it belong to it. A generator or coroutine that is suspended takes its span with it: the
 * thread is in none until that goes on, maybe on another thread. What does something with spans is a *receiver*, which
 * is told of every change; this file knows the hub and the frames only. */
#ifndef SM_HUB_SPANS_H
#define SM_HUB_SPANS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "code/function.h"
#include "hub/hub.h"
#include "hub/tool_filter.h"

/* Called inside events, with the GIL and maybe with an exception put aside: must run no Python code and raise nothing.
 */
typedef struct {
    /* A span begins; the thread is in none. Its number, not 0; 0: out of memory, or none is wanted. */
    uint64_t (*open)(const sm_function *function);
    void (*close)(uint64_t span); /* it has ended, wherever it ran last */
    void (*run)(uint64_t span);   /* what this thread does from here on belongs to it; 0: to none */
    void (*look_away)(bool on);   /* what this thread does in between is ours, not the program's; nests */
    void (*made_for_us)(const PyObject *object); /* by the interpreter, for the event at hand; not the program's */
} sm_span_receiver;

typedef struct {    /* a call that is suspended, or whose stack another has replaced */
    uint64_t frame; /* its address */
    uint64_t span;
    const sm_function *function;
} sm_span_waiting;

typedef struct sm_spans {
    sm_tool tool;
    /* Set by the maker before sm_spans_start. */
    sm_tool_filter choice; /* of the functions; cleared by sm_spans_stop */
    const sm_span_receiver *receiver;

    /* Its own. */
    sm_map waiting; /* sm_span_waiting */
    uint64_t lost;  /* spans, or ends of spans, that could not be followed for want of memory */
} sm_spans;

/* Why a filter cannot choose calls at their start (a plain sentence), or NULL. */
const char *sm_spans_objection(const sm_filter *filter);

/* One recording: -1 with an exception. Calls that run already when it starts are none of its spans. */
int sm_spans_start(sm_spans *spans);
/* No event comes after this. Spans that have not ended are left as they are. Idempotent. */
void sm_spans_stop(sm_spans *spans);

/* In a forked child: all spans are the parent's, but the one that this thread is in, which begins anew. */
void sm_spans_forked(sm_spans *spans);

#endif
