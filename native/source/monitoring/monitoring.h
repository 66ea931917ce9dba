/* The monitoring source's callbacks: what each event of sys.monitoring is to a receiver of calls or of lines.
 *
 * sys.monitoring calls an object; ours are instances of one static type whose instances carry their own vectorcall
 * function, which costs a third of a profile function. Arguments are borrowed; nothing here makes an object, takes a
 * lock or can raise. SM_MONITORING_CALLBACK makes a vectorcall function of a function below and a receiver. */
#ifndef SM_SOURCE_MONITORING_MONITORING_H
#define SM_SOURCE_MONITORING_MONITORING_H

#include "code/cfunction.h"
#include "code/unreported_lines.h"
#include "hooks/monitoring_tool.h"
#include "source/sources.h"

/* Defines RECEIVER_EVENT: sm_monitoring_EVENT (or sm_monitoring_lines_EVENT) for this receiver, a static constant. */
#define SM_MONITORING_CALLBACK(function, receiver, event)                                                              \
    static PyObject *receiver##_##event(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),     \
                                        PyObject *Py_UNUSED(names)) {                                                  \
        return function##_##event(&receiver, args);                                                                    \
    }

/* local_events.c: what was asked of single code objects. Of all the events to ask for, the ones that are the
 * interpreter's. narrow: those alone that cannot be local, or tell of code not met yet. -1 with an exception. */
long sm_monitoring_local_start(int tool_id, long events, bool narrow);
void sm_monitoring_local_running(void); /* the frames that run already */
/* Gives all code objects back that something was asked of, or switched off in, while the tool wants nothing. */
void sm_monitoring_local_stop(int tool_id);
bool sm_monitoring_remember(const void *code); /* until then, or its death. False: out of memory */
/* A code object begins or goes on. False: its events are not wanted. */
bool sm_monitoring_meet(PyObject *code);
/* Its first line is told only as long as PY_START is (gh-155992). offset: where PY_START was told. */
bool sm_monitoring_needs_start(PyObject *code, int offset);

static inline PyObject *sm_answer(bool wanted) {
    /* Both are immortal wherever there is sys.monitoring: no reference to count. */
    return SM_LIKELY(wanted) ? Py_None : sm_monitoring_disable;
}

/* Should this place stop reporting its calls? Told of one in eight of them, at random; see call_sites.c. needless: this
 * call need not have been reported. */
bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee, bool needless);
#define SM_SITES_EVERY 8
#define SM_SITES_SELDOM 64
extern bool sm_sites_on;        /* c_functions="auto" */
extern uint32_t sm_sites_to_go; /* calls to the next look */
uint32_t sm_sites_gap(void);    /* from a look to the next */
void sm_sites_start(bool on);   /* a recording begins, or ends */

static inline bool sm_sites_look(void) {
    if (SM_LIKELY(!sm_sites_on || --sm_sites_to_go != 0))
        return false;
    sm_sites_to_go = sm_sites_gap();
    return true;
}

/* Is this no C function, and not likely to make room for one? Of Python functions their own START event tells; types
 * are no C functions, and what they call is told of without the place. */
static inline bool sm_sites_needless(PyObject *callable) {
    return Py_TYPE(callable) == &PyFunction_Type || PyType_Check(callable);
}

#if SM_HAS_MONITORING
/* An event for a receiver of calls. */

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
    (void)sm_monitoring_resume(to, args); /* cannot be disabled */
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_leave(const sm_calls_receiver *to, PyObject *const *args, sm_leaving how) {
    to->place(args[1]);
    sm_thread *thread = sm_event_thread(false);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->leave(thread, args[0], how));
}

SM_INLINE PyObject *sm_monitoring_return(const sm_calls_receiver *to, PyObject *const *args) {
    return sm_monitoring_leave(to, args, SM_BY_RETURN);
}

SM_INLINE PyObject *sm_monitoring_yield(const sm_calls_receiver *to, PyObject *const *args) {
    return sm_monitoring_leave(to, args, SM_BY_YIELD);
}

SM_INLINE PyObject *sm_monitoring_unwind(const sm_calls_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_leave(to, args, SM_BY_EXCEPTION); /* cannot be disabled */
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_call(const sm_calls_receiver *to, PyObject *const *args) {
    to->place(args[1]);
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    sm_thread *thread;
    if (method == NULL) { /* not ours: but does this place ever call a C function? */
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

SM_INLINE PyObject *sm_monitoring_c_return(const sm_calls_receiver *to, PyObject *const *args) {
    return sm_monitoring_c_leave(to, args, SM_BY_RETURN);
}

SM_INLINE PyObject *sm_monitoring_c_raise(const sm_calls_receiver *to, PyObject *const *args) {
    return sm_monitoring_c_leave(to, args, SM_BY_EXCEPTION);
}

/* An event for a receiver of lines. Calls need no event: a recorder of lines tells frames apart. PY_START comes once
 * for a code object, to say that there is such a one; but where the first line stands in the def line, LINE is told
 * only alongside PY_START. */

SM_INLINE PyObject *sm_monitoring_lines_start(const sm_lines_receiver *Py_UNUSED(to), PyObject *const *args) {
    const sm_code_entry *entry = sm_code_entry_of_any(args[0]);
    if (SM_LIKELY(entry != NULL && entry->session == sm_engine.session))
        return Py_None; /* met, and PY_START is needed */
    return sm_answer(sm_monitoring_meet(args[0]) && sm_monitoring_needs_start(args[0], sm_int_of(args[1])));
}

SM_INLINE PyObject *sm_monitoring_lines_resume(const sm_lines_receiver *to, PyObject *const *args) {
    const sm_code_entry *entry = sm_code_entry_of_any(args[0]);
    if (SM_UNLIKELY(entry == NULL || entry->session != sm_engine.session) && !sm_monitoring_meet(args[0]))
        return sm_answer(false);
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) ||
                     to->resume(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1])));
}

SM_INLINE PyObject *sm_monitoring_lines_throw(const sm_lines_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_lines_resume(to, args); /* cannot be disabled */
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_lines_leave(const sm_lines_receiver *to, PyObject *const *args, sm_leaving how) {
    sm_thread *thread = sm_event_thread(false);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->leave(thread, args[0], sm_tstate_frame(thread->tstate), how));
}

SM_INLINE PyObject *sm_monitoring_lines_return(const sm_lines_receiver *to, PyObject *const *args) {
    return sm_monitoring_lines_leave(to, args, SM_BY_RETURN);
}

SM_INLINE PyObject *sm_monitoring_lines_yield(const sm_lines_receiver *to, PyObject *const *args) {
    return sm_monitoring_lines_leave(to, args, SM_BY_YIELD);
}

SM_INLINE PyObject *sm_monitoring_lines_unwind(const sm_lines_receiver *to, PyObject *const *args) {
    (void)sm_monitoring_lines_leave(to, args, SM_BY_EXCEPTION); /* cannot be disabled */
    return Py_None;
}

SM_INLINE PyObject *sm_monitoring_lines_line(const sm_lines_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(false);
    if (SM_UNLIKELY(thread == NULL))
        return Py_None;
    return sm_answer(to->line(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1])));
}

/* A loop has ended. */
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
#endif
