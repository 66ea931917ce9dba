/* seismo._core.read: a recording's bytes as columns. */
#include "file/reader.h"

#include "base/alloc.h"
#include "base/lookup_count.h"
#include "base/varint.h"
#include "module/column.h"
#include "module/containers.h"
#include "module/module.h"

static PyObject *meta_list(const sm_read_data *data) {
    PyObject *list = PyList_New(0); /* owned, returned */
    const uint8_t *at = data->meta.bytes, *end = at ? at + data->meta.size : at;
    while (list && at < end) {
        uint64_t length = 0;
        at = sm_varint_get(at, end, &length);
        sm_list_add(&list, PyUnicode_DecodeUTF8((const char *)at, (Py_ssize_t)length, "replace"));
        at += length;
    }
    return list;
}

static PyObject *problem_list(const sm_read_data *data) {
    PyObject *list = PyList_New(0); /* owned, returned */
    for (size_t i = 0; list && i < data->problems; i++) {
        const sm_problem *problem = &data->problem[i];
        sm_list_add(&list, Py_BuildValue("Ks", (unsigned long long)problem->offset, problem->text));
    }
    if (list && data->more_problems) {
        PyObject *text = PyUnicode_FromFormat("and %zu more problems", data->more_problems);
        sm_list_add(&list, Py_BuildValue("KN", 0ULL, text));
    }
    return list;
}

/* The columns are moved from `table` to the Columns. */
static PyObject *table_dict(PyObject *module, const sm_table *about, sm_read_table *table) {
    PyObject *dict = PyDict_New(); /* owned, returned */
    sm_dict_add(&dict, "rows", PyLong_FromSize_t(table->rows));
    for (int c = 0; dict && c < about->columns; c++) {
        int64_t *memory = table->column[c];
        char format = about->column[c].type == SM_TYPE_REAL ? 'd' : 'q';
        table->column[c] = NULL;
        sm_dict_add(&dict, about->column[c].name, sm_column_new(module, memory, (Py_ssize_t)table->rows, format));
    }
    return dict;
}

static PyObject *tables_dict(PyObject *module, sm_read_data *data) {
    PyObject *dict = PyDict_New(); /* owned, returned */
    for (int t = 0; dict && t < SM_TABLES; t++)
        sm_dict_add(&dict, sm_tables[t].name, table_dict(module, &sm_tables[t], &data->table[t]));
    return dict;
}

/* Return a column of places: offset, length, offset ... of payloads. */
static PyObject *places_column(PyObject *module, sm_buffer *taken) {
    int64_t *places = (int64_t *)(void *)taken->bytes;
    Py_ssize_t numbers = (Py_ssize_t)(taken->size / sizeof *places);
    *taken = (sm_buffer){0};
    return sm_column_new(module, places ? places : sm_malloc(0), numbers, 'q');
}

/* Return {table: the number of first rows that have kept their ids from the file}. */
static PyObject *sound_dict(const sm_read_data *data) {
    return Py_BuildValue("{sn sn}", "nodes", (Py_ssize_t)data->sound[SM_NODES], "threads",
                         (Py_ssize_t)data->sound[SM_THREADS]);
}

static const char *const journal_names[] = {"journal", "levels", "longest", "heads"};

static PyObject *result_dict(PyObject *module, sm_read_data *data) {
    PyObject *dict = PyDict_New(); /* owned, returned */
    int64_t *offsets = data->offsets;
    data->offsets = NULL;
    const char *strings = data->data.bytes ? (const char *)data->data.bytes : "";
    sm_dict_add(&dict, "string_offsets", sm_column_new(module, offsets, (Py_ssize_t)data->strings + 1, 'q'));
    sm_dict_add(&dict, "string_data", PyBytes_FromStringAndSize(strings, (Py_ssize_t)data->data.size));
    sm_dict_add(&dict, "version", PyLong_FromUnsignedLong(data->version));
    sm_dict_add(&dict, "finished", PyBool_FromLong(data->finished));
    sm_dict_add(&dict, "behind", PyBool_FromLong(data->behind));
    sm_dict_add(&dict, "meta", meta_list(data));
    sm_dict_add(&dict, "problems", problem_list(data));
    for (int kind = 0; kind < SM_JOURNAL_KINDS; kind++)
        sm_dict_add(&dict, journal_names[kind], places_column(module, &data->journal[kind]));
    sm_dict_add(&dict, "sound", sound_dict(data));
    sm_dict_add(&dict, "tables", tables_dict(module, data));
    return dict;
}

static PyObject *core_read(PyObject *module, PyObject *source) {
    Py_buffer view;
    if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    sm_read_data data;
    sm_read_status status;
    Py_BEGIN_ALLOW_THREADS status = sm_read(view.buf, (size_t)view.len, &data);
    Py_END_ALLOW_THREADS PyBuffer_Release(&view);
    PyObject *result = NULL;
    switch (status) {
    case SM_READ_OK:
        result = result_dict(module, &data);
        break;
    case SM_READ_FOREIGN:
        PyErr_SetString(PyExc_ValueError, "this is not a seismo recording: it does not begin like one");
        break;
    case SM_READ_FUTURE:
        PyErr_Format(PyExc_ValueError, "this recording has format version %u, and this seismo reads versions 1 to %d",
                     data.version, SM_FILE_VERSION);
        break;
    case SM_READ_NO_MEMORY:
        PyErr_NoMemory();
        break;
    }
    sm_read_free(&data);
    return result;
}

/* Return {table: [(column, format), ...]} with 'q' integer, 's' string index, 'd' float64. */
static PyObject *core_schema(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *dict = PyDict_New(); /* owned, returned */
    for (int t = 0; dict && t < SM_TABLES; t++) {
        const sm_table *about = &sm_tables[t];
        PyObject *list = PyList_New(0); /* owned until put */
        for (int c = 0; list && c < about->columns; c++) {
            sm_column_type type = about->column[c].type;
            const char *format = type == SM_TYPE_REAL ? "d" : type == SM_TYPE_STR ? "s" : "q";
            sm_list_add(&list, Py_BuildValue("ss", about->column[c].name, format));
        }
        sm_dict_add(&dict, about->name, list);
    }
    return dict;
}

#ifdef SM_TESTING
static PyObject *core_fail_allocation(PyObject *module, PyObject *arguments) {
    (void)module;
    long n;
    int forever = 0;
    if (!PyArg_ParseTuple(arguments, "l|p:_fail_allocation", &n, &forever))
        return NULL;
    return PyLong_FromLong(sm_alloc_fail(n, forever));
}

static PyObject *core_looks(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(arguments)) {
    return PyLong_FromUnsignedLongLong(sm_looks);
}
#endif

PyMethodDef sm_methods_reader[] = {
    {"read", core_read, METH_O,
     "Read the bytes of a recording into columns. Raises ValueError if they are not a recording, or one of a later "
     "version."},
    {"schema", core_schema, METH_NOARGS, "Return the tables and columns of a recording, with their formats."},
#ifdef SM_TESTING
    {"_fail_allocation", core_fail_allocation, METH_VARARGS,
     "Make the n-th of the core's next allocations fail (0: none). Returns how many there were since the last call."},
    {"_looks", core_looks, METH_NOARGS, "Return how many places of tables have been looked at."},
#endif
    {NULL, NULL, 0, NULL},
};
