/* Sharing the profile slot and the trace slot.
 *
 * A slot is a pair of fields of a thread's state, a C function and the object that it is called with. The last one who
 * writes them wins, and is not told when it loses them. What makes a shared thing of them is the object that we put
 * there: a *guard*, one for a thread and a slot, which knows our users and the foreign tool.
 *
 *   one user alone         function: the user's own         the event costs what it costs without this file
 *   users and/or foreign   function: dispatch()             calls the foreign tool with its own object, and the users
 *   all users asleep       function: none                   the slot costs nothing, and the guard stays
 *
 * Whoever takes the slot replaces the guard. That is noticed in one of four ways:
 * - sys.setprofile() and sys.settrace(), however they are reached: while we have users, these two functions are
 *   entered through ours (setter_overrides.c), which calls them and then takes what they left in the slot into the
 * guard and puts the guard back: the foreign tool is chained, or gone. The same makes sys.getprofile() show the foreign
 *   tool's object and never a guard.
 * - A foreign tool that exchanges or clears its function while we call it, as the interpreter itself does with a Python
 *   function that raises: dispatch() looks at the slot after each such call.
 * - C code that takes the slot (cProfile, coverage): the slot's reference to the guard was the only one, so the guard
 * is freed, which is how we learn of it. The thread is in the middle of that C code and the fields are about to be
 *   written, so nothing can be put right at once. Two things do it at the next opportunity: the thread's *other* slot
 *   is given a user of our own, the mender, whose first event does it; and a pending call, which the main thread runs
 *   before its next call or loop. On the main thread no Python call is lost so; on another, C calls of the same line.
 * - Whatever was missed: sm_thread_slots_look().
 *
 * A guard is also freed when its thread ends or, in a forked child, has ended: then the thread has no frame, or is not
 * the running one, and nothing is put into its slots any more.
 *
 * The fields are written directly, never through PyEval_SetProfile: that would release the foreign tool's object, run
 * audit hooks in the middle of the walk over the threads, and fail when two do it at once (gh-94510). The GIL makes the
 * walk safe: nothing between its two ends can run Python code. */
#include "hooks/py311/thread_slots.h"

#include <string.h>

#include "compat/exception.h"
#include "compat/frame.h"

#if SM_SHARES_SLOTS

#define USERS 6 /* of one slot: the sources, the hub, the mender */

typedef struct {
    PyObject_HEAD sm_thread_slot slot;
    PyThreadState *tstate; /* borrowed: it owns this */
    Py_tracefunc foreign;  /* NULL: there is none */
    PyObject *foreign_obj; /* owned; may be NULL */
    sm_thread_slot_user *users[USERS];
    bool asleep[USERS];
    unsigned count;
    bool retired;           /* it has been taken out */
    PyFrameObject *inside;  /* borrowed: the event that dispatch() is handing out; */
    int inside_what;        /* NULL: none */
    const void *unreported; /* borrowed: a frame in whose C call the foreign tool was set, see receives(); NULL: none */
    bool unreported_met;    /* it has had an event since */
} guard;

sm_thread_slots_facts sm_thread_slots;
static sm_thread_slot_user *users = NULL; /* those that have joined, menders included */
static unsigned user_count = 0;           /* without the menders */
static PyTypeObject guard_type;

/* ---- the fields ------------------------------------------------------------------------------------------------- */

typedef struct {
    Py_tracefunc *function;
    PyObject **object;
} fields;

static fields fields_of(PyThreadState *tstate, sm_thread_slot slot) {
    if (slot == SM_THREAD_SLOT_PROFILE)
        return (fields){&tstate->c_profilefunc, &tstate->c_profileobj};
    return (fields){&tstate->c_tracefunc, &tstate->c_traceobj};
}

static guard *guard_of(PyThreadState *tstate, sm_thread_slot slot) {
    PyObject *object = *fields_of(tstate, slot).object;
    return object != NULL && Py_IS_TYPE(object, &guard_type) ? (guard *)object : NULL;
}

static int dispatch(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg);
static void tell_alongside(bool present);

/* Writes the function that the guard's state asks for. */
static void point(guard *self) {
    Py_tracefunc function = self->foreign;
    bool several = function != NULL;
    for (unsigned i = 0; i < self->count; i++) {
        if (self->asleep[i])
            continue;
        several = several || function != NULL;
        function = self->users[i]->function;
    }
    *fields_of(self->tstate, self->slot).function = several ? dispatch : function;
    sm_tstate_tracing_changed(self->tstate);
}

/* ---- guards ----------------------------------------------------------------------------------------------------- */

/* What is in the slot now, if it is not this guard, is a foreign tool's or empty: the guard takes it in and goes
 * back to its place. */
static void adopt(guard *self) {
    fields slot = fields_of(self->tstate, self->slot);
    if (self->retired || *slot.object == (PyObject *)self)
        return;
    if (guard_of(self->tstate, self->slot) != NULL) { /* another one has been put there meanwhile */
        self->retired = true;
        return;
    }
    PyObject *before = self->foreign_obj;
    self->foreign = *slot.function;
    self->foreign_obj = *slot.object; /* the slot's reference becomes the guard's */
    sm_thread_slots.shared += self->foreign != NULL;
    *slot.object = Py_NewRef((PyObject *)self);
    point(self);
    tell_alongside(self->foreign != NULL);
    Py_XDECREF(before);
}

static guard *new_guard(PyThreadState *tstate, sm_thread_slot slot) {
    guard *self = PyObject_New(guard, &guard_type);
    if (self == NULL) {
        PyErr_Clear();
        sm_thread_slots.lost++;
        return NULL;
    }
    fields place = fields_of(tstate, slot);
    self->slot = slot;
    self->tstate = tstate;
    self->foreign = *place.function;
    self->foreign_obj = *place.object;
    self->count = 0;
    self->retired = false;
    self->inside = NULL;
    sm_thread_slots.shared += self->foreign != NULL;
    *place.object = (PyObject *)self;
    return self;
}

/* The slot is the foreign tool's alone again, or empty. */
static void give_back(guard *self) {
    fields slot = fields_of(self->tstate, self->slot);
    *slot.function = self->foreign;
    *slot.object = self->foreign_obj;
    self->foreign = NULL;
    self->foreign_obj = NULL;
    self->count = 0;
    self->retired = true;
    sm_tstate_tracing_changed(self->tstate);
    Py_DECREF(self);
}

/* Makes a thread's slot what its users want now. Returns whether it had not been ours. */
static bool arrange(PyThreadState *tstate, sm_thread_slot slot) {
    sm_thread_slot_user *wanted[USERS];
    unsigned count = 0;
    for (sm_thread_slot_user *user = users; user != NULL && count < USERS; user = user->next) {
        if (user->slot == slot && (user->wants == NULL || user->wants(tstate)))
            wanted[count++] = user;
    }
    bool foreign = sm_thread_slots_foreign(tstate, slot);
    guard *self = guard_of(tstate, slot);
    if (count == 0) {
        if (self != NULL)
            give_back(self);
        return false;
    }
    bool fresh = self == NULL;
    if (fresh && (self = new_guard(tstate, slot)) == NULL)
        return false;
    bool asleep[USERS];
    for (unsigned i = 0; i < count; i++) {
        asleep[i] = wanted[i]->idle;
        for (unsigned k = 0; k < self->count; k++) {
            if (self->users[k] == wanted[i])
                asleep[i] = self->asleep[k];
        }
    }
    for (unsigned i = 0; i < count; i++)
        self->users[i] = wanted[i], self->asleep[i] = asleep[i];
    self->count = count;
    point(self);
    if (fresh && foreign)
        tell_alongside(true);
    return fresh;
}

static unsigned arrange_all(void) {
    unsigned fresh = 0;
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        bool profile = arrange(tstate, SM_THREAD_SLOT_PROFILE), trace = arrange(tstate, SM_THREAD_SLOT_TRACE);
        fresh += profile || trace;
    }
    return fresh;
}

/* ---- the event -------------------------------------------------------------------------------------------------- */

typedef struct {
    PyFrameObject *frame;
    int what;
    PyObject *arg;
    int status;
    sm_exception exception; /* of the first that failed */
} event;

static void tell(event *event, Py_tracefunc function, PyObject *obj) {
    if (function(obj, event->frame, event->what, event->arg) == 0)
        return;
    if (event->status == 0)
        event->exception = sm_exception_keep();
    else
        PyErr_Clear();
    event->status = -1;
}

static void tell_foreign(guard *self, event *event) {
    if (self->foreign == NULL)
        return;
    PyObject *obj = self->foreign_obj;
    Py_XINCREF(obj); /* it may take itself out */
    tell(event, self->foreign, obj);
    adopt(self);
    Py_XDECREF(obj);
}

/* A user may come or go while another receives. */
static void tell_users(guard *self, event *event) {
    sm_thread_slot_user *receivers[USERS];
    unsigned count = 0;
    for (unsigned i = 0; i < self->count; i++) {
        if (!self->asleep[i])
            receivers[count++] = self->users[i];
    }
    for (unsigned i = 0; i < count; i++) {
        if (receivers[i]->joined)
            tell(event, receivers[i]->function, NULL);
    }
}

static int outcome(const event *event) {
    if (event->status != 0)
        sm_exception_restore(event->exception);
    return event->status;
}

/* Calls the foreign tool and the users. All receive the event, even when one of them fails. The foreign tool is called
 * first when something begins, and last when it ends, so that a recorder does not take its time for the function's. */
/* Does the foreign tool receive the end of this C call? Bare, the interpreter decides when a C call begins whether it
 * will report its end: those that led to the tool's being set, in each frame on the stack, it does not. So in each of
 * these frames, once it is the innermost, the first event is kept from the tool if it is such an end. */
static bool receives(guard *self, PyFrameObject *frame, int what) {
    if (self->unreported == NULL || self->unreported != sm_frame_behind(frame))
        return true;
    bool met = self->unreported_met;
    self->unreported_met = true;
    if (what == PyTrace_RETURN) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        self->unreported = back != NULL ? sm_frame_behind(back) : NULL;
        self->unreported_met = false;
        Py_XDECREF(back);
    }
    return met || (what != PyTrace_C_RETURN && what != PyTrace_C_EXCEPTION);
}

static int dispatch(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) {
    guard *self = (guard *)obj;
    if (self->inside == frame && self->inside_what == what)
        return 0; /* a foreign tool hands its events on to what it found, and we have it chained, too */
    PyFrameObject *outer = self->inside; /* sys.call_tracing: events within an event */
    int outer_what = self->inside_what;
    self->inside = frame;
    self->inside_what = what;
    Py_INCREF(self);
    event event = {.frame = frame, .what = what, .arg = arg};
    bool ends = what == PyTrace_RETURN || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION;
    if (!ends)
        tell_foreign(self, &event);
    tell_users(self, &event);
    if (receives(self, frame, what) && ends)
        tell_foreign(self, &event);
    self->inside = outer;
    self->inside_what = outer_what;
    Py_DECREF(self);
    return outcome(&event);
}

/* ---- C code that takes a slot ----------------------------------------------------------------------------------- */

#define TORN 16
static PyThreadState *torn[SM_THREAD_SLOTS][TORN]; /* threads whose slot has been taken, borrowed: only compared */
static bool mend_pending = false;

static bool is_torn(sm_thread_slot slot, PyThreadState *tstate) {
    for (int i = 0; i < TORN; i++) {
        if (torn[slot][i] == tstate)
            return true;
    }
    return false;
}

static void mend(PyThreadState *tstate, sm_thread_slot slot) {
    for (int i = 0; i < TORN; i++) {
        if (torn[slot][i] == tstate)
            torn[slot][i] = NULL;
    }
    (void)arrange(tstate, slot);
    (void)arrange(tstate,
                  slot == SM_THREAD_SLOT_PROFILE ? SM_THREAD_SLOT_TRACE : SM_THREAD_SLOT_PROFILE); /* the mender goes */
}

static bool profile_is_torn(PyThreadState *tstate) {
    return is_torn(SM_THREAD_SLOT_PROFILE, tstate);
}
static bool trace_is_torn(PyThreadState *tstate) {
    return is_torn(SM_THREAD_SLOT_TRACE, tstate);
}
static int mend_profile(PyObject *Py_UNUSED(obj), PyFrameObject *Py_UNUSED(frame), int Py_UNUSED(what),
                        PyObject *Py_UNUSED(arg)) {
    mend(PyThreadState_Get(), SM_THREAD_SLOT_PROFILE);
    return 0;
}
/* A call is reported to the trace slot first: by now our users there have missed it. */
static int mend_trace(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what, PyObject *arg) {
    PyThreadState *tstate = PyThreadState_Get();
    mend(tstate, SM_THREAD_SLOT_TRACE);
    guard *self = guard_of(tstate, SM_THREAD_SLOT_TRACE);
    if (self == NULL || what != PyTrace_CALL)
        return 0;
    event event = {.frame = frame, .what = what, .arg = arg};
    tell_users(self, &event);
    return outcome(&event);
}

static sm_thread_slot_user trace_mender = {
    .slot = SM_THREAD_SLOT_PROFILE, .function = mend_trace, .wants = trace_is_torn};
static sm_thread_slot_user profile_mender = {
    .slot = SM_THREAD_SLOT_TRACE, .function = mend_profile, .wants = profile_is_torn};

static int mend_all(void *Py_UNUSED(nothing)) {
    mend_pending = false;
    memset(torn, 0, sizeof torn);
    if (users != NULL && !sm_is_finalizing()) {
        (void)arrange_all();
        tell_alongside(false);
    }
    return 0;
}

/* Is any function in a slot but those of the users that share this one's `alongside`, and the menders? */
static bool is_alongside(const sm_thread_slot_user *user) {
    for (const sm_thread_slot_user *other = users; other != NULL; other = other->next) {
        if (other->alongside != user->alongside && other != &trace_mender && other != &profile_mender)
            return true;
    }
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_PROFILE) ||
            sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_TRACE))
            return true;
    }
    return false;
}

/* Another tool has come, or (false) may have gone. */
static void tell_alongside(bool present) {
    for (const sm_thread_slot_user *user = users; user != NULL; user = user->next) {
        if (user->alongside != NULL)
            user->alongside(present || is_alongside(user));
    }
}

static bool any_user_wants(PyThreadState *tstate, sm_thread_slot slot) {
    for (sm_thread_slot_user *user = users; user != NULL; user = user->next) {
        if (user->slot == slot && (user->wants == NULL || user->wants(tstate)))
            return true;
    }
    return false;
}

static void guard_dealloc(PyObject *object) {
    guard *self = (guard *)object;
    PyThreadState *tstate = PyThreadState_Get();
    bool running = self->tstate == tstate && sm_tstate_frame(tstate) != NULL;
    if (!self->retired && user_count > 0 && !sm_is_finalizing()) {
        if (running && any_user_wants(tstate, self->slot)) {
            sm_thread_slots.evicted[self->slot]++;
            for (int i = 0; i < TORN; i++) {
                if (torn[self->slot][i] == NULL) {
                    torn[self->slot][i] = tstate;
                    break;
                }
            }
            (void)arrange(tstate, self->slot == SM_THREAD_SLOT_PROFILE ? SM_THREAD_SLOT_TRACE : SM_THREAD_SLOT_PROFILE);
            tell_alongside(true);
        }
        if ((running || self->tstate != tstate) && !mend_pending)
            mend_pending = Py_AddPendingCall(mend_all, NULL) == 0;
    }
    Py_XDECREF(self->foreign_obj);
    PyObject_Free(object);
}

static PyTypeObject guard_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "seismo._core._SlotGuard",
    .tp_basicsize = sizeof(guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = guard_dealloc,
};

/* ---- for everybody ---------------------------------------------------------------------------------------------- */

static void link_user(sm_thread_slot_user *user) {
    user->joined = true;
    user->next = users;
    users = user;
}

static void unlink_user(sm_thread_slot_user *user) {
    sm_thread_slot_user **link = &users;
    while (*link != NULL && *link != user)
        link = &(*link)->next;
    if (*link != NULL)
        *link = user->next;
    user->joined = false;
}

int sm_thread_slots_join(sm_thread_slot_user *user) {
    if (user->joined)
        return 0;
    if (PyType_Ready(&guard_type) < 0)
        return -1;
    if (user_count++ == 0) {
        memset(torn, 0, sizeof torn);
        link_user(&trace_mender);
        link_user(&profile_mender);
        sm_thread_slots_watch_methods(true);
    }
    link_user(user);
    (void)arrange_all();
    tell_alongside(false);
    return 0;
}

void sm_thread_slots_leave(sm_thread_slot_user *user) {
    if (!user->joined)
        return;
    unlink_user(user);
    if (--user_count == 0) {
        unlink_user(&trace_mender);
        unlink_user(&profile_mender);
        sm_thread_slots_watch_methods(false);
    }
    (void)arrange_all();
    tell_alongside(false);
}

void sm_thread_slots_review(PyThreadState *tstate) {
    if (tstate == NULL) {
        (void)arrange_all();
        return;
    }
    (void)arrange(tstate, SM_THREAD_SLOT_PROFILE);
    (void)arrange(tstate, SM_THREAD_SLOT_TRACE);
}

static void lull(PyThreadState *tstate, const sm_thread_slot_user *user, bool asleep) {
    guard *self = guard_of(tstate, user->slot);
    for (unsigned i = 0; self != NULL && i < self->count; i++) {
        if (self->users[i] == user && self->asleep[i] != asleep) {
            self->asleep[i] = asleep;
            point(self);
        }
    }
}

void sm_thread_slots_sleep(PyThreadState *tstate, const sm_thread_slot_user *user) {
    lull(tstate, user, true);
}

void sm_thread_slots_wake(PyThreadState *tstate, const sm_thread_slot_user *user) {
    lull(tstate, user, false);
}

unsigned sm_thread_slots_look(void) {
    unsigned found = arrange_all();
    sm_thread_slots.late += found;
    return found;
}

bool sm_thread_slots_foreign(PyThreadState *tstate, sm_thread_slot slot) {
    guard *self = guard_of(tstate, slot);
    return self != NULL ? self->foreign != NULL : *fields_of(tstate, slot).function != NULL;
}

void sm_thread_slots_clear(bool trace) {
    PyThreadState *tstate = PyThreadState_Get();
    sm_thread_slot slot = trace ? SM_THREAD_SLOT_TRACE : SM_THREAD_SLOT_PROFILE;
    guard *self = guard_of(tstate, slot);
    if (self == NULL) {
        if (*fields_of(tstate, slot).function != NULL)
            trace ? PyEval_SetTrace(NULL, NULL) : PyEval_SetProfile(NULL, NULL);
        return;
    }
    PyObject *before = self->foreign_obj;
    self->foreign = NULL;
    self->foreign_obj = NULL;
    point(self);
    tell_alongside(false);
    Py_XDECREF(before);
}

PyObject *sm_thread_slots_set(sm_thread_slot slot, PyCFunction original, PyObject *module, PyObject *value) {
    PyThreadState *tstate = PyThreadState_Get();
    guard *self = guard_of(tstate, slot);
    Py_XINCREF(self); /* the slot's own reference is about to go */
    bool had = sm_thread_slots_foreign(tstate, slot);
    PyObject *result = original(module, value);
    if (self != NULL)
        adopt(self);
    else
        (void)arrange(tstate, slot);
    guard *now = guard_of(tstate, slot);
    if (now != NULL && slot == SM_THREAD_SLOT_PROFILE && !had) {
        now->unreported = now->foreign != NULL ? (const void *)sm_frame_running(tstate) : NULL;
        now->unreported_met = false;
    }
    Py_XDECREF(self);
    return result;
}

PyObject *sm_thread_slots_shown(PyObject *value) {
    if (value == NULL || !Py_IS_TYPE(value, &guard_type))
        return value;
    PyObject *foreign = ((guard *)value)->foreign_obj;
    PyObject *shown = Py_NewRef(foreign ? foreign : Py_None);
    Py_DECREF(value);
    return shown;
}

#endif
