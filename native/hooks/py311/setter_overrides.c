/* Overrides of the builtins that set slots or start threads, installed while there are users.
 *
 * A builtin finds its C function through its PyMethodDef, in writable memory of its module in 3.11. The entries of
 * sys.setprofile, settrace, getprofile, gettrace and of _thread's starters get our functions, which call the
 * originals. So the function objects stay the same under any name, a slot is repaired before its next event, and a
 * new thread is found before it runs. */
#include "hooks/py311/thread_slots.h"

#include "compat/method_entry.h"

#if SM_SHARES_SLOTS

typedef enum { SETPROFILE, SETTRACE, GETPROFILE, GETTRACE, START_THREAD, START_THREAD_OLD, METHODS } method;

static PyCFunction originals[METHODS]; /* NULL if not replaced */
static PyMethodDef *definitions[METHODS];

static bool elsewhere(void) { /* true in a subinterpreter, which shares the tables */
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

void sm_thread_slots_watch_methods(bool on) {
    for (int i = 0; i < METHODS; i++) {
        if (on && definitions[i] == NULL)
            definitions[i] = sm_method_entry_in(methods[i].module, methods[i].name);
        PyMethodDef *entry = definitions[i];
        if (entry == NULL)
            continue;
        if (on && entry->ml_meth != methods[i].ours) {
            originals[i] = entry->ml_meth;
            entry->ml_meth = methods[i].ours;
        } else if (!on && entry->ml_meth == methods[i].ours) { /* otherwise another tool replaced ours and calls it */
            entry->ml_meth = originals[i];
        }
    }
}

#endif
