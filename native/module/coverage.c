/* The coverage recorder's Python functions, beside those of all recordings (engine.c). */
#include "recorder/coverage/coverage.h"

#include "module/module.h"
#include "recorder/coverage/places.h"

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

static PyObject *cover_executed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    return PyLong_FromUnsignedLongLong(sm_cover_executed());
}

PyObject *sm_module_coverage_status(void) {
    sm_cover_facts facts = sm_cover_status();
    return Py_BuildValue("{sOsOsKsKsKsKsKsKsKsKsK}", "branch", sm_cover.branch ? Py_True : Py_False, "counts",
                         sm_cover.counts ? Py_True : Py_False, "functions", facts.functions, "codes", facts.codes,
                         "lines", facts.lines, "arcs", facts.steps, "branches", facts.branches, "contexts",
                         facts.contexts, "rearmed", facts.rearmed, "odd_lines", sm_cover.odd_lines, "odd_branches",
                         sm_cover.odd_branches);
}

PyMethodDef sm_methods_coverage[] = {
    {"cover_context", cover_context, METH_O,
     "Let what runs from now on, in all threads, belong to the context of this name ('': to none)."},
    {"cover_executed", cover_executed, METH_NOARGS,
     "Return how many lines were executed so far, each as often as it was: with counts, else 0."},
    {NULL, NULL, 0, NULL},
};
