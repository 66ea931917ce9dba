/* seismo._core.arrow_stream: columns as a capsule of the Arrow PyCapsule interface. */
#include "base/alloc.h"
#include "file/columns.h"
#include "module/column.h"
#include "module/module.h"

/* ---- the capsule ---- */

static const char NAME[] = "arrow_array_stream"; /* a name that the interface prescribes */

static void drop(struct ArrowArrayStream *stream) {
    if (stream->release) /* no consumer has taken the stream */
        stream->release(stream);
    sm_free(stream);
}

static void capsule_destructor(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, NAME);
    if (stream == NULL) {
        PyErr_Clear(); /* unreachable: the capsule is ours */
        return;
    }
    drop(stream);
}

PyObject *sm_arrow_capsule(struct ArrowArrayStream *stream) {
    PyObject *capsule = PyCapsule_New(stream, NAME, capsule_destructor);
    if (capsule == NULL)
        drop(stream);
    return capsule;
}

/* ---- columns ---- */

/* The buffers of a stream, held until the consumer has released everything. */
typedef struct {
    Py_ssize_t count;
    Py_buffer views[];
} keeper;

/* Called from any thread, without the GIL. After finalization, the views are left to the interpreter. */
static void drop_keeper(void *memory) {
    keeper *k = memory;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        while (k->count > 0)
            PyBuffer_Release(&k->views[--k->count]);
        PyGILState_Release(state);
    }
    sm_free(k);
}

/* Add a view of `source` to the keeper. Return its memory, or NULL with an exception set. */
static const void *keep(keeper *k, PyObject *source, const char *name, char format, Py_ssize_t *length) {
    Py_buffer *view = &k->views[k->count++];
    if (sm_view_of(source, "column", name, format, view) < 0)
        return NULL;
    *length = view->shape[0];
    return view->buf ? view->buf : ""; /* consumers need an address even without data */
}

/* Return true if the offsets are not negative, never decrease, and end within the text. */
static int good_offsets(const int64_t *offsets, Py_ssize_t count, Py_ssize_t text) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (offsets[i] < (i ? offsets[i - 1] : 0) || offsets[i] > text)
            return 0;
    return count > 0;
}

/* Fill a column from (name, format, values[, offsets]). *rows is checked, or set if -1. */
static int fill_column(keeper *k, PyObject *item, sm_arrow_column *column, Py_ssize_t *rows) {
    PyObject *values, *offsets = Py_None; /* borrowed */
    const char *format;
    if (!PyArg_ParseTuple(item, "ssO|O:arrow_stream", &column->name, &format, &values, &offsets))
        return -1;
    Py_ssize_t length = 0, text = 0;
    if (strcmp(format, "l") == 0 || strcmp(format, "g") == 0) {
        column->format = format[0];
        column->values = keep(k, values, column->name, format[0] == 'l' ? 'q' : 'd', &length);
    } else if (strcmp(format, "u") == 0) {
        column->format = 'U';
        column->values = keep(k, values, column->name, 'B', &text);
        column->offsets = column->values ? keep(k, offsets, column->name, 'q', &length) : NULL;
        if (column->offsets && !good_offsets(column->offsets, length, text))
            return SM_FAIL(PyExc_ValueError, "the offsets of column '%s' are wrong", column->name);
        length--;
    } else {
        return SM_FAIL(PyExc_ValueError, "column '%s': there is no format '%s'", column->name, format);
    }
    if (column->values == NULL || (column->format == 'U' && column->offsets == NULL))
        return -1;
    if (*rows >= 0 && length != *rows)
        return SM_FAIL(PyExc_ValueError, "column '%s' has %zd rows, not %zd", column->name, length, *rows);
    *rows = length;
    return 0;
}

static PyObject *core_arrow_stream(PyObject *module, PyObject *list) {
    (void)module;
    if (!PyList_Check(list))
        return PyErr_Format(PyExc_TypeError, "arrow_stream() takes a list of columns");
    Py_ssize_t count = PyList_GET_SIZE(list), rows = -1;
    keeper *k = sm_calloc(1, sizeof *k + 2 * (size_t)count * sizeof(Py_buffer)); /* owned until the stream has it */
    sm_arrow_column *columns = sm_calloc((size_t)count, sizeof *columns);        /* owned */
    struct ArrowArrayStream *stream = sm_calloc(1, sizeof *stream);              /* owned until the capsule has it */
    PyObject *capsule = NULL, *held = PyList_GetSlice(list, 0, count); /* owned; `held` keeps the names alive */
    if (k == NULL || columns == NULL || stream == NULL || held == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (fill_column(k, PyList_GET_ITEM(held, i), &columns[i], &rows) < 0)
            goto end;
    if (sm_arrow_stream(stream, columns, (size_t)count, rows < 0 ? 0 : rows, drop_keeper, k) < 0) {
        PyErr_NoMemory();
        goto end;
    }
    k = NULL;
    capsule = sm_arrow_capsule(stream);
    stream = NULL;
end:
    if (k)
        drop_keeper(k);
    sm_free(columns);
    sm_free(stream);
    Py_XDECREF(held);
    return capsule;
}

PyMethodDef sm_methods_arrow[] = {
    {"arrow_stream", core_arrow_stream, METH_O,
     "Return a stream of one record batch over the columns' own memory. Formats: 'l' int64, 'g' float64, 'u' UTF-8 "
     "text with int64 offsets."},
    {NULL, NULL, 0, NULL},
};
