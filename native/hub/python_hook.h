/* Python functions as tools, in any number: the equivalents of sys.setprofile and sys.settrace. */
#pragma once

#include <stddef.h>

#include "filter/filter.h"
#include "hub/backend.h"
#include "hub/tool_filter.h"

/* A tool and its handle. The hub holds a reference while it has it. */
typedef struct {
    PyObject_HEAD sm_tool tool;
    PyObject *function; /* owned; NULL once the hub is done with the tool */
    PyObject *where;    /* owned; the filter's Python object, or NULL */
    sm_tool_filter choice;
    bool trace;    /* like sys.settrace; otherwise like sys.setprofile */
    bool stand_in; /* set by a stand-in for a function of sys: for one thread, and f_trace stays when it leaves */
} sm_pyhook;

static inline sm_pyhook *sm_pyhook_of(sm_tool *tool) {
    return (sm_pyhook *)((char *)tool - offsetof(sm_pyhook, tool));
}

/* Return a new hook, not added yet, or NULL with an exception set. A NULL `only` means all threads. */
sm_pyhook *sm_pyhook_new(PyTypeObject *type, PyObject *function, bool trace, PyThreadState *only, sm_filter *filter,
                         PyObject *where);
/* Add the hook to the hub. Return -1 with an exception set. */
int sm_pyhook_add(sm_pyhook *hook);

/* Return the newest Python hook of the running thread, borrowed, or NULL. */
sm_pyhook *sm_pyhook_newest(bool trace);

/* Do what sys.setprofile or sys.settrace does, for any thread; NULL removes. Return -1 with an exception set. */
int sm_pyhook_stand_in(PyTypeObject *type, PyThreadState *tstate, bool trace, PyObject *function);
PyObject *sm_pyhook_stands_in(PyThreadState *tstate, bool trace); /* borrowed, or NULL */

/* python_trace.c */
int sm_pytrace_call(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event);
int sm_pytrace_direct(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg);
void sm_pytrace_thread_gone(sm_tool *tool, void *data);
void sm_pytrace_forget(sm_pyhook *hook); /* keeps the next tool from calling its local functions */
extern uint64_t sm_pytrace_tools;        /* the Python trace tools, by slot */
