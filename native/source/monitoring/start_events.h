/* The callbacks of the source `starts`: frames that begin, resume or end by an exception, and the first ends of a
 * function. C functions always report their ends: the interpreter makes that event anyway, and only it shows whether
 * code was called by C. */
#pragma once

#include "compat/core_lock.h"
#include "source/monitoring/monitoring.h"

#if SM_HAS_MONITORING

static inline sm_thread *sm_starting_thread(void) {
    sm_thread *thread = sm_this_thread;
    return SM_LIKELY(sm_tstate_chunk(thread->tstate) == thread->chunk) ? thread : NULL;
}

SM_INLINE bool sm_starting_call_known(const sm_starts_receiver *to, PyObject *const *args) {
    if (SM_UNLIKELY(sm_sites_on) && SM_UNLIKELY(sm_sites_to_go-- == 1)) {
        sm_sites_to_go = 1; /* the slow path of this call takes the look */
        return false;
    }
    PyObject *callable = sm_unbound(args[2]);
    if (sm_c_function_is_rare(callable))
        return false;
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    if (method == NULL)
        return true;
    sm_thread *thread = sm_starting_thread();
    return SM_LIKELY(thread != NULL) && to->c_call_known(thread, method);
}

SM_INLINE bool sm_starting_c_return_known(const sm_starts_receiver *to, PyObject *const *Py_UNUSED(args)) {
    sm_thread *thread = sm_starting_thread();
    return SM_LIKELY(thread != NULL) && to->c_leave_known(thread);
}

/* Define the callback of an event with a common case. All others have a function of their own, out of line. */
#define SM_STARTING_CALLBACK(receiver, event)                                                                          \
    static __attribute__((noinline)) PyObject *receiver##_##event##_rare(PyObject *Py_UNUSED(self),                    \
                                                                         PyObject *const *args) {                      \
        return sm_starting_##event(&receiver, args);                                                                   \
    }                                                                                                                  \
    static PyObject *receiver##_##event(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),                \
                                        PyObject *Py_UNUSED(names)) {                                                  \
        bool known = sm_starting_##event##_known(&receiver, args);                                                     \
        return SM_LIKELY(known) ? Py_None : receiver##_##event##_rare(self, args);                                     \
    }

/* Define the callback of a frame that begins or resumes. Its two common cases are functions without a stack frame. */
#define SM_STARTING_ENTER(receiver, event, resumed)                                                                    \
    static __attribute__((noinline)) PyObject *receiver##_##event##_rare(PyObject *const *args) {                      \
        return sm_starting_enter(&receiver, args, resumed);                                                            \
    }                                                                                                                  \
    static __attribute__((noinline)) PyObject *receiver##_##event##_near(PyObject *const *args) {                      \
        sm_thread *thread = sm_starting_thread();                                                                      \
        bool known = SM_LIKELY(thread != NULL) && receiver.enter_near(thread, args[0], resumed);                       \
        return SM_LIKELY(known) ? Py_None : receiver##_##event##_rare(args);                                           \
    }                                                                                                                  \
    static PyObject *receiver##_##event(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),     \
                                        PyObject *Py_UNUSED(names)) {                                                  \
        sm_thread *thread = sm_starting_thread();                                                                      \
        bool known = SM_LIKELY(thread != NULL) && receiver.enter_known(thread, args[0], resumed);                      \
        return SM_LIKELY(known) ? Py_None : receiver##_##event##_near(args);                                           \
    }

SM_INLINE PyObject *sm_starting_enter(const sm_starts_receiver *to, PyObject *const *args, bool resumed) {
    SM_EVENT_GUARD;
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->enter(thread, args[0], resumed, false));
}

SM_INLINE PyObject *sm_starting_throw(const sm_starts_receiver *to, PyObject *const *args) {
    SM_EVENT_GUARD;
    sm_thread *thread = sm_event_thread(true);
    if (SM_LIKELY(thread != NULL))
        (void)to->enter(thread, args[0], true, true);
    return Py_None; /* cannot be disabled */
}

SM_INLINE PyObject *sm_starting_unwind(const sm_starts_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_starting_thread();
    if (SM_LIKELY(thread != NULL) && SM_LIKELY(to->unwind_known(thread, args[0])))
        return Py_None;
    SM_EVENT_GUARD;
    thread = sm_event_thread(false);
    if (SM_LIKELY(thread != NULL))
        (void)to->unwind(thread, args[0]);
    return Py_None; /* cannot be disabled */
}

SM_INLINE PyObject *sm_starting_leave(const sm_starts_receiver *to, PyObject *const *args, sm_leaving how) {
    SM_EVENT_GUARD;
    sm_thread *thread = sm_event_thread(false);
    if (thread == NULL || to->leave(thread, args[0], how) || !sm_monitoring_remember(args[0]))
        return Py_None;
    return sm_monitoring_disable;
}

SM_EVENT_THAT_LEAVES(sm_starting_return, sm_starting_leave, sm_starts_receiver, SM_BY_RETURN)
SM_EVENT_THAT_LEAVES(sm_starting_yield, sm_starting_leave, sm_starts_receiver, SM_BY_YIELD)

SM_INLINE PyObject *sm_starting_call(const sm_starts_receiver *to, PyObject *const *args) {
    SM_EVENT_GUARD;
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    if (method == NULL) { /* as in sm_monitoring_call() */
        if (sm_sites_look() && sm_sites_needless(callable) && sm_site_is_done(args[0], args[1], NULL, true)) {
            sm_engine.sites_off++;
            return sm_monitoring_disable;
        }
        return Py_None;
    }
    sm_thread *thread = sm_event_thread(false);
    if (SM_UNLIKELY(thread == NULL))
        return Py_None;
    if (sm_sites_look() && sm_site_is_done(args[0], args[1], method, to->may_disable(thread, method, callable))) {
        to->site_off(thread, args[0], method, callable);
        return sm_monitoring_disable;
    }
    (void)to->c_call(thread, args[0], method, callable);
    return Py_None;
}

SM_INLINE PyObject *sm_starting_c_leave(const sm_starts_receiver *to, PyObject *const *args, sm_leaving how) {
    SM_EVENT_GUARD;
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    sm_thread *thread;
    if (method != NULL && SM_LIKELY((thread = sm_event_thread(false)) != NULL))
        to->c_leave(thread, method, how);
    return Py_None;
}

SM_EVENT_THAT_LEAVES(sm_starting_c_return, sm_starting_c_leave, sm_starts_receiver, SM_BY_RETURN)
SM_EVENT_THAT_LEAVES(sm_starting_c_raise, sm_starting_c_leave, sm_starts_receiver, SM_BY_EXCEPTION)

#endif
