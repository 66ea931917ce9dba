/* An exception that is put aside while something runs that must neither see it nor lose it. Up to 3.11 it is three
 * objects, from then on one. With the GIL; whoever keeps one restores it, on the same thread. */
#ifndef SM_COMPAT_EXCEPTION_H
#define SM_COMPAT_EXCEPTION_H

#include <Python.h>

typedef struct { /* owned; all NULL: none was set */
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

/* In place of whatever has been set meanwhile. */
static inline void sm_exception_restore(sm_exception kept) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(kept.value);
#else
    PyErr_Restore(kept.type, kept.value, kept.traceback);
#endif
}

/* In favour of what has been set meanwhile. */
static inline void sm_exception_drop(sm_exception kept) {
#if PY_VERSION_HEX < 0x030C0000
    Py_XDECREF(kept.type);
    Py_XDECREF(kept.traceback);
#endif
    Py_XDECREF(kept.value);
}

/* The exception itself, owned by the caller and no longer set; NULL: none was set. */
static inline PyObject *sm_exception_take(void) {
    sm_exception kept = sm_exception_keep();
#if PY_VERSION_HEX < 0x030C0000
    PyErr_NormalizeException(&kept.type, &kept.value, &kept.traceback);
    Py_XDECREF(kept.type);
    Py_XDECREF(kept.traceback);
#endif
    return kept.value;
}

#endif
