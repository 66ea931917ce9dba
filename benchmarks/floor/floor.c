/* The empty hook: what the interpreter's own dispatch costs before a tool has done anything.
 *
 * Every hook here receives its event and returns. A tool that listens to the same events through the same hook can come
 * near this price and never below it, so the benchmarks divide a tool's added time by the time that these add.
 *
 *   profile       PyEval_SetProfile: calls and returns of Python and C functions, this thread
 *   evalframe     PEP 523: every Python frame goes through a function that only calls the default evaluator
 *   monitoring    sys.monitoring: PY_START PY_RETURN PY_YIELD PY_RESUME PY_UNWIND PY_THROW
 *   monitoring-c  the same and CALL C_RETURN C_RAISE
 *   line          LINE of sys.monitoring in all code, on 3.11 PyEval_SetTrace: lines, this thread
 *   references    PyRefTracer: objects made and destroyed (3.13 and later)
 *   count         the same, and counts them: what a time is divided by to be one of an event
 *
 * The callbacks of sys.monitoring are instances of a static type with vectorcall, the cheapest callable there is: no
 * argument tuple, no method object. They are called through the same few instructions as any recorder's.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>

static int empty_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    return 0;
}

#if PY_VERSION_HEX >= 0x030D0000
static int empty_reference(PyObject *object, PyRefTracerEvent event, void *data) {
    (void)object, (void)event, (void)data;
    return 0;
}

static unsigned long long born, died; /* only the holder of the GIL counts */

static int count_reference(PyObject *object, PyRefTracerEvent event, void *data) {
    (void)object, (void)data;
    born += event == PyRefTracer_CREATE;
    died += event == PyRefTracer_DESTROY;
    return 0;
}
#endif

#if PY_VERSION_HEX >= 0x030C0000

typedef struct {
    PyObject_HEAD vectorcallfunc call;
} callback;

static PyObject *empty_callback(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    (void)self, (void)args, (void)nargsf, (void)names;
    return Py_NewRef(Py_None);
}

static PyTypeObject callback_type = {
    .ob_base = PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.callback",
    .tp_basicsize = sizeof(callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(callback, call),
    .tp_call = PyVectorcall_Call,
};

static const char *const event_names[] = {"PY_RETURN", "PY_YIELD", "PY_START", "PY_RESUME", "PY_UNWIND",
                                          "PY_THROW",  "CALL",     "C_RETURN", "C_RAISE",   "LINE"};
enum { EVENTS = Py_ARRAY_LENGTH(event_names) };

/* The events of a hook: some that stand together in event_names. */
typedef struct {
    const char *hook;
    int first, end;
} selection;

static const selection selections[] = {
    {"monitoring", 0, 6}, {"monitoring-c", 0, 9}, {"starts", 2, 6}, {"line", 9, EVENTS}};
static callback callbacks[EVENTS];
static int tool = -1;

static PyObject *monitoring_module(void) {
    PyObject *sys = PyImport_ImportModule("sys");
    PyObject *module = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
    Py_XDECREF(sys);
    return module;
}

/* The bit of one event, or -1 with an exception. Their numbers differ between versions, so they are asked for by name.
 */
static long event_bit(PyObject *monitoring, const char *name) {
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    PyObject *value = events ? PyObject_GetAttrString(events, name) : NULL;
    long bit = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    Py_XDECREF(events);
    return bit;
}

static int discard(PyObject *result) {
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int claim_tool(PyObject *monitoring) {
    static const int order[] = {2, 3, 4, 5, 0, 1};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(order); i++) {
        if (discard(PyObject_CallMethod(monitoring, "use_tool_id", "is", order[i], "empty hook")) == 0) {
            return order[i];
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "no free sys.monitoring tool id");
    return -1;
}

static int monitor(PyObject *monitoring, const selection *chosen) {
    tool = claim_tool(monitoring);
    if (tool < 0) {
        return -1;
    }
    long all = 0;
    for (int i = chosen->first; i < chosen->end; i++) {
        long bit = event_bit(monitoring, event_names[i]);
        if (bit < 0 || discard(PyObject_CallMethod(monitoring, "register_callback", "ilO", tool, bit,
                                                   (PyObject *)&callbacks[i])) < 0) {
            return -1;
        }
        all |= bit;
    }
    return discard(PyObject_CallMethod(monitoring, "set_events", "il", tool, all));
}

static int unmonitor(PyObject *monitoring) {
    if (discard(PyObject_CallMethod(monitoring, "set_events", "ii", tool, 0)) < 0) {
        return -1;
    }
    for (int i = 0; i < EVENTS; i++) {
        long bit = event_bit(monitoring, event_names[i]);
        if (bit < 0 || discard(PyObject_CallMethod(monitoring, "register_callback", "ilO", tool, bit, Py_None)) < 0) {
            return -1;
        }
    }
    int freed = discard(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool));
    tool = -1;
    return freed;
}

#else

static int empty_trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    (void)self, (void)frame, (void)what, (void)arg;
    return 0;
}

static PyObject *empty_evalframe(PyThreadState *thread, struct _PyInterpreterFrame *frame, int throwing) {
    return _PyEval_EvalFrameDefault(thread, frame, throwing);
}

#endif

static PyObject *start(PyObject *module, PyObject *arg) {
    (void)module;
    const char *hook = PyUnicode_AsUTF8(arg);
    if (!hook) {
        return NULL;
    }
    if (strcmp(hook, "profile") == 0) {
        PyEval_SetProfile(empty_profile, NULL);
        Py_RETURN_NONE;
    }
#if PY_VERSION_HEX >= 0x030D0000
    if (strcmp(hook, "references") == 0) {
        return PyRefTracer_SetTracer(empty_reference, NULL) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (strcmp(hook, "count") == 0) {
        return PyRefTracer_SetTracer(count_reference, NULL) < 0 ? NULL : Py_NewRef(Py_None);
    }
#endif
#if PY_VERSION_HEX >= 0x030C0000
    for (size_t i = 0; i < Py_ARRAY_LENGTH(selections); i++) {
        if (strcmp(hook, selections[i].hook) != 0) {
            continue;
        }
        PyObject *monitoring = monitoring_module();
        int failed = !monitoring || monitor(monitoring, &selections[i]) < 0;
        Py_XDECREF(monitoring);
        if (failed) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
#else
    if (strcmp(hook, "line") == 0) {
        PyEval_SetTrace(empty_trace, NULL);
        Py_RETURN_NONE;
    }
    if (strcmp(hook, "evalframe") == 0) {
        _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), empty_evalframe);
        Py_RETURN_NONE;
    }
#endif
    return PyErr_Format(PyExc_ValueError, "this interpreter has no hook %R", arg);
}

static PyObject *stop(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyEval_SetProfile(NULL, NULL);
#if PY_VERSION_HEX >= 0x030D0000
    void *data;
    PyRefTracer tracer = PyRefTracer_GetTracer(&data);
    if ((tracer == empty_reference || tracer == count_reference) && PyRefTracer_SetTracer(NULL, NULL) < 0) {
        return NULL;
    }
#endif
#if PY_VERSION_HEX >= 0x030C0000
    if (tool >= 0) {
        PyObject *monitoring = monitoring_module();
        int failed = !monitoring || unmonitor(monitoring) < 0;
        Py_XDECREF(monitoring);
        if (failed) {
            return NULL;
        }
    }
#else
    PyEval_SetTrace(NULL, NULL);
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
#endif
    Py_RETURN_NONE;
}

static PyObject *counted(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
#if PY_VERSION_HEX >= 0x030D0000
    unsigned long long births = born, deaths = died; /* before the result is born */
    return Py_BuildValue("KK", births, deaths);
#else
    return Py_BuildValue("ii", 0, 0);
#endif
}

static PyMethodDef functions[] = {
    {"start", start, METH_O, "start(hook): put the empty hook in place. ValueError when this interpreter lacks it."},
    {"stop", stop, METH_NOARGS, "stop(): take away whatever start() put in place."},
    {"counted", counted, METH_NOARGS, "counted(): objects born and died so far while the hook `count` was in place."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "floor_hook", .m_doc = "The empty hook.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_floor_hook(void) {
#if PY_VERSION_HEX >= 0x030C0000
    if (PyType_Ready(&callback_type) < 0) {
        return NULL;
    }
    for (int i = 0; i < EVENTS; i++) {
        (void)PyObject_Init((PyObject *)&callbacks[i], &callback_type);
        callbacks[i].call = empty_callback;
    }
#endif
    return PyModule_Create(&definition);
}
