#include "hub/python_hook.h"

#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/frame.h"
#include "hooks/py311/thread_slots.h"
#include "hub/as_tracefunc.h"

/* The beginnings and ends of frames, which a trace tool needs to manage their local functions. */
#define FRAME_EVENTS                                                                                                   \
    (SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RETURN) | SM_HOOK_BIT(SM_HOOK_UNWIND) |                          \
     SM_HOOK_BIT(SM_HOOK_OPCODE))

static uint32_t wants(sm_tool *tool, PyCodeObject *code, PyObject *globals) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    uint32_t kinds = sm_tool_filter_of_code(&hook->choice, code, globals) & tool->events;
    return kinds != 0 && hook->trace ? kinds | FRAME_EVENTS : kinds;
}

static int call_profile(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    if (hook->choice.filter != NULL && !sm_tool_filter_of_event(&hook->choice, event))
        return 0;
    PyFrameObject *frame = sm_hub_frame_of(thread); /* borrowed; it is running */
    PyObject *arg, *made;
    if (frame == NULL || sm_tracefunc_arg(event, &arg, &made) < 0)
        return -1;
    PyObject *result = sm_tracefunc_call(hook->function, frame, sm_tracefunc_what(event), arg);
    Py_XDECREF(made);
    if (SM_UNLIKELY(result == NULL)) {
        sm_hub_leave(thread, tool);
        return -1;
    }
    Py_DECREF(result);
    return 0;
}

/* Call the function as the interpreter calls its only profile function. */
static int call_directly(sm_tool *tool, sm_hook_thread *thread, PyFrameObject *frame, int what, PyObject *arg) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    PyObject *function = Py_NewRef(hook->function);
    Py_INCREF(hook);
    PyObject *result = sm_tracefunc_call(function, frame, what, arg);
    if (SM_UNLIKELY(result == NULL))
        sm_hub_leave(thread, tool);
    Py_XDECREF(result);
    Py_DECREF(function);
    Py_DECREF(hook);
    return result == NULL ? -1 : 0;
}

#if SM_SHARES_SLOTS
#define TRACE_DIRECTLY sm_pytrace_direct
#else
#define TRACE_DIRECTLY NULL
#endif

/* The hook and the hub. */

static void removed(sm_tool *tool) {
    sm_pyhook *hook = sm_pyhook_of(tool);
    SM_EXCEPTION_GUARD;
    if (hook->trace)
        sm_pytrace_tools &= ~(1ull << tool->slot);
    sm_hook_thread *thread = hook->stand_in ? sm_hub_find_thread(tool->only) : NULL;
    if (thread != NULL && thread->stand_in[hook->trace] == tool)
        thread->stand_in[hook->trace] = NULL;
    Py_CLEAR(hook->function);
    Py_DECREF(hook);
}

sm_pyhook *sm_pyhook_new(PyTypeObject *type, PyObject *function, bool trace, PyThreadState *only, sm_filter *filter,
                         PyObject *where) {
    sm_pyhook *hook = (sm_pyhook *)type->tp_alloc(type, 0);
    if (hook == NULL)
        return NULL;
    hook->tool = (sm_tool){
        .events = trace ? SM_TRACE_EVENTS : SM_PROFILE_EVENTS,
        .filtered = filter != NULL,
        .only = only,
        .call = trace ? sm_pytrace_call : call_profile,
        .direct = filter != NULL ? NULL
                  : trace        ? TRACE_DIRECTLY
                                 : call_directly,
        .wants = wants,
        .thread_gone = trace ? sm_pytrace_thread_gone : NULL,
        .removed = removed,
    };
    hook->function = Py_NewRef(function);
    hook->where = Py_XNewRef(where);
    hook->choice.filter = sm_filter_hold(filter);
    hook->trace = trace;
    if (filter != NULL) {
        uint32_t kinds = sm_filter_kinds(filter) & hook->tool.events;
        hook->tool.events = trace && kinds != 0 ? kinds | FRAME_EVENTS : kinds;
    }
    return hook;
}

int sm_pyhook_add(sm_pyhook *hook) {
    SM_CORE_GUARD;
    Py_INCREF(hook); /* the hub's reference, until removed() */
    if (sm_hub_add(&hook->tool) < 0) {
        Py_DECREF(hook);
        return -1;
    }
    if (!hook->trace)
        return 0;
    sm_pytrace_tools |= 1ull << hook->tool.slot;
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame != NULL && ((sm_frame_object *)frame)->trace_opcodes) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        (void)sm_hub_opcodes(&hook->tool, code, true);
        PyErr_Clear();
        Py_DECREF(code);
    }
    return 0;
}

sm_pyhook *sm_pyhook_newest(bool trace) {
    sm_hook_thread *thread = sm_hub_thread();
    for (uint64_t tools = thread ? thread->tools : 0; tools != 0;) {
        int slot = 63 - __builtin_clzll(tools);
        tools ^= 1ull << slot;
        sm_tool *tool = sm_hub.tools[slot];
        if (tool->removed == removed && sm_pyhook_of(tool)->trace == trace)
            return sm_pyhook_of(tool);
    }
    return NULL;
}

int sm_pyhook_stand_in(PyTypeObject *type, PyThreadState *tstate, bool trace, PyObject *function) {
    sm_pyhook *hook = NULL;
    bool nothing = function == NULL;
    if (PySys_Audit(trace ? "sys.settrace" : "sys.setprofile", NULL) < 0)
        return -1;
    if (function != NULL) {
        hook = sm_pyhook_new(type, function, trace, tstate, NULL, NULL);
        if (hook == NULL)
            return -1;
        hook->stand_in = true;
        if (sm_pyhook_add(hook) < 0) {
            Py_DECREF(hook);
            return -1;
        }
    }
    SM_CORE_GUARD;
    sm_hook_thread *thread = sm_hub_find_thread(tstate);
    if (thread != NULL) {
        sm_tool *before = thread->stand_in[trace];
        thread->stand_in[trace] = hook ? &hook->tool : NULL; /* borrowed; the hub holds it while active */
        if (before != NULL)
            sm_hub_remove(before);
        nothing = before == NULL && hook == NULL;
    }
    /* Like the interpreter's function, this removes what C code has set with PyEval_SetTrace(). */
    if (nothing && tstate == PyThreadState_Get())
        sm_thread_slots_clear(trace);
    Py_XDECREF(hook);
    return 0;
}

PyObject *sm_pyhook_stands_in(PyThreadState *tstate, bool trace) {
    const sm_hook_thread *thread = sm_hub_find_thread(tstate);
    sm_tool *tool = thread ? thread->stand_in[trace] : NULL;
    return tool != NULL && tool->active ? sm_pyhook_of(tool)->function : NULL;
}
