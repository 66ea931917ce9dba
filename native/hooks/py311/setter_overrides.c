/* The functions of the interpreter that use the slots or make threads, entered through ours while there are users.
 *
 * A built-in function finds what to run through its PyMethodDef, which in 3.11 is an entry of a table that its module
 * keeps in writable memory. The entries of sys.setprofile, settrace, getprofile and gettrace, and of _thread's function
 * that starts threads, are given functions of ours, which call the interpreter's own. So the functions stay the objects
 * that they are, under whatever name a program has kept them, and nothing changes for a program that looks.
 *
 * Why this: whoever takes a slot by these functions has done so when they return, on whatever thread, and the event
 * that comes next must not be lost; the only other sign would be the release of an object in the midst of it. And a new
 * thread is in the interpreter's list when the function returns that starts it, and has not run yet. */
#include "hooks/py311/thread_slots.h"

#if SM_SHARES_SLOTS

typedef enum { SETPROFILE, SETTRACE, GETPROFILE, GETTRACE, START_THREAD, START_THREAD_OLD, METHODS } method;

static PyCFunction originals[METHODS]; /* NULL: not ours */
static PyMethodDef *definitions[METHODS];

static bool elsewhere(void) { /* a subinterpreter shares the tables */
    return PyInterpreterState_Get() != PyInterpreterState_Main();
}

static PyObject *setprofile(PyObject *module, PyObject *value) {
    if (elsewhere())
        return originals[SETPROFILE](module, value);
    return sm_thread_slots_set(SM_THREAD_SLOT_PROFILE, originals[SETPROFILE], module, value);
}
static PyObject *settrace(PyObject *module, PyObject *value) {
    if (elsewhere())
        return originals[SETTRACE](module, value);
    return sm_thread_slots_set(SM_THREAD_SLOT_TRACE, originals[SETTRACE], module, value);
}
static PyObject *getprofile(PyObject *module, PyObject *nothing) {
    return sm_thread_slots_shown(originals[GETPROFILE](module, nothing));
}
static PyObject *gettrace(PyObject *module, PyObject *nothing) {
    return sm_thread_slots_shown(originals[GETTRACE](module, nothing));
}

static PyObject *thread_started(PyObject *result) {
    if (result != NULL && !elsewhere())
        sm_thread_slots_review(NULL);
    return result;
}
static PyObject *start_new_thread(PyObject *module, PyObject *args) {
    return thread_started(originals[START_THREAD](module, args));
}
static PyObject *start_new(PyObject *module, PyObject *args) {
    return thread_started(originals[START_THREAD_OLD](module, args));
}

static const struct {
    const char *module, *name;
    PyCFunction ours;
} methods[METHODS] = {
    [SETPROFILE] = {"sys", "setprofile", setprofile},
    [SETTRACE] = {"sys", "settrace", settrace},
    [GETPROFILE] = {"sys", "getprofile", getprofile},
    [GETTRACE] = {"sys", "gettrace", gettrace},
    [START_THREAD] = {"_thread", "start_new_thread", start_new_thread},
    [START_THREAD_OLD] = {"_thread", "start_new", start_new},
};

/* The entry of the built-in function, wherever a program has put another in its place: the module's definition has it.
 */
static PyMethodDef *find(const char *module_name, const char *name) {
    PyObject *module = PyImport_ImportModule(module_name); /* built in, and there from the interpreter's start */
    PyModuleDef *definition = module ? PyModule_GetDef(module) : NULL;
    Py_XDECREF(module);
    PyErr_Clear();
    for (PyMethodDef *entry = definition ? definition->m_methods : NULL; entry && entry->ml_name; entry++) {
        if (strcmp(entry->ml_name, name) == 0)
            return entry;
    }
    return NULL;
}

void sm_thread_slots_watch_methods(bool on) {
    for (int i = 0; i < METHODS; i++) {
        if (on && definitions[i] == NULL)
            definitions[i] = find(methods[i].module, methods[i].name);
        PyMethodDef *entry = definitions[i];
        if (entry == NULL)
            continue;
        if (on && entry->ml_meth != methods[i].ours) {
            originals[i] = entry->ml_meth;
            entry->ml_meth = methods[i].ours;
        } else if (!on && entry->ml_meth == methods[i].ours) { /* else another tool replaced ours and calls it */
            entry->ml_meth = originals[i];
        }
    }
}

#endif
