/* Sharing the profile slot and the trace slot.
 *
 * A slot is two fields of a thread state: a C function and the object that it is called with. The last writer wins, and
 * the former owner is not notified. We set a *guard* as the object, one per thread and slot, which knows our users and
 * the foreign tool.
 *
 *   one user alone         function: the user's own         an event costs no more than without this file
 *   users and/or foreign   function: dispatch()             calls the foreign tool with its object, and the users
 *   all users asleep       function: none                   the slot costs nothing, and the guard stays
 *
 * A tool that sets the slot replaces the guard. That is noticed in one of four ways:
 * - sys.setprofile() and sys.settrace() are overridden (setter_overrides.c): the guard adopts what they set.
 * - A foreign tool may replace its function while it is called, so dispatch() checks the slot after each call.
 * - C code (cProfile, coverage) frees the guard, whose deallocator runs just before the fields are written. The slot is
 *   mended later, by a pending call or by the first event of a mender, a user of our own in the thread's *other* slot.
 *   On the main thread no Python call is lost; on another, C calls of the same line.
 * - sm_thread_slots_review() finds the rest.
 *
 * The guard of a thread that ended is freed too. That thread has no frame or is not running, so its slots are kept.
 *
 * The fields are written directly: PyEval_SetProfile would release the foreign tool's object, run audit hooks during
 * the walk over the threads, and fail when two threads call it at once (gh-94510). */
#include "hooks/py311/thread_slots.h"

#include <string.h>

#include "compat/exception.h"
#include "compat/frame.h"

#if SM_SHARES_SLOTS

#define USERS 6 /* most users of one slot: the sources, the hub, the mender */

typedef struct {
    PyObject_HEAD sm_thread_slot slot;
    PyThreadState *tstate; /* borrowed; it owns this guard */
    Py_tracefunc foreign;  /* NULL if there is none */
    PyObject *foreign_obj; /* owned, or NULL */
    sm_thread_slot_user *users[USERS];
    bool asleep[USERS];
    unsigned count;
    bool retired;           /* no longer in the slot */
    PyFrameObject *inside;  /* borrowed, or NULL; frame of the event in dispatch() */
    int inside_what;        /* kind of that event */
    const void *unreported; /* borrowed, or NULL; see receives() */
    bool unreported_met;    /* true if it has had an event since */
} guard;

sm_thread_slots_facts sm_thread_slots;
static sm_thread_slot_user *users = NULL; /* joined users, including menders */
static unsigned user_count = 0;           /* number of users, without menders */
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
static void notify_alongside(bool present);

/* Set the slot's function according to the guard's state. */
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

static sm_thread_slot other(sm_thread_slot slot) {
    return slot == SM_THREAD_SLOT_PROFILE ? SM_THREAD_SLOT_TRACE : SM_THREAD_SLOT_PROFILE;
}

/* ---- guards ----------------------------------------------------------------------------------------------------- */

/* Adopt the foreign tool that replaced the guard, if any, and return the guard to the slot. */
static void adopt(guard *self) {
    fields slot = fields_of(self->tstate, self->slot);
    if (self->retired || *slot.object == (PyObject *)self)
        return;
    if (guard_of(self->tstate, self->slot) != NULL) { /* another guard is in the slot */
        self->retired = true;
        return;
    }
    PyObject *before = self->foreign_obj;
    self->foreign = *slot.function;
    self->foreign_obj = *slot.object; /* takes over the slot's reference */
    *slot.object = Py_NewRef((PyObject *)self);
    point(self);
    notify_alongside(self->foreign != NULL);
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
    *place.object = (PyObject *)self;
    return self;
}

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

static bool wants(const sm_thread_slot_user *user, PyThreadState *tstate, sm_thread_slot slot) {
    return user->slot == slot && (user->wants == NULL || user->wants(tstate));
}

/* Set a thread's slot as its users want it now. Return true if it had no guard. */
static bool arrange(PyThreadState *tstate, sm_thread_slot slot) {
    sm_thread_slot_user *wanted[USERS];
    unsigned count = 0;
    for (sm_thread_slot_user *user = users; user != NULL && count < USERS; user = user->next)
        if (wants(user, tstate, slot))
            wanted[count++] = user;
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
        for (unsigned k = 0; k < self->count; k++)
            if (self->users[k] == wanted[i])
                asleep[i] = self->asleep[k];
    }
    for (unsigned i = 0; i < count; i++)
        self->users[i] = wanted[i], self->asleep[i] = asleep[i];
    self->count = count;
    point(self);
    if (fresh && foreign)
        notify_alongside(true);
    return fresh;
}

unsigned sm_thread_slots_review(PyThreadState *tstate) {
    unsigned fresh = 0;
    PyThreadState *at = tstate != NULL ? tstate : PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; at != NULL; at = tstate != NULL ? NULL : PyThreadState_Next(at)) {
        bool profile = arrange(at, SM_THREAD_SLOT_PROFILE), trace = arrange(at, SM_THREAD_SLOT_TRACE);
        fresh += profile || trace;
    }
    return fresh;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

typedef struct {
    PyFrameObject *frame;
    int what;
    PyObject *arg;
    int status;
    sm_exception exception; /* the exception of the first user that failed */
} event;

static void deliver(event *event, Py_tracefunc function, PyObject *obj) {
    if (function(obj, event->frame, event->what, event->arg) == 0)
        return;
    if (event->status == 0)
        event->exception = sm_exception_keep();
    else
        PyErr_Clear();
    event->status = -1;
}

static void call_foreign(guard *self, event *event) {
    if (self->foreign == NULL)
        return;
    PyObject *obj = self->foreign_obj;
    Py_XINCREF(obj); /* the function may remove itself */
    deliver(event, self->foreign, obj);
    adopt(self);
    Py_XDECREF(obj);
}

static void call_users(guard *self, event *event) {
    sm_thread_slot_user *receivers[USERS];
    unsigned count = 0;
    for (unsigned i = 0; i < self->count; i++)
        if (!self->asleep[i])
            receivers[count++] = self->users[i];
    for (unsigned i = 0; i < count; i++)
        if (receivers[i]->joined)
            deliver(event, receivers[i]->function, NULL);
}

static int outcome(const event *event) {
    if (event->status != 0)
        sm_exception_restore(event->exception);
    return event->status;
}

/* Return true if the foreign tool receives this event. The interpreter does not report the ends of C calls that led
 * to setting the tool, one in each frame on the stack. So the first event of each such frame is withheld if it is
 * one. */
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

/* Call the foreign tool first when something begins and last when it ends, so that recorders do not time it. */
static int dispatch(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg) {
    guard *self = (guard *)obj;
    if (self->inside == frame && self->inside_what == what)
        return 0;                        /* a foreign tool passes its events on to a function that we call too */
    PyFrameObject *outer = self->inside; /* events within an event (sys.call_tracing) */
    int outer_what = self->inside_what;
    self->inside = frame;
    self->inside_what = what;
    Py_INCREF(self);
    event event = {.frame = frame, .what = what, .arg = arg};
    bool ends = what == PyTrace_RETURN || what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION;
    if (!ends)
        call_foreign(self, &event);
    call_users(self, &event);
    if (receives(self, frame, what) && ends)
        call_foreign(self, &event);
    self->inside = outer;
    self->inside_what = outer_what;
    Py_DECREF(self);
    return outcome(&event);
}

/* ---- C code that sets a slot ------------------------------------------------------------------------------------ */

#define TORN 16
static PyThreadState *torn[SM_THREAD_SLOTS][TORN]; /* borrowed; only compared */
static bool mend_pending = false;

static bool is_torn(sm_thread_slot slot, PyThreadState *tstate) {
    for (int i = 0; i < TORN; i++)
        if (torn[slot][i] == tstate)
            return true;
    return false;
}

static void mend(PyThreadState *tstate, sm_thread_slot slot) {
    for (int i = 0; i < TORN; i++)
        if (torn[slot][i] == tstate)
            torn[slot][i] = NULL;
    (void)arrange(tstate, slot);
    (void)arrange(tstate, other(slot)); /* the mender is no longer needed */
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
/* A call is reported to the trace slot first, so our users there have missed it. */
static int mend_trace(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what, PyObject *arg) {
    PyThreadState *tstate = PyThreadState_Get();
    mend(tstate, SM_THREAD_SLOT_TRACE);
    guard *self = guard_of(tstate, SM_THREAD_SLOT_TRACE);
    if (self == NULL || what != PyTrace_CALL)
        return 0;
    event event = {.frame = frame, .what = what, .arg = arg};
    call_users(self, &event);
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
        (void)sm_thread_slots_review(NULL);
        notify_alongside(false);
    }
    return 0;
}

/* Return true if a slot has a function other than the menders' and those of users with the same `alongside`. */
static bool is_alongside(const sm_thread_slot_user *user) {
    for (const sm_thread_slot_user *other = users; other != NULL; other = other->next)
        if (other->alongside != user->alongside && other != &trace_mender && other != &profile_mender)
            return true;
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate))
        if (sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_PROFILE) ||
            sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_TRACE))
            return true;
    return false;
}

/* Notify the users that another tool came or, if false, may have gone. */
static void notify_alongside(bool present) {
    for (const sm_thread_slot_user *user = users; user != NULL; user = user->next)
        if (user->alongside != NULL)
            user->alongside(present || is_alongside(user));
}

static bool any_user_wants(PyThreadState *tstate, sm_thread_slot slot) {
    for (sm_thread_slot_user *user = users; user != NULL; user = user->next)
        if (wants(user, tstate, slot))
            return true;
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
            (void)arrange(tstate, other(self->slot));
            notify_alongside(true);
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

/* ---- interface -------------------------------------------------------------------------------------------------- */

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
    (void)sm_thread_slots_review(NULL);
    notify_alongside(false);
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
    (void)sm_thread_slots_review(NULL);
    notify_alongside(false);
}

void sm_thread_slots_lull(PyThreadState *tstate, const sm_thread_slot_user *user, bool asleep) {
    guard *self = guard_of(tstate, user->slot);
    for (unsigned i = 0; self != NULL && i < self->count; i++) {
        if (self->users[i] == user && self->asleep[i] != asleep) {
            self->asleep[i] = asleep;
            point(self);
        }
    }
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
    notify_alongside(false);
    Py_XDECREF(before);
}

PyObject *sm_thread_slots_set(sm_thread_slot slot, PyCFunction original, PyObject *module, PyObject *value) {
    PyThreadState *tstate = PyThreadState_Get();
    guard *self = guard_of(tstate, slot);
    Py_XINCREF(self); /* the call releases the slot's reference */
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
