/* Marks of the program in the journal of a trace. */
#define PY_SSIZE_T_CLEAN
#include "module/module.h"
#include "recorder/calls/trace.h"

static bool journaling(void) {
    return sm_main.running && !sm_main.forked && sm_main.settings.journal;
}

static PyObject *is_journaling(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(journaling());
}

static PyObject *instant(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned int kind;
    unsigned long long span;
    const char *name, *json;
    Py_ssize_t name_size, json_size;
    if (!PyArg_ParseTuple(args, "IKs#s#:instant", &kind, &span, &name, &name_size, &json, &json_size))
        return NULL;
    sm_thread *thread = journaling() ? sm_event_thread(false) : NULL;
    bool noted =
        thread != NULL && sm_trace_instant(thread, kind, span, name, (size_t)name_size, json, (size_t)json_size);
    return PyBool_FromLong(noted);
}

static PyMethodDef functions[] = {
    {"journaling", is_journaling, METH_NOARGS, "Whether a recording with a journal runs in this process."},
    {"instant", instant, METH_VARARGS,
     "Notes what the program says of itself: kind, number of a span or 0, name, a JSON object or \"\". False: this "
     "thread is not recorded, or the texts are too long."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_journal(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
