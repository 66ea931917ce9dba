/* The evalframe source's function, over a receiver of calls: PEP 523, for Python functions on 3.11. */
#pragma once

#include "compat/frame.h"
#include "source/sources.h"

#if SM_HAS_EVALFRAME

#define SM_SUSPENDING (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)

extern _PyFrameEvalFunction sm_evalframe_in_use, sm_evalframe_below; /* our function, and the previous one */
extern bool sm_evalframe_on;
extern SM_FAST_TLS char *sm_evalframe_floor;

bool sm_evalframe_is_deep(const char *here);    /* true near the end of the C stack; the first call finds the floor */
bool sm_evalframe_deep(char *here);             /* like is_deep; if true, switches to the profile function */
bool sm_evalframe_fresh(const sm_frame *frame); /* true at a generator's first entry */

/* Name a function after its frame's globals. The running frame is still the caller, with another module's globals. */
static inline void sm_evalframe_name(PyCodeObject *code, const sm_frame *frame) {
    if (SM_UNLIKELY(!sm_code_is_named(code)))
        (void)sm_function_of_code(code, sm_frame_globals(frame));
}

/* Report the end of a frame that is unlinked already. If a walk of the stack follows, the event is not needed. */
SM_INLINE void sm_evalframe_left(const sm_calls_receiver *to, PyCodeObject *code, sm_leaving how) {
    uint64_t walks = sm_engine.walks;
    sm_thread *thread = SM_LIKELY(sm_evalframe_on) ? sm_event_thread(false) : NULL;
    if (SM_LIKELY(thread != NULL && walks == sm_engine.walks))
        (void)to->leave(thread, code, how);
}

SM_INLINE PyObject *sm_evalframe_suspending(const sm_calls_receiver *to, PyThreadState *tstate, sm_frame *frame,
                                            int throwing) {
    if (!sm_frame_of_generator(frame)) /* makes the generator and returns it, without a call of its body */
        return sm_evalframe_below(tstate, frame, throwing);
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(sm_frame_code(frame));
    const sm_frame *caller = sm_frame_running(tstate);
    sm_thread *thread = sm_event_thread(false);
    sm_evalframe_name(code, frame);
    if (thread != NULL && caller != NULL)
        to->calls_from(thread, sm_frame_code(caller));
    if (thread != NULL && !throwing && sm_evalframe_fresh(frame))
        (void)to->call(thread, code, SM_PYTHON, (PyObject *)code);
    else if (thread != NULL)
        (void)to->resume(thread, code, (PyObject *)code);
    PyObject *result = sm_evalframe_below(tstate, frame, throwing);
    sm_evalframe_left(to, code, result ? SM_BY_YIELD : SM_BY_EXCEPTION);
    Py_DECREF(code);
    return result;
}

/* Run a frame and report it. `suspending` is out of line to keep the C stack of common calls small. */
SM_INLINE PyObject *sm_evalframe_run(const sm_calls_receiver *to, _PyFrameEvalFunction suspending,
                                     PyThreadState *tstate, sm_frame *frame, int throwing) {
    char here;
    PyCodeObject *code = sm_frame_code(frame);
    /* As with all other hooks, calls made by a trace function are not recorded. */
    if (SM_UNLIKELY(!sm_evalframe_on || tstate->tracing) ||
        SM_UNLIKELY(&here < sm_evalframe_floor && sm_evalframe_deep(&here)))
        return sm_evalframe_below(tstate, frame, throwing);
    if (SM_UNLIKELY(code->co_flags & SM_SUSPENDING))
        return suspending(tstate, frame, throwing);
    const sm_frame *caller = sm_frame_running(tstate);
    sm_thread *thread = sm_event_thread(false);
    if (SM_UNLIKELY(thread == NULL))
        return sm_evalframe_below(tstate, frame, throwing);
    if (SM_UNLIKELY(thread->nameless))
        sm_engine_name(thread, code, sm_frame_self(frame));
    sm_evalframe_name(code, frame);
    if (SM_LIKELY(caller != NULL))
        to->calls_from(thread, sm_frame_code(caller));
    (void)to->call(thread, code, SM_PYTHON, (PyObject *)code);
    PyObject *result = sm_evalframe_below(tstate, frame, throwing);
    sm_evalframe_left(to, code, SM_LIKELY(result != NULL) ? SM_BY_RETURN : SM_BY_EXCEPTION);
    return result;
}

#endif
