/* Counts the calls of each function and the lines that run in it, with seismo's hooks: start(where=None, lines=False),
 * stop() -> {code: [calls, lines]}, and objects(work) -> (created, destroyed) while work() runs.
 *
 * Any number of profilers, debuggers and coverage tools may be at work beside it. */
#include <Python.h>
#include <frameobject.h>
#include <seismo.h>

static uint64_t profile_hook, trace_hook; /* 0: not set */

/* Adds one to counts[code][place]. */
static int add(PyObject *counts, PyFrameObject *frame, Py_ssize_t place) {
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    PyObject *pair = PyDict_GetItemWithError(counts, code); /* borrowed */
    int done = -1;
    if (pair == NULL && !PyErr_Occurred()) {
        PyObject *made = Py_BuildValue("[ii]", 0, 0);
        if (made != NULL && PyDict_SetItem(counts, code, made) == 0)
            pair = made; /* the dict holds it */
        Py_XDECREF(made);
    }
    if (pair != NULL) {
        PyObject *more = PyLong_FromLong(PyLong_AsLong(PyList_GET_ITEM(pair, place)) + 1);
        if (more != NULL)
            done = PyList_SetItem(pair, place, more); /* which takes it */
    }
    Py_DECREF(code);
    return done;
}

/* obj is what the hook was set with: the counts. -1 with an exception would unset the hook and raise it. */
static int on_profile(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) {
    (void)arg;
    return what == PyTrace_CALL ? add(obj, frame, 0) : 0;
}

static int on_trace(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) {
    (void)arg;
    return what == PyTrace_LINE ? add(obj, frame, 1) : 0;
}

static PyObject *counts; /* owned; NULL: not running */

static PyObject *stop(PyObject *module, PyObject *none) {
    PyObject *result = counts ? counts : Py_NewRef(Py_None);
    (void)module, (void)none;
    seismo->remove(profile_hook);
    seismo->remove(trace_hook);
    profile_hook = trace_hook = 0;
    counts = NULL;
    return result;
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"where", "lines", NULL};
    const char *where = NULL;
    int lines = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zp:start", names, &where, &lines))
        return NULL;
    if (counts != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "call_counter is running already");
        return NULL;
    }
    counts = PyDict_New();
    if (counts == NULL)
        return NULL;
    profile_hook = seismo->set_profile(on_profile, counts, NULL, where); /* NULL: in all threads */
    if (profile_hook != 0 && lines)
        trace_hook = seismo->set_trace(on_trace, counts, NULL, where);
    if (profile_hook == 0 || (lines && trace_hook == 0)) {
        Py_XDECREF(stop(module, NULL)); /* leaves the exception alone */
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Inside the hook of objects nothing may be made: so it counts in C. */
typedef struct {
    long created, destroyed;
} tally;

static int on_object(PyObject *object, int event, void *data) {
    tally *seen = (tally *)data;
    (void)object; /* NULL when event is SEISMO_REF_REMOVED */
    seen->created += event == SEISMO_REF_CREATE;
    seen->destroyed += event == SEISMO_REF_DESTROY;
    return 0;
}

static PyObject *objects(PyObject *module, PyObject *work) {
    tally seen = {0, 0};
    uint64_t hook = seismo->set_ref_tracer(on_object, &seen, PyThreadState_Get(), NULL);
    PyObject *result = hook ? PyObject_CallNoArgs(work) : NULL;
    (void)module;
    seismo->remove(hook);
    if (result == NULL)
        return NULL;
    Py_DECREF(result);
    return Py_BuildValue("ll", seen.created, seen.destroyed);
}

static PyMethodDef functions[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"objects", objects, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "call_counter", .m_methods = functions};

PyMODINIT_FUNC PyInit_call_counter(void) {
    if (seismo_import() < 0)
        return NULL;
    return PyModule_Create(&definition);
}
