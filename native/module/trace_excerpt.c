/* The method `cut` of seismo._core.Journal: a part of a journal, counted or written (trace/excerpt.h). */
#include "compat/exception.h"
#include "trace/excerpt.h"

#include "module/column.h"
#include "module/trace_reader.h"

/* Return dict[name] for writing, with 8 bytes for each node, or NULL if this or an earlier buffer failed. */
static void *take_writable(sm_views *all, PyObject *dict, const char *name, size_t nodes) {
    static int64_t nothing[1];
    if (all->failed)
        return NULL;
    Py_buffer *view = &all->view[all->count];
    PyObject *value = PyMapping_GetItemString(dict, name); /* owned */
    all->failed = value == NULL || PyObject_GetBuffer(value, view, PyBUF_WRITABLE) < 0;
    Py_XDECREF(value);
    if (all->failed)
        return NULL;
    all->count++;
    if ((size_t)view->len != nodes * 8) {
        PyErr_Format(PyExc_ValueError, "cut.%s has %zd bytes, not %zu", name, view->len, nodes * 8);
        all->failed = true;
    }
    return view->buf ? view->buf : nothing;
}

static int take_choice(sm_views *all, PyObject *dict, size_t nodes, sm_cut_choice *choice) {
    static const char *const facts[SM_CUT_FACTS] = {"duration", "own", "depth"};
    Py_ssize_t of_nodes = (Py_ssize_t)nodes, table = -1;
    choice->class_of = sm_views_take(all, dict, "cut", "class", 'q', &of_nodes);
    choice->python = sm_views_take(all, dict, "cut", "python", 'q', &of_nodes);
    choice->table = sm_views_take(all, dict, "cut", "table", 'B', &table);
    size_t cells = SM_CUT_HOWS;
    for (int f = 0; f < SM_CUT_FACTS; f++) {
        Py_ssize_t bounds = -1;
        choice->bounds[f] = sm_views_take(all, dict, "cut", facts[f], 'q', &bounds);
        if (all->failed)
            return -1;
        if (bounds > 1024)
            return SM_FAIL(PyExc_ValueError, "cut.%s has too many bounds", facts[f]);
        choice->count[f] = (size_t)bounds;
        cells *= (size_t)bounds + 1;
    }
    choice->classes = (size_t)table / cells;
    for (size_t n = 0; n < nodes; n++) {
        if (choice->class_of[n] < 0 || (size_t)choice->class_of[n] >= choice->classes)
            return SM_FAIL(PyExc_ValueError, "cut.class: node %zu has none", n);
    }
    return 0;
}

static int take_counts(sm_views *all, PyObject *dict, size_t nodes, sm_cut_counts *counts) {
    *counts = (sm_cut_counts){
        .calls = take_writable(all, dict, "calls", nodes),
        .resumes = take_writable(all, dict, "resumes", nodes),
        .exceptions = take_writable(all, dict, "exceptions", nodes),
        .segments = take_writable(all, dict, "segments", nodes),
        .ns = take_writable(all, dict, "ns", nodes),
        .seen = take_writable(all, dict, "seen", nodes),
        .ns_sq = take_writable(all, dict, "ns_sq", nodes),
        .ns_var = take_writable(all, dict, "ns_var", nodes),
    };
    return all->failed ? -1 : 0;
}

/* Get the new tree, and the number there of each old node and thread. */
static int take_tree(sm_views *all, PyObject *dict, const sm_dictionary *old, sm_cut_order *order,
                     sm_dictionary *tree) {
    Py_ssize_t nodes = -1, of_nodes = (Py_ssize_t)old->nodes, of_threads = (Py_ssize_t)old->threads;
    tree->parent = sm_views_take(all, dict, "cut", "parent", 'q', &nodes);
    tree->thread = sm_views_take(all, dict, "cut", "thread", 'q', &nodes);
    order->node = sm_views_take(all, dict, "cut", "node", 'q', &of_nodes);
    order->thread = sm_views_take(all, dict, "cut", "threads", 'q', &of_threads);
    if (all->failed)
        return -1;
    tree->nodes = tree->sound_nodes = (size_t)nodes;
    for (size_t t = 0; t < old->threads; t++) {
        size_t number = (size_t)(order->thread[t] + 1);
        tree->threads = number > tree->threads && order->thread[t] < of_threads ? number : tree->threads;
    }
    tree->sound_threads = tree->threads;
    for (size_t n = 0; n < old->nodes; n++) {
        int64_t to = order->node[n];
        if (to < -1 || to >= nodes || (to >= 0 && tree->thread[to] != order->thread[old->thread[n]]))
            return SM_FAIL(PyExc_ValueError, "cut.node: node %zu is not sound", n);
    }
    for (Py_ssize_t n = 0; n < nodes; n++) {
        if (tree->parent[n] < -1 || tree->parent[n] >= n || tree->thread[n] < 0 ||
            (size_t)tree->thread[n] >= tree->threads)
            return SM_FAIL(PyExc_ValueError, "cut.parent: node %zd is not sound", n);
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
    sm_views all = {.count = 0};
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
    sm_views_release(&all);
    return result;
}
