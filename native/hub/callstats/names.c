/* The names that cProfile gives to C functions.
 *
 * "<method 'append' of 'list' objects>" is the representation of the type's method, and "<built-in method math.sin>" is
 * made from the module and the name. cProfile looks the method up by name in the object's type. So if a class overrides
 * a method, it shows "<function Log.append at 0x7f...>" for a call of super().append(x). We search the bases for the
 * type that really has this method. If none has it (static and class methods, every type's __new__), we look the name
 * up as cProfile does, but never run code of the program. */
#include "hub/callstats/store.h"

#include <string.h>

static PyMethodDef *method_behind(PyObject *callable) {
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml
                                       : ((PyMethodDescrObject *)callable)->d_method;
}

/* Return the attribute of one of the type's bases that is this method, borrowed, or NULL. */
static PyObject *find_method(PyTypeObject *type, PyObject *name, const PyMethodDef *method) {
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != NULL && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *base = PyTuple_GET_ITEM(mro, i);
        PyObject *found = PyType_Check(base) ? _PyType_Lookup((PyTypeObject *)base, name) : NULL;
        if (found != NULL && Py_TYPE(found) == &PyMethodDescr_Type &&
            ((PyMethodDescrObject *)found)->d_method == method)
            return found;
    }
    return NULL;
}

static PyObject *name_descriptor(PyObject *descriptor) {
    const char *name = method_behind(descriptor)->ml_name;
    PyObject *text;
    if (strcmp(PyDescr_TYPE(descriptor)->tp_name, "seismo._core.Profiler") == 0)
        text = PyUnicode_FromFormat("<method '%s' of '_lsprof.Profiler' objects>", name);
    else if ((text = PyObject_Repr(descriptor)) == NULL) {
        PyErr_Clear();
        text = PyUnicode_FromFormat("<built-in method %s>", name);
    }
    PyErr_Clear();
    return text;
}

/* Return true if repr() of it runs no code of the program. */
static bool shows_itself(PyObject *found) {
    PyTypeObject *type = Py_TYPE(found);
    return PyCFunction_Check(found) || type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type ||
           type == &PyWrapperDescr_Type;
}

static PyObject *name_bound(PyCFunctionObject *function) {
    PyObject *text = NULL;
    PyObject *name = PyUnicode_FromString(function->m_ml->ml_name);
    if (name != NULL && function->m_self != NULL) {
        PyTypeObject *type = Py_TYPE(function->m_self);
        PyObject *found = find_method(type, name, function->m_ml);
        if (found != NULL) {
            text = name_descriptor(found);
        } else if ((found = _PyType_Lookup(type, name)) != NULL && shows_itself(found)) {
            Py_INCREF(found);
            text = PyObject_Repr(found);
            Py_DECREF(found);
        }
    }
    PyErr_Clear();
    PyObject *module = function->m_module;
    if (text == NULL && module != NULL && PyUnicode_Check(module))
        text = PyUnicode_FromFormat("<built-in method %U.%s>", module, function->m_ml->ml_name);
    if (text == NULL)
        text = PyUnicode_FromFormat("<built-in method %s>", function->m_ml->ml_name);
    Py_XDECREF(name);
    PyErr_Clear();
    return text;
}

PyObject *sm_callstats_name(PyObject *callable) {
    return PyCFunction_Check(callable) ? name_bound((PyCFunctionObject *)callable) : name_descriptor(callable);
}
