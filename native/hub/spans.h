/* Spans: calls of chosen functions, to which the events of a thread are attributed. A *span* is the outermost call of a
 * chosen function on its thread. A generator or coroutine keeps its span while it is suspended. A *receiver* is
 * notified of all changes. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "code/function.h"
#include "hub/hub.h"
#include "hub/tool_filter.h"

/* Functions of a receiver. Called inside events, with the GIL. They run no Python code and set no exception. */
typedef struct {
    /* Opens a span on a thread without one. Returns its number, or 0 if it is unwanted or out of memory. */
    uint64_t (*open)(const sm_function *function);
    void (*close)(uint64_t span); /* the span has ended, on any thread */
    void (*run)(uint64_t span);   /* attributes this thread's actions to it from now on, or to none if 0 */
    void (*look_away)(bool on);   /* excludes this thread's actions; nests */
    void (*made_for_us)(const PyObject *object); /* excludes an object that the interpreter made for this event */
} sm_span_receiver;

typedef struct {    /* a call that is suspended, or on a stack that was exchanged */
    uint64_t frame; /* the frame's address */
    uint64_t span;
    const sm_function *function;
} sm_span_waiting;

typedef struct sm_spans {
    sm_tool tool;
    /* The maker sets these before sm_spans_start. */
    sm_tool_filter choice; /* choice of functions; cleared when the hub has removed the tool */
    const sm_span_receiver *receiver;

    /* Private. */
    sm_map waiting; /* sm_span_waiting */
    uint64_t lost;  /* beginnings and ends of spans, for lack of memory */
} sm_spans;

/* Return why a filter cannot choose calls at their start, or NULL. */
const char *sm_spans_objection(const sm_filter *filter);

/* Start a recording, without calls that run already. It ends when the hub removes the tool, which leaves open spans as
 * they are. Return -1 with an exception set. */
int sm_spans_start(sm_spans *spans);

/* Keep only this thread's span, under a new number, in a forked child. */
void sm_spans_forked(sm_spans *spans);
