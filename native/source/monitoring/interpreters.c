/* Other interpreters, with a GIL of their own or the shared one.
 *
 * The program makes an interpreter; our audit hook runs in it before anything else. There it takes a tool id of that
 * interpreter and registers callbacks of a type that it makes there, since objects belong to one interpreter. Once the
 * program makes the first one, the core's lock is shared (compat/core_lock.h): each event of each interpreter takes
 * it from then on. So all that the GIL guards stays guarded, and the counts exact. The price is that interpreters wait
 * for each other at events. Without the GIL, the events of the main interpreter go on without the lock.
 *
 * An OS thread may run several interpreters in turns. The fast path of the main one must not see this, so a callback
 * here exchanges sm_this_thread for its duration. No place is disabled here, because the end of the recording could not
 * enable it again: only code that runs in an interpreter may change its code objects.
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
#include "hooks/interpreter_events.h"
#include "hooks/monitoring_tool.h"

/* One that has been met. Only its threads use it, but for the list. */
typedef struct interpreter_state {
    struct interpreter_state *next; /* guard: the core's lock */
    PyInterpreterState *state;      /* borrowed, never followed */
    const char *name;               /* of the tool */
    uint32_t session;               /* atomic. 0: it is not recorded */
    uint32_t users;                 /* atomic: its callbacks, the list until it ends, and who waits for the lock */
    int tool_id;                    /* atomic. -1: none */
} interpreter_state;

typedef struct {
    PyObject_HEAD vectorcallfunc vectorcall;
    vectorcallfunc behind;
    interpreter_state *of;
} callback_object;

/* Guard: the core's lock. */
static interpreter_state *others;
static const char *name; /* NULL: no interpreters are recorded */
static const int *order;
static const long *events;
static int64_t first; /* number of the first interpreter that can be recorded from its beginning */

/* Return true if others are recorded in this session. With the core's lock. */
static bool is_wanted(uint32_t session) {
    return name != NULL && sm_main.running && !sm_main.forked && !sm_main.stopping && session == sm_engine.session;
}

static void release(interpreter_state *of) {
    if (__atomic_sub_fetch(&of->users, 1, __ATOMIC_ACQ_REL) == 0)
        sm_free(of);
}

static int id_of(const interpreter_state *of) {
    return __atomic_load_n(&of->tool_id, __ATOMIC_RELAXED);
}

/* Give the interpreter's hooks back. Without the core's lock. */
static void leave(interpreter_state *of) {
    int tool_id = __atomic_exchange_n(&of->tool_id, -1, __ATOMIC_RELAXED);
    __atomic_store_n(&of->session, 0, __ATOMIC_RELAXED);
    if (tool_id < 0 || !sm_monitoring_holds(tool_id, of->name))
        return;
    sm_monitoring_free(tool_id);
}

/* ---- the callbacks of an interpreter ---- */

/* Pass the event on to the function for events of the main interpreter. Return false if it is not recorded any more. */
static bool pass_on(const interpreter_state *of, vectorcallfunc behind, PyObject *const *args, size_t nargs) {
    SM_CORE_GUARD;
    if (!is_wanted(__atomic_load_n(&of->session, __ATOMIC_RELAXED)))
        return false;
    sm_thread *of_main = sm_this_thread;
    sm_this_thread = sm_thread_is_of(sm_other_thread, sm_tstate_unchecked()) ? sm_other_thread : &sm_no_thread;
    (void)behind(NULL, args, nargs, NULL); /* None or DISABLE */
    sm_other_thread = sm_this_thread;
    sm_this_thread = of_main;
    return true;
}

static PyObject *event(PyObject *self, PyObject *const *args, size_t nargs, PyObject *Py_UNUSED(names)) {
    interpreter_state *of = ((callback_object *)self)->of;
    if (sm_is_finalizing()) /* the main thread takes no lock any more */
        return Py_None;
    SM_COUNT(of->users); /* another thread may remove the callback while this one waits for the lock */
    if (SM_UNLIKELY(!pass_on(of, ((callback_object *)self)->behind, args, nargs)) && id_of(of) >= 0) {
        SM_EXCEPTION_GUARD;
        leave(of);
    }
    release(of);
    return Py_None;
}

static void callback_dealloc(PyObject *self) {
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

static bool register_one(interpreter_state *of, PyTypeObject *type, int which) {
    callback_object *callback = PyObject_New(callback_object, type);
    if (callback == NULL)
        return false;
    callback->vectorcall = event;
    callback->behind = sm_monitoring_callbacks_in_use->callback[which];
    callback->of = of;
    of->users++;
    int result = sm_monitoring_register(id_of(of), events[which], (PyObject *)callback);
    Py_DECREF(callback);
    return result == 0;
}

/* Take a tool id, register the callbacks and set the events. Without the core's lock. */
static bool equip(interpreter_state *of) {
    PyTypeObject *type = sm_code_deaths_watch_here() >= 0 ? make_type() : NULL;
    int tool_id = type != NULL ? sm_monitoring_take(of->name, order) : -1;
    bool fine = tool_id >= 0;
    __atomic_store_n(&of->tool_id, tool_id, __ATOMIC_RELAXED);
    long set = 0;
    for (int i = 0; fine && i < SM_MONITORING_EVENTS; i++) {
        set |= events[i];
        fine = events[i] == 0 || register_one(of, type, i);
    }
    Py_XDECREF(type);
    if (fine && sm_monitoring_set(tool_id, set) == 0)
        return true;
    PyErr_Clear();
    leave(of);
    return false;
}

/* ---- what the audit hook reports ---- */

/* There is no other interpreter whose events could meet one of this, and all other threads wait for the GIL. */
static void comes(void) {
#if SM_SHARES_LOCK_LATER
    if (!sm_core_is_shared)
        sm_monitoring_share();
#endif
}

/* Return the link to an interpreter in the list, or the one at its end. */
static interpreter_state **link_to(const PyInterpreterState *state) {
    interpreter_state **link = &others;
    while (*link != NULL && (*link)->state != state)
        link = &(*link)->next;
    return link;
}

/* Return the running interpreter if it is met for the first time and wanted, or else NULL. */
static interpreter_state *meet(PyInterpreterState *state) {
    SM_CORE_GUARD;
    if (!sm_core_is_shared || !is_wanted(sm_engine.session) || *link_to(state) != NULL ||
        PyInterpreterState_GetID(state) < first)
        return NULL;
    interpreter_state *of = sm_malloc(sizeof *of);
    if (of != NULL)
        *of = (interpreter_state){others, state, name, sm_engine.session, 1, -1};
    return of != NULL ? others = of : NULL;
}

/* Return the running interpreter if it was met before, to be released, or else NULL. */
static interpreter_state *met(const PyInterpreterState *state) {
    SM_CORE_GUARD;
    interpreter_state *of = *link_to(state);
    if (of != NULL)
        SM_COUNT(of->users);
    return of;
}

static void lose(const interpreter_state *of) {
    SM_CORE_GUARD;
    sm_main.hook_lost += is_wanted(of->session);
}

static void begin(PyInterpreterState *state) {
    interpreter_state *of = meet(state);
    if (of == NULL || !equip(of))
        return;
    SM_CORE_GUARD;
    if (is_wanted(of->session))
        __atomic_fetch_add(&sm_main.interpreters_recorded, 1, __ATOMIC_RELAXED);
}

static void runs(void) {
    PyInterpreterState *state = PyInterpreterState_Get();
    if (PySys_GetObject("monitoring") == NULL) /* not yet */
        return;
    interpreter_state *of = met(state);
    if (of == NULL) {
        begin(state);
        return;
    }
    int tool_id = id_of(of);
    if (tool_id >= 0 && !sm_monitoring_holds(tool_id, of->name)) {
        lose(of);
        leave(of);
    }
    release(of);
}

static void ends(void) {
    SM_CORE_GUARD;
    PyInterpreterState *state = PyInterpreterState_Get();
    interpreter_state **link = link_to(state), *of = *link;
    if (of == NULL)
        return;
    *link = of->next;
    __atomic_store_n(&of->tool_id, -1, __ATOMIC_RELAXED); /* the interpreter itself removes the hooks */
    __atomic_store_n(&of->session, 0, __ATOMIC_RELAXED);  /* what finalizers still run is not recorded */
    sm_codes_forget(state);
    sm_engine_forget_interpreter(state);
    release(of);
}

void sm_interpreters_start(const char *tool, const int ids[6], const long set[SM_MONITORING_EVENTS]) {
    static const sm_interpreter_calls calls = {comes, runs, ends};
    if (!sm_main.settings.others)
        return;
    name = tool;
    order = ids;
    events = set;
    first = (int64_t)sm_interpreters_made();
    sm_interpreter_events_start(&calls);
}

void sm_interpreters_stop(void) {
    sm_interpreter_events_stop();
    name = NULL; /* each gives its hooks back when it runs next */
}

#endif
