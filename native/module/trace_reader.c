/* seismo._core.Journal: the calls of a trace, from the pieces in its file. */
#include "module/trace_reader.h"
#include "base/alloc.h"
#include "module/column.h"
#include "module/containers.h"
#include "module/module.h"
#include "trace/arrow_batches.h"
#include "trace/build_zoom.h"
#include "trace/overview.h"
#include "trace/window.h"

typedef struct {
    PyObject_HEAD sm_views views; /* held while the journal reads them */
    sm_index index;
    sm_zoom_sheets sheets;
    sm_dictionary dictionary;
    double *weight; /* owned */
    sm_trace journal;
    const int64_t *function; /* by node */
    const int64_t *longest;  /* pairs of offset and length */
    size_t functions, longest_count;
} timeline;

/* ---- construction ---- */

static int check_nodes(const timeline *self) {
    const sm_dictionary *d = &self->dictionary;
    const int64_t *parent = d->parent, *thread = d->thread, *function = self->function, *origin = self->journal.origin;
    for (size_t n = 0; n < d->nodes; n++) {
        if (parent[n] < -1 || parent[n] >= (int64_t)n || thread[n] < 0 || thread[n] >= (int64_t)d->threads ||
            function[n] < 0 || function[n] >= (int64_t)self->functions ||
            (parent[n] >= 0 && thread[parent[n]] != thread[n]))
            return SM_FAIL(PyExc_ValueError, "journal: node %zu is not sound", n);
    }
    for (size_t t = 0; t < d->threads; t++) {
        if (origin[t] < 0 || origin[t] > (int64_t)1 << 61)
            return SM_FAIL(PyExc_ValueError, "journal: thread %zu is not sound", t);
    }
    return 0;
}

/* Set each node's mean ns per segment. It has one for each entry, and one more for each entry of a child. */
static int make_weights(timeline *self, const double *own, const int64_t *calls, const int64_t *resumes) {
    size_t nodes = self->dictionary.nodes;
    const int64_t *parent = self->dictionary.parent;
    double *segments = sm_calloc(nodes, sizeof *segments);
    self->weight = sm_calloc(nodes, sizeof *self->weight);
    if (segments == NULL || self->weight == NULL) {
        sm_free(segments);
        return -1;
    }
    for (size_t n = 0; n < nodes; n++) {
        double entered = (double)calls[n] + (double)resumes[n];
        segments[n] += entered;
        if (parent[n] >= 0)
            segments[parent[n]] += entered;
    }
    for (size_t n = 0; n < nodes; n++) {
        double mean = own[n] / (segments[n] >= 1 ? segments[n] : 1);
        self->weight[n] = mean >= 0 && mean < 1e15 ? mean : 0; /* NaN, too */
    }
    sm_free(segments);
    return 0;
}

static size_t clamped(Py_ssize_t count, Py_ssize_t most) {
    return (size_t)(count < 0 ? 0 : count < most ? count : most);
}

/* Read the columns. Return -1 with an exception set. */
static int fill(timeline *self, PyObject *given, Py_ssize_t sound_nodes, Py_ssize_t sound_threads) {
    sm_views *v = &self->views;
    Py_ssize_t size = -1, pieces = -1, heads = -1, levels = -1, longest = -1, nodes = -1, threads = -1;
    const uint8_t *data = sm_views_take(v, given, "journal", "data", 'B', &size);
    const int64_t *piece = sm_views_take(v, given, "journal", "places", 'q', &pieces);
    const int64_t *head = sm_views_take(v, given, "journal", "heads", 'q', &heads);
    const int64_t *level = sm_views_take(v, given, "journal", "levels", 'q', &levels);
    self->longest = sm_views_take(v, given, "journal", "longest", 'q', &longest);
    const int64_t *parent = sm_views_take(v, given, "journal", "parent", 'q', &nodes);
    const int64_t *thread = sm_views_take(v, given, "journal", "thread", 'q', &nodes);
    self->function = sm_views_take(v, given, "journal", "function", 'q', &nodes);
    const double *own = sm_views_take(v, given, "journal", "own_ns", 'd', &nodes);
    const int64_t *calls = sm_views_take(v, given, "journal", "calls", 'q', &nodes);
    const int64_t *resumes = sm_views_take(v, given, "journal", "resumes", 'q', &nodes);
    const int64_t *origin = sm_views_take(v, given, "journal", "origin", 'q', &threads);
    const int64_t *end = sm_views_take(v, given, "journal", "end", 'q', &threads);
    if (v->failed)
        return -1;
    self->longest_count = (size_t)longest / 2;
    self->dictionary = (sm_dictionary){.nodes = (size_t)nodes,
                                       .threads = (size_t)threads,
                                       .sound_nodes = clamped(sound_nodes, nodes),
                                       .sound_threads = clamped(sound_threads, threads),
                                       .parent = parent,
                                       .thread = thread};
    self->journal = (sm_trace){.index = &self->index, .dictionary = &self->dictionary, .origin = origin, .end = end};
    if (check_nodes(self) < 0)
        return -1;
    size_t sound = self->dictionary.sound_threads, bytes = (size_t)size;
    if (make_weights(self, own, calls, resumes) < 0 || sm_dictionary_make(&self->dictionary) < 0 ||
        sm_index_make(&self->index, data, bytes, piece, (size_t)pieces / 2, head, (size_t)heads / 3, sound) < 0 ||
        sm_zoom_sheets_make(&self->sheets, data, bytes, level, (size_t)levels / 2, sound) < 0)
        return sm_no_memory();
    self->journal.weight = self->weight;
    return 0;
}

static PyObject *timeline_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {"columns", "functions", "sound_nodes", "sound_threads", NULL};
    PyObject *given; /* borrowed */
    Py_ssize_t functions, sound_nodes, sound_threads;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "Onnn:Journal", names, &given, &functions, &sound_nodes,
                                     &sound_threads)) {
        return NULL;
    }
    timeline *self = (timeline *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->functions = (size_t)functions;
    if (fill(self, given, sound_nodes, sound_threads) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void timeline_dealloc(PyObject *object) {
    timeline *self = (timeline *)object;
    sm_index_free(&self->index);
    sm_zoom_sheets_free(&self->sheets);
    sm_dictionary_free(&self->dictionary);
    sm_free(self->weight);
    sm_views_release(&self->views);
    sm_object_free(object);
}

/* ---- reading ---- */

/* Rows that become a dict of int64 columns. `fill` sets the values of row i, one for each name. */
typedef struct {
    const char *const *names; /* NULL at the end */
    size_t rows;
    const void *context;
    void (*fill)(const timeline *self, const void *context, size_t i, int64_t *values);
} row_table;

enum { MOST_COLUMNS = 16 };

static PyObject *columns_of(const timeline *self, const row_table *table) {
    PyObject *module = PyType_GetModule(Py_TYPE(self));  /* borrowed */
    PyObject *dict = PyDict_New();                       /* owned, returned */
    int64_t *memory[MOST_COLUMNS], values[MOST_COLUMNS]; /* memory: owned, until a Column has it */
    int columns = 0;
    bool whole = true;
    for (; table->names[columns] != NULL; columns++)
        whole = (memory[columns] = sm_malloc(table->rows * sizeof **memory)) != NULL && whole;
    for (size_t i = 0; whole && i < table->rows; i++) {
        table->fill(self, table->context, i, values);
        for (int c = 0; c < columns; c++)
            memory[c][i] = values[c];
    }
    for (int c = 0; c < columns; c++)
        if (whole && dict != NULL)
            sm_dict_add(&dict, table->names[c], sm_column_new(module, memory[c], (Py_ssize_t)table->rows, 'q'));
        else
            sm_free(memory[c]);
    if (!whole) {
        Py_CLEAR(dict);
        PyErr_NoMemory();
    }
    return dict;
}

typedef struct {
    const sm_window *window; /* NULL if rows have no context */
    const sm_window_call *rows;
} call_rows;

static void fill_call(const timeline *self, const void *context, size_t i, int64_t *values) {
    const call_rows *calls = context;
    const sm_window_call *row = &calls->rows[i];
    const sm_window *w = calls->window;
    int64_t parent = w ? sm_window_row(w, row->stream, row->call.parent) : -1;
    int64_t call = w ? sm_window_row(w, row->stream, row->call.call) : -1;
    sm_call_values(values, &row->call, &self->index.stream[row->stream], self->function, parent, call);
}

static PyObject *call_columns(const timeline *self, const sm_window *window, const sm_window_call *rows, size_t count) {
    return columns_of(self, &(row_table){sm_call_columns, count, &(call_rows){window, rows}, fill_call});
}

static PyObject *gap_list(const timeline *self, const sm_buffer *gaps) {
    PyObject *list = PyList_New(0); /* owned, returned */
    const sm_window_gap *gap = (const sm_window_gap *)gaps->bytes;
    for (size_t i = 0; list && i < gaps->size / sizeof *gap; i++) {
        const sm_stream *stream = &self->index.stream[gap[i].stream];
        sm_list_add(&list, Py_BuildValue("LLIK", (long long)gap[i].from, (long long)gap[i].to, stream->thread,
                                         (unsigned long long)stream->number));
    }
    return list;
}

static PyObject *instant_list(const timeline *self, const sm_window *window) {
    PyObject *list = PyList_New(0); /* owned, returned */
    const sm_window_instant *row = (const sm_window_instant *)window->instants.bytes;
    for (size_t i = 0; list && i < window->instants.size / sizeof *row; i++) {
        const sm_stream *stream = &self->index.stream[row[i].stream];
        const char *text = row[i].length ? (const char *)window->texts.bytes + row[i].at : "";
        sm_list_add(&list, Py_BuildValue("LLIKKLN", (long long)row[i].time, (long long)row[i].bound, stream->thread,
                                         (unsigned long long)stream->number, (unsigned long long)row[i].kind,
                                         (long long)sm_window_row(window, row[i].stream, row[i].in),
                                         PyBytes_FromStringAndSize(text, (Py_ssize_t)row[i].length)));
    }
    return list;
}

static PyObject *timeline_read(PyObject *object, PyObject *arguments) {
    timeline *self = (timeline *)object;
    long long from, to, thread;
    Py_ssize_t limit, look_back;
    if (!PyArg_ParseTuple(arguments, "LLLnn:read", &from, &to, &thread, &limit, &look_back))
        return NULL;
    sm_window window;
    int done;
    Py_BEGIN_ALLOW_THREADS done = sm_window_fill(&window, &self->journal, from, to, thread,
                                                 limit < 0 ? 0 : (size_t)limit, look_back < 0 ? 0 : (size_t)look_back);
    Py_END_ALLOW_THREADS PyObject *result = done < 0 ? PyErr_NoMemory() : PyDict_New(); /* owned, returned */
    if (result != NULL) {
        sm_dict_add(&result, "calls",
                    call_columns(self, &window, (const sm_window_call *)window.calls.bytes,
                                 window.calls.size / sizeof(sm_window_call)));
        sm_dict_add(&result, "instants", instant_list(self, &window));
        sm_dict_add(&result, "gaps", gap_list(self, &window.gaps));
        sm_dict_add(&result, "wrong", sm_trace_wrong(&window.wrong, self->index.dropped));
        sm_dict_add(&result, "more", PyBool_FromLong(window.more));
    }
    sm_window_free(&window);
    return result;
}

static void fill_run(const timeline *self, const void *context, size_t i, int64_t *values) {
    const sm_run *r = &((const sm_run *)context)[i];
    const sm_stream *stream = &self->index.stream[r->stream];
    const int64_t row_values[] = {r->start,
                                  r->end,
                                  r->busy,
                                  r->most,
                                  r->bound,
                                  (int64_t)r->calls,
                                  stream->thread,
                                  (int64_t)stream->number,
                                  self->function[r->node],
                                  r->node,
                                  r->depth,
                                  r->flags};
    memcpy(values, row_values, sizeof row_values);
}

static PyObject *run_columns(const timeline *self, const sm_overview *overview) {
    static const char *const names[] = {"start_ns", "end_ns",   "busy_ns", "most_ns", "bound_ns", "calls", "thread",
                                        "stream",   "function", "node",    "depth",   "flags",    NULL};
    const sm_buffer *runs = &overview->runs;
    return columns_of(self, &(row_table){names, runs->size / sizeof(sm_run), runs->bytes, fill_run});
}

/* Get the wanted threads, a byte for each, or None for all. Return 0, or -1 with an exception set. */
static int take_wanted(const timeline *self, PyObject *given, Py_buffer *view) {
    if (given == Py_None)
        return 0;
    if (PyObject_GetBuffer(given, view, PyBUF_SIMPLE) < 0)
        return -1;
    if ((size_t)view->len != self->dictionary.threads)
        return SM_FAIL(PyExc_ValueError, "overview: a byte for each thread is wanted");
    return 0;
}

static PyObject *timeline_overview(PyObject *object, PyObject *arguments) {
    timeline *self = (timeline *)object;
    long long from, to, columns, first, last;
    PyObject *threads; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "LLLLLO:overview", &from, &to, &columns, &first, &last, &threads))
        return NULL;
    Py_buffer wanted = {0};
    if (from < 0 || to < from || columns < 1 || columns > UINT32_MAX || first < 0 || last > UINT32_MAX)
        return PyErr_Format(PyExc_ValueError, "overview: times, columns or depths that cannot be");
    if (take_wanted(self, threads, &wanted) < 0) {
        PyBuffer_Release(&wanted);
        return NULL;
    }
    sm_overview_asked asked = {.from = from,
                               .to = to,
                               .columns = (uint32_t)columns,
                               .first_depth = (uint32_t)first,
                               .last_depth = (uint32_t)last,
                               .wanted = wanted.buf,
                               .function = self->function,
                               .sheets = &self->sheets};
    sm_overview overview;
    int done;
    Py_BEGIN_ALLOW_THREADS done = sm_overview_fill(&overview, &self->journal, &asked);
    Py_END_ALLOW_THREADS PyBuffer_Release(&wanted);
    PyObject *result = done < 0 ? PyErr_NoMemory() : PyDict_New(); /* owned, returned */
    if (result != NULL) {
        sm_dict_add(&result, "runs", run_columns(self, &overview));
        sm_dict_add(&result, "gaps", gap_list(self, &overview.gaps));
        sm_dict_add(&result, "wrong", sm_trace_wrong(&overview.wrong, self->index.dropped));
    }
    sm_overview_free(&overview);
    return result;
}

/* No other thread may read the journal meanwhile, because the sheets move. */
static PyObject *timeline_build(PyObject *object, PyObject *least) {
    timeline *self = (timeline *)object;
    size_t bytes = PyLong_AsSize_t(least), before = self->sheets.sheets;
    if (bytes == (size_t)-1 && PyErr_Occurred())
        return NULL;
    if (sm_zoom_sheets_build(&self->sheets, &self->journal, self->function, self->functions, bytes) < 0) {
        return PyErr_NoMemory();
    }
    return PyLong_FromSize_t(self->sheets.sheets - before);
}

static PyObject *timeline_made(PyObject *object, PyObject *Py_UNUSED(none)) {
    const timeline *self = (const timeline *)object;
    PyObject *list = PyList_New(0); /* owned, returned */
    for (const sm_zoom_sheet_place *sheet = self->sheets.sheet, *end = sheet + self->sheets.sheets; list && sheet < end;
         sheet++) {
        if (sheet->in_memory)
            sm_list_add(&list, PyBytes_FromStringAndSize((const char *)sheet->payload, sheet->length));
    }
    return list;
}

/* Return a column that owns *memory. */
static PyObject *moved(PyObject *module, int64_t **memory, Py_ssize_t rows) {
    int64_t *taken = *memory;
    *memory = NULL;
    return sm_column_new(module, taken, rows, 'q');
}

static PyObject *longest_columns(const timeline *self, sm_sums *sums) {
    size_t kept = 0;
    for (size_t f = 0; f < self->functions; f++)
        if (sums->longest[f].call.depth != UINT32_MAX)
            sums->longest[kept++] = sums->longest[f];
    return call_columns(self, NULL, sums->longest, kept);
}

static PyObject *timeline_longest(PyObject *object, PyObject *Py_UNUSED(none)) {
    timeline *self = (timeline *)object;
    sm_sums sums;
    int done =
        sm_longest_fill(&sums, &self->journal, self->function, self->functions, self->longest, self->longest_count);
    PyObject *result = done < 0 ? PyErr_NoMemory() : longest_columns(self, &sums);
    sm_sums_free(&sums);
    return result;
}

static PyObject *timeline_gaps(PyObject *object, PyObject *Py_UNUSED(none)) {
    const timeline *self = (const timeline *)object;
    sm_buffer gaps = {0};
    int done = sm_gaps_find(&self->journal, &gaps);
    PyObject *list = done < 0 ? PyErr_NoMemory() : gap_list(self, &gaps);
    sm_buffer_free(&gaps);
    return list;
}

static PyObject *timeline_sums(PyObject *object, PyObject *Py_UNUSED(none)) {
    static const char *const counts[SM_COUNTS] = {"calls",      "resumes",      "exceptions",
                                                  "left_calls", "left_resumes", "left_exceptions"};
    timeline *self = (timeline *)object;
    PyObject *module = PyType_GetModule(Py_TYPE(object)); /* borrowed */
    Py_ssize_t nodes = (Py_ssize_t)self->dictionary.nodes;
    Py_ssize_t places = nodes + (Py_ssize_t)self->dictionary.threads;
    sm_sums sums;
    int done;
    Py_BEGIN_ALLOW_THREADS done = sm_sums_fill(&sums, &self->journal, self->function, self->functions);
    Py_END_ALLOW_THREADS PyObject *result = done < 0 ? PyErr_NoMemory() : PyDict_New(); /* owned, returned */
    if (result != NULL) {
        for (int c = 0; c < SM_COUNTS; c++)
            sm_dict_add(&result, counts[c], moved(module, &sums.counts[c], c < SM_LEFT_OUT ? nodes : places));
        sm_dict_add(&result, "steps", PyLong_FromUnsignedLongLong(sums.steps));
        sm_dict_add(&result, "longest", longest_columns(self, &sums));
        sm_dict_add(&result, "gaps", gap_list(self, &sums.gaps));
        sm_dict_add(&result, "wrong", sm_trace_wrong(&sums.wrong, self->index.dropped));
    }
    sm_sums_free(&sums);
    return result;
}

static PyObject *timeline_blocks(PyObject *object, PyObject *Py_UNUSED(none)) {
    const timeline *self = (const timeline *)object;
    PyObject *list = PyList_New(0); /* owned, returned */
    for (size_t s = 0; list && s < self->index.streams; s++) {
        const sm_stream *stream = &self->index.stream[s];
        for (size_t b = 0; list && b < stream->blocks; b++) {
            const sm_block *block = &self->index.block[stream->first + b];
            const sm_piece *head = &self->index.piece[block->first];
            size_t size = 0;
            for (size_t i = 0; i < block->pieces; i++)
                size += head[i].raw;
            int64_t time = head->time + self->journal.origin[stream->thread];
            sm_list_add(&list,
                        Py_BuildValue("IKLnO", stream->thread, (unsigned long long)stream->number, (long long)time,
                                      (Py_ssize_t)size, head->flags & SM_BLOCK_AFTER_GAP ? Py_True : Py_False));
        }
    }
    return list;
}

static PyObject *timeline_cut(PyObject *object, PyObject *arguments) {
    return sm_trace_cut(&((timeline *)object)->journal, arguments);
}

static PyObject *timeline_batches(PyObject *object, PyObject *arguments) {
    timeline *self = (timeline *)object;
    return sm_trace_batches(object, &self->journal, self->function, arguments);
}

static PyMethodDef timeline_methods[] = {
    {"read", timeline_read, METH_VARARGS,
     "Return the calls, instants and gaps with times in [start, end), ns, of one thread or (-1) all; no more than "
     "`limit` calls. When calls began that were open before is looked for in `look_back` bytes before."},
    {"batches", timeline_batches, METH_VARARGS, "Return the calls as an Arrow stream."},
    {"overview", timeline_overview, METH_VARARGS,
     "Return what a picture of so many columns can show of the depths in [first, last). threads: a byte for each, or "
     "None for all."},
    {"cut", timeline_cut, METH_VARARGS,
     "Go through the calls with times in [start, end), of a choice or (None) all. counts: arrays of a value for each "
     "node, which are counted up. Else tree: parent and thread of new nodes, the number there of each old node and "
     "thread (-1: none), and receiver(payload) gets the pieces of a journal with them."},
    {"build", timeline_build, METH_O,
     "Make the levels of streams that have none and hold so many bytes. Returns how many sheets there are more."},
    {"made", timeline_made, METH_NOARGS, "Return the sheets of levels that build made, as they would be in a file."},
    {"longest", timeline_longest, METH_NOARGS,
     "Return the longest call of each function, where the recorder noted them."},
    {"gaps", timeline_gaps, METH_NOARGS, "Return the gaps, found by the heads of blocks."},
    {"sums", timeline_sums, METH_NOARGS,
     "Return counts by node, the longest call of each function, and gaps, of all of it."},
    {"blocks", timeline_blocks, METH_NOARGS,
     "Return a tuple for each block: thread, stream, time, bytes, whether events before it are missing."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot timeline_slots[] = {
    {Py_tp_new, timeline_new},
    {Py_tp_dealloc, timeline_dealloc},
    {Py_tp_methods, timeline_methods},
    {Py_tp_doc,
     "Journal(columns, functions, sound_nodes, sound_threads)\n\nReads a trace's journal. columns: data (the "
     "file), places, those of the nodes, and origin and end of threads."},
    {0, NULL},
};

PyType_Spec sm_type_journal = {
    .name = "seismo._core.Journal",
    .basicsize = sizeof(timeline),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = timeline_slots,
};
