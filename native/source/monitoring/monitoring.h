/* The monitoring source's callbacks: from each event of sys.monitoring to a receiver of calls or of lines.
 *
 * They are instances of one static type, each with its own vectorcall function, and cost a third of a profile
 * function. Arguments are borrowed. No callback makes an object, takes a lock or raises. */
#pragma once

#include "code/cfunction.h"
#include "code/unreported_lines.h"
#include "compat/core_lock.h"
#include "hooks/monitoring_tool.h"
#include "source/sources.h"

/* Define RECEIVER_EVENT, which passes an event on to this static constant receiver. */
#define SM_MONITORING_CALLBACK(function, receiver, event)                                                              \
    static PyObject *receiver##_##event(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),     \
                                        PyObject *Py_UNUSED(names)) {                                                  \
        return function##_##event(&receiver, args);                                                                    \
    }

/* Define an event that is a way to leave a frame or a C function. */
#define SM_EVENT_THAT_LEAVES(name, leave, receiver, how)                                                               \
    SM_INLINE PyObject *name(const receiver *to, PyObject *const *args) {                                              \
        return leave(to, args, how);                                                                                   \
    }

/* local_events.c: events of single code objects. Return the events to set globally, or -1 with an exception set.
 * narrow: return only events that cannot be local or that report new code. */
long sm_monitoring_local_start(int tool_id, long events, bool narrow);
void sm_monitoring_local_running(void); /* instruments frames that run already */
/* Remove local events and disabled places of all remembered code, while the tool has no events set. */
void sm_monitoring_local_stop(int tool_id);
bool sm_monitoring_remember(const void *code); /* false if out of memory */
/* Return true if the recording wants the events of this code object. */
bool sm_monitoring_meet(PyObject *code);
/* Return true if PY_START at this offset must stay enabled for LINE to report the first line (gh-155992). */
bool sm_monitoring_needs_start(PyObject *code, int offset);

static inline PyObject *sm_answer(bool wanted) {
    /* Both results are immortal on every version with sys.monitoring. */
    return SM_LIKELY(wanted) || !sm_world_stop_pays() ? Py_None : sm_monitoring_disable;
}

/* Return true if the source has met this code in this recording. */
static inline bool sm_monitoring_has_met(const sm_code_entry *entry) {
    return entry != NULL && __atomic_load_n(&entry->session, __ATOMIC_ACQUIRE) == sm_engine.session;
}

#if SM_HAS_MONITORING

/* Return true if this call site may stop reporting. Called at a random eighth of CALL events (call_sites.c).
 * needless: this call needs no event. */
bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee, bool needless);
#define SM_SITES_EVERY 8
#define SM_SITES_SELDOM 64
extern bool sm_sites_on;                   /* c_functions="auto" */
extern SM_OWN_TLS uint32_t sm_sites_to_go; /* calls until the next look */
uint32_t sm_sites_gap(void);               /* random number of calls between two looks */
void sm_sites_start(bool on);              /* resets the table of call sites */

static inline bool sm_sites_look(void) {
    if (SM_LIKELY(!sm_sites_on || --sm_sites_to_go != 0))
        return false;
    sm_sites_to_go = sm_sites_gap();
    return true;
}

/* Return true if CALL reports nothing for this callable: a Python function has START, and calls by a type are
 * reported. */
static inline bool sm_sites_needless(PyObject *callable) {
    return Py_TYPE(callable) == &PyFunction_Type || PyType_Check(callable);
}

SM_INLINE PyObject *sm_monitoring_start(const sm_calls_receiver *to, PyObject *const *args) {
    to->place(args[1]);
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->call(thread, args[0], SM_PYTHON, args[0]));
}

SM_INLINE PyObject *sm_monitoring_resume(const sm_calls_receiver *to, PyObject *const *args) {
    to->place(args[1]);
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->resume(thread, args[0], args[0]));
}

SM_INLINE PyObject *sm_monitoring_throw(const sm_calls_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_resume(to, args);
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_leave(const sm_calls_receiver *to, PyObject *const *args, sm_leaving how) {
    to->place(args[1]);
    sm_thread *thread = sm_event_thread(false);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->leave(thread, args[0], how));
}

SM_EVENT_THAT_LEAVES(sm_monitoring_return, sm_monitoring_leave, sm_calls_receiver, SM_BY_RETURN)
SM_EVENT_THAT_LEAVES(sm_monitoring_yield, sm_monitoring_leave, sm_calls_receiver, SM_BY_YIELD)

SM_INLINE PyObject *sm_monitoring_unwind(const sm_calls_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_leave(to, args, SM_BY_EXCEPTION);
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_call(const sm_calls_receiver *to, PyObject *const *args) {
    to->place(args[1]);
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    sm_thread *thread;
    if (method == NULL) { /* not a C function, so the site may never call one */
        if (sm_sites_look() && sm_sites_needless(callable) && sm_site_is_done(args[0], args[1], NULL, true)) {
            sm_engine.sites_off++;
            return sm_monitoring_disable;
        }
        return Py_None;
    }
    if (SM_UNLIKELY((thread = sm_event_thread(false)) == NULL))
        return Py_None;
    if (sm_sites_look() && sm_site_is_done(args[0], args[1], method, to->may_disable(thread, method, callable))) {
        to->site_off(thread, args[0], method, callable);
        return sm_monitoring_disable;
    }
    (void)to->c_call(thread, args[0], method, callable);
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_c_leave(const sm_calls_receiver *to, PyObject *const *args, sm_leaving how) {
    to->place(args[1]);
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    sm_thread *thread;
    if (method != NULL && SM_LIKELY((thread = sm_event_thread(false)) != NULL))
        (void)to->c_leave(thread, args[0], method, how);
    return Py_None;
}

SM_EVENT_THAT_LEAVES(sm_monitoring_c_return, sm_monitoring_c_leave, sm_calls_receiver, SM_BY_RETURN)
SM_EVENT_THAT_LEAVES(sm_monitoring_c_raise, sm_monitoring_c_leave, sm_calls_receiver, SM_BY_EXCEPTION)

/* Events for a receiver of lines. PY_START reports each code object once; it stays enabled only where LINE needs it. */

SM_INLINE PyObject *sm_monitoring_lines_start(const sm_lines_receiver *Py_UNUSED(to), PyObject *const *args) {
    const sm_code_entry *entry = sm_code_entry_of_any(args[0]);
    if (SM_LIKELY(sm_monitoring_has_met(entry)))
        return Py_None; /* PY_START is still enabled */
    return sm_answer(sm_monitoring_meet(args[0]) && sm_monitoring_needs_start(args[0], sm_int_of(args[1])));
}

SM_INLINE PyObject *sm_monitoring_lines_resume(const sm_lines_receiver *to, PyObject *const *args) {
    const sm_code_entry *entry = sm_code_entry_of_any(args[0]);
    if (SM_UNLIKELY(!sm_monitoring_has_met(entry)) && !sm_monitoring_meet(args[0]))
        return sm_answer(false);
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) ||
                     to->resume(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1])));
}

SM_INLINE PyObject *sm_monitoring_lines_throw(const sm_lines_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_lines_resume(to, args);
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_lines_leave(const sm_lines_receiver *to, PyObject *const *args, sm_leaving how) {
    sm_thread *thread = sm_event_thread(false);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->leave(thread, args[0], sm_tstate_frame(thread->tstate), how));
}

SM_EVENT_THAT_LEAVES(sm_monitoring_lines_return, sm_monitoring_lines_leave, sm_lines_receiver, SM_BY_RETURN)
SM_EVENT_THAT_LEAVES(sm_monitoring_lines_yield, sm_monitoring_lines_leave, sm_lines_receiver, SM_BY_YIELD)

SM_INLINE PyObject *sm_monitoring_lines_unwind(const sm_lines_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_lines_leave(to, args, SM_BY_EXCEPTION);
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_lines_line(const sm_lines_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(false);
    if (SM_UNLIKELY(thread == NULL))
        return Py_None;
    return sm_answer(to->line(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1])));
}

/* Report the line after a loop, which LINE omits. */
SM_INLINE PyObject *sm_monitoring_lines_right(const sm_lines_receiver *to, PyObject *const *args) {
    int line = PyCode_Check(args[0]) ? sm_unreported_line((PyCodeObject *)args[0], sm_int_of(args[2])) : 0;
    if (line == 0)
        return sm_answer(false);
    sm_thread *thread = sm_event_thread(false);
    if (SM_UNLIKELY(thread == NULL))
        return Py_None;
    return sm_answer(to->line(thread, args[0], sm_tstate_frame(thread->tstate), line));
}

#endif
