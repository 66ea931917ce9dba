/* Other interpreters, with a GIL of their own or the shared one.
 *
 * The program makes an interpreter; our audit hook runs in it before anything else. There it takes a tool id of that
 * interpreter and registers callbacks of a type that it makes there, since objects belong to one interpreter. Each
 * callback takes the core's lock (compat/core_lock.h), and from the first such interpreter on so do those of the main
 * one. So all that the GIL guards stays guarded, and the counts exact. The price is that interpreters wait for each
 * other at events.
 *
 * An OS thread may run several interpreters in turns. The fast path of the main one must not see this, so a callback
 * here exchanges sm_this_thread for its duration. No place is switched off here, because the end of the recording could
 * not switch it on again: only code that runs in an interpreter may change its code objects.
 *
 * Code objects get entries in the common table. As the interpreter ends, they are removed before their memory is.
 *
 * Interpreters older than the recording, and those in which this fails, are counted as not recorded. */
#include "source/monitoring/interpreters.h"

#if SM_RECORDS_INTERPRETERS

#include <stddef.h>

#include "base/alloc.h"
#include "compat/code_deaths.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/runtime.h"
#include "hooks/audit.h"
#include "source/monitoring/monitoring.h"

/* Guard: the core's lock. */
typedef struct other {
    struct other *next;
    PyInterpreterState *state; /* borrowed, never followed */
    uint32_t session;
    uint32_t users; /* its callbacks, and the list until it ends */
    int tool_id;    /* -1: it is not recorded */
    int watcher;    /* of code objects, or -1 */
    bool tried;
} other;

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    vectorcallfunc behind;
    other *of;
} callback_object;

static other *others;
static const long *bits;     /* of the callbacks in use, 0 if not registered */
static int64_t first_number; /* of the interpreters that the recording may see from their beginning */

static bool is_wanted(uint32_t session) {
    return sm_main.running && !sm_main.forked && !sm_main.stopping && sm_main.settings.others && bits != NULL &&
           session == sm_engine.session && !sm_codes_held_twice();
}

static void release(other *of) {
    if (--of->users == 0)
        sm_free(of);
}

static other *find(const PyInterpreterState *state) {
    other *of = others;
    while (of != NULL && of->state != state)
        of = of->next;
    return of;
}

/* ---- the callbacks of an interpreter ---- */

/* Give the interpreter's hooks back. */
static void leave(other *of) {
    if (of->tool_id < 0)
        return;
    int tool_id = of->tool_id;
    of->tool_id = -1;
    if (!sm_monitoring_holds(tool_id, SM_MONITORING_NAME))
        return;
    (void)sm_monitoring_set(tool_id, 0);
    PyErr_Clear();
    sm_monitoring_free(tool_id);
}

/* Stop recording here. Before the end of the recording this is a loss. */
static void give_up(other *of) {
    sm_exception kept = sm_exception_keep();
    sm_main.hook_lost += of->tool_id >= 0 && of->session == sm_engine.session && sm_main.running && !sm_main.stopping;
    leave(of);
    sm_exception_restore(kept);
}

static PyObject *event(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    SM_CORE_GUARD;
    callback_object *callback = (callback_object *)self;
    if (SM_UNLIKELY(!is_wanted(callback->of->session))) {
        other *of = callback->of;
        of->users++; /* the callback may die meanwhile */
        give_up(of);
        release(of);
        return Py_None;
    }
    sm_thread *of_main = sm_this_thread;
    bool sites = sm_sites_on;
    sm_sites_on = false;
    sm_this_thread = sm_thread_is_of(sm_other_thread, sm_tstate_unchecked()) ? sm_other_thread : &sm_no_thread;
    (void)callback->behind(self, args, nargs, names); /* None or DISABLE */
    sm_other_thread = sm_this_thread;
    sm_this_thread = of_main;
    sm_sites_on = sites;
    return Py_None;
}

static void callback_dealloc(PyObject *self) {
    SM_CORE_GUARD;
    release(((callback_object *)self)->of);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyTypeObject *make_type(void) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(callback_object, vectorcall), Py_READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, callback_dealloc}, {Py_tp_members, members}, {Py_tp_call, PyVectorcall_Call}, {0, NULL}};
    static PyType_Spec spec = {"seismo._core.callback", sizeof(callback_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

/* Register the callbacks. Return their events, or -1 with an exception set. */
static long register_all(other *of) {
    PyTypeObject *type = make_type();
    long set = 0;
    for (int i = 0; type != NULL && set >= 0 && i < SM_MONITORING_EVENTS; i++) {
        if (bits[i] == 0)
            continue;
        callback_object *callback = PyObject_New(callback_object, type);
        if (callback == NULL) {
            set = -1;
            break;
        }
        callback->vectorcall = event;
        callback->behind = sm_monitoring_callbacks_in_use->callback[i];
        callback->of = of;
        of->users++;
        set = sm_monitoring_register(of->tool_id, bits[i], (PyObject *)callback) < 0 ? -1 : set | bits[i];
        Py_DECREF(callback);
    }
    Py_XDECREF(type);
    return type != NULL ? set : -1;
}

static bool equip(other *of) {
    if (of->watcher < 0 && (of->watcher = sm_code_deaths_watch_here()) < 0)
        return false;
    of->tool_id = sm_monitoring_take_next(SM_MONITORING_NAME);
    long set = of->tool_id >= 0 ? register_all(of) : -1;
    if (set >= 0 && sm_monitoring_set(of->tool_id, set) == 0)
        return true;
    PyErr_Clear();
    of->session = 0; /* nothing was recorded that could be lost */
    leave(of);
    return false;
}

/* ---- what the audit hook reports ---- */

/* Make the core's lock guard all that only the GIL has guarded so far: no other thread is in the middle of an event. */
static void share(void) {
    if (sm_core_shared || !is_wanted(sm_engine.session))
        return;
    sm_monitoring_share();
    __atomic_store_n(&sm_core_shared, true, __ATOMIC_SEQ_CST);
}

static void runs(void) {
    SM_CORE_GUARD;
    PyInterpreterState *state = PyInterpreterState_Get();
    other *of = find(state);
    if (of != NULL && of->tool_id >= 0 &&
        (!is_wanted(of->session) || !sm_monitoring_holds(of->tool_id, SM_MONITORING_NAME)))
        give_up(of);
    if ((of != NULL && of->tried) || !sm_core_shared || !is_wanted(sm_engine.session) ||
        PyInterpreterState_GetID(state) < first_number || PySys_GetObject("monitoring") == NULL)
        return;
    if (of == NULL) {
        of = sm_malloc(sizeof *of);
        if (of == NULL)
            return;
        *of = (other){.next = others,
                      .state = state,
                      .session = sm_engine.session,
                      .users = 1,
                      .tool_id = -1,
                      .watcher = -1,
                      .tried = true};
        others = of;
    }
    sm_main.interpreters_recorded += equip(of);
}

static void ends(void) {
    SM_CORE_GUARD;
    PyInterpreterState *state = PyInterpreterState_Get();
    for (other **link = &others; *link != NULL; link = &(*link)->next) {
        other *of = *link;
        if (of->state != state)
            continue;
        *link = of->next;
        of->tool_id = -1; /* the interpreter itself removes the hooks */
        of->session = 0;  /* what finalizers still run is not recorded */
        if (!sm_codes_held_twice()) /* else they were removed, and the table is not ours to look into */
            sm_codes_forget_interpreter(state);
        release(of);
        return;
    }
}

void sm_interpreters_start(const long *events) {
    static const sm_interpreter_calls calls = {share, runs, ends};
    bits = sm_main.settings.others && sm_audit_interpreters(&calls) ? events : NULL;
    first_number = (int64_t)sm_interpreters_made();
    if (bits != NULL && sm_core_shared)
        sm_monitoring_share();
    else if (bits != NULL && sm_audit_may_make_interpreters())
        share();
}

void sm_interpreters_forked(void) { /* the child has only the main one */
    bits = NULL;
    others = NULL; /* their callbacks are gone without a trace */
    sm_codes_forget_interpreter(NULL);
}

#endif
