/* The profilefunc source's hook, for a receiver of calls. PyEval_SetProfile reports a generator's first entry and
 * its resumptions as "call", its yields and returns as "return"; code object and instruction distinguish them. */
#pragma once

#include "code/cfunction.h"
#include "hooks/py311/thread_slots.h"
#include "source/sources.h"

#define SM_SUSPENDS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)

/* Return true at the first entry into a generator's or coroutine's frame. */
bool sm_frame_is_fresh(PyFrameObject *frame, PyCodeObject *code);
extern bool sm_profilefunc_c_functions;

/* profilefunc_threads.c: the hook on every thread. */
int sm_profile_threads_start(void); /* -1 with an exception set */
void sm_profile_threads_stop(void);
unsigned sm_profile_threads_look(void); /* returns the number of threads found without the hook */

#if SM_SHARES_SLOTS
static inline void sm_after_c_call(PyObject *Py_UNUSED(callable)) {} /* thread_slots.h finds new threads */
#else
#define SM_THREAD_STARTERS 3
extern const PyMethodDef *sm_thread_starters[SM_THREAD_STARTERS];

static inline void sm_after_c_call(PyObject *callable) {
    if (!PyCFunction_Check(callable))
        return;
    for (int i = 0; i < SM_THREAD_STARTERS; i++) {
        if (SM_UNLIKELY(((PyCFunctionObject *)callable)->m_ml == sm_thread_starters[i]))
            (void)sm_profile_threads_look();
    }
}
#endif

SM_INLINE void sm_profilefunc_frame(const sm_calls_receiver *to, PyFrameObject *frame, bool entering, PyObject *arg) {
    PyCodeObject *code = PyFrame_GetCode(frame); /* borrowed; the frame holds a reference */
    Py_DECREF(code);
    bool suspends = (code->co_flags & SM_SUSPENDS) != 0;
    sm_thread *thread = sm_event_thread(entering);
    if (SM_UNLIKELY(thread == NULL))
        return;
    if (!entering)
        (void)to->leave(thread, code, arg == NULL ? SM_BY_EXCEPTION : suspends ? SM_BY_YIELD : SM_BY_RETURN);
    else if (suspends && !sm_frame_is_fresh(frame, code))
        (void)to->resume(thread, code, (PyObject *)code);
    else
        (void)to->call(thread, code, SM_PYTHON, (PyObject *)code);
}

SM_INLINE int sm_profilefunc_event(const sm_calls_receiver *to, PyFrameObject *frame, int what, PyObject *arg) {
    const void *method;
    sm_thread *thread;
    if (what == PyTrace_CALL || what == PyTrace_RETURN) {
        sm_profilefunc_frame(to, frame, what == PyTrace_CALL, arg);
        return 0;
    }
    if (what == PyTrace_C_RETURN && arg != NULL)
        sm_after_c_call(arg);
    if (sm_profilefunc_c_functions && arg != NULL && (method = sm_c_function(arg, 1)) != NULL &&
        (thread = sm_event_thread(false)) != NULL) {
        PyCodeObject *caller = PyFrame_GetCode(frame);
        Py_DECREF(caller);
        if (what == PyTrace_C_CALL)
            (void)to->c_call(thread, caller, method, arg);
        else
            (void)to->c_leave(thread, caller, method, what == PyTrace_C_RETURN ? SM_BY_RETURN : SM_BY_EXCEPTION);
    }
    return 0;
}
