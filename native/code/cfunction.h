/* C functions, as PyEval_SetProfile reports them: builtin functions and methods, unbound methods of builtin types
 * called with an object, and functions of Cython 3 where the source reports them (sys.monitoring does). Types, slot
 * wrappers, partials and other callables are not C functions. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* The PyMethodDef that the __new__ of all types share. */
extern const PyMethodDef *sm_shared_new;
/* Find it, once per process. No exception is set. */
void sm_c_functions_init(void);

/* Return true for Cython's functions, which begin like builtin ones unless compiled for the limited API. */
bool sm_is_cython_function(const PyTypeObject *type);

PyMethodDef *sm_c_method(PyObject *callable);
/* Set the module and qualified name ("list.append", "len"), owned by the caller, or NULL if out of memory. */
void sm_c_name(PyObject *callable, char **module, char **qualname);

/* Return the PyMethodDef of a C function, the type for a __new__, or NULL. has_object: a first argument is given. */
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

/* Return true if sm_c_function() needs a call to decide. */
static inline bool sm_c_function_is_rare(PyObject *callable) {
    PyTypeObject *type = Py_TYPE(callable);
    return type->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall) && type != &PyCFunction_Type &&
           type != &PyCMethod_Type;
}

/* Return the function of a bound method, or the callable itself. */
static inline PyObject *sm_unbound(PyObject *callable) {
    return Py_TYPE(callable) == &PyMethod_Type ? PyMethod_GET_FUNCTION(callable) : callable;
}
