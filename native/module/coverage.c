/* The coverage recorder's Python functions. */
#include "recorder/coverage/coverage.h"

#include <string.h>

#include "compat/runtime.h"
#include "engine/engine.h"
#include "filter/filter.h"
#include "module/filter.h"
#include "module/module.h"

#if SM_HAS_MONITORING
static const sm_cover_source *const source_here = &sm_cover_source_monitoring;
#else
static const sm_cover_source *const source_here = &sm_cover_source_trace;
#endif

static PyObject *cover_start(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"branch", "counts",      "tests", "where", "fd",    "flush_ms", "hide",
                            "meta",   "interpreter", "host",  "argv",  "apart", NULL};
    int branch = 0, counts = 0, tests = 0, apart = 0, fd = -1;
    unsigned long flush_ms = SM_FLUSH_MS;
    PyObject *where = Py_None;
    sm_cover_settings settings = {.hide = "", .about.meta = "{}"};
    sm_about *about = &settings.about;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$pppOikssszzp:cover_start", names, &branch, &counts, &tests,
                                     &where, &fd, &flush_ms, &settings.hide, &about->meta, &about->interpreter,
                                     &about->host, &about->argv, &apart))
        return NULL;
    settings.where = where == Py_None ? NULL : sm_filter_from(where);
    if (settings.where == NULL && where != Py_None)
        return NULL;
    settings.branch = branch, settings.counts = counts, settings.tests = tests;
    settings.apart = apart;
    settings.fd = fd, settings.flush_ns = flush_ms * 1000000ull;
    const char *objection = sm_interpreter_objection();
    if (objection == NULL && sm_cover.running)
        objection = "coverage is being recorded already";
    if (objection == NULL && source_here == NULL)
        objection = "coverage cannot be recorded with this Python";
    if (objection == NULL)
        objection = source_here->objection();
    if (objection != NULL) {
        PyErr_SetString(PyExc_RuntimeError, objection);
        return NULL;
    }
    if (sm_cover_start(source_here, &settings) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *cover_stop(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"exit", NULL};
    const char *exit = "";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|s:cover_stop", names, &exit))
        return NULL;
    sm_cover_stop(exit);
    Py_RETURN_NONE;
}

static PyObject *cover_snapshot(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    return sm_cover_snapshot();
}

static PyObject *cover_flush(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    sm_cover_flush();
    Py_RETURN_NONE;
}

static PyObject *cover_move(PyObject *Py_UNUSED(module), PyObject *number) {
    int fd = (int)PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(sm_cover_move(fd));
}

static PyObject *cover_ahead(PyObject *Py_UNUSED(module), PyObject *exit) {
    const char *text = PyUnicode_AsUTF8(exit);
    if (text == NULL)
        return NULL;
    sm_cover_ahead(text);
    Py_RETURN_NONE;
}

static PyObject *cover_after_fork(PyObject *Py_UNUSED(module), PyObject *args) {
    int fd;
    const char *meta;
    if (!PyArg_ParseTuple(args, "is:cover_after_fork", &fd, &meta) || sm_cover_after_fork(fd, meta) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Test names may have lone surrogates, which pass as everywhere in a file. */
static PyObject *cover_context(PyObject *Py_UNUSED(module), PyObject *name) {
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "the name of a context must be a str, not %.100s", Py_TYPE(name)->tp_name);
    const char *text = PyUnicode_AsUTF8(name);
    PyObject *bytes = NULL;
    if (text == NULL) {
        PyErr_Clear();
        bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass");
        if (bytes == NULL)
            return NULL;
        text = PyBytes_AS_STRING(bytes);
    }
    sm_cover_context(text);
    Py_XDECREF(bytes);
    Py_RETURN_NONE;
}

static PyObject *cover_status(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    sm_cover_facts facts = sm_cover_status();
    bool running = sm_cover.running;
    return Py_BuildValue(
        "{sOsOsssOsOsisKsKsKsKsKsKsKsisKsKsKsK}", "running", running ? Py_True : Py_False, "forked",
        sm_cover.forked ? Py_True : Py_False, "source", sm_cover.source != NULL ? sm_cover.source->name : "", "branch",
        sm_cover.branch ? Py_True : Py_False, "counts", sm_cover.counts ? Py_True : Py_False, "tool_id",
        running ? sm_cover.source->tool_id() : -1, "functions", facts.functions, "codes", facts.codes, "lines",
        facts.lines, "arcs", facts.steps, "branches", facts.branches, "contexts", facts.contexts, "rearmed",
        facts.rearmed, "write_error", facts.write_error, "lost_memory", sm_cover.lost_memory, "hook_lost",
        sm_cover.hook_lost, "odd_lines", sm_cover.odd_lines, "odd_branches", sm_cover.odd_branches);
}

static PyObject *cover_executed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    return PyLong_FromUnsignedLongLong(sm_cover_executed());
}

#ifdef SM_TESTING
static PyObject *cover_check(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    return PyBool_FromLong(sm_cover_check());
}
#endif

static PyMethodDef functions[] = {
    {"cover_start", (PyCFunction)(void (*)(void))cover_start, METH_VARARGS | METH_KEYWORDS,
     "Start recording coverage. Raises RuntimeError, with a sentence that says why, where that is impossible."},
    {"cover_stop", (PyCFunction)(void (*)(void))cover_stop, METH_VARARGS | METH_KEYWORDS,
     "Remove the hook and write the rest. Does nothing when no coverage is being recorded."},
    {"cover_snapshot", cover_snapshot, METH_NOARGS, "Return the coverage so far, as the bytes of a .seismo file."},
    {"cover_flush", cover_flush, METH_NOARGS,
     "Write to the file, if there is one, what has changed since the last write."},
    {"cover_move", cover_move, METH_O,
     "cover_move(fd): continue in the file that fd is an opening of, a copy of the recording's. False: it is no copy."},
    {"cover_ahead", cover_ahead, METH_O,
     "cover_ahead(exit): write everything and the end of the file, as if the process ended now in this way. '' revokes "
     "it."},
    {"cover_after_fork", cover_after_fork, METH_VARARGS,
     "In a forked child: discard what the parent recorded and continue into fd (-1: in memory; -2: stop recording)."},
    {"cover_context", cover_context, METH_O,
     "cover_context(name): what runs from now on, in all threads, belongs to the context of this name ('': to none)."},
    {"cover_status", cover_status, METH_NOARGS,
     "Return facts about the current recording of coverage, or about the last one."},
    {"cover_executed", cover_executed, METH_NOARGS,
     "Return how many lines were executed so far, each as often as it was: with counts, else 0."},
#ifdef SM_TESTING
    {"cover_check", cover_check, METH_NOARGS, "Return whether the recorder's structures are consistent."},
#endif
    {NULL, NULL, 0, NULL},
};

int sm_module_add_coverage(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
