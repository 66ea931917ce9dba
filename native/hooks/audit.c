#include "hooks/audit.h"

#include <string.h>

#include "base/compiler.h"
#include "compat/exception.h"

static const sm_interpreter_calls *wanted; /* atomic */
static SM_FAST_TLS bool inside;            /* what the functions do may be audited */

static void call(void (*function)(void)) {
    sm_exception kept = sm_exception_keep();
    inside = true;
    function();
    inside = false;
    PyErr_Clear();
    sm_exception_restore(kept);
}

/* The modules that make interpreters, of all versions. That one is made raises no event in the one that makes it. */
static const char *const makers[] = {"_interpreters", "_xxsubinterpreters", "_testcapi"};

bool sm_audit_may_make_interpreters(void) {
    PyObject *modules = PyImport_GetModuleDict();
    for (size_t i = 0; modules != NULL && i < sizeof makers / sizeof *makers; i++)
        if (PyDict_GetItemString(modules, makers[i]) != NULL)
            return true;
    return false;
}

static bool imports_maker(const char *event, PyObject *args) {
    if (strcmp(event, "import") != 0 || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 1)
        return false;
    PyObject *name = PyTuple_GET_ITEM(args, 0);
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof makers / sizeof *makers; i++)
        if (PyUnicode_CompareWithASCIIString(name, makers[i]) == 0)
            return true;
    return false;
}

static int hook(const char *event, PyObject *args, void *Py_UNUSED(data)) {
    const sm_interpreter_calls *calls = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
    const PyThreadState *tstate = calls != NULL && !inside ? sm_tstate_unchecked() : NULL;
    if (tstate == NULL)
        return 0;
    if (sm_tstate_interpreter(tstate) != PyInterpreterState_Main())
        call(strcmp(event, "cpython.PyInterpreterState_Clear") == 0 ? calls->ends : calls->runs);
    else if (imports_maker(event, args))
        call(calls->comes);
    return 0;
}

bool sm_audit_interpreters(const sm_interpreter_calls *calls) {
    static bool added = false;
    if (!added && calls != NULL) {
        sm_exception kept = sm_exception_keep();
        added = PySys_AddAuditHook(hook, NULL) == 0;
        PyErr_Clear();
        sm_exception_restore(kept);
    }
    __atomic_store_n(&wanted, added ? calls : NULL, __ATOMIC_RELEASE);
    return added;
}
