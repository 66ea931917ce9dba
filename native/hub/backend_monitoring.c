/* The hub's hook on 3.12 and later: a tool id of sys.monitoring.
 *
 * Events wanted in all code are set for the interpreter; others on single code objects, at the first START, RESUME or
 * THROW of each, which are global while there is a filtered tool. Before 3.15, UNWIND, THROW and RAISE cannot be local.
 *
 * LINE needs JUMP, because sys.settrace also reports jumps back within a line; START, on which LINE depends from
 * 3.13 on (gh-155992); and BRANCH_RIGHT from 3.14 on, for lines that LINE omits (code/unreported_lines.h). */
#include "code/unreported_lines.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "hooks/monitoring_tool.h"
#include "hub/backend.h"

#if SM_HAS_MONITORING

#define TOOL_NAME "seismo hooks"
#define CALLBACK(name)                                                                                                 \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),                   \
                          PyObject *Py_UNUSED(names))
#define ANSWER(name, answer)                                                                                           \
    CALLBACK(name) {                                                                                                   \
        return answer;                                                                                                 \
    }

/* The tool ids in the order of preference (source/monitoring/monitoring.c). */
static const int order[6] = {5, 4, 3, 2, 0, 1};

static int tool_id = -1;
static long events_set = 0;
static long event_bits[SM_HOOK_KINDS]; /* the events of each kind; found at the first start */

SM_INLINE int offset_of(PyObject *number) {
    const PyLongObject *small = (const PyLongObject *)number; /* made by the interpreter, so no subclass */
    return SM_LIKELY(PyUnstable_Long_IsCompact(small)) ? (int)PyUnstable_Long_CompactValue(small)
                                                       : (int)PyLong_AsLong(number);
}

SM_INLINE PyObject *dispatch(uint64_t listeners, const sm_hook_event *event) {
    sm_hook_thread *thread = sm_hub_event_thread();
    if (SM_UNLIKELY(thread == NULL) || (listeners &= thread->tools) == 0)
        return Py_None;
    return SM_LIKELY(sm_hub_dispatch(thread, listeners, event) == 0) ? Py_None : NULL;
}

/* Return true, without the lock, if no tool wants this kind of event in this code object on any thread, and its place
 * cannot be disabled either: while there are several threads, one that is about to disable a place would do so even
 * after another has added a tool. */
SM_INLINE bool is_unwanted(sm_hook_kind kind, PyObject *code) {
#if SM_FREE_THREADED
    const sm_hook_code *known = sm_hub_known((PyCodeObject *)code);
    return known != NULL && __atomic_load_n(&known->settled, __ATOMIC_ACQUIRE) == SM_READ(sm_hub.changes) &&
           SM_READ(known->wanted[kind]) == 0 && SM_READ(sm_hub.everywhere[kind]) == 0 && !sm_is_only_thread();
#else
    (void)kind, (void)code;
    return false;
#endif
}

/* Deliver an event to this thread's listeners. off: disable the place if no tool wants it on any thread. */
SM_INLINE PyObject *deliver(uint64_t listeners, sm_hook_kind kind, PyObject *const *args, PyObject *arg, bool off) {
    if (listeners == 0) {
        off = off && sm_is_only_thread();
        sm_hub.switched_off |= off;
        return off ? sm_monitoring_disable : Py_None;
    }
    sm_hook_event event = {kind, (PyCodeObject *)args[0], arg, NULL, 0, offset_of(args[1]), args[1]};
    return dispatch(listeners, &event);
}

/* Deliver START, RESUME or THROW, which may be the first event of a code object. */
SM_INLINE PyObject *enter(sm_hook_kind kind, PyObject *const *args, PyObject *arg, bool may_switch_off) {
    if (SM_UNLIKELY(!PyCode_Check(args[0]))) /* Cython has code-like objects */
        return Py_None;
    if (is_unwanted(kind, args[0]))
        return Py_None;
    SM_EVENT_GUARD;
    uint64_t listeners = sm_hub.everywhere[kind];
    if (sm_hub.filtered != 0) {
        const sm_hook_code *known = sm_hub_code((PyCodeObject *)args[0]);
        if (SM_UNLIKELY(known == NULL))
            return Py_None;
        listeners |= known->wanted[kind];
        may_switch_off = may_switch_off && known->wanted[SM_HOOK_LINE] == 0;
    }
    return deliver(listeners, kind, args, arg, may_switch_off && sm_hub.everywhere[SM_HOOK_LINE] == 0);
}

ANSWER(on_start, enter(SM_HOOK_START, args, NULL, true))
ANSWER(resumed, enter(SM_HOOK_RESUME, args, NULL, true))
#if SM_HAS_FIRED_EVENTS
/* The hub may never meet compiled code at its start, which would guard its callbacks. So this callback checks itself.
 */
static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    const PyThreadState *tstate = sm_hook_this->tstate;
    if (SM_UNLIKELY(tstate == NULL) || SM_UNLIKELY(tstate->current_exception != NULL))
        return sm_monitoring_guarded(resumed, self, args, nargs);
    return resumed(self, args, nargs, names);
}
#else
#define on_resume resumed
#endif
ANSWER(on_throw, enter(SM_HOOK_THROW, args, args[2], false))

SM_INLINE PyObject *within(sm_hook_kind kind, PyObject *const *args, PyObject *arg, bool may_switch_off) {
    if (SM_UNLIKELY(!PyCode_Check(args[0])) || is_unwanted(kind, args[0]))
        return Py_None;
    SM_EVENT_GUARD;
    return deliver(sm_hub_listeners(kind, (PyCodeObject *)args[0]), kind, args, arg, may_switch_off);
}

ANSWER(on_return, within(SM_HOOK_RETURN, args, args[2], true))
ANSWER(on_yield, within(SM_HOOK_YIELD, args, args[2], true))
ANSWER(on_unwind, within(SM_HOOK_UNWIND, args, args[2], false))
ANSWER(on_raise, within(SM_HOOK_RAISE, args, args[2], false))
ANSWER(on_stop_iteration, within(SM_HOOK_STOP_ITERATION, args, args[2], true))
ANSWER(on_instruction, within(SM_HOOK_OPCODE, args, NULL, true))

/* Report C functions as PyEval_SetProfile does, method descriptors only if called with an object. For a bound
 * method, 3.12 reports the method at the call and its function at the return. */
SM_INLINE PyObject *c_event(sm_hook_kind kind, PyObject *const *args) {
    PyObject *callable = args[2];
    if (Py_TYPE(callable) == &PyFunction_Type) /* most callables; START reports these calls */
        return Py_None;
    if (SM_CALL_REPORTS_METHODS && Py_TYPE(callable) == &PyMethod_Type)
        callable = PyMethod_GET_FUNCTION(callable);
    bool unbound = Py_TYPE(callable) == &PyMethodDescr_Type && callable == args[2] && args[3] != sm_monitoring_missing;
    if (!unbound && !PyCFunction_Check(callable))
        return Py_None;
    if (SM_UNLIKELY(!PyCode_Check(args[0])))
        return Py_None;
    SM_EVENT_GUARD;
    uint64_t listeners = sm_hub_listeners(kind, (PyCodeObject *)args[0]);
    if (listeners == 0) {
        bool off = kind == SM_HOOK_C_CALL && sm_hub_listeners(SM_HOOK_C_RETURN, (PyCodeObject *)args[0]) == 0 &&
                   sm_hub_listeners(SM_HOOK_C_RAISE, (PyCodeObject *)args[0]) == 0;
        return deliver(0, kind, args, NULL, off);
    }
    sm_hook_event event = {kind, (PyCodeObject *)args[0], callable, unbound ? args[3] : NULL,
                           0,    offset_of(args[1]),      args[1]};
    return dispatch(listeners, &event);
}

ANSWER(on_call, c_event(SM_HOOK_C_CALL, args))
ANSWER(on_c_return, c_event(SM_HOOK_C_RETURN, args))
ANSWER(on_c_raise, c_event(SM_HOOK_C_RAISE, args))

static PyObject *line(uint64_t listeners, PyCodeObject *code, int number) {
    sm_hook_event event = {SM_HOOK_LINE, code, NULL, NULL, number, -1, NULL};
    return dispatch(listeners, &event);
}

CALLBACK(on_line) {
    if (SM_UNLIKELY(!PyCode_Check(args[0])) || is_unwanted(SM_HOOK_LINE, args[0]))
        return Py_None;
    SM_EVENT_GUARD;
    PyCodeObject *code = (PyCodeObject *)args[0];
    uint64_t listeners = sm_hub_listeners(SM_HOOK_LINE, code);
    if (listeners == 0)
        return deliver(0, SM_HOOK_LINE, args, NULL, true);
    return line(listeners, code, offset_of(args[1]));
}

CALLBACK(on_jump) {
    if (SM_UNLIKELY(!PyCode_Check(args[0])) || is_unwanted(SM_HOOK_LINE, args[0]))
        return Py_None;
    SM_EVENT_GUARD;
    PyCodeObject *code = (PyCodeObject *)args[0];
    uint64_t listeners = sm_hub_listeners(SM_HOOK_LINE, code);
    int from = offset_of(args[1]), to = offset_of(args[2]);
    int number = to <= from ? PyCode_Addr2Line(code, to) : -1;
    if (listeners == 0 || to > from || number != PyCode_Addr2Line(code, from)) /* otherwise LINE reports it */
        return deliver(0, SM_HOOK_LINE, args, NULL, true);
    return number < 0 ? Py_None : line(listeners, code, number);
}

#if SM_LOOP_ENDS_HIDE_LINES
CALLBACK(on_right) { /* reports the line after a loop */
    if (SM_UNLIKELY(!PyCode_Check(args[0])) || is_unwanted(SM_HOOK_LINE, args[0]))
        return Py_None;
    SM_EVENT_GUARD;
    PyCodeObject *code = (PyCodeObject *)args[0];
    uint64_t listeners = sm_hub_listeners(SM_HOOK_LINE, code);
    int number = listeners != 0 ? sm_unreported_line(code, offset_of(args[2])) : 0;
    return number == 0 ? deliver(0, SM_HOOK_LINE, args, NULL, true) : line(listeners, code, number);
}
#endif

static const struct {
    const char *name;
    vectorcallfunc function;
    uint32_t kinds; /* kinds of events that need it */
} events[] = {
    {"PY_START", on_start, SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_LINE)},
    {"PY_RESUME", on_resume, SM_HOOK_BIT(SM_HOOK_RESUME)},
    {"PY_THROW", on_throw, SM_HOOK_BIT(SM_HOOK_THROW)},
    {"PY_RETURN", on_return, SM_HOOK_BIT(SM_HOOK_RETURN)},
    {"PY_YIELD", on_yield, SM_HOOK_BIT(SM_HOOK_YIELD)},
    {"PY_UNWIND", on_unwind, SM_HOOK_BIT(SM_HOOK_UNWIND)},
    {"RAISE", on_raise, SM_HOOK_BIT(SM_HOOK_RAISE)},
    {"STOP_ITERATION", on_stop_iteration, SM_HOOK_BIT(SM_HOOK_STOP_ITERATION)},
    {"CALL", on_call, SM_HOOK_C_CALLS},
    {"C_RETURN", on_c_return, SM_HOOK_C_CALLS}, /* the interpreter refuses it without CALL */
    {"C_RAISE", on_c_raise, SM_HOOK_C_CALLS},
    {"LINE", on_line, SM_HOOK_BIT(SM_HOOK_LINE)},
    {"JUMP", on_jump, SM_HOOK_BIT(SM_HOOK_LINE)},
#if SM_LOOP_ENDS_HIDE_LINES
    {"BRANCH_RIGHT", on_right, SM_HOOK_BIT(SM_HOOK_LINE)},
#endif
    {"INSTRUCTION", on_instruction, SM_HOOK_BIT(SM_HOOK_OPCODE)},
};
#define EVENTS (sizeof events / sizeof *events)

/* Kept for good, because a running callback may free the tool id. */
static PyObject *callbacks[EVENTS];
static long event_numbers[EVENTS];

static int find_events(void) {
    for (size_t i = 0; i < EVENTS; i++) {
        if (callbacks[i] != NULL)
            continue;
        event_numbers[i] = sm_monitoring_number(events[i].name);
        if (event_numbers[i] < 0 || (callbacks[i] = sm_monitoring_callback(events[i].function)) == NULL)
            return -1;
        for (int kind = 0; kind < SM_HOOK_KINDS; kind++)
            event_bits[kind] |= events[i].kinds & SM_HOOK_BIT(kind) ? event_numbers[i] : 0;
    }
    return 0;
}

static bool holds(void) {
    return tool_id >= 0 && sm_monitoring_holds(tool_id, TOOL_NAME);
}

static void stop(void) {
    if (holds())
        sm_monitoring_free(tool_id);
    tool_id = -1;
    events_set = 0;
}

static int start(void) {
    if (sm_monitoring_find() < 0 || find_events() < 0 || (tool_id = sm_monitoring_take(TOOL_NAME, order)) < 0)
        return -1;
    for (size_t i = 0; i < EVENTS; i++) {
        if (sm_monitoring_register(tool_id, event_numbers[i], callbacks[i]) < 0) {
            SM_EXCEPTION_GUARD;
            stop();
            return -1;
        }
    }
    return 0;
}

static long bits(uint32_t kinds) {
    long set = 0;
    for (int kind = 0; kind < SM_HOOK_KINDS; kind++)
        set |= kinds & SM_HOOK_BIT(kind) ? event_bits[kind] : 0;
    return set;
}

/* The kinds that can be set on a code object. */
#define LOCAL                                                                                                          \
    (SM_LOCAL_EXCEPTION_EVENTS                                                                                         \
         ? ~0u                                                                                                         \
         : ~(SM_HOOK_BIT(SM_HOOK_UNWIND) | SM_HOOK_BIT(SM_HOOK_THROW) | SM_HOOK_BIT(SM_HOOK_RAISE)))

static int want(void) {
    uint32_t kinds = 0;
    for (int kind = 0; kind < SM_HOOK_OPCODE; kind++)
        if (sm_hub.everywhere[kind] != 0 || (sm_hub.somewhere[kind] != 0 && (LOCAL & SM_HOOK_BIT(kind)) == 0))
            kinds |= SM_HOOK_BIT(kind);
    if (sm_hub.filtered != 0)
        kinds |= SM_HOOK_BIT(SM_HOOK_START) | SM_HOOK_BIT(SM_HOOK_RESUME) | SM_HOOK_BIT(SM_HOOK_THROW);
    long set = bits(kinds);
    if (set == events_set)
        return 0;
    if (!holds())
        return SM_FAIL(PyExc_RuntimeError, "another tool has taken over the sys.monitoring tool id of seismo's hooks");
    if (sm_monitoring_set(tool_id, set) < 0)
        return -1;
    events_set = set;
    return 0;
}

static int want_in(PyCodeObject *code, uint32_t kinds) {
    return tool_id >= 0 ? sm_monitoring_set_local(tool_id, code, bits(kinds & LOCAL)) : 0;
}

static bool foreign_tracer(PyThreadState *tstate) {
    return tstate->c_tracefunc != NULL;
}

static int id(void) {
    return tool_id;
}

const sm_hook_backend sm_hook_backend_here = {"monitoring",          start, stop,           want, want_in,
                                              sm_monitoring_restart, holds, foreign_tracer, id};

#endif
