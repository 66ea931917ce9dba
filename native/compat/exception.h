/* An exception that is put aside while other code runs, and restored on the same thread. With the GIL. */
#pragma once

#include <Python.h>

typedef struct { /* owned; all NULL if none was set */
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *value;
#else
    PyObject *type, *value, *traceback;
#endif
} sm_exception;

static inline sm_exception sm_exception_keep(void) {
    sm_exception kept;
#if PY_VERSION_HEX >= 0x030C0000
    kept.value = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&kept.type, &kept.value, &kept.traceback);
#endif
    return kept;
}

/* Restore the exception, in place of one that was set meanwhile. */
static inline void sm_exception_restore(sm_exception kept) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(kept.value);
#else
    PyErr_Restore(kept.type, kept.value, kept.traceback);
#endif
}

static inline void sm_exception_restore_at(const sm_exception *kept) {
    sm_exception_restore(*kept);
}
/* Put the exception aside until the end of the scope. */
#define SM_EXCEPTION_GUARD                                                                                             \
    __attribute__((cleanup(sm_exception_restore_at))) const sm_exception sm_exception_kept = sm_exception_keep()

/* Set an exception, given like PyErr_Format's, and return -1. */
#define SM_FAIL(...) (PyErr_Format(__VA_ARGS__), -1)

/* Set a MemoryError and return -1. */
static inline int sm_no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

/* Drop the exception that was put aside, and keep one that was set meanwhile. */
static inline void sm_exception_drop(sm_exception kept) {
#if PY_VERSION_HEX < 0x030C0000
    Py_XDECREF(kept.type);
    Py_XDECREF(kept.traceback);
#endif
    Py_XDECREF(kept.value);
}

/* Clear the current exception and return it, owned by the caller, or NULL. */
static inline PyObject *sm_exception_take(void) {
    sm_exception kept = sm_exception_keep();
#if PY_VERSION_HEX < 0x030C0000
    PyErr_NormalizeException(&kept.type, &kept.value, &kept.traceback);
    Py_XDECREF(kept.type);
    Py_XDECREF(kept.traceback);
#endif
    return kept.value;
}
