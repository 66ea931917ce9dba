#include "hooks/interpreter_events.h"

#include <string.h>

#include "base/compiler.h"
#include "compat/compat.h"
#include "compat/exception.h"
#include "compat/method_entry.h"
#include "compat/runtime.h"

#if SM_RECORDS_INTERPRETERS

static SM_FAST_TLS bool inside;               /* what the functions do may be audited */
static const sm_interpreter_calls *functions; /* NULL: none, since the start. Guard: the GIL of the main interpreter */

static void call(void (*function)(void)) {
    SM_EXCEPTION_GUARD;
    inside = true;
    function();
    inside = false;
    PyErr_Clear();
}

static int hook(const char *event, PyObject *Py_UNUSED(args), void *Py_UNUSED(data)) {
    const PyThreadState *tstate = inside ? NULL : sm_tstate_unchecked();
    if (tstate != NULL && sm_tstate_interpreter(tstate) != PyInterpreterState_Main())
        call(strcmp(event, "cpython.PyInterpreterState_Clear") == 0 ? functions->ends : functions->runs);
    return 0;
}

static void add_hook(void) {
    static bool added = false;
    if (!added)
        added = PySys_AddAuditHook(hook, NULL) == 0;
    if (added)
        functions->comes();
}

/* The function that makes interpreters raises no event in the interpreter that calls it, so ours replaces it. It is not
 * enough to look for its module: anyio imports that, and makes none. */
#define MODULE "_interpreters"

static PyMethodDef *entry;   /* of its `create`; borrowed: the library stays loaded. NULL: none is to be announced */
static PyCFunction original; /* stays: a thread may be in ours when the recording ends, or another tool may call ours */
static int watcher = -1;     /* of sys.modules. Guard of all three: the GIL of the main interpreter */

static void announce(void) {
    if (PyInterpreterState_Get() == PyInterpreterState_Main() && entry != NULL)
        call(add_hook);
}

static PyObject *create(PyObject *module, PyObject *args, PyObject *keywords) { /* 3.14 */
    announce();
    return ((PyCFunctionWithKeywords)(void (*)(void))original)(module, args, keywords);
}

static PyObject *create_fast(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) { /* 3.15 */
    announce();
    return ((PyCFunctionFastWithKeywords)(void (*)(void))original)(module, args, count, names);
}

static PyCFunction ours_for(const PyMethodDef *found) {
    void (*ours)(void) = found->ml_flags == (METH_VARARGS | METH_KEYWORDS)    ? (void (*)(void))create
                         : found->ml_flags == (METH_FASTCALL | METH_KEYWORDS) ? (void (*)(void))create_fast
                                                                              : NULL;
    return (PyCFunction)ours;
}

static void replace(PyObject *module) {
    PyMethodDef *found = sm_method_entry(module, "create");
    if (found == NULL || ours_for(found) == NULL || entry != NULL)
        return;
    entry = found;
    if (original == NULL)
        original = found->ml_meth;
    if (found->ml_meth == original) /* otherwise another tool replaced ours and calls it */
        found->ml_meth = ours_for(found);
}

static int watch(PyDict_WatchEvent event, PyObject *Py_UNUSED(dict), PyObject *name, PyObject *module) {
    if (event == PyDict_EVENT_ADDED && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, MODULE) == 0) {
        SM_EXCEPTION_GUARD;
        replace(module);
    }
    return 0;
}

void sm_interpreter_events_start(const sm_interpreter_calls *calls) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, MODULE);
    functions = calls;
    if (sm_interpreters_gone() != sm_interpreters_made())
        call(add_hook); /* the older ones make more */
    if (module != NULL)
        replace(module);
    else if ((watcher = PyDict_AddWatcher(watch)) < 0 || PyDict_Watch(watcher, modules) < 0)
        PyErr_Clear(); /* all watcher ids are taken */
}

void sm_interpreter_events_stop(void) {
    if (watcher >= 0 && (PyDict_Unwatch(watcher, PyImport_GetModuleDict()) < 0 || PyDict_ClearWatcher(watcher) < 0))
        PyErr_Clear();
    watcher = -1;
    if (entry != NULL && entry->ml_meth == ours_for(entry))
        entry->ml_meth = original;
    entry = NULL;
}

#endif
