#include "compat/method_entry.h"

#include <string.h>

PyMethodDef *sm_method_entry(PyObject *module, const char *name) {
    PyModuleDef *definition = module != NULL ? PyModule_GetDef(module) : NULL;
    PyMethodDef *found = NULL;
    for (PyMethodDef *entry = definition ? definition->m_methods : NULL; entry && entry->ml_name; entry++)
        if (strcmp(entry->ml_name, name) == 0)
            found = entry;
    /* A module that slots describe (PEP 793) has no definition. */
    PyObject *function = module != NULL && found == NULL ? PyObject_GetAttrString(module, name) : NULL;
    if (function != NULL && PyCFunction_CheckExact(function) && PyCFunction_GET_SELF(function) == module)
        found = ((PyCFunctionObject *)function)->m_ml;
    Py_XDECREF(function);
    PyErr_Clear();
    return found;
}

PyMethodDef *sm_method_entry_in(const char *module_name, const char *name) {
    PyObject *module = PyImport_ImportModule(module_name);
    PyMethodDef *entry = sm_method_entry(module, name);
    Py_XDECREF(module);
    PyErr_Clear();
    return entry;
}
