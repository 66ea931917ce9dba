/* The callbacks of the source `starts`: what begins or goes on, and what an exception ends. That a call returns or
 * yields is not asked for, and nobody pays for it. Of C functions the ends are asked for: the interpreter makes the
 * event in any case, and nothing else says whether what C code calls was called by them. */
#ifndef SM_SOURCE_MONITORING_STARTEVENTS_H
#define SM_SOURCE_MONITORING_STARTEVENTS_H

#include "source/monitoring/monitoring.h"

#if SM_HAS_MONITORING

SM_INLINE PyObject *sm_starting_start(const sm_starts_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->enter(thread, args[0], false, false));
}

SM_INLINE PyObject *sm_starting_resume(const sm_starts_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(true);
    return sm_answer(SM_UNLIKELY(thread == NULL) || to->enter(thread, args[0], true, false));
}

SM_INLINE PyObject *sm_starting_throw(const sm_starts_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(true);
    if (SM_LIKELY(thread != NULL))
        (void)to->enter(thread, args[0], true, true);
    return Py_None; /* cannot be disabled */
}

SM_INLINE PyObject *sm_starting_unwind(const sm_starts_receiver *to, PyObject *const *args) {
    sm_thread *thread = sm_event_thread(false);
    if (SM_LIKELY(thread != NULL))
        (void)to->unwind(thread, args[0]);
    return Py_None; /* cannot be disabled */
}

SM_INLINE PyObject *sm_starting_call(const sm_starts_receiver *to, PyObject *const *args) {
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
    if (sm_sites_look() && sm_site_is_done(args[0], args[1], method, to->may_disable(method, callable)))
        return sm_monitoring_disable;
    (void)to->c_call(thread, args[0], method, callable);
    return Py_None;
}

SM_INLINE PyObject *sm_starting_c_leave(const sm_starts_receiver *to, PyObject *const *args, sm_leaving how) {
    PyObject *callable = sm_unbound(args[2]);
    const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);
    sm_thread *thread;
    if (method != NULL && SM_LIKELY((thread = sm_event_thread(false)) != NULL))
        to->c_leave(thread, method, how);
    return Py_None;
}

SM_INLINE PyObject *sm_starting_c_return(const sm_starts_receiver *to, PyObject *const *args) {
    return sm_starting_c_leave(to, args, SM_BY_RETURN);
}

SM_INLINE PyObject *sm_starting_c_raise(const sm_starts_receiver *to, PyObject *const *args) {
    return sm_starting_c_leave(to, args, SM_BY_EXCEPTION);
}

#endif
#endif
