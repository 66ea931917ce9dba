/* Finds the names of C functions, as in their attributes, without running code of the program. */
#include "code/cfunction.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "code/text.h"

const PyMethodDef *sm_shared_new = NULL;

void sm_c_functions_init(void) {
    PyObject *object_new = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__new__");
    if (object_new != NULL && PyCFunction_CheckExact(object_new))
        sm_shared_new = ((PyCFunctionObject *)object_new)->m_ml;
    Py_XDECREF(object_new);
    PyErr_Clear();
}

PyMethodDef *sm_c_method(PyObject *callable) {
    return Py_TYPE(callable) == &PyMethodDescr_Type ? ((PyMethodDescrObject *)callable)->d_method
                                                    : ((PyCFunctionObject *)callable)->m_ml;
}

static bool ends_in(const char *name, const char *end) {
    size_t whole = strlen(name), part = strlen(end);
    return whole >= part && strcmp(name + whole - part, end) == 0;
}

bool sm_is_cython_function(const PyTypeObject *type) {
    return type->tp_basicsize >= (Py_ssize_t)sizeof(PyCFunctionObject) &&
           type->tp_vectorcall_offset == offsetof(PyCFunctionObject, vectorcall) &&
           (type->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_VECTORCALL)) ==
               (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_HAVE_VECTORCALL) &&
           (ends_in(type->tp_name, "cython_function_or_method") || ends_in(type->tp_name, "fused_cython_function"));
}

/* Return the first base that defines this method, or NULL if it is bound to mere data (a capsule of pybind11). */
static PyTypeObject *owner_of_method(PyTypeObject *type, const PyMethodDef *method) {
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro != NULL && PyTuple_Check(mro) && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (!PyType_Check((PyObject *)base))
            continue;
        for (PyMethodDef *own = base->tp_methods; own != NULL && own->ml_name != NULL; own++)
            if (own == method)
                return base;
    }
    return type == &PyCapsule_Type ? NULL : type;
}

/* Write "Type.method", and set the type's module if unset. tp_name is "module.Type" for most extension types and
 * "Type" for builtin ones. Types made like a class statement (mypyc) have the module in their attributes. */
static void name_method(PyTypeObject *owner, const char *method, char **module, char *qualified, size_t size) {
    const char *name = owner->tp_name, *dot = strrchr(name, '.');
    if (dot != NULL) {
        if (*module == NULL && (*module = sm_malloc((size_t)(dot - name) + 1)) != NULL) {
            memcpy(*module, name, (size_t)(dot - name));
            (*module)[dot - name] = '\0';
        }
        name = dot + 1;
    } else if ((owner->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
        PyObject *text = owner->tp_dict != NULL ? PyDict_GetItemString(owner->tp_dict, "__module__") : NULL;
        if (*module == NULL && text != NULL && PyUnicode_Check(text))
            *module = sm_copy_text(text);
        PyObject *whole = ((PyHeapTypeObject *)owner)->ht_qualname;
        const char *qualname = whole != NULL && PyUnicode_Check(whole) ? PyUnicode_AsUTF8(whole) : NULL;
        name = qualname != NULL ? qualname : name;
    }
    snprintf(qualified, size, "%s.%s", name, method);
}

/* Return the result of the type's own __qualname__ getter, if that is a C function, as in Cython. */
static char *own_qualname(PyObject *callable) {
    PyObject *dict = Py_TYPE(callable)->tp_dict;
    PyObject *getset = dict != NULL ? PyDict_GetItemString(dict, "__qualname__") : NULL;
    if (getset == NULL || Py_TYPE(getset) != &PyGetSetDescr_Type)
        return NULL;
    const PyGetSetDef *def = ((PyGetSetDescrObject *)getset)->d_getset;
    PyObject *text = def->get != NULL ? def->get(callable, def->closure) : NULL;
    char *name = text != NULL && PyUnicode_Check(text) ? sm_copy_text(text) : NULL;
    Py_XDECREF(text);
    return name;
}

void sm_c_name(PyObject *callable, char **module, char **qualname) {
    const PyMethodDef *method = sm_c_method(callable);
    char qualified[512];
    PyTypeObject *owner = NULL;
    *module = *qualname = NULL;
    snprintf(qualified, sizeof qualified, "%s", method->ml_name);
    if (Py_TYPE(callable) == &PyMethodDescr_Type) {
        owner = PyDescr_TYPE(callable);
    } else {
        PyCFunctionObject *bound = (PyCFunctionObject *)callable;
        if (bound->m_module != NULL && PyUnicode_Check(bound->m_module))
            *module = sm_copy_text(bound->m_module);
        PyObject *self = PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : NULL;
        if (!PyCFunction_Check(callable))
            *qualname = own_qualname(callable);
        else if (method == sm_shared_new && self != NULL && PyType_Check(self))
            owner = (PyTypeObject *)self;
        else if (self != NULL && PyType_Check(self))
            owner = owner_of_method((PyTypeObject *)self, method);
        else if (self != NULL && !PyModule_Check(self))
            owner = owner_of_method(Py_TYPE(self), method);
    }
    if (owner != NULL)
        name_method(owner, method->ml_name, module, qualified, sizeof qualified);
    if (*module == NULL)
        *module = sm_copy_chars("builtins");
    if (*qualname == NULL)
        *qualname = sm_copy_chars(qualified);
}
