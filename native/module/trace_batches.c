/* The method `batches` of seismo._core.Journal: its calls as an Arrow stream that is read on demand. */
#include "trace/arrow_batches.h"

#include "base/alloc.h"
#include "module/module.h"
#include "module/trace_reader.h"

typedef struct {
    PyObject *journal; /* owned; the stream reads its data */
    PyObject *report;  /* owned; called with the problems */
    size_t dropped;
} reader;

PyObject *sm_trace_wrong(const sm_wrong *wrong, size_t dropped) {
    return Py_BuildValue("{sK sK sK sK sK sK sn}", "damaged", wrong->damaged, "unknown", wrong->unknown, "reserved",
                         wrong->reserved, "deep", wrong->deep, "below", wrong->below, "unlisted", wrong->unlisted,
                         "dropped", (Py_ssize_t)dropped);
}

/* The consumer calls both functions from any thread, without the GIL. After finalization, they call no Python. */
static void done(void *receiver, const sm_wrong *wrong) {
    reader *r = receiver;
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *dict = sm_trace_wrong(wrong, r->dropped);                    /* owned */
    PyObject *result = dict ? PyObject_CallOneArg(r->report, dict) : NULL; /* owned */
    if (result == NULL)
        PyErr_WriteUnraisable(r->report);
    Py_XDECREF(result);
    Py_XDECREF(dict);
    PyGILState_Release(state);
}

static void drop(void *receiver) {
    reader *r = receiver;
    if (Py_IsInitialized()) {
        PyGILState_STATE state = PyGILState_Ensure();
        Py_DECREF(r->journal);
        Py_DECREF(r->report);
        PyGILState_Release(state);
    }
    sm_free(r);
}

PyObject *sm_trace_batches(PyObject *object, const sm_trace *journal, const int64_t *function, PyObject *arguments) {
    long long from, to, start_least, start_most, end_least, end_most;
    Py_ssize_t look_back, count;
    const char *columns;
    int leaps;
    PyObject *report; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "LLnO(LLLL)y#p:batches", &from, &to, &look_back, &report, &start_least,
                          &start_most, &end_least, &end_most, &columns, &count, &leaps)) {
        return NULL;
    }
    if (count < 1 || count > SM_BATCH_COLUMNS)
        return PyErr_Format(PyExc_ValueError, "there are 1 to %d columns", SM_BATCH_COLUMNS);
    sm_batches_wish wish = {.from = from,
                            .to = to,
                            .look_back = look_back < 0 ? 0 : (size_t)look_back,
                            .times = {start_least, start_most, end_least, end_most, false},
                            .leaps = leaps != 0,
                            .columns = (size_t)count};
    for (Py_ssize_t c = 0; c < count; c++) {
        if ((unsigned char)columns[c] >= SM_BATCH_COLUMNS)
            return PyErr_Format(PyExc_ValueError, "there is no column %d", (unsigned char)columns[c]);
        wish.column[c] = (uint8_t)columns[c];
    }
    struct ArrowArrayStream *stream = sm_calloc(1, sizeof *stream); /* owned until the capsule has it */
    reader *r = sm_calloc(1, sizeof *r);                            /* owned until the stream has it */
    if (stream == NULL || r == NULL) {
        sm_free(stream);
        sm_free(r);
        return PyErr_NoMemory();
    }
    *r = (reader){.journal = object, .report = report, .dropped = journal->index->dropped};
    sm_batches_owner owner = {.receiver = r, .done = done, .drop = drop};
    if (sm_batches_make(stream, journal, function, &wish, owner) < 0) {
        sm_free(stream);
        sm_free(r);
        return PyErr_NoMemory();
    }
    Py_INCREF(r->journal);
    Py_INCREF(r->report);
    return sm_arrow_capsule(stream);
}
