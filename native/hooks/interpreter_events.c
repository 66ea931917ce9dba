#include "hooks/interpreter_events.h"

#include <string.h>

#include "base/compiler.h"
#include "compat/compat.h"
#include "compat/exception.h"

static SM_FAST_TLS bool inside; /* what the functions do may be audited */

static void call(void (*function)(void)) {
    sm_exception kept = sm_exception_keep();
    inside = true;
    function();
    inside = false;
    PyErr_Clear();
    sm_exception_restore(kept);
}

/* What makes interpreters. That one is made raises no event in the one that makes it. */
#define MAKER "_interpreters"

static bool imports_maker(const char *event, PyObject *args) {
    if (strcmp(event, "import") != 0 || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 1)
        return false;
    PyObject *name = PyTuple_GET_ITEM(args, 0);
    return PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, MAKER) == 0;
}

bool sm_interpreters_may_come(void) {
    PyObject *modules = PyImport_GetModuleDict();
    return modules != NULL && PyDict_GetItemString(modules, MAKER) != NULL;
}

static int hook(const char *event, PyObject *args, void *data) {
    const sm_interpreter_calls *calls = data;
    const PyThreadState *tstate = inside ? NULL : sm_tstate_unchecked();
    if (tstate == NULL)
        return 0;
    if (sm_tstate_interpreter(tstate) != PyInterpreterState_Main())
        call(strcmp(event, "cpython.PyInterpreterState_Clear") == 0 ? calls->ends : calls->runs);
    else if (imports_maker(event, args))
        call(calls->comes);
    return 0;
}

bool sm_interpreter_events_want(const sm_interpreter_calls *calls) {
    static bool added = false;
    if (!added) {
        sm_exception kept = sm_exception_keep();
        added = PySys_AddAuditHook(hook, (void *)(uintptr_t)calls) == 0;
        PyErr_Clear();
        sm_exception_restore(kept);
    }
    return added;
}
