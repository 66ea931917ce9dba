/* The empty hook: what the interpreter's own dispatch costs before a tool has done anything.
 *
 * Every hook here receives its event and returns. A tool that listens to the same events through the same hook can come
 * near this price and never below it, so the benchmarks divide a tool's added time by the time that these add.
 *
 *   profile       PyEval_SetProfile: calls and returns of Python and C functions, this thread
 *   evalframe     PEP 523: every Python frame goes through a function that only calls the default evaluator
 *   line          PyEval_SetTrace: lines, this thread (3.11)
 *   references    PyRefTracer: objects made and destroyed (3.13 and later)
 *   count         the same, and counts them: what a time is divided by to be one of an event
 *
 * `callback` is for events of sys.monitoring, which common.py registers it for. It is the instance of a static type
 * with vectorcall, the cheapest callable there is: no argument tuple, no method object. It is called through the same
 * few instructions as any recorder's. `disabling` returns DISABLE, which ends the events of a place.
 *
 * `profile` sets an empty callback through seismo.h: the cost that seismo itself adds to a hook.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <seismo.h>
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

static PyObject *disable; /* owned */

static PyObject *disabling_callback(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    (void)self, (void)args, (void)nargsf, (void)names;
    return Py_NewRef(disable);
}

static PyTypeObject callback_type = {
    .ob_base = PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.callback",
    .tp_basicsize = sizeof(callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(callback, call),
    .tp_call = PyVectorcall_Call,
};

static callback the_callback, the_disabling;

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
#if PY_VERSION_HEX < 0x030C0000
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
#if PY_VERSION_HEX < 0x030C0000
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

static PyObject *load(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return seismo_import() < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *profile(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    uint64_t hook = seismo->set_profile(empty_profile, NULL, NULL, NULL);
    return hook ? PyLong_FromUnsignedLongLong(hook) : NULL;
}

static PyObject *take_away(PyObject *module, PyObject *hook) {
    (void)module;
    uint64_t number = PyLong_AsUnsignedLongLong(hook);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(seismo->remove(number));
}

static PyMethodDef functions[] = {
    {"load", load, METH_NOARGS, "load(): find the installed seismo. ImportError: none fits."},
    {"profile", profile, METH_NOARGS, "profile(): an empty profile function of seismo on all threads; its hook."},
    {"remove", take_away, METH_O, "remove(hook): remove what profile() set."},
    {"start", start, METH_O, "start(hook): put the empty hook in place. ValueError when this interpreter lacks it."},
    {"stop", stop, METH_NOARGS, "stop(): take away whatever start() put in place."},
    {"counted", counted, METH_NOARGS, "counted(): objects born and died so far while the hook `count` was in place."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "floor_hook", .m_doc = "The empty hook.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_floor_hook(void) {
    PyObject *module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module)
        PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
#if PY_VERSION_HEX >= 0x030C0000
    the_callback.call = empty_callback;
    the_disabling.call = disabling_callback;
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : NULL;
    if (!module || disable == NULL || PyType_Ready(&callback_type) < 0 ||
        PyModule_AddObjectRef(module, "callback", PyObject_Init((PyObject *)&the_callback, &callback_type)) < 0 ||
        PyModule_AddObjectRef(module, "disabling", PyObject_Init((PyObject *)&the_disabling, &callback_type)) < 0) {
        return NULL;
    }
#endif
    return module;
}
