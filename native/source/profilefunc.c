/* The profilefunc source: the interpreter's profile function, on every thread.
 *
 * The hook is a slot of each thread, so threads have to be found. Those that run at the start are in the interpreter's
 * list: the GIL is held from one end of the walk to the other, and the hook has no object whose release could run code,
 * which is what PyEval_SetProfileAllThreads gets wrong (gh-137400). New ones announce themselves through threading's
 * own hook for profilers, whose first call exchanges itself for ours; those that threading does not know (_thread, C)
 * are found by looking at the list now and then, and counted as late. */
#include "source/profilefunc.h"

#include <opcode.h>
#include <string.h>

Py_tracefunc sm_profilefunc_in_use = NULL;
bool sm_profilefunc_c_functions = false;

bool sm_frame_is_fresh(PyFrameObject *frame, PyCodeObject *code) {
    /* The code of whatever suspends begins: [MAKE_CELL, COPY_FREE_VARS], RETURN_GENERATOR, POP_TOP, RESUME. A fresh
     * frame stands at the last two of these. */
    const unsigned char *unit = (const unsigned char *)code->co_code_adaptive;
    int last = PyFrame_GetLasti(frame), size = (int)Py_SIZE(code) * 2;
    for (int offset = 0; offset < size && offset <= last; offset += 2) {
        if (unit[offset] == RETURN_GENERATOR)
            return last == offset + 4; /* one thrown into before it began stands at RETURN_GENERATOR */
    }
    return last <= 4;
}

/* What starts threads: after it, the new thread is in the list and has not had an event yet. */
const PyMethodDef *sm_thread_starters[SM_THREAD_STARTERS];

static void find_starters(void) {
    static const char *const names[SM_THREAD_STARTERS] = {"start_new_thread", "start_new", "start_joinable_thread"};
    PyObject *module = PyImport_ImportModule("_thread"); /* built in, and there from the interpreter's start */
    for (int i = 0; module != NULL && i < SM_THREAD_STARTERS; i++) {
        PyObject *function = PyObject_GetAttrString(module, names[i]);
        if (function != NULL && PyCFunction_Check(function))
            sm_thread_starters[i] = ((PyCFunctionObject *)function)->m_ml;
        Py_XDECREF(function);
        PyErr_Clear();
    }
    Py_XDECREF(module);
    PyErr_Clear();
}

static PyObject *threading = NULL; /* owned, while our hook is in it */
static PyObject *announcer = NULL; /* owned: what threading calls in a new thread */

/* Called as a Python profile function, once, in a thread that begins. */
static PyObject *announce(PyObject *Py_UNUSED(self), PyObject *args) {
    PyObject *frame, *event, *arg;
    if (!PyArg_ParseTuple(args, "OOO", &frame, &event, &arg))
        return NULL;
    if (!sm_engine.running || sm_engine.source != &sm_source_profilefunc) {
        (void)sm_set_profile(PyThreadState_Get(), NULL);
        Py_RETURN_NONE;
    }
    (void)sm_set_profile(PyThreadState_Get(), sm_profilefunc_in_use);
    const char *name = PyUnicode_AsUTF8(event);
    if (name != NULL && strcmp(name, "call") == 0 && PyFrame_Check(frame)) /* the event that brought us here */
        (void)sm_profilefunc_in_use(NULL, (PyFrameObject *)frame, PyTrace_CALL, Py_None);
    Py_RETURN_NONE;
}

static PyMethodDef announce_method = {"seismo_thread_begins", announce, METH_VARARGS, NULL};

/* Puts our announcer into threading, if that is imported and nobody else's hook is there. */
static void watch_threading(void) {
    if (threading != NULL)
        return;
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *hook = module ? PyObject_GetAttrString(module, "_profile_hook") : NULL;
    if (hook == Py_None) {
        if (announcer == NULL)
            announcer = PyCFunction_New(&announce_method, NULL);
        if (announcer != NULL && PyObject_SetAttrString(module, "_profile_hook", announcer) == 0)
            threading = Py_NewRef(module);
    }
    Py_XDECREF(hook);
    PyErr_Clear();
}

static void unwatch_threading(void) {
    if (threading == NULL)
        return;
    PyObject *hook = PyObject_GetAttrString(threading, "_profile_hook");
    if (hook == announcer)
        (void)PyObject_SetAttrString(threading, "_profile_hook", Py_None);
    Py_XDECREF(hook);
    Py_CLEAR(threading);
    PyErr_Clear();
}

/* Sets the hook on every thread that has none, or takes ours off every one. Returns the number of threads changed. */
static unsigned each_thread(bool on) {
    unsigned changed = 0;
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (tstate->c_profilefunc != (on ? NULL : sm_profilefunc_in_use))
            continue;
        if (sm_set_profile(tstate, on ? sm_profilefunc_in_use : NULL) == 0)
            changed++;
        else
            PyErr_Clear();
    }
    return changed;
}

static const char *objection(const sm_settings *settings) {
    (void)settings;
    PyThreadState *tstate = PyThreadState_Get();
    if (tstate->c_profilefunc != NULL && tstate->c_profilefunc != sm_profilefunc_in_use)
        return "another profiler holds this thread's profile function (sys.getprofile() says which)";
    return NULL;
}

static int start(const sm_settings *settings) {
    const char *why_not = objection(settings);
    if (why_not != NULL) {
        PyErr_SetString(PyExc_RuntimeError, why_not);
        return -1;
    }
    if (PySys_Audit("sys.setprofile", NULL) < 0)
        return -1;
    sm_profilefunc_c_functions = strcmp(settings->c_functions, "none") != 0;
    find_starters();
    watch_threading();
    (void)each_thread(true);
    return 0;
}

static void stop(void) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    unwatch_threading();
    if (PyThreadState_Get()->c_profilefunc != sm_profilefunc_in_use)
        sm_engine.hook_lost += sm_engine.hook_lost == 0;
    (void)each_thread(false);
    PyErr_Restore(type, value, traceback);
}

static void poll(void) {
    watch_threading();
    PyThreadState *tstate = PyThreadState_Get();
    if (tstate->c_profilefunc != sm_profilefunc_in_use)
        return; /* only on threads that still have us */
    sm_engine.late_threads += each_thread(true);
}

void sm_profilefunc_thread_started(void) {
    (void)each_thread(true);
}

const sm_source sm_source_profilefunc = {"profilefunc", objection, start, stop, poll};
