/* The monitoring source: takes a tool id, registers the callbacks, sets the events; and gives all of it back. */
#include "source/monitoring.h"

#include <string.h>

#include "base/alloc.h"

const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use = NULL;
PyObject *sm_monitoring_disable = NULL, *sm_monitoring_missing = NULL;
bool sm_sites_on = false;
uint32_t sm_site_turn = 0;

#if SM_HAS_MONITORING

#define TOOL_NAME "seismo"

static const struct {
    const char *name;
    bool c_functions; /* only wanted with C functions */
} events[SM_MONITORING_EVENTS] = {
    [SM_PY_START] = {"PY_START", false}, [SM_PY_RESUME] = {"PY_RESUME", false},
    [SM_PY_THROW] = {"PY_THROW", false}, [SM_PY_RETURN] = {"PY_RETURN", false},
    [SM_PY_YIELD] = {"PY_YIELD", false}, [SM_PY_UNWIND] = {"PY_UNWIND", false},
    [SM_CALL] = {"CALL", true},          [SM_C_RETURN] = {"C_RETURN", true},
    [SM_C_RAISE] = {"C_RAISE", true},
};

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
static int tool_id = -1;
static bool sites_were_off = false; /* in this process, some call site has been switched off */

int sm_monitoring_tool_id(void) {
    return tool_id;
}

static PyObject *call_int(const char *method, int number) {
    return PyObject_CallMethod(monitoring, method, "i", number);
}

static int find_monitoring(void) {
    if (monitoring != NULL)
        return 0;
    PyObject *found = PySys_GetObject("monitoring"); /* borrowed */
    if (found == NULL || PyType_Ready(&callback_type) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not there");
        return -1;
    }
    sm_monitoring_disable = PyObject_GetAttrString(found, "DISABLE");
    sm_monitoring_missing = PyObject_GetAttrString(found, "MISSING");
    if (sm_monitoring_disable == NULL || sm_monitoring_missing == NULL)
        return -1;
    monitoring = Py_NewRef(found);
    return 0;
}

/* A free tool id, those that others count on last: cProfile can only work with 2, and debuggers and coverage expect 0
 * and 1; a recorded program that uses them is to find them free. */
static int take_tool_id(void) {
    static const int order[] = {3, 4, 5, 2, 0, 1};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        PyObject *holder = call_int("get_tool", order[i]);
        if (holder == NULL)
            return -1;
        bool is_free = holder == Py_None;
        Py_DECREF(holder);
        if (!is_free)
            continue;
        PyObject *result = PyObject_CallMethod(monitoring, "use_tool_id", "is", order[i], TOOL_NAME);
        if (result != NULL) {
            Py_DECREF(result);
            tool_id = order[i];
            return 0;
        }
        PyErr_Clear(); /* somebody was quicker */
    }
    PyErr_SetString(PyExc_RuntimeError, "all six tool ids of sys.monitoring are taken; `seismo doctor` says by whom");
    return -1;
}

/* The events of these callbacks, as sys.monitoring numbers them in this version; -1 with an exception. */
static long event_set(const sm_settings *settings, bool register_them) {
    PyObject *numbers = PyObject_GetAttrString(monitoring, "events");
    long set = 0;
    for (int i = 0; numbers != NULL && set >= 0 && i < SM_MONITORING_EVENTS; i++) {
        if (register_them && events[i].c_functions && strcmp(settings->c_functions, "none") == 0)
            continue;
        PyObject *number = PyObject_GetAttrString(numbers, events[i].name);
        callback_object *callback = NULL;
        if (number != NULL && register_them) {
            callback = PyObject_New(callback_object, &callback_type);
            if (callback != NULL)
                callback->vectorcall = sm_monitoring_callbacks_in_use->callback[i];
        }
        PyObject *before = NULL;
        if (number != NULL && (callback != NULL || !register_them)) {
            before = PyObject_CallMethod(monitoring, "register_callback", "iOO", tool_id, number,
                                         register_them ? (PyObject *)callback : Py_None);
            set |= PyLong_AsLong(number);
        }
        if (before == NULL)
            set = -1;
        Py_XDECREF(before);
        Py_XDECREF((PyObject *)callback);
        Py_XDECREF(number);
    }
    Py_XDECREF(numbers);
    return numbers == NULL ? -1 : set;
}

static int set_events(long set) {
    PyObject *result = PyObject_CallMethod(monitoring, "set_events", "il", tool_id, set);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static bool still_ours(void) {
    PyObject *holder = call_int("get_tool", tool_id);
    const char *name = holder && PyUnicode_Check(holder) ? PyUnicode_AsUTF8(holder) : NULL;
    bool ours = name != NULL && strcmp(name, TOOL_NAME) == 0;
    Py_XDECREF(holder);
    PyErr_Clear();
    return ours;
}

static void stop(void) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (tool_id >= 0 && still_ours()) {
        /* Until 3.14, freeing a tool id leaves its callbacks and events alive (gh-111963). */
        (void)set_events(0);
        PyErr_Clear();
        (void)event_set(NULL, false);
        PyErr_Clear();
        Py_XDECREF(call_int("free_tool_id", tool_id));
    } else if (tool_id >= 0) {
        sm_engine.hook_lost++;
    }
    tool_id = -1;
    sites_were_off = sites_were_off || sm_sites_on;
    sm_sites_on = false;
    PyErr_Restore(type, value, traceback);
}

static int start(const sm_settings *settings) {
    if (find_monitoring() < 0 || take_tool_id() < 0)
        return -1;
    bool all = strcmp(settings->c_functions, "all") == 0;
    sm_sites_on = strcmp(settings->c_functions, "auto") == 0;
    long set = event_set(settings, true);
    if (set < 0 || set_events(set) < 0) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        stop();
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    /* An earlier recording switched places off. Other tools answer DISABLE once more. */
    if (sm_functions_narrowed() || (all && sites_were_off)) {
        PyObject *result = PyObject_CallMethod(monitoring, "restart_events", NULL);
        if (result == NULL)
            PyErr_Clear();
        Py_XDECREF(result);
        sites_were_off = false;
        for (uint32_t i = 0; i < sm_functions_count(); i++)
            sm_function_by_id(i)->flags &= ~(uint32_t)SM_FUNCTION_SITES_OFF;
    }
    return 0;
}

/* Somebody may have freed our id by force, or taken it over. */
static void poll(void) {
    if (tool_id >= 0 && !still_ours())
        sm_engine.hook_lost += sm_engine.hook_lost == 0;
}

static const char *objection(const sm_settings *settings) {
    (void)settings;
    return NULL;
}

const sm_source sm_source_monitoring = {"monitoring", objection, start, stop, poll};

#else

int sm_monitoring_tool_id(void) {
    return -1;
}

static const char *objection(const sm_settings *settings) {
    (void)settings;
    return "sys.monitoring came with Python 3.12";
}

static int start(const sm_settings *settings) {
    PyErr_SetString(PyExc_RuntimeError, objection(settings));
    return -1;
}

static void stop(void) {}

const sm_source sm_source_monitoring = {"monitoring", objection, start, stop, NULL};

#endif
