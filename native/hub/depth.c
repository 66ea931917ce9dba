#include "hub/depth.h"

#include "compat/compat.h"

static struct { /* under the GIL */
    uint64_t thread;
    sm_recursion calls;
} forgotten;

void sm_depth_forget(bool through_c) {
    PyThreadState *tstate = PyThreadState_Get();
    sm_depth_restore();
    forgotten.thread = sm_tstate_id(tstate);
    forgotten.calls = sm_tstate_recursion(tstate, through_c);
    sm_tstate_recursion_add(tstate, forgotten.calls, 1);
}

void sm_depth_restore(void) {
    PyThreadState *tstate = PyThreadState_Get();
    if (sm_tstate_id(tstate) != forgotten.thread)
        return;
    sm_tstate_recursion_add(tstate, forgotten.calls, -1);
    forgotten.calls = (sm_recursion){0, 0};
    forgotten.thread = 0;
}

int64_t sm_depth_forgotten(void) {
    return !SM_HAS_EVALFRAME && sm_tstate_id(PyThreadState_Get()) == forgotten.thread ? forgotten.calls.python : 0;
}
