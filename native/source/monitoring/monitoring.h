/* The monitoring source's callbacks, as a template over a recorder's inline functions.
 *
 * sys.monitoring calls an object; ours are instances of one static type whose instances carry their own vectorcall
 * function, which costs a third of a profile function. Arguments are borrowed; nothing here makes an object, takes a
 * lock or can raise.
 *
 *   SM_MONITORING_SOURCE(name, RECORDER)   defines name##_callbacks, from RECORDER_call, _resume, _leave, _c_call,
 *                                          _c_leave, _site_off and _may_disable */
#ifndef SM_SOURCE_MONITORING_MONITORING_H
#define SM_SOURCE_MONITORING_MONITORING_H

#include "code/cfunction.h"
#include "slots/tool_id.h"
#include "source/sources.h"

#define SM_MONITORING_CALLBACK(name)                                                                                   \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),                   \
                          PyObject *Py_UNUSED(names))

/* local.c: what was asked of single code objects. Of all the events to ask for, the ones
 * that cannot be local, or tell of code not met yet. */
long sm_monitoring_local_start(int tool_id, long events);
void sm_monitoring_local_running(void); /* the frames that run already */
/* Gives all code objects back that something was asked of, or switched off in, while the tool wants nothing. */
void sm_monitoring_local_stop(int tool_id);
bool sm_monitoring_remember(const void *code); /* until then, or its death. False: out of memory */
/* A code object begins or goes on. False: nobody wants its events. */
bool sm_monitoring_meet(PyObject *code);
/* Its first line is told only as long as PY_START is (gh-155992). offset: where PY_START was told. */
bool sm_monitoring_needs_start(PyObject *code, int offset);

static inline PyObject *sm_answer(bool wanted) {
    /* Both are immortal wherever there is sys.monitoring: no reference to count. */
    return SM_LIKELY(wanted) ? Py_None : sm_monitoring_disable;
}

/* Should this place stop reporting its calls? Asked of one in eight of them, at random; see call_sites.c. */
bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee);
#define SM_SITES_EVERY 8
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

#define SM_MONITORING_SOURCE(name, RECORDER)                                                                           \
    SM_MONITORING_CALLBACK(name##_start) {                                                                             \
        sm_thread *thread = sm_event_thread(true);                                                                     \
        return sm_answer(SM_UNLIKELY(thread == NULL) || RECORDER##_call(thread, args[0], SM_PYTHON, args[0]));         \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_resume) {                                                                            \
        sm_thread *thread = sm_event_thread(true);                                                                     \
        return sm_answer(SM_UNLIKELY(thread == NULL) || RECORDER##_resume(thread, args[0], args[0]));                  \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_throw) { /* cannot be switched off */                                                \
        sm_thread *thread = sm_event_thread(true);                                                                     \
        if (SM_LIKELY(thread != NULL))                                                                                 \
            (void)RECORDER##_resume(thread, args[0], args[0]);                                                         \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_return) {                                                                            \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        return sm_answer(SM_UNLIKELY(thread == NULL) || RECORDER##_leave(thread, args[0], SM_BY_RETURN));              \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_yield) {                                                                             \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        return sm_answer(SM_UNLIKELY(thread == NULL) || RECORDER##_leave(thread, args[0], SM_BY_YIELD));               \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_unwind) { /* cannot be switched off */                                               \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        if (SM_LIKELY(thread != NULL))                                                                                 \
            (void)RECORDER##_leave(thread, args[0], SM_BY_EXCEPTION);                                                  \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_call) {                                                                              \
        PyObject *callable = sm_unbound(args[2]);                                                                      \
        const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);         \
        sm_thread *thread;                                                                                             \
        if (method == NULL) { /* not ours: but does this place ever call a C function? */                              \
            if (sm_sites_look() && sm_sites_needless(callable) && sm_site_is_done(args[0], args[1], NULL)) {           \
                sm_engine.sites_off++;                                                                                 \
                return sm_monitoring_disable;                                                                          \
            }                                                                                                          \
            return Py_None;                                                                                            \
        }                                                                                                              \
        if (SM_UNLIKELY((thread = sm_event_thread(false)) == NULL))                                                    \
            return Py_None;                                                                                            \
        if (sm_sites_look() && RECORDER##_may_disable(thread, method, callable) &&                                     \
            sm_site_is_done(args[0], args[1], method)) {                                                               \
            RECORDER##_site_off(thread, args[0], method, callable);                                                    \
            return sm_monitoring_disable;                                                                              \
        }                                                                                                              \
        (void)RECORDER##_c_call(thread, args[0], method, callable);                                                    \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    static inline PyObject *name##_c_leave(PyObject *const *args, sm_leaving how) {                                    \
        PyObject *callable = sm_unbound(args[2]);                                                                      \
        const void *method = sm_c_function(callable, callable != args[2] || args[3] != sm_monitoring_missing);         \
        sm_thread *thread;                                                                                             \
        if (method != NULL && SM_LIKELY((thread = sm_event_thread(false)) != NULL))                                    \
            (void)RECORDER##_c_leave(thread, args[0], method, how);                                                    \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_c_return) {                                                                          \
        return name##_c_leave(args, SM_BY_RETURN);                                                                     \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_c_raise) {                                                                           \
        return name##_c_leave(args, SM_BY_EXCEPTION);                                                                  \
    }                                                                                                                  \
    static const sm_monitoring_callbacks name##_callbacks = {{name##_start, name##_resume, name##_throw,               \
                                                              name##_return, name##_yield, name##_unwind, name##_call, \
                                                              name##_c_return, name##_c_raise, NULL, NULL},            \
                                                             NULL}

/*   SM_MONITORING_LINES(name, RECORDER)    defines name##_callbacks for a recorder of lines, from RECORDER_wants,
 * _line, _resume, _leave and _instruction
 *
 * Calls need no event: a recorder of lines tells frames apart. PY_START comes once for a code object, to say that there
 * is such a one; but where the first line stands in the def line, LINE is told only beside PY_START. */
#define SM_MONITORING_LINES(name, RECORDER)                                                                            \
    SM_MONITORING_CALLBACK(name##_start) {                                                                             \
        const sm_code_entry *entry = sm_code_entry_of_any(args[0]);                                                    \
        if (SM_LIKELY(entry != NULL && entry->session == sm_engine.session))                                           \
            return Py_None; /* met, and PY_START is needed */                                                          \
        return sm_answer(sm_monitoring_meet(args[0]) && sm_monitoring_needs_start(args[0], sm_int_of(args[1])));       \
    }                                                                                                                  \
    static inline bool name##_goes_on(PyObject *const *args) {                                                         \
        const sm_code_entry *entry = sm_code_entry_of_any(args[0]);                                                    \
        if (SM_UNLIKELY(entry == NULL || entry->session != sm_engine.session) && !sm_monitoring_meet(args[0]))         \
            return false;                                                                                              \
        sm_thread *thread = sm_event_thread(true);                                                                     \
        return SM_UNLIKELY(thread == NULL) ||                                                                          \
               RECORDER##_resume(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1]));                \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_resume) {                                                                            \
        return sm_answer(name##_goes_on(args));                                                                        \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_throw) { /* cannot be switched off */                                                \
        (void)name##_goes_on(args);                                                                                    \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    static inline bool name##_left(PyObject *const *args, sm_leaving how) {                                            \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        return SM_UNLIKELY(thread == NULL) || RECORDER##_leave(thread, args[0], sm_tstate_frame(thread->tstate), how); \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_return) {                                                                            \
        return sm_answer(name##_left(args, SM_BY_RETURN));                                                             \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_yield) {                                                                             \
        return sm_answer(name##_left(args, SM_BY_YIELD));                                                              \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_unwind) { /* cannot be switched off */                                               \
        (void)name##_left(args, SM_BY_EXCEPTION);                                                                      \
        return Py_None;                                                                                                \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_line) {                                                                              \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        if (SM_UNLIKELY(thread == NULL))                                                                               \
            return Py_None;                                                                                            \
        return sm_answer(RECORDER##_line(thread, args[0], sm_tstate_frame(thread->tstate), sm_int_of(args[1])));       \
    }                                                                                                                  \
    SM_MONITORING_CALLBACK(name##_instruction) {                                                                       \
        sm_thread *thread = sm_event_thread(false);                                                                    \
        if (SM_UNLIKELY(thread == NULL))                                                                               \
            return Py_None;                                                                                            \
        return sm_answer(RECORDER##_instruction(thread, args[0], (uint32_t)sm_int_of(args[1])));                       \
    }                                                                                                                  \
    static const sm_monitoring_callbacks name##_callbacks = {{name##_start, name##_resume, name##_throw,               \
                                                              name##_return, name##_yield, name##_unwind, NULL, NULL,  \
                                                              NULL, name##_line, name##_instruction},                  \
                                                             RECORDER##_wants}

#endif
