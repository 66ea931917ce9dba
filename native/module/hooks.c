/* Python functions as hooks: set_profile, set_trace, their handles, and stand-ins for the functions of sys. */
#include "hub/python_hook.h"

#include <string.h>
#include <structmember.h>

#include "compat/core_lock.h"
#include "engine/recording.h"
#include "hub/as_tracefunc.h"
#include "module/module.h"

static PyTypeObject *hook_type = NULL; /* owned; the module is loaded once in a process */

/* Set a UsageError and return NULL. */
static PyObject *bad_usage(const char *what, const char *hint) {
    PyObject *errors = PyImport_ImportModule("seismo.errors");
    PyObject *type = errors ? PyObject_GetAttrString(errors, "UsageError") : NULL;
    PyObject *error = type ? PyObject_CallFunction(type, "sss", what, "", hint) : NULL;
    if (error != NULL)
        PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_XDECREF(type);
    Py_XDECREF(errors);
    return NULL;
}

/* The handle. */

static int hook_traverse(PyObject *self, visitproc visit, void *arg) {
    const sm_pyhook *hook = (sm_pyhook *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(hook->function);
    Py_VISIT(hook->where);
    return 0;
}

static int hook_clear(PyObject *self) {
    sm_pyhook *hook = (sm_pyhook *)self;
    Py_CLEAR(hook->function);
    Py_CLEAR(hook->where);
    return 0;
}

static void hook_dealloc(PyObject *self) {
    sm_pyhook *hook = (sm_pyhook *)self;
    PyObject_GC_UnTrack(self);
    (void)hook_clear(self);
    sm_tool_filter_clear(&hook->choice);
    sm_object_free(self);
}

static void remove_hook(sm_pyhook *hook) {
    SM_CORE_GUARD;
    if (hook->tool.active && hook->trace && !hook->stand_in)
        sm_pytrace_forget(hook);
    sm_hub_remove(&hook->tool);
}

static PyObject *hook_remove(PyObject *self, PyObject *Py_UNUSED(args)) {
    remove_hook((sm_pyhook *)self);
    Py_RETURN_NONE;
}

static PyObject *hook_enter(PyObject *self, PyObject *Py_UNUSED(args)) {
    return Py_NewRef(self);
}

static PyObject *hook_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(count)) {
    remove_hook((sm_pyhook *)self);
    Py_RETURN_NONE;
}

static PyObject *hook_repr(PyObject *self) {
    const sm_pyhook *hook = (sm_pyhook *)self;
    return PyUnicode_FromFormat("<%s hook, %s>", hook->trace ? "trace" : "profile",
                                hook->tool.active ? "active" : "removed");
}

static PyMethodDef hook_methods[] = {
    {"remove", hook_remove, METH_NOARGS,
     "remove()\n--\n\nStop calling the function. Does nothing when that has been done already."},
    {"__enter__", hook_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))hook_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *hook_function(PyObject *self, void *Py_UNUSED(closure)) {
    SM_CORE_GUARD;
    const sm_pyhook *hook = (sm_pyhook *)self;
    return Py_NewRef(hook->function ? hook->function : Py_None);
}

static PyGetSetDef hook_getters[] = {
    {"function", hook_function, NULL, "The function, or None when it is no longer called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef hook_members[] = {
    /* The hub itself removes a tool for one thread that has ended. */
    {"active", T_BOOL, offsetof(sm_pyhook, tool.active), READONLY, "Whether the function is still called."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_doc, "The handle that set_profile() and set_trace() return. remove() stops the calls, and so does leaving "
                "its `with` block."},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_methods, hook_methods},
    {Py_tp_members, hook_members},
    {Py_tp_getset, hook_getters},
    {Py_tp_repr, hook_repr},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "seismo._core.Hook",
    .basicsize = sizeof(sm_pyhook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = hook_slots,
};

/* The functions. */

PyObject *sm_compile_where(PyObject *where, bool trace) {
    if (sm_engine_init() < 0) /* makes the names of functions available */
        return NULL;
    PyThreadState *tstate = PyThreadState_Get();
    PyThreadState_EnterTracing(tstate); /* this import is invisible to other tools */
    PyObject *module = PyImport_ImportModule("seismo.hooks");
    PyObject *filter = module ? PyObject_CallMethod(module, "_filter", "Oi", where, trace) : NULL;
    Py_XDECREF(module);
    PyThreadState_LeaveTracing(tstate);
    return filter;
}

static PyObject *set_hook(PyObject *args, PyObject *keywords, bool trace) {
    static char *names[] = {"func", "threads", "where", NULL};
    PyObject *function, *threads = NULL, *where = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, trace ? "O|$OO:set_trace" : "O|$OO:set_profile", names, &function,
                                     &threads, &where))
        return NULL;
    if (!PyCallable_Check(function))
        return bad_usage(trace ? "set_trace() needs a callable" : "set_profile() needs a callable",
                         "call the handle's remove() to take a function away");
    const char *scope = threads == NULL ? "current" : PyUnicode_Check(threads) ? PyUnicode_AsUTF8(threads) : "";
    if (scope == NULL)
        PyErr_Clear();
    bool all = scope != NULL && strcmp(scope, "all") == 0;
    if (scope == NULL || (!all && strcmp(scope, "current") != 0))
        return bad_usage("threads must be 'current' or 'all'", "");
    PyObject *held = NULL;
    sm_filter *filter = NULL;
    if (where != Py_None &&
        ((held = sm_compile_where(where, trace)) == NULL || (filter = sm_filter_from(held)) == NULL)) {
        Py_XDECREF(held);
        return NULL;
    }
    sm_pyhook *hook = sm_pyhook_new(hook_type, function, trace, all ? NULL : PyThreadState_Get(), filter, held);
    Py_XDECREF(held);
    if (hook != NULL && sm_pyhook_add(hook) < 0)
        Py_CLEAR(hook);
    return (PyObject *)hook;
}

static PyObject *set_profile(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    return set_hook(args, keywords, false);
}

static PyObject *set_trace(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    return set_hook(args, keywords, true);
}

static PyObject *newest(PyObject *Py_UNUSED(none), bool trace) {
    SM_CORE_GUARD;
    const sm_pyhook *hook = sm_pyhook_newest(trace);
    return Py_NewRef(hook && hook->function ? hook->function : Py_None);
}

static PyObject *stand_in(PyObject *function, bool trace) {
    return sm_none(sm_pyhook_stand_in(hook_type, PyThreadState_Get(), trace, function == Py_None ? NULL : function));
}

static PyObject *stands_in(PyObject *Py_UNUSED(none), bool trace) {
    SM_CORE_GUARD;
    PyObject *function = sm_pyhook_stands_in(PyThreadState_Get(), trace);
    return Py_NewRef(function ? function : Py_None);
}

/* Set the stand-in of every running thread. Adding a tool may release the GIL, so the walk restarts after each. */
static PyObject *stand_in_everywhere(PyObject *function, bool trace) {
    SM_CORE_GUARD;
    PyObject *wanted = function == Py_None ? NULL : function;
    if (sm_hub_find_all_threads() < 0)
        return NULL;
    for (const sm_hook_thread *thread = sm_hub.threads; thread != NULL;) {
        if (sm_pyhook_stands_in(thread->tstate, trace) == wanted) {
            thread = thread->next;
            continue;
        }
        if (sm_pyhook_stand_in(hook_type, thread->tstate, trace, wanted) < 0)
            return NULL;
        thread = sm_hub.threads;
    }
    Py_RETURN_NONE;
}

/* Each of these functions exists for profile and for trace functions. */
#define FOR_BOTH(profile_name, trace_name, does)                                                                       \
    static PyObject *profile_name(PyObject *Py_UNUSED(module), PyObject *given) {                                      \
        return does(given, false);                                                                                     \
    }                                                                                                                  \
    static PyObject *trace_name(PyObject *Py_UNUSED(module), PyObject *given) {                                        \
        return does(given, true);                                                                                      \
    }
FOR_BOTH(get_profile, get_trace, newest)
FOR_BOTH(setprofile, settrace, stand_in)
FOR_BOTH(getprofile, gettrace, stands_in)
FOR_BOTH(setprofile_everywhere, settrace_everywhere, stand_in_everywhere)

static PyObject *hub_status(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    return sm_hub_status();
}

/* Python code sees only tools with a Python object in a slot. */
static PyObject *slots_taken(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    const PyThreadState *tstate = PyThreadState_Get();
    PyObject *taken = Py_BuildValue("{sOsO}", "profile", tstate->c_profilefunc != NULL ? Py_True : Py_False, "trace",
                                    tstate->c_tracefunc != NULL ? Py_True : Py_False);
    void *data;
    bool references = PyRefTracer_GetTracer(&data) != NULL;
    if (taken != NULL && Py_Version >= 0x030D0000 &&
        PyDict_SetItemString(taken, "references", references ? Py_True : Py_False) < 0)
        Py_CLEAR(taken);
    return taken;
}

PyMethodDef sm_methods_hooks[] = {
    {"set_profile", SM_KEYWORDS(set_profile),
     "set_profile(func, *, threads='current', where=None)\n--\n\nCall func(frame, event, arg) for calls and returns, "
     "as sys.setprofile would, alongside whatever else does.\n\nthreads: 'current', or 'all' for the threads that run "
     "now and those that will. where: an expression that selects events\n(docs/expressions.md). Returns a handle: its "
     "remove() stops the calls, and so does leaving it as a `with` block.\nRaises UsageError if func is not callable, "
     "threads is another value or the expression is wrong; RuntimeError if this\ninterpreter's hooks are not "
     "available."},
    {"set_trace", SM_KEYWORDS(set_trace),
     "set_trace(func, *, threads='current', where=None)\n--\n\nCall func(frame, 'call', None) when a function begins, "
     "as sys.settrace would, alongside whatever else does. What it\nreturns is called for the lines, the exceptions "
     "and the return of that frame.\n\nArguments, result and errors are those of set_profile()."},
    {"get_profile", get_profile, METH_NOARGS,
     "get_profile()\n--\n\nReturn the function of this thread's newest set_profile(), or None."},
    {"get_trace", get_trace, METH_NOARGS,
     "get_trace()\n--\n\nReturn the function of this thread's newest set_trace(), or None."},
    {"setprofile", setprofile, METH_O,
     "setprofile(function, /)\n--\n\nDo what sys.setprofile does, through seismo's hooks."},
    {"settrace", settrace, METH_O, "settrace(function, /)\n--\n\nDo what sys.settrace does, through seismo's hooks."},
    {"getprofile", getprofile, METH_NOARGS,
     "getprofile()\n--\n\nReturn what setprofile() set in this thread, or None."},
    {"gettrace", gettrace, METH_NOARGS, "gettrace()\n--\n\nReturn what settrace() set in this thread, or None."},
    {"_setprofile_everywhere", setprofile_everywhere, METH_O, NULL},
    {"_settrace_everywhere", settrace_everywhere, METH_O, NULL},
    {"hub_status", hub_status, METH_NOARGS,
     "hub_status()\n--\n\nReturn what seismo's hooks hold now, as a dict of hook, tool_id (-1: none), tools, events, "
     "lost and held."},
    {"slots_taken", slots_taken, METH_NOARGS,
     "Return {slot: whether it is taken} for the profile and trace slots of this thread and the slot of the reference"
     " tracer (3.13 and later), which is the process's."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_hooks(PyObject *module) {
    if (hook_type == NULL && sm_tracefunc_init() == 0)
        hook_type = (PyTypeObject *)PyType_FromSpec(&hook_spec);
    return hook_type == NULL ? -1 : PyModule_AddObjectRef(module, "Hook", (PyObject *)hook_type);
}
