#include "hub/frame_locals.h"

#include "compat/compat.h"
#include "compat/frame.h"

PyObject *sm_locals(PyFrameObject *frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *variables = NULL;
    if ((code->co_flags & CO_OPTIMIZED) == 0) {
        PyObject *namespace = PyFrame_GetLocals(frame);
        if (namespace == NULL)
            PyErr_Clear();
        /* A class body's namespace may be a mapping of the program's. */
        variables = namespace != NULL && PyDict_CheckExact(namespace) ? PyDict_Copy(namespace) : PyDict_New();
        Py_XDECREF(namespace);
        Py_DECREF(code);
        return variables;
    }
    variables = PyDict_New();
    Py_ssize_t count = PyTuple_GET_SIZE(code->co_localsplusnames);
    for (Py_ssize_t i = 0; variables != NULL && i < count; i++) {
        PyObject *value = sm_frame_variable(frame, code, (int)i);
        if (value != NULL && PyDict_SetItem(variables, PyTuple_GET_ITEM(code->co_localsplusnames, i), value) < 0)
            Py_CLEAR(variables);
        Py_XDECREF(value);
    }
    Py_DECREF(code);
    return variables;
}
