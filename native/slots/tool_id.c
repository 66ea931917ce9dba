#include "slots/tool_id.h"

#include <stddef.h>
#include <string.h>

#include "compat/compat.h"

PyObject *sm_monitoring_disable = NULL, *sm_monitoring_missing = NULL;

#if SM_HAS_MONITORING

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
} callback_object;

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "seismo._core.callback",
    .tp_basicsize = sizeof(callback_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(callback_object, vectorcall),
    .tp_call = PyVectorcall_Call,
};

static PyObject *monitoring = NULL; /* owned: sys.monitoring, held so that it is there at exit */
static PyObject *numbers = NULL;    /* owned: sys.monitoring.events */

int sm_monitoring_find(void) {
    if (monitoring != NULL)
        return 0;
    PyObject *found = PySys_GetObject("monitoring"); /* borrowed */
    if (found == NULL || PyType_Ready(&callback_type) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not available");
        return -1;
    }
    Py_XSETREF(sm_monitoring_disable, PyObject_GetAttrString(found, "DISABLE"));
    Py_XSETREF(sm_monitoring_missing, PyObject_GetAttrString(found, "MISSING"));
    Py_XSETREF(numbers, PyObject_GetAttrString(found, "events"));
    if (sm_monitoring_disable == NULL || sm_monitoring_missing == NULL || numbers == NULL)
        return -1;
    monitoring = Py_NewRef(found);
    return 0;
}

PyObject *sm_monitoring_callback(vectorcallfunc function) {
    callback_object *callback = PyObject_New(callback_object, &callback_type);
    if (callback != NULL)
        callback->vectorcall = function;
    return (PyObject *)callback;
}

static int done(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int sm_monitoring_take(const char *name, const int order[6]) {
    for (int i = 0; i < 6; i++) {
        PyObject *holder = PyObject_CallMethod(monitoring, "get_tool", "i", order[i]);
        if (holder == NULL)
            return -1;
        bool is_free = holder == Py_None;
        Py_DECREF(holder);
        if (is_free && done(PyObject_CallMethod(monitoring, "use_tool_id", "is", order[i], name)) == 0)
            return order[i];
        PyErr_Clear(); /* another tool was quicker */
    }
    PyErr_SetString(PyExc_RuntimeError, "all six tool ids of sys.monitoring are taken; `seismo doctor` says by whom");
    return -1;
}

bool sm_monitoring_holds(int tool_id, const char *name) {
    PyObject *holder = PyObject_CallMethod(monitoring, "get_tool", "i", tool_id);
    const char *held = holder && PyUnicode_Check(holder) ? PyUnicode_AsUTF8(holder) : NULL;
    bool ours = held != NULL && strcmp(held, name) == 0;
    Py_XDECREF(holder);
    PyErr_Clear();
    return ours;
}

long sm_monitoring_number(const char *name) {
    PyObject *number = PyObject_GetAttrString(numbers, name);
    long bit = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    return bit;
}

int sm_monitoring_register(int tool_id, long event, PyObject *callback) {
    return done(PyObject_CallMethod(monitoring, "register_callback", "ilO", tool_id, event,
                                    callback ? callback : Py_None)); /* gives the one before */
}

int sm_monitoring_set(int tool_id, long events) {
    return done(PyObject_CallMethod(monitoring, "set_events", "il", tool_id, events));
}

int sm_monitoring_set_local(int tool_id, PyCodeObject *code, long events) {
    return done(PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool_id, code, events));
}

int sm_monitoring_restart(void) {
    return done(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

void sm_monitoring_free(int tool_id) {
    (void)done(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool_id));
    PyErr_Clear();
}

#endif
