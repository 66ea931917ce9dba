/* Events of single code objects.
 *
 * A recording of everything asks for its events once, for the whole interpreter. One that where= narrows to a few
 * functions would pay for every line of the others once, at the least, so it asks only for what tells of code objects
 * that begin or go on; and when a wanted one does, for the others of it alone. The code objects whose events were
 * asked for are marked (code/code_map.h) until they die, and given back at the end: until 3.14, nothing else would do
 * it (gh-111963).
 *
 * A recorder of lines asks code with lines that LINE does not tell (code/unreported_lines.h) for BRANCH_RIGHT as well.
 *
 * Frames that run when the recording starts may never begin anything: those of all threads are looked at then.
 *
 * So are the code objects in which places were switched off (call_sites.c). */
#include "source/monitoring/monitoring.h"

const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use = NULL;

#if SM_HAS_MONITORING

#include "code/linewalk.h"
#include "compat/exception.h"

static struct {
    int tool_id;
    long events; /* to be asked for on each wanted code object; 0: all are the interpreter's */
    long right;  /* BRANCH_RIGHT, of a recorder of lines; 0: lines are all told */
} local;

bool sm_monitoring_remember(const void *code) {
    static char mark;
    sm_code_entry *entry = sm_code_entry_make((PyCodeObject *)(uintptr_t)code);
    if (entry != NULL)
        entry->of[SM_CODE_EVENTS] = &mark;
    return entry != NULL;
}

long sm_monitoring_local_start(int tool_id, long events, bool narrow) {
    static const char *const names[] = {"LINE", "PY_RETURN", "PY_YIELD"};
    local.tool_id = tool_id;
    local.events = local.right = 0;
    if (SM_LOOP_ENDS_HIDE_LINES && (local.right = sm_monitoring_number("BRANCH_RIGHT")) < 0)
        return -1;
    local.right &= events;
    for (size_t i = 0; narrow && i < sizeof names / sizeof *names; i++) {
        long number = sm_monitoring_number(names[i]);
        if (number < 0)
            return -1;
        local.events |= events & number;
    }
    return events & ~local.events & ~local.right;
}

static bool ask(PyCodeObject *code) {
    long events = local.events | (local.right != 0 && sm_unreported_of(code)->count != 0 ? local.right : 0);
    return events == 0 || (sm_monitoring_remember(code) && sm_monitoring_set_local(local.tool_id, code, events) == 0);
}

bool sm_monitoring_meet(PyObject *code) {
    sm_exception kept = sm_exception_keep(); /* a throw comes with an exception */
    bool wanted = !sm_engine.running || sm_monitoring_callbacks_in_use->wants(code, PyEval_GetGlobals());
    sm_code_entry *entry = wanted ? sm_code_entry_of_any(code) : NULL;
    if (entry != NULL && sm_engine.running) {
        entry->session = sm_engine.session;
        if (!ask((PyCodeObject *)code))
            sm_engine.lost_memory++;
        PyErr_Clear();
    }
    sm_exception_restore(kept);
    return wanted;
}

static void meet_frames(PyFrameObject *frame) { /* steals it; NULL is none */
    while (frame != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *globals = PyFrame_GetGlobals(frame);
        if (sm_monitoring_callbacks_in_use->wants((PyObject *)code, globals) && !ask(code))
            sm_engine.lost_memory++;
        PyErr_Clear();
        Py_DECREF(code);
        Py_XDECREF(globals);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
}

void sm_monitoring_local_running(void) {
    if (local.events == 0 && local.right == 0)
        return;
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate))
        meet_frames(PyThreadState_GetFrame(tstate));
}

/* A code object's events are only gone through when another set is wanted than before: the rarest event is, then none.
 */
static void give_back(int tool_id, PyCodeObject *code, long rarest) {
    Py_INCREF(code);
    if (rarest > 0 && sm_monitoring_set_local(tool_id, code, rarest) < 0)
        PyErr_Clear();
    if (sm_monitoring_set_local(tool_id, code, 0) < 0)
        PyErr_Clear();
    Py_DECREF(code);
}

/* The calls may let code objects die, which moves others in the table: until none is found. */
void sm_monitoring_local_stop(int tool_id) {
    long rarest = local.events == 0 ? sm_monitoring_number("PY_YIELD") : 0;
    PyErr_Clear();
    bool found = true;
    local.events = local.right = 0;
    while (found) {
        found = false;
        uint32_t at = 0;
        for (sm_code_entry *entry; (entry = sm_codes_next(&at)) != NULL;) {
            if (entry->of[SM_CODE_EVENTS] == NULL)
                continue;
            entry->of[SM_CODE_EVENTS] = NULL;
            found = true;
            give_back(tool_id, entry->code, rarest);
        }
    }
}

bool sm_monitoring_needs_start(PyObject *code, int offset) {
    return SM_FIRST_LINE_NEEDS_START && offset >= 0 && sm_line_goes_on((PyCodeObject *)code, (uint64_t)offset / 2);
}

#endif
