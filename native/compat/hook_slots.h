/* The use of the interpreter's single slots. Python code sees only owners with a Python object. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* Of the running thread. */
static inline bool sm_profile_slot_taken(void) {
    return PyThreadState_Get()->c_profilefunc != NULL;
}
static inline bool sm_trace_slot_taken(void) {
    return PyThreadState_Get()->c_tracefunc != NULL;
}

/* Of the process; -1 if the interpreter has no reference tracer. */
static inline int sm_reference_slot_taken(void) {
#if PY_VERSION_HEX >= 0x030D0000
    void *data;
    return PyRefTracer_GetTracer(&data) != NULL;
#else
    return -1;
#endif
}
