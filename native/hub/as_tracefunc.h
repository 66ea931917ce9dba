/* Converts the hub's events to those of a Py_tracefunc, the same on every version, and calls Python functions with
 * them. The interpreter's own events differ from the documentation: on 3.12, a return by exception has None
 * (gh-110892), and a throw has the exception. */
#pragma once

#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/frame.h"
#include "hub/hub.h"

/* By PyTrace_...: interned, owned; set by sm_tracefunc_init. */
extern PyObject *sm_tracefunc_names[8];

/* Initialize, before a function is called. Return -1 with an exception set. */
int sm_tracefunc_init(void);

/* Call function(frame, event, arg), with None for a NULL arg. Return NULL with an exception set. */
SM_INLINE PyObject *sm_tracefunc_call(PyObject *function, PyFrameObject *frame, int what, PyObject *arg) {
    if (sm_frame_before_call(frame) < 0)
        return NULL;
    PyObject *arguments[4] = {NULL, (PyObject *)frame, sm_tracefunc_names[what], arg ? arg : Py_None};
    const size_t count = 3 | PY_VECTORCALL_ARGUMENTS_OFFSET;
    PyObject *result;
    SM_CORE_AWAY(result = sm_call(function, arguments + 1, count));
    sm_frame_after_call(frame);
    return result;
}

/* Return the PyTrace_... constant of an event. */
static inline int sm_tracefunc_what(const sm_hook_event *event) {
    static const unsigned char what[SM_HOOK_KINDS] = {
        [SM_HOOK_START] = PyTrace_CALL,          [SM_HOOK_RESUME] = PyTrace_CALL,
        [SM_HOOK_THROW] = PyTrace_CALL,          [SM_HOOK_RETURN] = PyTrace_RETURN,
        [SM_HOOK_YIELD] = PyTrace_RETURN,        [SM_HOOK_UNWIND] = PyTrace_RETURN,
        [SM_HOOK_C_CALL] = PyTrace_C_CALL,       [SM_HOOK_C_RETURN] = PyTrace_C_RETURN,
        [SM_HOOK_C_RAISE] = PyTrace_C_EXCEPTION, [SM_HOOK_LINE] = PyTrace_LINE,
        [SM_HOOK_RAISE] = PyTrace_EXCEPTION,     [SM_HOOK_STOP_ITERATION] = PyTrace_EXCEPTION,
        [SM_HOOK_OPCODE] = PyTrace_OPCODE,
    };
    return what[event->kind];
}

/* Set *arg to a borrowed reference, or to NULL for a return by exception. If it belongs to *made, a new reference, the
 * caller has to release that. Return -1 with an exception set. */
static inline int sm_tracefunc_arg(const sm_hook_event *event, PyObject **arg, PyObject **made) {
    const uint32_t none = SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RESUME) | SM_HOOK_BIT(SM_HOOK_THROW) |
                          SM_HOOK_BIT(SM_HOOK_LINE) | SM_HOOK_BIT(SM_HOOK_OPCODE);
    const uint32_t value = SM_HOOK_BIT(SM_HOOK_RETURN) | SM_HOOK_BIT(SM_HOOK_YIELD);
    uint32_t bit = SM_HOOK_BIT(event->kind);
    *made = NULL;
    if ((bit & none) != 0) {
        *arg = Py_None;
        return 0;
    }
    if ((bit & value) != 0 || ((bit & SM_HOOK_C_CALLS) != 0 && event->self == NULL)) {
        *arg = event->arg;
        return 0;
    }
    if ((bit & SM_HOOK_C_CALLS) != 0) {
        *made = sm_hub_callable(event);
    } else if (event->kind != SM_HOOK_UNWIND) { /* an exception */
        PyObject *traceback = PyException_GetTraceback(event->arg);
        *made = PyTuple_Pack(3, (PyObject *)Py_TYPE(event->arg), event->arg, traceback ? traceback : Py_None);
        Py_XDECREF(traceback);
    }
    *arg = *made;
    return *made != NULL || event->kind == SM_HOOK_UNWIND ? 0 : -1;
}

#define SM_PROFILE_EVENTS (SM_HOOK_CALLS | SM_HOOK_C_CALLS)
#define SM_TRACE_EVENTS (SM_HOOK_CALLS | SM_HOOK_TRACING)
