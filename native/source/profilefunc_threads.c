/* The profile function on every thread.
 *
 * On 3.11, hooks/py311/thread_slots.h shares the slots with other tools and finds new threads. Later interpreters have
 * sys.monitoring, so there this source is a fallback that uses free slots only.
 *
 * At the start, one walk over the interpreter's list finds all threads. The GIL is held and no release of an object
 * can run code, which PyEval_SetProfileAllThreads does not ensure (gh-137400). New threads come through threading's
 * hook for profilers, whose first call installs ours; others (_thread, C) are found by polling and counted as late. */
#include "source/profilefunc.h"

#include <string.h>

Py_tracefunc sm_profilefunc_in_use = NULL;

#if SM_SHARES_SLOTS

static sm_thread_slot_user user = {.slot = SM_THREAD_SLOT_PROFILE};
static uint64_t evicted_before, lost_before;

int sm_profile_threads_start(void) {
    user.function = sm_profilefunc_in_use;
    evicted_before = sm_thread_slots.evicted[SM_THREAD_SLOT_PROFILE];
    lost_before = sm_thread_slots.lost;
    return sm_thread_slots_join(&user);
}

void sm_profile_threads_stop(void) {
    sm_thread_slots_leave(&user);
    sm_main.hook_lost += sm_thread_slots.evicted[SM_THREAD_SLOT_PROFILE] - evicted_before;
    sm_main.lost_memory += sm_thread_slots.lost - lost_before;
}

unsigned sm_profile_threads_look(void) {
    return sm_thread_slots_review(NULL);
}

#else

/* Functions that start a thread. When one returns, the new thread is in the list and has had no event yet. */
const PyMethodDef *sm_thread_starters[SM_THREAD_STARTERS];

static void find_starters(void) {
    static const char *const names[SM_THREAD_STARTERS] = {"start_new_thread", "start_new", "start_joinable_thread"};
    PyObject *module = PyImport_ImportModule("_thread"); /* a builtin module */
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

static bool started = false;
static PyObject *threading = NULL; /* owned while our hook is in it */
static PyObject *announcer = NULL; /* owned; threading calls it in a new thread */

/* Install the hook in a new thread. threading calls this once, as a Python profile function. */
static PyObject *announce(PyObject *Py_UNUSED(self), PyObject *args) {
    PyObject *frame, *event, *arg;
    if (!PyArg_ParseTuple(args, "OOO", &frame, &event, &arg))
        return NULL;
    if (!sm_main.running || !started) {
        (void)sm_set_profile(PyThreadState_Get(), NULL);
        Py_RETURN_NONE;
    }
    (void)sm_set_profile(PyThreadState_Get(), sm_profilefunc_in_use);
    const char *name = PyUnicode_AsUTF8(event);
    if (name != NULL && strcmp(name, "call") == 0 && PyFrame_Check(frame)) /* report this call */
        (void)sm_profilefunc_in_use(NULL, (PyFrameObject *)frame, PyTrace_CALL, Py_None);
    Py_RETURN_NONE;
}

static PyMethodDef announce_method = {"seismo_thread_begins", announce, METH_VARARGS, NULL};

/* Install our announcer in threading, if it is imported and has no other hook. */
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

/* Set the hook on threads that have none, or remove ours from all. Return the number of threads changed. */
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

int sm_profile_threads_start(void) {
    started = true;
    find_starters();
    watch_threading();
    (void)each_thread(true);
    return 0;
}

void sm_profile_threads_stop(void) {
    started = false;
    unwatch_threading();
    if (PyThreadState_Get()->c_profilefunc != sm_profilefunc_in_use)
        sm_main.hook_lost += sm_main.hook_lost == 0;
    (void)each_thread(false);
}

unsigned sm_profile_threads_look(void) {
    watch_threading();
    if (PyThreadState_Get()->c_profilefunc != sm_profilefunc_in_use)
        return 0; /* another tool has replaced the hook, so it stays off */
    return each_thread(true);
}

#endif
