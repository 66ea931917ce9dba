/* seismo._core.Column: an array of int64 or float64 outside Python's heap, with the buffer protocol. */
#ifndef SM_MODULE_COLUMN_H
#define SM_MODULE_COLUMN_H

#include <Python.h>

/* Add the type to the module. Return 0, or -1 with an exception set. */
int sm_column_add_type(PyObject *module);
/* Return a Column of `rows` values ('q' or 'd') that owns `memory` (from sm_malloc; freed on failure too). */
PyObject *sm_column_new(PyObject *module, void *memory, Py_ssize_t rows, char format);

/* Get dict[name] as a contiguous buffer of `rows` values (any number if negative) of `format`. Return 0, or -1 with
 * an exception set that names `what`.`name`. The caller releases `view` in any case. */
int sm_column_take(PyObject *dict, const char *what, const char *name, char format, Py_ssize_t rows, Py_buffer *view);

#endif
