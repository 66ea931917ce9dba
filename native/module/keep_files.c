/* seismo._core.keep: calls a Python function that writes the watches' files.
 *
 * The function is called at safe points of the main thread (hooks/safepoint.h), after matches on any thread, and before
 * an unhandled signal kills the process (engine/fatal_signals.h). It runs untraced. If a signal handler raises an
 * exception meanwhile, the program receives it. */
#include "engine/engine.h"
#include "engine/fatal_signals.h"
#include "hooks/safepoint.h"
#include "hub/watch.h"
#include "module/module.h"

#define SM_KEEP_NS (SM_FLUSH_MS * 1000000ull)

static PyObject *function; /* owned, or NULL */
static bool inside;

/* Call the function with the name of the signal that kills the process, or "". Return -1 with an exception set. */
static int call(const char *how) {
    if (function == NULL || (inside && how[0] == '\0'))
        return 0;
    PyThreadState *tstate = PyThreadState_Get();
    PyObject *called = Py_NewRef(function);
    sm_exception kept = sm_exception_keep();
    sm_safepoint_wait(SM_SAFE_WATCHES, SM_KEEP_NS);
    inside = true;
    PyThreadState_EnterTracing(tstate);
    PyObject *result = PyObject_CallFunction(called, "s", how);
    PyThreadState_LeaveTracing(tstate);
    inside = false;
    Py_DECREF(called);
    uint64_t ns = result != NULL ? PyLong_AsUnsignedLongLong(result) : 0;
    Py_XDECREF(result);
    if (PyErr_Occurred()) {
        sm_exception_drop(kept);
        return -1;
    }
    sm_safepoint_wait(SM_SAFE_WATCHES, ns);
    sm_exception_restore(kept);
    return 0;
}

static int now_and_then(void) {
    return call("");
}

static void end_by_signal(const char *name) {
    if (call(name) < 0)
        PyErr_Clear();
}

static void stop(void) {
    sm_watch_keep = NULL;
    sm_fatal_signal_want(SM_FATAL_SIGNAL_WATCHES, NULL);
    sm_safepoint_stop(SM_SAFE_WATCHES);
    Py_CLEAR(function);
}

/* Call the function a last time at exit, after which the interpreter accepts no requests for calls. */
static PyObject *at_exit(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    if (function == NULL)
        Py_RETURN_NONE;
    int status = call("");
    stop();
    return sm_none(status);
}

static PyMethodDef exit_method = {"at_exit", at_exit, METH_NOARGS, NULL};

static PyObject *keep(PyObject *Py_UNUSED(module), PyObject *wanted) {
    static bool registered;
    if (wanted == Py_None) {
        if (function != NULL)
            stop();
        Py_RETURN_NONE;
    }
    if (!registered && sm_register_call("atexit", "register", NULL, &exit_method) < 0)
        return NULL;
    registered = true;
    Py_XSETREF(function, Py_NewRef(wanted));
    sm_watch_keep = now_and_then;
    sm_safepoint_wait(SM_SAFE_WATCHES, SM_KEEP_NS);
    sm_fatal_signal_want(SM_FATAL_SIGNAL_WATCHES, end_by_signal);
    return sm_none(sm_safepoint_start(SM_SAFE_WATCHES, now_and_then));
}

PyMethodDef sm_methods_keep_files[] = {
    {"keep", keep, METH_O,
     "Call this function now and then, with \"\", and with a signal's name before the process dies of that signal, "
     "until None is given instead. It returns the time in ns after which it is to be called again."},
    {NULL, NULL, 0, NULL},
};
