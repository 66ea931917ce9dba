/* seismo._core.estimate, aggregate, combine, sum_by: the model's arithmetic on columns, with all arguments checked. */
#include "estimate/estimate.h"
#include "base/alloc.h"
#include "estimate/aggregate.h"
#include "estimate/combine.h"
#include "module/column.h"
#include "module/containers.h"
#include "module/module.h"

/* Set an exception, and let no more buffers be taken. */
static void fail(sm_views *v, PyObject *type, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    PyErr_FormatV(type, format, arguments);
    va_end(arguments);
    v->failed = true;
}

/* Return true if all values are in [from, below), otherwise set a ValueError. */
static int in_range(sm_views *v, const char *name, const int64_t *values, Py_ssize_t rows, int64_t from,
                    int64_t below) {
    for (Py_ssize_t i = 0; !v->failed && i < rows; i++)
        if (values[i] < from || values[i] >= below)
            fail(v, PyExc_ValueError, "%s: row %zd has %lld, out of range", name, i, (long long)values[i]);
    return !v->failed;
}

static int parents_first(sm_views *v, const int64_t *parents, Py_ssize_t rows) {
    for (Py_ssize_t i = 0; !v->failed && i < rows; i++)
        if (parents[i] < -1 || parents[i] >= i)
            fail(v, PyExc_ValueError, "nodes.parent: row %zd has %lld", i, (long long)parents[i]);
    return !v->failed;
}

/* Allocate a new column's memory. */
static void *fresh(sm_views *v, Py_ssize_t rows) {
    void *memory = v->failed ? NULL : sm_malloc((size_t)rows * 8);
    if (memory == NULL && !v->failed)
        fail(v, PyExc_MemoryError, "");
    return memory;
}

typedef struct {
    const char *name;
    void *memory; /* owned until it is in the dict */
    Py_ssize_t rows;
    char format;
} output;

/* Release the buffers. Return a dict of Columns that own the memory, or free it if `v` has failed. done: negative if
 * memory ran out. */
static PyObject *finish(PyObject *module, sm_views *v, int64_t done, output *outputs, int count) {
    sm_views_release(v);
    if (done < 0)
        fail(v, PyExc_MemoryError, "");
    PyObject *dict = v->failed ? NULL : PyDict_New(); /* owned, returned */
    for (int i = 0; i < count; i++) {
        output *o = &outputs[i];
        if (dict == NULL)
            sm_free(o->memory);
        else
            sm_dict_add(&dict, o->name, sm_column_new(module, o->memory, o->rows, o->format));
    }
    return dict;
}

/* Return the table, borrowed from `tables`, or NULL with v->failed. */
static PyObject *table_of(sm_views *v, PyObject *tables, const char *name) {
    PyObject *table = v->failed ? NULL : PyDict_GetItemString(tables, name);
    if (table == NULL && !v->failed)
        fail(v, PyExc_ValueError, "no table '%s'", name);
    return table;
}

static void take_costs(sm_views *v, PyObject *processes, sm_costs *costs, Py_ssize_t *rows) {
    costs->python_inside = sm_views_take(v, processes, "processes", "python_inside", 'd', rows);
    costs->python_outside = sm_views_take(v, processes, "processes", "python_outside", 'd', rows);
    costs->c_inside = sm_views_take(v, processes, "processes", "c_inside", 'd', rows);
    costs->c_outside = sm_views_take(v, processes, "processes", "c_outside", 'd', rows);
    costs->resume_inside = sm_views_take(v, processes, "processes", "resume_inside", 'd', rows);
    costs->resume_outside = sm_views_take(v, processes, "processes", "resume_outside", 'd', rows);
    costs->piece = sm_views_take(v, processes, "processes", "piece_ns", 'd', rows);
    costs->deep = sm_views_take(v, processes, "processes", "deep_ns", 'd', rows);
    costs->cost_error = sm_views_take(v, processes, "processes", "cost_error", 'd', rows);
}

static void take_estimate_input(sm_views *v, PyObject *tables, sm_estimate_input *in) {
    Py_ssize_t nodes = -1, functions = -1, threads = -1, processes = -1;
    PyObject *table = table_of(v, tables, "nodes");
    in->parent = sm_views_take(v, table, "nodes", "parent", 'q', &nodes);
    in->thread = sm_views_take(v, table, "nodes", "thread", 'q', &nodes);
    in->function = sm_views_take(v, table, "nodes", "function", 'q', &nodes);
    in->calls = sm_views_take(v, table, "nodes", "calls", 'q', &nodes);
    in->resumes = sm_views_take(v, table, "nodes", "resumes", 'q', &nodes);
    in->timed = sm_views_take(v, table, "nodes", "timed", 'q', &nodes);
    in->timed_ns = sm_views_take(v, table, "nodes", "timed_ns", 'q', &nodes);
    in->entered = sm_views_take(v, table, "nodes", "entered", 'q', &nodes);
    in->sampled = sm_views_take(v, table, "nodes", "sampled", 'q', &nodes);
    in->sampled_ns = sm_views_take(v, table, "nodes", "sampled_ns", 'q', &nodes);
    in->sampled_sq = sm_views_take(v, table, "nodes", "sampled_sq", 'd', &nodes);
    in->wait_ns = sm_views_take(v, table, "nodes", "wait_ns", 'q', &nodes);
    in->wait_sq = sm_views_take(v, table, "nodes", "wait_sq", 'd', &nodes);
    in->ready_ns = sm_views_take(v, table, "nodes", "ready_ns", 'q', &nodes);
    in->own_sq = sm_views_take(v, table, "nodes", "own_sq", 'd', &nodes);
    in->shared_ns = sm_views_take(v, table, "nodes", "shared_ns", 'd', &nodes);
    in->function_kind = sm_views_take(v, table_of(v, tables, "functions"), "functions", "kind", 'q', &functions);
    in->thread_process = sm_views_take(v, table_of(v, tables, "threads"), "threads", "process", 'q', &threads);
    in->thread_rest = sm_views_take(v, table_of(v, tables, "threads"), "threads", "rest_ns", 'q', &threads);
    take_costs(v, table_of(v, tables, "processes"), &in->costs, &processes);
    if (!v->failed && parents_first(v, in->parent, nodes) &&
        in_range(v, "nodes.thread", in->thread, nodes, 0, threads) &&
        in_range(v, "nodes.function", in->function, nodes, 0, functions) &&
        in_range(v, "threads.process", in->thread_process, threads, 0, processes)) {
        in->nodes = (size_t)nodes;
        in->functions = (size_t)functions;
        in->threads = (size_t)threads;
        in->processes = (size_t)processes;
    }
}

static PyObject *core_estimate(PyObject *module, PyObject *arguments) {
    PyObject *tables; /* borrowed */
    int distorted = 1;
    if (!PyArg_ParseTuple(arguments, "O!|p:estimate", &PyDict_Type, &tables, &distorted))
        return NULL;
    sm_views v = {0};
    sm_estimate_input in = {.distorted = distorted};
    take_estimate_input(&v, tables, &in);
    Py_ssize_t n = (Py_ssize_t)in.nodes, f = (Py_ssize_t)in.functions;
    sm_estimates out;
    output outputs[] = {
        {"own_ns", out.own = fresh(&v, n), n, 'd'},
        {"own_error_ns", out.own_error = fresh(&v, n), n, 'd'},
        {"total_ns", out.total = fresh(&v, n), n, 'd'},
        {"total_error_ns", out.total_error = fresh(&v, n), n, 'd'},
        {"total_square", out.total_square = fresh(&v, n), n, 'd'},
        {"depth", out.depth = fresh(&v, n), n, 'q'},
        {"function_own_ns", out.function_own = fresh(&v, f), f, 'd'},
        {"function_own_error_ns", out.function_own_error = fresh(&v, f), f, 'd'},
        {"total_wait_ns", out.total_wait = fresh(&v, n), n, 'd'},
        {"total_distortion", out.total_distortion = fresh(&v, n), n, 'd'},
        {"own_sq", out.own_sq = fresh(&v, n), n, 'd'},
        {"shared_ns", out.shared_ns = fresh(&v, n), n, 'd'},
        {"function_distortion_ns", out.function_distortion = fresh(&v, f), f, 'd'},
    };
    int done = 0;
    Py_BEGIN_ALLOW_THREADS;
    if (!v.failed)
        done = sm_estimate(&in, &out);
    Py_END_ALLOW_THREADS;
    return finish(module, &v, done, outputs, (int)(sizeof outputs / sizeof *outputs));
}

static PyObject *core_aggregate(PyObject *module, PyObject *arguments) {
    PyObject *nodes, *estimated; /* borrowed */
    Py_ssize_t functions;
    if (!PyArg_ParseTuple(arguments, "OOn:aggregate", &nodes, &estimated, &functions))
        return NULL;
    static const char *const summed[SM_SUMS] = {"calls",    "resumes", "exceptions", "awaits",
                                                "await_ns", "wait_ns", "ready_ns",   "lock_ns"};
    sm_views v = {0};
    sm_aggregate_input in = {0};
    Py_ssize_t rows = -1;
    in.parent = sm_views_take(&v, nodes, "nodes", "parent", 'q', &rows);
    in.function = sm_views_take(&v, nodes, "nodes", "function", 'q', &rows);
    in.flags = sm_views_take(&v, nodes, "nodes", "flags", 'q', &rows);
    for (int s = 0; s < SM_SUMS; s++)
        in.summed[s] = sm_views_take(&v, nodes, "nodes", summed[s], 'q', &rows);
    in.total = sm_views_take(&v, estimated, "estimated", "total_ns", 'd', &rows);
    in.total_error = sm_views_take(&v, estimated, "estimated", "total_error_ns", 'd', &rows);
    in.total_wait = sm_views_take(&v, estimated, "estimated", "total_wait_ns", 'd', &rows);
    in.total_square = sm_views_take(&v, estimated, "estimated", "total_square", 'd', &rows);
    in.total_distortion = sm_views_take(&v, estimated, "estimated", "total_distortion", 'd', &rows);
    if (!v.failed && functions < 0)
        fail(&v, PyExc_ValueError, "aggregate(): the number of functions is negative");
    if (!v.failed && parents_first(&v, in.parent, rows) &&
        in_range(&v, "nodes.function", in.function, rows, 0, functions)) {
        in.nodes = (size_t)rows;
        in.functions = (size_t)functions;
    }
    output outputs[SM_SUMS + 4];
    sm_aggregates out;
    for (int s = 0; s < SM_SUMS; s++) {
        outputs[s] = (output){summed[s], fresh(&v, functions), functions, 'q'};
        out.summed[s] = outputs[s].memory;
    }
    outputs[SM_SUMS] = (output){"node_flags", out.node_flags = fresh(&v, functions), functions, 'q'};
    outputs[SM_SUMS + 1] = (output){"total_ns", out.total = fresh(&v, functions), functions, 'd'};
    outputs[SM_SUMS + 2] = (output){"total_error_ns", out.total_error = fresh(&v, functions), functions, 'd'};
    outputs[SM_SUMS + 3] = (output){"total_wait_ns", out.total_wait = fresh(&v, functions), functions, 'd'};
    int done = 0;
    Py_BEGIN_ALLOW_THREADS;
    if (!v.failed)
        done = sm_aggregate(&in, &out);
    Py_END_ALLOW_THREADS;
    return finish(module, &v, done, outputs, SM_SUMS + 4);
}

static PyObject *core_combine(PyObject *module, PyObject *arguments) {
    PyObject *nodes, *chosen_bytes; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "OS:combine", &nodes, &chosen_bytes))
        return NULL;
    sm_views v = {0};
    Py_ssize_t rows = -1, threads = PyBytes_GET_SIZE(chosen_bytes);
    const uint8_t *chosen = (const uint8_t *)PyBytes_AS_STRING(chosen_bytes);
    const int64_t *parent = sm_views_take(&v, nodes, "nodes", "parent", 'q', &rows);
    const int64_t *thread = sm_views_take(&v, nodes, "nodes", "thread", 'q', &rows);
    const int64_t *function = sm_views_take(&v, nodes, "nodes", "function", 'q', &rows);
    if (!v.failed && parents_first(&v, parent, rows) && in_range(&v, "nodes.thread", thread, rows, 0, threads) &&
        in_range(&v, "nodes.function", function, rows, 0, INT32_MAX)) {
        for (Py_ssize_t n = 0; !v.failed && n < rows; n++)
            if (parent[n] >= 0 && chosen[thread[n]] && !chosen[thread[parent[n]]])
                fail(&v, PyExc_ValueError, "the parent of a node is on another thread");
    }
    rows = v.failed ? 0 : rows;
    output outputs[] = {
        {"to", fresh(&v, rows), rows, 'q'},
        {"parent", fresh(&v, rows), rows, 'q'},
        {"function", fresh(&v, rows), rows, 'q'},
        {"depth", fresh(&v, rows), rows, 'q'},
    };
    int64_t combined = 0;
    Py_BEGIN_ALLOW_THREADS;
    if (!v.failed)
        combined = sm_combine((size_t)rows, parent, thread, function, chosen, outputs[0].memory, outputs[1].memory,
                              outputs[2].memory, outputs[3].memory);
    Py_END_ALLOW_THREADS;
    outputs[1].rows = outputs[2].rows = outputs[3].rows = (Py_ssize_t)combined;
    return finish(module, &v, combined, outputs, 4);
}

static void sum_values(const int64_t *to, Py_ssize_t count, const void *values, char format, int is_or, void *sums) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (to[i] < 0)
            continue;
        if (format == 'd') {
            ((double *)sums)[to[i]] += ((const double *)values)[i];
        } else if (is_or) {
            ((int64_t *)sums)[to[i]] |= ((const int64_t *)values)[i];
        } else {
            int64_t *sum = &((int64_t *)sums)[to[i]];
            *sum = sm_add_saturated(*sum, ((const int64_t *)values)[i]);
        }
    }
}

static PyObject *core_sum_by(PyObject *module, PyObject *arguments) {
    PyObject *holder; /* borrowed: {"to": ..., "values": ...} */
    Py_ssize_t rows;
    int format, is_or = 0;
    if (!PyArg_ParseTuple(arguments, "OnC|p:sum_by", &holder, &rows, &format, &is_or))
        return NULL;
    if ((format != 'q' && format != 'd') || rows < 0 || (is_or && format == 'd'))
        return PyErr_Format(
            PyExc_ValueError,
            "sum_by(): the format must be 'q' or 'd' ('q' for is_or), and the number of rows must not be negative");
    sm_views v = {0};
    Py_ssize_t count = -1;
    const int64_t *to = sm_views_take(&v, holder, "columns", "to", 'q', &count);
    const void *values = sm_views_take(&v, holder, "columns", "values", (char)format, &count);
    if (!v.failed)
        in_range(&v, "to", to, count, -1, rows);
    void *sums = fresh(&v, rows);
    if (!v.failed) {
        memset(sums, 0, (size_t)rows * 8);
        sum_values(to, count, values, (char)format, is_or, sums);
    }
    sm_views_release(&v);
    return v.failed ? NULL : sm_column_new(module, sums, rows, (char)format);
}

static PyObject *core_take(PyObject *module, PyObject *arguments) {
    PyObject *holder; /* borrowed: {"values": ..., "rows": ...} */
    int format;
    if (!PyArg_ParseTuple(arguments, "OC:take", &holder, &format))
        return NULL;
    if (format != 'q' && format != 'd')
        return PyErr_Format(PyExc_ValueError, "take(): the format must be 'q' or 'd'");
    sm_views v = {0};
    Py_ssize_t count = -1, rows = -1;
    const int64_t *values = sm_views_take(&v, holder, "columns", "values", (char)format, &count);
    const int64_t *from = sm_views_take(&v, holder, "columns", "rows", 'q', &rows);
    if (!v.failed)
        in_range(&v, "rows", from, rows, format == 'q' ? -1 : 0, count);
    int64_t *taken = fresh(&v, rows);
    for (Py_ssize_t i = 0; !v.failed && i < rows; i++)
        taken[i] = from[i] < 0 ? -1 : values[from[i]]; /* copies the bits, whatever the format */
    sm_views_release(&v);
    return v.failed ? NULL : sm_column_new(module, taken, rows, (char)format);
}

PyMethodDef sm_methods_estimate[] = {
    {"estimate", core_estimate, METH_VARARGS,
     "Return own and total times with errors of nodes (own_ns, own_error_ns, total_ns, total_error_ns, total_square, "
     "total_distortion, total_wait_ns, depth) and own times of functions (function_own_ns, function_own_error_ns, "
     "function_distortion_ns), and the errors of nodes as a sum has them (own_sq, shared_ns). distorted: "
     "errors contain what probes do to the code around them."},
    {"aggregate", core_aggregate, METH_VARARGS, "Return sums over each function's nodes, and its total time."},
    {"combine", core_combine, METH_VARARGS,
     "Return the tree of the threads t with chosen[t] != 0 laid on one another: to (for each node its row or -1), "
     "parent, function, depth."},
    {"sum_by", core_sum_by, METH_VARARGS,
     "Return for each row the sum (or the bitwise or) of the values whose `to` is that row."},
    {"take", core_take, METH_VARARGS,
     "Return the values at the given rows, in their order. Of integers, row -1 has -1."},
    {NULL, NULL, 0, NULL},
};
