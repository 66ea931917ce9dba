/* An extension module that does with seismo's C API what one can do with it, right and wrong. Events are appended to a
 * list, which is the hook's obj: (what, function, line, arg), with "NULL" for an arg that is NULL. */
#include <Python.h>
#include <frameobject.h>
#include <seismo.h>

static PyObject *inside; /* owned: called in the callback with each event, after it was noted; NULL: nothing */
static int silent;       /* -1 without an exception next time */

static int on_event(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *row = Py_BuildValue("(iOiO)", what, code->co_name, PyFrame_GetLineNumber(frame), arg ? arg : Py_Ellipsis);
    int done = row != NULL && obj != NULL ? PyList_Append(obj, row) : row != NULL ? 0 : -1;
    Py_DECREF(code);
    if (silent) {
        silent = 0;
        done = -1;
    }
    if (done == 0 && inside != NULL) {
        PyObject *result = PyObject_CallFunctionObjArgs(inside, row, frame, NULL);
        done = result != NULL ? 0 : -1;
        Py_XDECREF(result);
    }
    Py_XDECREF(row);
    return done;
}

static PyObject *set(PyObject *module, PyObject *args) { /* kind, obj, all, where */
    PyObject *obj;
    int kind, all;
    const char *where;
    (void)module;
    if (!PyArg_ParseTuple(args, "iOpz", &kind, &obj, &all, &where))
        return NULL;
    PyThreadState *tstate = all ? NULL : PyThreadState_Get();
    obj = obj == Py_None ? NULL : obj;
    uint64_t hook = kind == SEISMO_PROFILE ? seismo->set_profile(on_event, obj, tstate, where)
                                           : seismo->set_trace(on_event, obj, tstate, where);
    return hook ? PyLong_FromUnsignedLongLong(hook) : NULL;
}

static PyObject *set_nothing(PyObject *module, PyObject *kind) {
    (void)module;
    switch (PyLong_AsLong(kind)) {
    case SEISMO_PROFILE:
        return seismo->set_profile(NULL, NULL, NULL, NULL) ? Py_NewRef(Py_None) : NULL;
    case SEISMO_TRACE:
        return seismo->set_trace(NULL, NULL, NULL, NULL) ? Py_NewRef(Py_None) : NULL;
    default:
        return seismo->set_ref_tracer(NULL, NULL, NULL, NULL) ? Py_NewRef(Py_None) : NULL;
    }
}

static PyObject *remove_hook(PyObject *module, PyObject *hook) {
    (void)module;
    return PyLong_FromLong(seismo->remove(PyLong_AsUnsignedLongLong(hook)));
}

static PyObject *is_active(PyObject *module, PyObject *hook) {
    (void)module;
    return PyLong_FromLong(seismo->is_active(PyLong_AsUnsignedLongLong(hook)));
}

static PyObject *opcodes(PyObject *module, PyObject *args) {
    unsigned long long hook;
    PyObject *code;
    int on;
    (void)module;
    if (!PyArg_ParseTuple(args, "KO!i", &hook, &PyCode_Type, &code, &on) ||
        seismo->trace_opcodes(hook, (PyCodeObject *)code, on) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *facts(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return Py_BuildValue("[Iz][Iz][Iz]", seismo->count(SEISMO_PROFILE), seismo->backend(SEISMO_PROFILE),
                         seismo->count(SEISMO_TRACE), seismo->backend(SEISMO_TRACE), seismo->count(SEISMO_REF_TRACER),
                         seismo->backend(SEISMO_REF_TRACER));
}

static PyObject *call_inside(PyObject *module, PyObject *function) {
    (void)module;
    Py_XSETREF(inside, function == Py_None ? NULL : Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyObject *fail_silently(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    silent = 1;
    Py_RETURN_NONE;
}

static PyObject *import_again(PyObject *module, PyObject *none) {
    const seismo_api *before = seismo;
    (void)module, (void)none;
    seismo = NULL;
    int done = seismo_import();
    seismo = before;
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* References. All in C: inside the hook nothing may be made. */
static struct {
    uint64_t hook;
    long events[3], released;
    long remove_at, fail_at; /* the n-th event; 0: never */
    int raise;
    PyObject *kept;
} refs;

static int on_object(PyObject *object, int event, void *data) {
    if (data != &refs || (object == NULL) != (event == SEISMO_REF_REMOVED))
        return -1;
    refs.events[event]++;
    long now = refs.events[0] + refs.events[1];
    if (event == SEISMO_REF_CREATE && refs.raise == 2)
        Py_DECREF(PyList_New(0)); /* not allowed, and not reported */
    if (object != NULL && now == refs.remove_at)
        seismo->remove(refs.hook);
    if (object != NULL && now == refs.fail_at) {
        if (refs.raise)
            PyErr_SetNone(PyExc_KeyError);
        return -1;
    }
    return 0;
}

static void released(void *data) {
    refs.released += data == &refs;
}

static PyObject *ref_set(PyObject *module, PyObject *args) { /* all, remove_at, fail_at, raise */
    int all;
    (void)module;
    memset(&refs, 0, sizeof refs);
    if (!PyArg_ParseTuple(args, "plli", &all, &refs.remove_at, &refs.fail_at, &refs.raise))
        return NULL;
    refs.hook = seismo->set_ref_tracer(on_object, &refs, all ? NULL : PyThreadState_Get(), released);
    return refs.hook ? PyLong_FromUnsignedLongLong(refs.hook) : NULL;
}

static PyObject *ref_facts(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    return Py_BuildValue("llll", refs.events[0], refs.events[1], refs.events[2], refs.released);
}

static PyMethodDef functions[] = {
    {"set", set, METH_VARARGS, NULL},
    {"set_nothing", set_nothing, METH_O, NULL},
    {"remove", remove_hook, METH_O, NULL},
    {"is_active", is_active, METH_O, NULL},
    {"opcodes", opcodes, METH_VARARGS, NULL},
    {"facts", facts, METH_NOARGS, NULL},
    {"call_inside", call_inside, METH_O, NULL},
    {"fail_silently", fail_silently, METH_NOARGS, NULL},
    {"import_again", import_again, METH_NOARGS, NULL},
    {"ref_set", ref_set, METH_VARARGS, NULL},
    {"ref_facts", ref_facts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "capi_probe", .m_methods = functions};

PyMODINIT_FUNC PyInit_capi_probe(void) {
    if (seismo_import() < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
#ifdef Py_GIL_DISABLED
    if (module != NULL && PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED) < 0)
        Py_CLEAR(module);
#endif
    return module;
}
