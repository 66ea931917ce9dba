/* The method `cut` of seismo._core.Journal: a part of a journal, counted or written (trace/excerpt.h). */
#include "trace/excerpt.h"

#include "base/alloc.h"
#include "module/column.h"
#include "module/trace_reader.h"

enum { HELD = 24 };

typedef struct { /* all buffers that are read or written */
    Py_buffer view[HELD];
    int count;
} held;

static void let_go(held *all) {
    while (all->count > 0)
        PyBuffer_Release(&all->view[--all->count]);
}

/* Return dict[name] for reading, or NULL with an exception set. *rows is checked, or set to the number of values. */
static const void *take(held *all, PyObject *dict, const char *name, char format, Py_ssize_t *rows) {
    static const int64_t nothing[1];
    Py_buffer *view = &all->view[all->count++];
    if (sm_column_take(dict, "cut", name, format, *rows, view) < 0)
        return NULL;
    *rows = view->shape[0];
    return view->buf ? view->buf : nothing;
}

/* Return dict[name] for writing, with 8 bytes for each node. */
static void *take_writable(held *all, PyObject *dict, const char *name, size_t nodes) {
    static int64_t nothing[1];
    Py_buffer *view = &all->view[all->count];
    PyObject *value = PyMapping_GetItemString(dict, name); /* owned */
    int done = value ? PyObject_GetBuffer(value, view, PyBUF_WRITABLE) : -1;
    Py_XDECREF(value);
    if (done < 0)
        return NULL;
    all->count++;
    if ((size_t)view->len != nodes * 8) {
        PyErr_Format(PyExc_ValueError, "cut.%s has %zd bytes, not %zu", name, view->len, nodes * 8);
        return NULL;
    }
    return view->buf ? view->buf : nothing;
}

static int take_choice(held *all, PyObject *dict, size_t nodes, sm_cut_choice *choice) {
    static const char *const facts[SM_CUT_FACTS] = {"duration", "own", "depth"};
    Py_ssize_t of_nodes = (Py_ssize_t)nodes, table = -1;
    choice->class_of = take(all, dict, "class", 'q', &of_nodes);
    choice->python = choice->class_of ? take(all, dict, "python", 'q', &of_nodes) : NULL;
    choice->table = choice->python ? take(all, dict, "table", 'B', &table) : NULL;
    if (choice->table == NULL)
        return -1;
    size_t cells = SM_CUT_HOWS;
    for (int f = 0; f < SM_CUT_FACTS; f++) {
        Py_ssize_t bounds = -1;
        choice->bounds[f] = take(all, dict, facts[f], 'q', &bounds);
        if (choice->bounds[f] == NULL)
            return -1;
        if (bounds > 1024) {
            PyErr_Format(PyExc_ValueError, "cut.%s has too many bounds", facts[f]);
            return -1;
        }
        choice->count[f] = (size_t)bounds;
        cells *= (size_t)bounds + 1;
    }
    choice->classes = (size_t)table / cells;
    for (size_t n = 0; n < nodes; n++) {
        if (choice->class_of[n] < 0 || (size_t)choice->class_of[n] >= choice->classes) {
            PyErr_Format(PyExc_ValueError, "cut.class: node %zu has none", n);
            return -1;
        }
    }
    return 0;
}

static int take_counts(held *all, PyObject *dict, size_t nodes, sm_cut_counts *counts) {
    const struct {
        const char *name;
        void *to;
    } columns[] = {{"calls", &counts->calls},       {"resumes", &counts->resumes}, {"exceptions", &counts->exceptions},
                   {"segments", &counts->segments}, {"ns", &counts->ns},           {"seen", &counts->seen},
                   {"ns_sq", &counts->ns_sq},       {"ns_var", &counts->ns_var}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        void *memory = take_writable(all, dict, columns[i].name, nodes);
        if (memory == NULL)
            return -1;
        memcpy(columns[i].to, &memory, sizeof memory);
    }
    return 0;
}

/* Get the new tree, and the mapping from old rows to it. */
static int take_tree(held *all, PyObject *dict, const sm_dictionary *old, sm_cut_order *order, sm_dictionary *tree) {
    Py_ssize_t nodes = -1, of_nodes = (Py_ssize_t)old->nodes, of_threads = (Py_ssize_t)old->threads;
    tree->parent = take(all, dict, "parent", 'q', &nodes);
    tree->thread = tree->parent ? take(all, dict, "thread", 'q', &nodes) : NULL;
    order->node = tree->thread ? take(all, dict, "node", 'q', &of_nodes) : NULL;
    order->thread = order->node ? take(all, dict, "threads", 'q', &of_threads) : NULL;
    if (order->thread == NULL)
        return -1;
    tree->nodes = tree->sound_nodes = (size_t)nodes;
    for (size_t t = 0; t < old->threads; t++) {
        size_t number = (size_t)(order->thread[t] + 1);
        tree->threads = number > tree->threads && order->thread[t] < of_threads ? number : tree->threads;
    }
    tree->sound_threads = tree->threads;
    for (size_t n = 0; n < old->nodes; n++) {
        int64_t to = order->node[n];
        if (to < -1 || to >= nodes || (to >= 0 && tree->thread[to] != order->thread[old->thread[n]])) {
            PyErr_Format(PyExc_ValueError, "cut.node: node %zu is not sound", n);
            return -1;
        }
    }
    for (Py_ssize_t n = 0; n < nodes; n++) {
        if (tree->parent[n] < -1 || tree->parent[n] >= n || tree->thread[n] < 0 ||
            (size_t)tree->thread[n] >= tree->threads) {
            PyErr_Format(PyExc_ValueError, "cut.parent: node %zd is not sound", n);
            return -1;
        }
    }
    return 0;
}

static int hand_on(void *receiver, const uint8_t *payload, size_t size) {
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)payload, (Py_ssize_t)size); /* owned */
    PyObject *result = bytes ? PyObject_CallOneArg(receiver, bytes) : NULL;               /* owned */
    Py_XDECREF(bytes);
    Py_XDECREF(result);
    return result == NULL || PyErr_CheckSignals() < 0;
}

static PyObject *result_of(int done, const sm_cut_notes *notes) {
    if (done < 0)
        return PyErr_NoMemory();
    if (done > 0)
        return NULL; /* the receiver's exception is set */
    return Py_BuildValue("{sK sK sK sK sK}", "edges", notes->edges, "gaps", notes->gaps, "left_out", notes->left_out,
                         "damaged", notes->damaged, "streams", notes->streams);
}

PyObject *sm_trace_cut(const sm_trace *journal, PyObject *arguments) {
    long long from, to;
    PyObject *chosen, *counted, *written, *receiver; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "LLOOOO:cut", &from, &to, &chosen, &counted, &written, &receiver))
        return NULL;
    held all = {.count = 0};
    size_t nodes = journal->dictionary->nodes;
    sm_cut_choice choice;
    sm_cut_counts counts;
    sm_cut_notes notes;
    sm_dictionary tree = {.nodes = 0};
    sm_cut_order order = {.from = from, .to = to, .choice = chosen == Py_None ? NULL : &choice};
    sm_trace_writer writer = {.dictionary = &tree, .receiver = receiver, .piece = hand_on};
    PyObject *result = NULL; /* owned, returned */
    if ((chosen != Py_None && take_choice(&all, chosen, nodes, &choice) < 0) ||
        (counted != Py_None && take_counts(&all, counted, nodes, &counts) < 0)) {
        goto end;
    }
    if (counted != Py_None) {
        int done;
        Py_BEGIN_ALLOW_THREADS done = sm_cut(journal, &order, &counts, NULL, &notes);
        Py_END_ALLOW_THREADS result = result_of(done, &notes);
    } else if (take_tree(&all, written, journal->dictionary, &order, &tree) == 0) {
        int done = sm_dictionary_make(&tree) < 0 || sm_trace_writer_make(&writer) < 0
                       ? -1
                       : sm_cut(journal, &order, NULL, &writer, &notes);
        result = result_of(done, &notes);
    }
end:
    sm_trace_writer_free(&writer);
    sm_dictionary_free(&tree);
    let_go(&all);
    return result;
}
