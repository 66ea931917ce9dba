/* What counts as a C function: what PyEval_SetProfile has always reported, so that every source counts the same.
 * Built-in functions and methods, and unbound methods of built-in types called with an object. Types, slot wrappers,
 * partials and other callables are no C functions here; what they call is. */
#ifndef SM_CFUNCTION_H
#define SM_CFUNCTION_H

#include <Python.h>

#include "event/function.h"

/* The identity of a C function: its PyMethodDef, or the type whose __new__ it is, since all of these share one. NULL:
 * no C function. has_object: a first argument was given. */
static inline const void *sm_c_function(PyObject *callable, int has_object) {
    PyTypeObject *type = Py_TYPE(callable);
    if (type == &PyMethodDescr_Type)
        return has_object ? ((PyMethodDescrObject *)callable)->d_method : NULL;
    if (type == &PyCFunction_Type || type == &PyCMethod_Type) {
        const PyCFunctionObject *function = (PyCFunctionObject *)callable;
        return SM_UNLIKELY(function->m_ml == sm_shared_new) ? (const void *)function->m_self : function->m_ml;
    }
    return NULL;
}

/* The function behind a bound method, else the callable itself. */
static inline PyObject *sm_unbound(PyObject *callable) {
    return Py_TYPE(callable) == &PyMethod_Type ? PyMethod_GET_FUNCTION(callable) : callable;
}

#endif
