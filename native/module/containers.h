/* Functions that fill lists and dicts with new references. */
#pragma once

#include <Python.h>

/* Append a new reference to the list. Clear the list if the item is NULL, with an exception set, or memory runs out. */
static inline void sm_list_add(PyObject **list, PyObject *item) {
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* Store a new reference under a name. Clear the dict if the value is NULL, with an exception set, or memory runs out.
 */
static inline void sm_dict_add(PyObject **dict, const char *name, PyObject *value) {
    if (*dict != NULL && (value == NULL || PyDict_SetItemString(*dict, name, value) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(value);
}

/* Add all items of another dict, a new reference. Clear the dict if that is NULL, with an exception set, or memory runs
 * out. */
static inline void sm_dict_join(PyObject **dict, PyObject *more) {
    if (*dict != NULL && (more == NULL || PyDict_Update(*dict, more) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(more);
}
