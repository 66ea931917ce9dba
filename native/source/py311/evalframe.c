/* The evalframe source: PEP 523, for Python functions on 3.11, at a seventh of the cost of a profile function.
 *
 * With it, every Python call uses some 500 bytes of C stack, so a program with a raised recursion limit could overflow
 * it. Each entry compares its address with a floor at a third of the thread's stack. Below it, the source switches to
 * the profile function on all threads for good: counts stay exact, and the recording notes the change.
 *
 * Frames that ran at the start are left without an event, so each entry compares its caller's code with the path.
 * Debuggers and compilers use PEP 523 too: the previous function is called, and restored if ours is still on top. */
#include "source/py311/evalframe.h"

#include <opcode.h>

#include "compat/exception.h"

#if SM_HAS_EVALFRAME

_PyFrameEvalFunction sm_evalframe_in_use = NULL, sm_evalframe_below = NULL;
bool sm_evalframe_on = false;

#define UNKNOWN_FLOOR ((char *)UINTPTR_MAX)
SM_FAST_TLS char *sm_evalframe_floor = UNKNOWN_FLOOR;

static bool escaped = false; /* the profile function has replaced this source */

static char *find_floor(void) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return NULL;
    if (pthread_attr_getstack(&attributes, &lowest, &size) != 0)
        size = 0;
    pthread_attr_destroy(&attributes);
    return size ? (char *)lowest + size / 3 : NULL;
}

bool sm_evalframe_is_deep(const char *here) {
    if (sm_evalframe_floor == UNKNOWN_FLOOR)
        sm_evalframe_floor = find_floor();
    return here < sm_evalframe_floor;
}

bool sm_evalframe_deep(char *here) {
    if (!sm_evalframe_is_deep(here))
        return false;
    sm_evalframe_on = false;
    SM_EXCEPTION_GUARD;
    sm_settings settings = sm_main.settings;
    settings.c_functions = "none";
    if (sm_source_profilefunc.start(&settings) == 0) {
        escaped = true;
        sm_engine.source_changes++;
    } else {
        PyErr_Clear();
        sm_main.hook_lost++;
    }
    if (_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == sm_evalframe_in_use)
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), sm_evalframe_below);
    return true;
}

bool sm_evalframe_fresh(const sm_frame *frame) {
    PyCodeObject *code = sm_frame_code(frame);
    const unsigned char *unit = (const unsigned char *)code->co_code_adaptive;
    int last = sm_frame_last(frame);
    return last >= 0 && last < (int)Py_SIZE(code) * 2 && unit[last] == RETURN_GENERATOR;
}

static int start(const sm_settings *Py_UNUSED(settings)) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (there != sm_evalframe_in_use) /* otherwise another tool has set ours again */
        sm_evalframe_below = there;
    escaped = false;
    sm_evalframe_on = true;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, sm_evalframe_in_use);
    return 0;
}

static void stop(void) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (escaped)
        sm_source_profilefunc.stop();
    else if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != sm_evalframe_in_use)
        sm_main.hook_lost += sm_main.hook_lost == 0; /* ours stays below another function and passes calls on */
    else
        _PyInterpreterState_SetEvalFrameFunc(interpreter, sm_evalframe_below);
    escaped = sm_evalframe_on = false;
}

static void poll(void) {
    if (escaped)
        sm_source_profilefunc.poll();
}

const sm_source sm_source_evalframe = {"evalframe", NULL, start, stop, poll, NULL, true, false, true, NULL};

#else

static const char *objection(void) {
    return "sys.monitoring is better from 3.12 on: no call through C, no loss of specialisation";
}

const sm_source sm_source_evalframe = {"evalframe", objection, NULL, NULL, NULL, NULL, true, false, true, NULL};

#endif
