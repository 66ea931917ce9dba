/* The coverage recorder's source on 3.12 and later: a tool id of sys.monitoring for lines and branches.
 *
 * PY_START and PY_RESUME (for generators that began earlier) are global. The first of them from a code object decides:
 * unwanted code returns DISABLE, wanted code gets local events at once, so that its first line is reported. At the
 * start, the frames of all threads are walked.
 *
 * Removing and setting local events enables disabled places for us alone. restart_events() does it for all tools, so it
 * is used only at the start, after an earlier holder of the tool id (gh-118327), and when the first context begins.
 *
 * Further events fill gaps:
 * - PY_START stays enabled where the body is on the line of its `def`: from 3.13 on, LINE needs it there (gh-155992).
 * - BRANCH_RIGHT reports lines that LINE omits on 3.14 and later (code/unreported_lines.h).
 * - INSTRUCTION reports the end of an async for on 3.12 and 3.13.
 * - JUMP reports jumps back within a line, which sys.settrace counts and LINE omits. */
#include "code/linewalk.h"
#include "code/unreported_lines.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "hooks/monitoring_tool.h"
#include "recorder/coverage/places.h"
#include "source/sources.h"

#if SM_HAS_MONITORING

#define TOOL_NAME "seismo cover"
#define CALLBACK(name)                                                                                                 \
    static PyObject *name(PyObject *Py_UNUSED(self), PyObject *const *args, size_t Py_UNUSED(nargs),                   \
                          PyObject *Py_UNUSED(names))

/* Ids that others expect come last: 0 for debuggers, 1 for coverage tools. Few programs under test need 2
 * (profilers). */
static const int order[6] = {5, 4, 3, 2, 0, 1};

enum { START, RESUME, THROW, LINE, JUMP, BRANCH, INSTRUCTION, LEFT, RIGHT, RETURN, YIELD, UNWIND, EVENTS };

static int tool_id = -1;
static long numbers[EVENTS];
static PyObject *callbacks[EVENTS];

static inline long number_of(PyObject *number) {
    const PyLongObject *small = (const PyLongObject *)number; /* made by the interpreter, so no subclass */
    return SM_LIKELY(PyUnstable_Long_IsCompact(small)) ? (long)PyUnstable_Long_CompactValue(small)
                                                       : PyLong_AsLong(number);
}

/* ---- which events a code object gets ---- */

static long events_of(const sm_cover_code *record) {
    long events = 0;
    if (record->of != NULL) {
        events |= numbers[LINE] | (sm_cover.counts ? numbers[JUMP] : 0);
        if (sm_cover.branch)
            events |= SM_BRANCH_HAS_SIDES ? numbers[LEFT] | numbers[RIGHT] : numbers[BRANCH];
        if (record->has_unreported_lines)
            events |= numbers[RIGHT];
        if (sm_cover.branch && record->of->table != NULL && record->of->table->apart)
            events |= numbers[INSTRUCTION];
    }
    if (record->test) {
        events |= numbers[RETURN] | numbers[YIELD];
        if (SM_LOCAL_EXCEPTION_EVENTS)
            events |= numbers[UNWIND] | numbers[THROW];
    }
    return events;
}

static void set_local(sm_cover_code *record, long events) {
    if (sm_monitoring_set_local(tool_id, record->code, events) < 0) {
        PyErr_Clear();
        sm_beside.lost_memory++;
    }
}

static void rearm(sm_cover_code *record) {
    if (tool_id < 0)
        return;
    set_local(record, 0);
    set_local(record, events_of(record));
}

enum { START_SEEN = 1 }; /* value of sm_cover_code.source: keep_start is known */

static void see_start(sm_cover_code *record, long offset) {
    SM_EVENT_GUARD;
    if (record->source == START_SEEN)
        return;
    record->keep_start = record->of != NULL && sm_line_goes_on(record->code, (uint64_t)offset / 2);
    __atomic_store_n(&record->source, START_SEEN, __ATOMIC_RELEASE);
}

static sm_cover_code *meet(PyCodeObject *code, PyObject *globals, long offset) {
    SM_EVENT_GUARD;
    sm_cover_code *record = sm_cover_known(code);
    if (record != NULL) /* another thread has met it meanwhile */
        return record == sm_cover_unwanted ? NULL : record;
    record = tool_id >= 0 ? sm_cover_meet(code, globals) : NULL;
    if (record == NULL)
        return NULL;
    if (offset >= 0)
        see_start(record, offset);
    record->has_unreported_lines = !sm_cover.branch && record->of != NULL && sm_unreported_of(code)->count > 0;
    set_local(record, events_of(record));
    sm_cover_publish(record);
    return record;
}

/* ---- callbacks ---- */

static inline sm_cover_code *record_of(PyObject *const *args) {
    if (SM_UNLIKELY(!PyCode_Check(args[0]))) /* Cython has code-like objects */
        return NULL;
    sm_cover_code *record = sm_cover_known((PyCodeObject *)args[0]);
    return record == sm_cover_unwanted ? NULL : record;
}

static inline PyObject *answer(bool done) {
    return done && sm_cover_pays() ? sm_monitoring_disable : Py_None;
}

/* Return the record of the code that begins, or NULL if it is unwanted. */
static sm_cover_code *begin(PyObject *const *args, bool start) {
    if (!PyCode_Check(args[0]) || !sm_beside.running)
        return NULL;
    PyCodeObject *code = (PyCodeObject *)args[0];
    sm_cover_code *record = sm_cover_known(code);
    if (SM_UNLIKELY(record == NULL))
        record = meet(code, PyEval_GetGlobals(), start ? number_of(args[1]) : -1);
    else if (record == sm_cover_unwanted)
        return NULL;
    if (SM_UNLIKELY(record != NULL && record->test))
        sm_cover_enter(record, sm_tstate_frame(PyThreadState_Get()));
    return record;
}

CALLBACK(on_start) {
    sm_cover_code *record = begin(args, true);
    if (record != NULL && SM_UNLIKELY(__atomic_load_n(&record->source, __ATOMIC_ACQUIRE) != START_SEEN))
        see_start(record, number_of(args[1])); /* its first PY_START was not seen here */
    if (record == NULL || (!record->test && !record->keep_start))
        return answer(true);
    if (record->test || sm_cover.counts || sm_cover_in_contexts())
        return Py_None;
    return answer(sm_cover_line_seen(record, record->code->co_firstlineno));
}

CALLBACK(on_resume) {
    sm_cover_code *record = begin(args, false);
    return answer(record == NULL || !record->test);
}

CALLBACK(on_throw) {
    sm_cover_code *record = record_of(args);
    if (record != NULL && record->test)
        sm_cover_enter(record, sm_tstate_frame(PyThreadState_Get()));
    return Py_None;
}

CALLBACK(on_leave) { /* an unwind cannot be disabled before 3.15 */
    sm_cover_code *record = record_of(args);
    if (record != NULL && record->test)
        sm_cover_leave(sm_tstate_frame(PyThreadState_Get()));
    return Py_None;
}

/* The counts of the code object whose line ran last, which saves a lookup. Unused in contexts, where a hit is more
 * than a number, and without the GIL, where the next recording could not reset it for all threads. */
static SM_OWN_TLS struct {
    const void *code; /* NULL if there is none */
    uint64_t *counts;
    int first;
    uint32_t size;
} hot;

static void forget_hot(void) {
    hot.code = NULL;
}

CALLBACK(on_line) {
    if (SM_LIKELY(args[0] == hot.code)) {
        uint32_t i = (uint32_t)number_of(args[1]) - (uint32_t)hot.first;
        if (SM_LIKELY(i < hot.size)) {
            hot.counts[i]++;
            return Py_None;
        }
    }
    sm_cover_code *record = record_of(args);
    if (SM_UNLIKELY(record == NULL || record->of == NULL))
        return answer(true);
    if (SM_UNLIKELY(record->line_events))
        sm_cover_tell(record, sm_line_offset(PyThreadState_Get()));
    else if (!SM_FREE_THREADED && record->counts != NULL && !sm_cover.in_contexts)
        hot.code = args[0], hot.counts = record->counts, hot.first = record->first, hot.size = record->size;
    return sm_cover_line(record, (int)number_of(args[1])) ? sm_monitoring_disable : Py_None;
}

CALLBACK(on_jump) {
    sm_cover_code *record = record_of(args);
    if (SM_UNLIKELY(record == NULL || record->of == NULL))
        return answer(true);
    int from = (int)number_of(args[1]), to = (int)number_of(args[2]);
    int line = to <= from ? PyCode_Addr2Line(record->code, to) : -1;
    if (line < 0 || line != PyCode_Addr2Line(record->code, from))
        return answer(true); /* LINE reports this line */
    (void)sm_cover_line(record, line);
    return Py_None;
}

CALLBACK(on_branch) {
    sm_cover_code *record = record_of(args);
    if (SM_UNLIKELY(record == NULL || record->of == NULL))
        return answer(true);
    long from = number_of(args[1]), to = number_of(args[2]);
    if (sm_cover.branch)
        return sm_cover_branch(record, from, to) ? sm_monitoring_disable : Py_None;
    int line = sm_unreported_line(record->code, to);
    return line == 0 || sm_cover_line(record, line) ? sm_monitoring_disable : Py_None;
}

CALLBACK(on_instruction) {
    sm_cover_code *record = record_of(args);
    if (SM_UNLIKELY(record == NULL || record->of == NULL))
        return answer(true);
    return sm_cover_instruction(record, number_of(args[1])) ? sm_monitoring_disable : Py_None;
}

/* With skipped threads, separate callbacks check the thread of each event. Events of a skipped thread disable
 * nothing. */
#define ASKED(name)                                                                                                    \
    CALLBACK(name##_asked) {                                                                                           \
        if (sm_is_apart(&sm_beside.apart, PyThreadState_Get()))                                                        \
            return Py_None;                                                                                            \
        return name(NULL, args, 0, NULL);                                                                              \
    }
ASKED(on_line)
ASKED(on_jump)
ASKED(on_branch)
ASKED(on_instruction)

static const struct {
    const char *name;
    vectorcallfunc function, asked; /* asked: the same if it is NULL */
} events[EVENTS] = {
    [START] = {"PY_START", on_start, NULL},
    [RESUME] = {"PY_RESUME", on_resume, NULL},
    [THROW] = {"PY_THROW", on_throw, NULL},
    [LINE] = {"LINE", on_line, on_line_asked},
    [JUMP] = {"JUMP", on_jump, on_jump_asked},
    [BRANCH] = {SM_BRANCH_HAS_SIDES ? NULL : "BRANCH", on_branch, on_branch_asked},
    [INSTRUCTION] = {SM_BRANCH_HAS_SIDES ? NULL : "INSTRUCTION", on_instruction, on_instruction_asked},
    [LEFT] = {SM_BRANCH_HAS_SIDES ? "BRANCH_LEFT" : NULL, on_branch, on_branch_asked},
    [RIGHT] = {SM_BRANCH_HAS_SIDES ? "BRANCH_RIGHT" : NULL, on_branch, on_branch_asked},
    [RETURN] = {"PY_RETURN", on_leave, NULL},
    [YIELD] = {"PY_YIELD", on_leave, NULL},
    [UNWIND] = {"PY_UNWIND", on_leave, NULL},
};

/* ---- start and end ---- */

static int find_events(void) {
    static bool asking = false;
    bool ask = sm_beside.apart.last != 0, same = ask == asking;
    asking = ask;
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].name == NULL || (callbacks[i] != NULL && same))
            continue;
        Py_CLEAR(callbacks[i]);
        vectorcallfunc function = ask && events[i].asked != NULL ? events[i].asked : events[i].function;
        numbers[i] = sm_monitoring_number(events[i].name);
        if (numbers[i] < 0 || (callbacks[i] = sm_monitoring_callback(function)) == NULL)
            return -1;
    }
    return 0;
}

static bool holds(void) {
    return tool_id >= 0 && sm_monitoring_holds(tool_id, TOOL_NAME);
}

static void meet_running(PyCodeObject *code, PyObject *globals) {
    (void)meet(code, globals, -1);
}

static void poll(void) {
    sm_beside.hook_lost += sm_beside.hook_lost == 0 && !holds();
}

static void stop(void) {
    poll();
    if (holds()) {
        (void)sm_monitoring_set(tool_id, 0);
        PyErr_Clear();
        for (sm_cover_code *record = sm_cover.codes; record != NULL; record = record->next) {
            if (sm_monitoring_set_local(tool_id, record->code, 0) < 0)
                PyErr_Clear();
        }
        sm_monitoring_free(tool_id);
    }
    tool_id = -1;
    forget_hot();
}

static void died(sm_cover_code *Py_UNUSED(record)) {
    forget_hot();
}

static long global_events(void) {
    long set = numbers[START] | numbers[RESUME];
    if (sm_cover.tests && !SM_LOCAL_EXCEPTION_EVENTS)
        set |= numbers[UNWIND] | numbers[THROW];
    return set;
}

static void contexts(void) {
    forget_hot();
    if (!holds() || sm_monitoring_restart() < 0)
        PyErr_Clear();
}

static const sm_cover_source asked_of = {
    .both_ways = !SM_BRANCH_HAS_SIDES, .rearm = rearm, .contexts = contexts, .died = died};

static int start(const sm_settings *Py_UNUSED(settings)) {
    sm_cover.source = &asked_of;
    if (sm_monitoring_find() < 0 || find_events() < 0 || (tool_id = sm_monitoring_take(TOOL_NAME, order)) < 0)
        return -1;
    bool fine = true;
    for (int i = 0; fine && i < EVENTS; i++)
        fine = events[i].name == NULL || sm_monitoring_register(tool_id, numbers[i], callbacks[i]) == 0;
    if (!fine || sm_monitoring_set(tool_id, global_events()) < 0 || sm_monitoring_restart() < 0) {
        SM_EXCEPTION_GUARD;
        stop();
        return -1;
    }
    sm_beside.lost_memory += !sm_monitoring_each_running(meet_running);
    return 0;
}

static int id(void) {
    return tool_id;
}

const sm_source sm_source_places = {
    .name = "monitoring", .start = start, .stop = stop, .poll = poll, .begin_again = sm_cover_rearm, .tool_id = id};

#endif
