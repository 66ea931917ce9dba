/* seismo._core.instant: writes marks of the program into the journal of a trace. */
#include "compat/core_lock.h"
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
    SM_CORE_GUARD;
    sm_thread *thread = journaling() ? sm_event_thread(false) : NULL;
    bool noted =
        thread != NULL && sm_trace_instant(thread, kind, span, name, (size_t)name_size, json, (size_t)json_size);
    return PyBool_FromLong(noted);
}

PyMethodDef sm_methods_trace_marks[] = {
    {"journaling", is_journaling, METH_NOARGS, "Return True while a recording with a journal runs in this process."},
    {"instant", instant, METH_VARARGS,
     "Write a mark of the program; span is a number or 0, json an object or \"\". Return False if this thread is not "
     "recorded or the texts are too long."},
    {NULL, NULL, 0, NULL},
};
