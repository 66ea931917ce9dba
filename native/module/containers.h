/* Filling lists and dicts with new references, and the buffers that a call's arguments give. */
#pragma once

#include <Python.h>

/* Append a new reference to the list. Clear the list if either is NULL or memory runs out, with an exception set. */
static inline void sm_list_add(PyObject **list, PyObject *item) {
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* Store a new reference under a name, and clear the dict if that fails, as above. */
static inline void sm_dict_add(PyObject **dict, const char *name, PyObject *value) {
    if (*dict != NULL && (value == NULL || PyDict_SetItemString(*dict, name, value) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(value);
}
