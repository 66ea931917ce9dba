/* seismo._core.Profiler: the equivalent of cProfile's _lsprof.Profiler, over native/hub/callstats/callstats.c. */
#include <string.h>

#include "hub/callstats/callstats.h"
#include "module/containers.h"
#include "module/module.h"

typedef struct {
    PyObject_HEAD sm_callstats *stats; /* owned; NULL if __new__ failed */
} profiler;

static PyTypeObject *entry_type, *subentry_type; /* owned by the module, which is made once */

static PyStructSequence_Field entry_fields[] = {
    {"code", "the code object, or a description of a built-in function"},
    {"callcount", "how many calls have ended"},
    {"reccallcount", "how many of them were made while another was running"},
    {"totaltime", "seconds from call to return, those of recursive calls once"},
    {"inlinetime", "seconds outside of what it called"},
    {"calls", "what it called: a list of profiler_subentry, or None"},
    {NULL, NULL},
};
static PyStructSequence_Field subentry_fields[] = {
    {"code", "the code object that was called, or a description of a built-in function"},
    {"callcount", "how many calls from here have ended"},
    {"reccallcount", "how many of them were made while another from here was running"},
    {"totaltime", "seconds from call to return, those of recursive calls once"},
    {"inlinetime", "seconds outside of what it called"},
    {NULL, NULL},
};
static PyStructSequence_Desc entry_desc = {"seismo._core.profiler_entry", NULL, entry_fields, 6};
static PyStructSequence_Desc subentry_desc = {"seismo._core.profiler_subentry", NULL, subentry_fields, 5};

static PyObject *profiler_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(keywords)) {
    profiler *self = (profiler *)type->tp_alloc(type, 0);
    if (self != NULL && (self->stats = sm_callstats_new()) == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int profiler_init(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"timer", "timeunit", "subcalls", "builtins", "threads", NULL};
    PyObject *timer = NULL;
    double unit = 0.0;
    int subcalls = 1, builtins = 1;
    const char *threads = "all";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|Odpp$s:Profiler", names, &timer, &unit, &subcalls, &builtins,
                                     &threads))
        return -1;
    bool current = strcmp(threads, "current") == 0;
    if (!current && strcmp(threads, "all") != 0)
        return SM_FAIL(PyExc_ValueError, "threads must be 'all' or 'current', not '%s'", threads);
    return sm_callstats_setup(((profiler *)self)->stats, timer == Py_None ? NULL : timer, unit, subcalls, builtins,
                              current);
}

static int profiler_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    sm_callstats *stats = ((profiler *)self)->stats;
    if (stats != NULL)
        Py_VISIT(sm_callstats_timer(stats));
    return 0;
}

static int profiler_clear_references(PyObject *self) {
    sm_callstats *stats = ((profiler *)self)->stats;
    ((profiler *)self)->stats = NULL; /* releasing the timer may lead back here */
    if (stats != NULL)
        sm_callstats_free(stats);
    return 0;
}

static void profiler_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    SM_EXCEPTION_GUARD;
    (void)profiler_clear_references(self);
    sm_object_free(self);
}

/* Return the profiler's statistics, or NULL with an exception set if it was collected: finalizers may still use it. */
static sm_callstats *stats_of(PyObject *self) {
    sm_callstats *stats = ((profiler *)self)->stats;
    if (stats == NULL)
        PyErr_SetString(PyExc_ReferenceError, "this profiler has been garbage-collected");
    return stats;
}

static PyObject *profiler_enable(PyObject *self, PyObject *args, PyObject *keywords) {
    static char *names[] = {"subcalls", "builtins", NULL};
    int subcalls = -1, builtins = -1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|pp:enable", names, &subcalls, &builtins))
        return NULL;
    sm_callstats *stats = stats_of(self);
    return sm_none(stats == NULL ? -1 : sm_callstats_enable(stats, subcalls, builtins));
}

static PyObject *profiler_disable(PyObject *self, PyObject *Py_UNUSED(none)) {
    sm_callstats *stats = stats_of(self);
    return sm_none(stats == NULL ? -1 : sm_callstats_disable(stats));
}

static PyObject *profiler_clear(PyObject *self, PyObject *Py_UNUSED(none)) {
    sm_callstats *stats = stats_of(self);
    return sm_none(stats == NULL ? -1 : sm_callstats_clear(stats));
}

static PyObject *row_object(PyTypeObject *type, const sm_callstats_row *row, PyObject *calls) {
    PyObject *made = PyStructSequence_New(type);
    if (made == NULL)
        return NULL;
    PyObject *items[] = {Py_NewRef(row->code), PyLong_FromLongLong(row->calls), PyLong_FromLongLong(row->recursive),
                         PyFloat_FromDouble(row->total), PyFloat_FromDouble(row->own)};
    bool whole = true;
    for (int i = 0; i < 5; i++) {
        whole = whole && items[i] != NULL;
        PyStructSequence_SetItem(made, i, items[i]);
    }
    if (calls != NULL)
        PyStructSequence_SetItem(made, 5, Py_NewRef(calls));
    if (!whole)
        Py_CLEAR(made);
    return made;
}

static int add_entry(void *list, const sm_callstats_row *rows, size_t called) {
    PyObject *calls = called > 0 ? PyList_New(0) : Py_NewRef(Py_None);
    for (size_t i = 1; i <= called && calls != NULL; i++)
        sm_list_add(&calls, row_object(subentry_type, &rows[i], NULL));
    PyObject *entry = calls != NULL ? row_object(entry_type, &rows[0], calls) : NULL;
    int status = entry != NULL ? PyList_Append(list, entry) : -1;
    Py_XDECREF(entry);
    Py_XDECREF(calls);
    return status;
}

static PyObject *profiler_getstats(PyObject *self, PyObject *Py_UNUSED(none)) {
    sm_callstats *stats = stats_of(self);
    PyObject *list = stats ? PyList_New(0) : NULL;
    if (list != NULL && sm_callstats_visit(stats, add_entry, list) < 0)
        Py_CLEAR(list);
    return list;
}

static PyMethodDef profiler_methods[] = {
    {"enable", SM_KEYWORDS(profiler_enable),
     "enable(subcalls=True, builtins=True)\n\nStart counting, or continue. subcalls: keep the numbers for each caller, "
     "too. builtins: count C functions, too.\nAn argument that is not given stays as it was."},
    {"disable", profiler_disable, METH_NOARGS,
     "disable()\n\nStop counting. Calls that are running on any thread are ended here."},
    {"clear", profiler_clear, METH_NOARGS,
     "clear()\n\nDiscard what was counted, including the calls that are running."},
    {"getstats", profiler_getstats, METH_NOARGS,
     "getstats() -> list of profiler_entry\n\nReturn what was counted: for each function its code object (or a str "
     "that describes a C function), callcount,\nreccallcount, totaltime and inlinetime in seconds, and calls, a list "
     "of the same for what it called, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc,
     "Profiler(timer=None, timeunit=0.0, subcalls=True, builtins=True, *, threads='all')\n\nCounts calls and sums "
     "their times, as _lsprof.Profiler does. timer: a function that returns the time, in seconds or,\nwith a timeunit, "
     "as an integer in that unit. threads: 'all', or 'current' for the thread that enables it."},
    {Py_tp_new, profiler_new},
    {Py_tp_init, profiler_init},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_clear, profiler_clear_references},
    {Py_tp_methods, profiler_methods},
    {0, NULL},
};

PyType_Spec sm_type_profiler = {
    .name = "seismo._core.Profiler",
    .basicsize = sizeof(profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = profiler_slots,
};

int sm_module_add_callstats(PyObject *module) {
    if (entry_type == NULL)
        entry_type = PyStructSequence_NewType(&entry_desc);
    if (subentry_type == NULL)
        subentry_type = PyStructSequence_NewType(&subentry_desc);
    if (entry_type == NULL || subentry_type == NULL || PyModule_AddType(module, entry_type) < 0 ||
        PyModule_AddType(module, subentry_type) < 0)
        return -1;
    return 0;
}
