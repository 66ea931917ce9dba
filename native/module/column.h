/* seismo._core.Column: an array of int64 or float64 outside Python's heap, with the buffer protocol. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* Return a Column of `rows` values ('q' or 'd') that owns `memory` (from sm_malloc; freed on failure too). */
PyObject *sm_column_new(PyObject *module, void *memory, Py_ssize_t rows, char format);

/* The buffers of a call's arguments. Once `failed` is set, with an exception, no more are added. */
typedef struct {
    Py_buffer view[48];
    int count;
    bool failed;
} sm_views;

/* Add dict[name] for reading. Return its values, or NULL if this or an earlier buffer failed. *rows is their number, or
 * negative for any number, and set to it. */
const void *sm_views_take(sm_views *v, PyObject *dict, const char *what, const char *name, char format,
                          Py_ssize_t *rows);
void sm_views_release(sm_views *v);

/* Get a one-dimensional buffer of a format. Return 0, or -1 with an exception set that names `what`.`name`. The caller
 * releases `view` in any case. */
int sm_view_of(PyObject *values, const char *what, const char *name, char format, Py_buffer *view);
