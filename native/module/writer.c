/* seismo._core.Writer: writes whole columns, to save a Python model. */
#include "file/writer.h"

#include <errno.h>

#include "module/column.h"
#include "module/module.h"
#include "trace/piece_heads.h"
#include "trace/pieces.h"

typedef struct {
    PyObject_HEAD sm_writer *writer; /* owned; NULL after finish */
    int fd;                          /* borrowed; -1 for memory */
    sm_piece_heads heads;            /* heads of written pieces, not in a HEAD chunk yet */
} writer;

static PyObject *writer_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"fd", NULL};
    PyObject *fd = Py_None; /* borrowed */
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O:Writer", names, &fd))
        return NULL;
    int number = fd == Py_None ? -1 : PyObject_AsFileDescriptor(fd);
    if (number < 0 && fd != Py_None)
        return NULL;
    writer *self = (writer *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->fd = number;
    self->writer = sm_writer_new(number);
    if (self->writer == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void writer_dealloc(PyObject *self) {
    sm_writer_free(((writer *)self)->writer);
    sm_piece_heads_clear(&((writer *)self)->heads);
    sm_object_free(self);
}

/* Return the writer, or NULL with a ValueError set if it is finished. */
static sm_writer *open_writer(PyObject *self) {
    sm_writer *w = ((writer *)self)->writer;
    if (w == NULL)
        PyErr_SetString(PyExc_ValueError, "this Writer has been finished");
    return w;
}

/* Return 0, or -1 with a MemoryError or OSError set for a failure since the start. */
static int check(const sm_writer *w) {
    int error = sm_writer_error(w);
    if (error == 0)
        return 0;
    if (error == ENOMEM) {
        PyErr_NoMemory();
    } else {
        errno = error;
        PyErr_SetFromErrno(PyExc_OSError);
    }
    return -1;
}

static PyObject *writer_string(PyObject *self, PyObject *text) {
    sm_writer *w = open_writer(self);
    if (w == NULL)
        return NULL;
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"); /* owned */
    if (bytes == NULL)
        return NULL;
    uint64_t index = sm_writer_string(w, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return check(w) < 0 ? NULL : PyLong_FromUnsignedLongLong(index);
}

static PyObject *writer_meta(PyObject *self, PyObject *text) {
    sm_writer *w = open_writer(self);
    Py_ssize_t length;
    const char *json = w ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    if (json == NULL)
        return NULL;
    sm_writer_meta(w, json, (size_t)length);
    return sm_none(check(w));
}

/* Return the table with this name, or -1 with a ValueError set. */
static int find_table(const char *name) {
    for (int t = 0; t < SM_TABLES; t++)
        if (strcmp(sm_tables[t].name, name) == 0)
            return t;
    return SM_FAIL(PyExc_ValueError, "no table '%s'", name);
}

static void write_rows(sm_writer *w, int table, const void *const *columns, Py_ssize_t rows) {
    int64_t ints[SM_MAX_COLUMNS] = {0};
    double floats[SM_MAX_COLUMNS] = {0};
    for (Py_ssize_t i = 0; i < rows; i++) {
        for (int c = 0; c < sm_tables[table].columns; c++)
            if (sm_tables[table].column[c].type == SM_TYPE_REAL)
                floats[c] = ((const double *)columns[c])[i];
            else
                ints[c] = ((const int64_t *)columns[c])[i];
        sm_writer_row(w, (sm_table_kind)table, ints, floats);
    }
}

static PyObject *writer_table(PyObject *self, PyObject *arguments) {
    sm_writer *w = open_writer(self);
    const char *name;
    PyObject *columns; /* borrowed */
    if (w == NULL || !PyArg_ParseTuple(arguments, "sO:table", &name, &columns))
        return NULL;
    int table = find_table(name);
    if (table < 0)
        return NULL;
    sm_views views = {.count = 0};
    const void *values[SM_MAX_COLUMNS];
    Py_ssize_t rows = -1; /* set by the first column */
    for (int c = 0; c < sm_tables[table].columns; c++) {
        const sm_column *column = &sm_tables[table].column[c];
        values[c] = sm_views_take(&views, columns, name, column->name, column->type == SM_TYPE_REAL ? 'd' : 'q', &rows);
    }
    if (!views.failed)
        write_rows(w, table, values, rows);
    sm_views_release(&views);
    return sm_none(views.failed ? -1 : check(w));
}

static void write_heads(writer *self) {
    sm_buffer payload = {0};
    if (self->heads.count != 0 && sm_piece_heads_pack(&self->heads, &payload) == 0)
        sm_writer_append(self->writer, SM_CHUNK_HEAD, payload.bytes, payload.size);
    sm_buffer_free(&payload);
    sm_piece_heads_clear(&self->heads);
}

static void note_head(writer *self, const uint8_t *payload, size_t length) {
    sm_piece piece = {0};
    int sound = sm_piece_parse(payload, length, length, &piece) == 0;
    sm_piece_heads_add(&self->heads, payload, sound ? piece.body : 0, length,
                       sound ? sm_piece_heads_kinds(payload, &piece) : 0);
    if (self->heads.count >= SM_PIECE_HEADS_MANY)
        write_heads(self);
}

/* Write a chunk of a journal, from another recording, or a sum. */
static PyObject *writer_chunk(PyObject *self, PyObject *arguments) {
    sm_writer *w = open_writer(self);
    const char *kind;
    Py_buffer payload;
    if (w == NULL || !PyArg_ParseTuple(arguments, "sy*:chunk", &kind, &payload))
        return NULL;
    uint32_t chunk = strlen(kind) == 4 ? SM_CHUNK(kind[0], kind[1], kind[2], kind[3]) : 0;
    bool of_journal = sm_chunk_of_journal(chunk) >= 0 && chunk != SM_CHUNK_HEAD; /* heads follow from the pieces */
    bool good = of_journal || chunk == SM_CHUNK_SUMS;
    if (good && sm_writer_append(w, chunk, payload.buf, (size_t)payload.len) == 0 && chunk == SM_CHUNK_JRNL)
        note_head((writer *)self, payload.buf, (size_t)payload.len);
    PyBuffer_Release(&payload);
    if (!good)
        return PyErr_Format(PyExc_ValueError, "'%s' is no kind of a journal's chunks, nor SUMS", kind);
    return sm_none(check(w));
}

static PyObject *writer_finish(PyObject *self, PyObject *Py_UNUSED(none)) {
    sm_writer *w = open_writer(self);
    if (w == NULL)
        return NULL;
    write_heads((writer *)self);
    sm_writer_finish(w);
    PyObject *result = NULL; /* owned, returned */
    if (check(w) == 0) {
        size_t size;
        const uint8_t *bytes = sm_writer_bytes(w, &size);
        result = bytes ? PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size) : Py_NewRef(Py_None);
    }
    sm_writer_free(w);
    ((writer *)self)->writer = NULL;
    return result;
}

static PyMethodDef writer_methods[] = {
    {"string", writer_string, METH_O, "Add a string and return its index. Equal strings are not merged; '' is 0."},
    {"meta", writer_meta, METH_O, "Add a JSON object, whose keys override those of earlier ones."},
    {"table", writer_table, METH_VARARGS,
     "Add rows, given as all columns of the table, each a buffer of int64 ('q') or float64 ('d')."},
    {"chunk", writer_chunk, METH_VARARGS,
     "Add a piece of a journal (JRNL), a sheet of its levels (LEVL), longest calls (LONG), or the file of a sum "
     "(SUMS)."},
    {"finish", writer_finish, METH_NOARGS,
     "Write the rest and the index. Returns the bytes of a Writer into memory. Raises OSError if not everything could "
     "be written."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot writer_slots[] = {
    {Py_tp_new, writer_new},
    {Py_tp_dealloc, writer_dealloc},
    {Py_tp_methods, writer_methods},
    {Py_tp_doc, "Writer(fd=None)\n\nWrites a recording to a file descriptor, which the caller closes, or into memory."},
    {0, NULL},
};

PyType_Spec sm_type_writer = {
    .name = "seismo._core.Writer",
    .basicsize = sizeof(writer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = writer_slots,
};
