/* The monitoring source: a tool id, its callbacks and its events. */
#include "source/monitoring/monitoring.h"

#include <string.h>

#include "compat/exception.h"
#include "hooks/monitoring_tool.h"
#include "source/monitoring/interpreters.h"

#if SM_HAS_MONITORING

#define TOOL_NAME "seismo"

static const char *const events[SM_MONITORING_EVENTS] = {
    [SM_PY_START] = "PY_START",   [SM_PY_RESUME] = "PY_RESUME",       [SM_PY_THROW] = "PY_THROW",
    [SM_PY_RETURN] = "PY_RETURN", [SM_PY_YIELD] = "PY_YIELD",         [SM_PY_UNWIND] = "PY_UNWIND",
    [SM_CALL] = "CALL",           [SM_C_RETURN] = "C_RETURN",         [SM_C_RAISE] = "C_RAISE",
    [SM_LINE] = "LINE",           [SM_BRANCH_RIGHT] = "BRANCH_RIGHT", /* set for single code objects (local_events.c) */
};

static int tool_id = -1;
static long bits[SM_MONITORING_EVENTS]; /* of the callbacks that are registered, or 0 */
static long events_set = 0;
static bool places_were_off = false; /* this process has places that are still disabled for our tool id */

/* Ids that others expect come last, for a recorded program to find them free: cProfile needs 2, hypothesis 3,
 * debuggers and coverage 0 and 1. */
static const int order[6] = {4, 5, 3, 2, 0, 1};

/* Register the callbacks. Return their events as a bit set, or -1 with an exception set. */
static long register_all(bool c_functions) {
    long set = 0;
    for (int i = 0; set >= 0 && i < SM_MONITORING_EVENTS; i++) {
        vectorcallfunc function = sm_monitoring_callbacks_in_use->callback[i];
        bits[i] = 0;
        if (function == NULL || (i == SM_BRANCH_RIGHT && !SM_BRANCH_HAS_SIDES) ||
            (i >= SM_CALL && i <= SM_C_RAISE && !c_functions))
            continue;
        long event = sm_monitoring_number(events[i]);
        PyObject *callback = event >= 0 ? sm_monitoring_callback(function) : NULL;
        bool failed = callback == NULL || sm_monitoring_register(tool_id, event, callback) < 0;
        set = failed ? -1 : set | event;
        bits[i] = failed ? 0 : event;
        Py_XDECREF(callback);
    }
    return set;
}

static bool still_ours(void) {
    return sm_monitoring_holds(tool_id, TOOL_NAME);
}

static void stop(void) {
    SM_EXCEPTION_GUARD;
#if SM_RECORDS_INTERPRETERS
    sm_interpreters_stop();
#endif
    if (tool_id >= 0 && still_ours()) {
        (void)sm_monitoring_set(tool_id, 0);
        PyErr_Clear();
        sm_monitoring_local_stop(tool_id);
        sm_monitoring_free(tool_id);
    } else if (tool_id >= 0) {
        sm_main.hook_lost++;
        places_were_off = places_were_off || sm_sites_on;
    }
    tool_id = -1;
    places_were_off = places_were_off || sm_monitoring_callbacks_in_use->wants != NULL;
    sm_sites_start(false);
}

static int start(const sm_settings *settings) {
    if (sm_monitoring_find() < 0 || (tool_id = sm_monitoring_take(TOOL_NAME, order)) < 0)
        return -1;
    sm_sites_start(strcmp(settings->c_functions, "auto") == 0);
    long set = register_all(strcmp(settings->c_functions, "none") != 0);
    bool local = settings->narrow && sm_monitoring_callbacks_in_use->wants != NULL;
    if (set >= 0)
        set = sm_monitoring_local_start(tool_id, set, local);
    if (set < 0 || sm_monitoring_set(tool_id, set) < 0) {
        SM_EXCEPTION_GUARD;
        stop();
        return -1;
    }
    events_set = set;
#if SM_RECORDS_INTERPRETERS
    sm_interpreters_start(TOOL_NAME, order, bits);
#endif
    /* Enable the places that an earlier recording disabled. Other tools will return DISABLE once more. */
    if (sm_functions_narrowed() || places_were_off) {
        if (sm_monitoring_restart() < 0)
            PyErr_Clear();
        places_were_off = false;
    }
    sm_monitoring_local_running();
    return 0;
}

static void begin_again(void) {
    if (!sm_sites_on || tool_id < 0 || !still_ours())
        return;
    sm_sites_start(true);
    (void)sm_monitoring_set(tool_id, 0);
    PyErr_Clear();
    sm_monitoring_local_stop(tool_id);
    if (sm_monitoring_set(tool_id, events_set) < 0) {
        PyErr_Clear();
        sm_main.hook_lost++;
    }
}

/* Another tool may have freed our id or taken it over. */
static void poll(void) {
    if (sm_is_main_interpreter() && tool_id >= 0 && !still_ours())
        sm_main.hook_lost += sm_main.hook_lost == 0;
}

static int id(void) {
    return tool_id;
}

const sm_source sm_source_monitoring = {"monitoring", NULL, start, stop, poll, begin_again, false, false, false, id};
const sm_source sm_source_starts = {"starts", NULL, start, stop, poll, begin_again, false, true, false, id};

#else

static const char *objection(void) {
    return "sys.monitoring was added in Python 3.12";
}

const sm_source sm_source_monitoring = {"monitoring", objection, NULL, NULL, NULL, NULL, false, false, false, NULL};
const sm_source sm_source_starts = {"starts", objection, NULL, NULL, NULL, NULL, false, true, false, NULL};

#endif
