#include "hooks/monitoring_tool.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "code/code_map.h"
#include "compat/compat.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/frame.h"

PyObject *sm_monitoring_disable = NULL, *sm_monitoring_missing = NULL;

#if SM_HAS_MONITORING

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    vectorcallfunc behind; /* called by guarded() and locked() */
    int tool_id, event;    /* where it was registered last; the event's bit is 1 << event */
} callback_object;

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "seismo._core.callback",
    .tp_basicsize = sizeof(callback_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(callback_object, vectorcall),
    .tp_call = PyVectorcall_Call,
};

static PyObject *monitoring = NULL; /* owned, so that it lives until exit */
static PyObject *numbers = NULL;    /* owned; sys.monitoring.events */

#define MOST_EVENTS 32
static long resume = 0;                             /* the bit of PY_RESUME */
static callback_object *registered[6][MOST_EVENTS]; /* owned; by tool id and event, of the main interpreter */

/* Return the running interpreter's own sys.monitoring, borrowed. */
static PyObject *monitoring_here(void) {
    return sm_is_main_interpreter() ? monitoring : PySys_GetObject("monitoring");
}

static bool answer_is_ready(void);

int sm_monitoring_find(void) {
    if (monitoring != NULL)
        return 0;
    PyObject *found = PySys_GetObject("monitoring"); /* borrowed */
    if (found == NULL || PyType_Ready(&callback_type) < 0 || !answer_is_ready()) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not available");
        return -1;
    }
    Py_XSETREF(sm_monitoring_disable, PyObject_GetAttrString(found, "DISABLE"));
    Py_XSETREF(sm_monitoring_missing, PyObject_GetAttrString(found, "MISSING"));
    Py_XSETREF(numbers, PyObject_GetAttrString(found, "events"));
    if (sm_monitoring_disable == NULL || sm_monitoring_missing == NULL || numbers == NULL)
        return -1;
    if ((resume = sm_monitoring_number("PY_RESUME")) < 0)
        return -1;
    monitoring = Py_NewRef(found);
    return 0;
}

PyObject *sm_monitoring_callback(vectorcallfunc function) {
    callback_object *callback = PyObject_New(callback_object, &callback_type);
    if (callback != NULL)
        callback->vectorcall = callback->behind = function;
    return (PyObject *)callback;
}

/* ---- events that come with an exception ---- */

#if SM_HAS_FIRED_EVENTS
/* Code that Cython compiled fires PY_RESUME with the exception set when a generator is closed or thrown into. The
 * interpreter takes a result together with an exception for an error of the callback, and raises SystemError. So the
 * exception is put aside during the call and put back when the interpreter releases the result, right after its
 * check. From the first compiled generator on, all callbacks are guarded in this way. */
static bool guards;     /* compiled code was met */
static PyObject *aside; /* owned, or NULL */

static void put_back(PyObject *Py_UNUSED(answer)) {
    PyObject *exception = aside;
    aside = NULL;
    PyErr_SetRaisedException(exception);
}

static PyTypeObject answer_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "seismo._core.answer",
    .tp_basicsize = sizeof(PyObject),
    .tp_dealloc = put_back,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};
static bool answer_is_ready(void) {
    return PyType_Ready(&answer_type) == 0;
}

static PyObject answer; /* mortal, unlike with PyObject_HEAD_INIT */

PyObject *sm_monitoring_guarded(vectorcallfunc behind, PyObject *self, PyObject *const *args, size_t nargs) {
    PyObject *exception = PyErr_GetRaisedException();
    PyObject *answered = behind(self, args, nargs, NULL);
    if (exception == NULL)
        return answered;
    if (answered == NULL) { /* a hook raised another exception */
        Py_DECREF(exception);
        return NULL;
    }
    aside = exception;
    Py_SET_TYPE(&answer, &answer_type);
    Py_SET_REFCNT(&answer, 1);
    return &answer; /* not DISABLE: the place reports again */
}

static PyObject *guarded(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    vectorcallfunc behind = ((callback_object *)self)->behind;
    return SM_LIKELY(PyErr_Occurred() == NULL) ? behind(self, args, nargs, names)
                                               : sm_monitoring_guarded(behind, self, args, nargs);
}

#else
static const bool guards = false;

static bool answer_is_ready(void) {
    return true;
}

static PyObject *guarded(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    return ((callback_object *)self)->behind(self, args, nargs, names);
}
#endif

/* ---- events that take the core's lock ---- */

#if SM_SHARES_LOCK_LATER
static PyObject *locked(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    const callback_object *callback = (callback_object *)self;
    callback_object *const *place = &registered[callback->tool_id][callback->event];
    SM_CORE_GUARD;
    if (SM_UNLIKELY(*place != callback)) /* it was removed, and perhaps freed, while this thread waited for the lock */
        return Py_None;
    return guarded(self, args, nargs, names);
}
#define IS_LOCKED sm_core_is_shared
#else
#define locked NULL
#define IS_LOCKED false
#endif

static void choose(callback_object *callback) {
    bool resumes = 1l << callback->event == resume;
    callback->vectorcall = IS_LOCKED ? locked : guards && resumes ? guarded : callback->behind;
}

#if SM_SHARES_LOCK_LATER || SM_HAS_FIRED_EVENTS
static void choose_all(void) {
    for (int tool_id = 0; tool_id < 6; tool_id++)
        for (int event = 0; event < MOST_EVENTS; event++)
            if (registered[tool_id][event] != NULL)
                choose(registered[tool_id][event]);
}
#endif

#if SM_SHARES_LOCK_LATER
void sm_monitoring_share(void) {
    sm_core_is_shared = true;
    choose_all();
}
#endif

#if SM_HAS_FIRED_EVENTS
static void met_compiled(void) {
    guards = true;
    choose_all();
}
#endif

static void note(int tool_id, long bit, PyObject *callback) {
    SM_CORE_GUARD;
    int event = __builtin_ctzl((unsigned long)bit);
#if SM_HAS_FIRED_EVENTS
    sm_codes_met_compiled = met_compiled;
#endif
    if (callback != NULL) {
        callback_object *given = (callback_object *)callback;
        given->tool_id = tool_id;
        given->event = event;
        choose(given);
    }
    Py_XSETREF(registered[tool_id][event], (callback_object *)Py_XNewRef(callback));
}

static int done(PyObject *result) {
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Enable the places that an earlier holder of the id disabled, which it leaves disabled when it frees the id. Other
 * tools will return DISABLE once more, so this is done once for each id. */
static void enable_all(int tool_id) {
    static unsigned enabled;       /* bits of the ids; guard: the GIL, or the core's lock */
    if (!sm_is_main_interpreter()) /* nobody has held an id of a new one */
        return;
    if ((enabled >> tool_id & 1) == 0 && sm_monitoring_restart() < 0)
        PyErr_Clear();
    enabled |= 1u << tool_id;
}

int sm_monitoring_take(const char *name, const int order[6]) {
    for (int i = 0; i < 6; i++) {
        PyObject *holder = PyObject_CallMethod(monitoring_here(), "get_tool", "i", order[i]);
        if (holder == NULL)
            return -1;
        bool is_free = holder == Py_None;
        Py_DECREF(holder);
        if (is_free && done(PyObject_CallMethod(monitoring_here(), "use_tool_id", "is", order[i], name)) == 0) {
            enable_all(order[i]);
            return order[i];
        }
        PyErr_Clear(); /* another tool has taken the id meanwhile */
    }
    return SM_FAIL(PyExc_RuntimeError, "all six tool ids of sys.monitoring are taken; `seismo doctor` says by whom");
}

bool sm_monitoring_holds(int tool_id, const char *name) {
    PyObject *holder = PyObject_CallMethod(monitoring_here(), "get_tool", "i", tool_id);
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
    if (sm_is_main_interpreter())
        note(tool_id, event, callback);
    return done(PyObject_CallMethod(monitoring_here(), "register_callback", "ilO", tool_id, event,
                                    callback ? callback : Py_None)); /* returns the previous callback */
}

int sm_monitoring_set(int tool_id, long events) {
    return done(PyObject_CallMethod(monitoring_here(), "set_events", "il", tool_id, events));
}

int sm_monitoring_set_local(int tool_id, PyCodeObject *code, long events) {
    return done(PyObject_CallMethod(monitoring, "set_local_events", "iOl", tool_id, code, events));
}

int sm_monitoring_restart(void) {
    return done(PyObject_CallMethod(monitoring, "restart_events", NULL));
}

typedef struct {
    PyObject *code, *globals; /* owned */
} running;

/* All other threads stand still while frames are read, but not for the visits, which may set events. */
bool sm_monitoring_each_running(void (*visit)(PyCodeObject *code, PyObject *globals)) {
    running *found = NULL;
    uint32_t count = 0, size = 0;
    bool whole = true;
    sm_world_stop();
    PyThreadState *tstate = PyInterpreterState_ThreadHead(sm_tstate_interpreter(PyThreadState_Get()));
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        for (const sm_frame_head *frame = sm_tstate_frame(tstate); frame != NULL; frame = frame->previous) {
            PyCodeObject *code = sm_frame_code_of(frame);
            if (code == NULL)
                continue;
            if (sm_grow(&found, count, &size, sizeof *found, 64))
                found[count++] = (running){Py_NewRef(code), Py_XNewRef(frame->globals)};
            else
                whole = false;
        }
    }
    sm_world_start();
    for (uint32_t i = 0; i < count; i++) {
        visit((PyCodeObject *)found[i].code, found[i].globals);
        PyErr_Clear();
        Py_DECREF(found[i].code);
        Py_XDECREF(found[i].globals);
    }
    sm_free(found);
    return whole;
}

/* Until 3.14, freeing a tool id leaves its callbacks and events alive (gh-111963). */
void sm_monitoring_free(int tool_id) {
    (void)sm_monitoring_set(tool_id, 0);
    PyErr_Clear();
    for (int event = 0; event < MOST_EVENTS && sm_is_main_interpreter(); event++) {
        if (registered[tool_id][event] != NULL && sm_monitoring_register(tool_id, 1l << event, NULL) < 0)
            PyErr_Clear();
    }
    (void)done(PyObject_CallMethod(monitoring_here(), "free_tool_id", "i", tool_id));
    PyErr_Clear();
}

#endif
