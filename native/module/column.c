#include "module/column.h"

#include <stdint.h>

#include "base/alloc.h"
#include "module/module.h"

typedef struct {
    PyObject_HEAD void *memory; /* owned, from sm_malloc */
    Py_ssize_t rows;
    Py_ssize_t stride; /* always 8; a Py_buffer's strides point here */
    char format[2];
} column;

static void column_dealloc(PyObject *self) {
    sm_free(((column *)self)->memory);
    sm_object_free(self);
}

static Py_ssize_t column_length(PyObject *self) {
    return ((column *)self)->rows;
}

static int column_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    column *c = (column *)self;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a Column is read-only");
        view->obj = NULL;
        return -1;
    }
    *view = (Py_buffer){
        .buf = c->memory,
        .obj = Py_NewRef(self),
        .len = c->rows * 8,
        .itemsize = 8,
        .readonly = 1,
        .ndim = 1,
        .format = flags & PyBUF_FORMAT ? c->format : NULL,
        .shape = flags & PyBUF_ND ? &c->rows : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &c->stride : NULL,
    };
    return 0;
}

static PyType_Slot column_slots[] = {
    {Py_tp_dealloc, column_dealloc},
    {Py_tp_doc, "An array of int64 ('q') or float64 ('d') values, to be read through memoryview()."},
    {Py_sq_length, column_length},
    {Py_bf_getbuffer, column_getbuffer},
    {0, NULL},
};

PyType_Spec sm_type_column = {
    .name = "seismo._core.Column",
    .basicsize = sizeof(column),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = column_slots,
};

PyObject *sm_column_new(PyObject *module, void *memory, Py_ssize_t rows, char format) {
    if (memory == NULL && rows)
        return PyErr_NoMemory();
    PyObject *type = PyObject_GetAttrString(module, "Column"); /* owned; handed to the object as its type */
    PyObject *self = type && PyType_Check(type) ? PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    Py_XDECREF(type);
    if (self == NULL) {
        sm_free(memory);
        return NULL;
    }
    column *c = (column *)self;
    c->memory = memory;
    c->rows = rows;
    c->stride = 8;
    c->format[0] = format;
    return self;
}

int sm_view_of(PyObject *values, const char *what, const char *name, char format, Py_buffer *view) {
    *view = (Py_buffer){0};
    if (PyObject_GetBuffer(values, view, PyBUF_FORMAT | PyBUF_ND) < 0)
        return -1;
    /* array and ctypes use 'l' for int64 on this platform. */
    int same = view->format[0] == format || (format == 'q' && view->format[0] == 'l' && sizeof(long) == 8);
    if (same && view->format[1] == 0 && view->ndim == 1)
        return 0;
    return SM_FAIL(PyExc_TypeError, "%s.%s: a one-dimensional buffer of '%c' is needed", what, name, format);
}

const void *sm_views_take(sm_views *v, PyObject *dict, const char *what, const char *name, char format,
                          Py_ssize_t *rows) {
    static const int64_t nothing[1];
    PyObject *values = v->failed ? NULL : PyMapping_GetItemString(dict, name); /* owned */
    v->failed = values == NULL;
    if (v->failed)
        return NULL;
    Py_buffer *view = &v->view[v->count++];
    v->failed = sm_view_of(values, what, name, format, view) < 0;
    Py_DECREF(values);
    if (!v->failed && *rows >= 0 && view->shape[0] != *rows) {
        PyErr_Format(PyExc_ValueError, "%s.%s has %zd values, not %zd", what, name, view->shape[0], *rows);
        v->failed = true;
    }
    if (v->failed)
        return NULL;
    *rows = view->shape[0];
    return view->buf != NULL ? view->buf : nothing;
}

void sm_views_release(sm_views *v) {
    while (v->count > 0)
        PyBuffer_Release(&v->view[--v->count]);
}
