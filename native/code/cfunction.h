/* What counts as a C function: what PyEval_SetProfile has always reported, so that every source counts the same.
 * Built-in functions and methods, and unbound methods of built-in types called with an object; and the functions of
 * Cython 3, which are objects of a type of its own, where the source is told of them (sys.monitoring does). Types, slot
 * wrappers, partials and other callables are no C functions here; what they call is. */
#ifndef SM_CODE_CFUNCTION_H
#define SM_CODE_CFUNCTION_H

#include <Python.h>
#include <stddef.h>

#include "code/function.h"

/* Is this Cython's type of functions? Its objects begin as built-in functions do, unless they were compiled for the
 * limited API. */
bool sm_is_cython_function(const PyTypeObject *type);

PyMethodDef *sm_c_method(PyObject *callable);
/* Its module and qualified name ("list.append", "len"), each owned by the caller, NULL when out of memory. Runs no code
 * of the program; may leave an exception. */
void sm_c_name(PyObject *callable, char **module, char **qualname);

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
    if (SM_LIKELY(type->tp_vectorcall_offset != offsetof(PyCFunctionObject, vectorcall)))
        return NULL;
    return sm_is_cython_function(type) ? ((PyCFunctionObject *)callable)->m_ml : NULL;
}

/* Does it take a call to tell whether it is one? */
static inline bool sm_c_function_is_rare(PyObject *callable) {
    PyTypeObject *type = Py_TYPE(callable);
    return type->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall) && type != &PyCFunction_Type &&
           type != &PyCMethod_Type;
}

/* The function behind a bound method, else the callable itself. */
static inline PyObject *sm_unbound(PyObject *callable) {
    return Py_TYPE(callable) == &PyMethod_Type ? PyMethod_GET_FUNCTION(callable) : callable;
}

#endif
