/* Python functions as tools: what sys.setprofile and sys.settrace call, for any number of them. */
#ifndef SM_HUB_PYTHON_HOOK_H
#define SM_HUB_PYTHON_HOOK_H

#include <stddef.h>

#include "filter/filter.h"
#include "hub/backend.h"
#include "hub/tool_filter.h"

/* The tool and its handle in one: the hub holds a reference while it has it. */
typedef struct {
    PyObject_HEAD sm_tool tool;
    PyObject *function; /* owned; NULL once the hub is done with the tool */
    PyObject *where;    /* owned: what stands for the filter in Python; NULL: none */
    sm_tool_filter choice;
    bool trace;    /* as sys.settrace; else as sys.setprofile */
    bool stand_in; /* set by a stand-in: goes by thread, f_trace stays when it goes */
} sm_pyhook;

static inline sm_pyhook *sm_pyhook_of(sm_tool *tool) {
    return (sm_pyhook *)((char *)tool - offsetof(sm_pyhook, tool));
}

/* A new hook, not added yet. only: NULL: all threads. filter: held anew; may be NULL. NULL with an exception. */
sm_pyhook *sm_pyhook_new(PyTypeObject *type, PyObject *function, bool trace, PyThreadState *only, sm_filter *filter,
                         PyObject *where);
int sm_pyhook_add(sm_pyhook *hook); /* -1 with an exception */

int sm_pyhook_init(void); /* once, before all; -1 with an exception */

/* The newest Python hook of the running thread, borrowed; NULL: none. */
sm_pyhook *sm_pyhook_newest(bool trace);

/* What sys.setprofile and sys.settrace do, for any thread: function NULL removes. -1 with an exception. */
int sm_pyhook_stand_in(PyTypeObject *type, PyThreadState *tstate, bool trace, PyObject *function);
PyObject *sm_pyhook_stands_in(PyThreadState *tstate, bool trace); /* borrowed; NULL: nobody */

/* Calls function(frame, event, arg); NULL with an exception. arg NULL: None. */
PyObject *sm_pyhook_call(PyObject *function, PyFrameObject *frame, int what, PyObject *arg);

/* python_trace.c */
int sm_pytrace_call(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event);
int sm_pytrace_direct(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg);
void sm_pytrace_thread_gone(sm_tool *tool, void *data);
void sm_pytrace_forget(sm_pyhook *hook); /* its local functions are not to be called by the next tool */
extern uint64_t sm_pytrace_tools;        /* the Python trace tools, by slot */

#endif
