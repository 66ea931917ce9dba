/* Checks whether the interpreter's slots for a single tool are in use. Python code only sees owners with a Python
 * object. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* Return true if the slot of the running thread is in use. */
static inline bool sm_profile_slot_taken(void) {
    return PyThreadState_Get()->c_profilefunc != NULL;
}
static inline bool sm_trace_slot_taken(void) {
    return PyThreadState_Get()->c_tracefunc != NULL;
}

/* Return 1 if the process has a reference tracer, 0 if it has none, or -1 if this version of Python has no such slot.
 */
static inline int sm_reference_slot_taken(void) {
#if PY_VERSION_HEX >= 0x030D0000
    void *data;
    return PyRefTracer_GetTracer(&data) != NULL;
#else
    return -1;
#endif
}
