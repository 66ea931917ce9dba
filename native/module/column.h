/* seismo._core.Column: an array of int64 or float64 outside Python's heap, read through the buffer protocol. */
#ifndef SM_MODULE_COLUMN_H
#define SM_MODULE_COLUMN_H

#include <Python.h>

/* Adds the type to the module. 0, or -1 with an exception set. */
int sm_column_add_type(PyObject *module);
/* A Column of `rows` values ('q' or 'd') that owns `memory` (from sm_malloc; freed when this fails too; NULL: out of
 * memory, or no rows). */
PyObject *sm_column_new(PyObject *module, void *memory, Py_ssize_t rows, char format);

/* Takes dict[name] as a contiguous buffer of `rows` values of `format` ('q', 'd' or 'B'); rows < 0: any number. Returns
 * 0, or -1 with TypeError or ValueError set that names `what`.`name`; the caller releases `view` in either case
 * (PyBuffer_Release does nothing on a zeroed one). */
int sm_column_take(PyObject *dict, const char *what, const char *name, char format, Py_ssize_t rows, Py_buffer *view);

#endif
