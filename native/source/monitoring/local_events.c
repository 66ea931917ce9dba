/* Events of single code objects.
 *
 * With where=, only the events that report new code are global, because each line of unwanted code would otherwise
 * report once. Wanted code gets the others when it begins or resumes, or at the start if a frame runs it. A recorder of
 * lines sets BRANCH_RIGHT on code with lines that LINE omits (code/unreported_lines.h).
 *
 * Such code objects, and those with disabled sites (call_sites.c), are marked until they die. At the end, the events
 * of each are removed: until 3.14, nothing else does it (gh-111963). */
#include "source/monitoring/monitoring.h"

const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use = NULL;

#if SM_HAS_MONITORING

#include "code/linewalk.h"
#include "compat/exception.h"

static struct {
    int tool_id;
    long events; /* set on each wanted code object; 0 if all are global */
    long right;  /* BRANCH_RIGHT for a recorder of lines, or 0 if LINE reports all lines */
} local;

bool sm_monitoring_remember(const void *code) {
    SM_EVENT_GUARD;
    static char mark;
    sm_code_entry *entry = sm_code_entry_make((PyCodeObject *)(uintptr_t)code);
    if (entry == NULL || !sm_is_main_interpreter()) /* the end could not reach the code of another */
        return false;
    entry->of[SM_CODE_EVENTS] = &mark;
    return true;
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
    SM_EVENT_GUARD;
    SM_EXCEPTION_GUARD; /* a throw comes with an exception set */
    bool wanted = !sm_main.running || sm_monitoring_callbacks_in_use->wants(code, PyEval_GetGlobals());
    sm_code_entry *entry = wanted ? sm_code_entry_of_any(code) : NULL;
    if (entry != NULL && sm_main.running) {
        if (!ask((PyCodeObject *)code))
            sm_main.lost_memory++;
        PyErr_Clear();
        __atomic_store_n(&entry->session, sm_engine.session, __ATOMIC_RELEASE);
    }
    return wanted;
}

static void meet_running(PyCodeObject *code, PyObject *globals) {
    if (sm_monitoring_callbacks_in_use->wants((PyObject *)code, globals) && !ask(code))
        sm_main.lost_memory++;
}

void sm_monitoring_local_running(void) {
    if (local.events != 0 || local.right != 0)
        sm_main.lost_memory += !sm_monitoring_each_running(meet_running);
}

/* Instrumentation is updated only if the set of events changes, so set the rarest event first. */
static void give_back(int tool_id, PyCodeObject *code, long rarest) {
    Py_INCREF(code);
    if (rarest > 0 && sm_monitoring_set_local(tool_id, code, rarest) < 0)
        PyErr_Clear();
    if (sm_monitoring_set_local(tool_id, code, 0) < 0)
        PyErr_Clear();
    Py_DECREF(code);
}

/* These calls may destroy code objects, which moves table entries, so repeat until nothing is found. */
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
