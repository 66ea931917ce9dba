/* The interpreter describes its own structures at the head of _PyRuntime, for debuggers and profilers that look at it
 * from outside. What is used is checked against that description's name, version and sizes; what was built with 3.14.0
 * runs on 3.14.10, whose structures may differ, and that is what the description is for. */
#include "compat/runtime.h"

#include <string.h>

#if PY_VERSION_HEX >= 0x030D0000 && !SM_FREE_THREADED
#define Py_BUILD_CORE 1
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_debug_offsets.h"
PyAPI_DATA(_Py_DebugOffsets) _PyRuntime; /* its first field */
#define OFFSETS _PyRuntime
#else
#include "internal/pycore_runtime.h"
#define OFFSETS _PyRuntime.debug_offsets
#endif
#undef Py_BUILD_CORE

bool sm_runtime_find(sm_runtime_places *places) {
    const _Py_DebugOffsets *offsets = &OFFSETS;
    if (memcmp(offsets->cookie, "xdebugpy", 8) != 0 || offsets->version >> 16 != Py_Version >> 16)
        return false;
    uint64_t collecting = offsets->gc.collecting, head = offsets->runtime_state.interpreters_head;
    uint64_t gc = offsets->interpreter_state.gc, holder = offsets->interpreter_state.gil_runtime_state_holder;
    if (collecting >= offsets->gc.size || head >= offsets->runtime_state.size ||
        gc + offsets->gc.size > offsets->interpreter_state.size || holder >= offsets->interpreter_state.size)
        return false;
    const char *interpreter = (const char *)PyInterpreterState_Main();
    places->collecting = (const int *)(interpreter + gc + collecting);
    places->newest = (PyInterpreterState *const *)((const char *)&_PyRuntime + head);
    places->holder = (PyThreadState *const *)(interpreter + holder);
    return true;
}

#else

bool sm_runtime_find(sm_runtime_places *places) {
    (void)places;
    return false;
}

#endif
