/* Events of single code objects.
 *
 * A recording of everything asks for its events once, for the whole interpreter. One that where= narrows to a few
 * functions would pay for every line of the others once, at the least, so it asks only for what tells of code objects
 * that begin or go on; and when a wanted one does, for the others of it alone. The code objects whose events were
 * asked for are known by address until they die, and given back at the end: until 3.14, nobody else would do it
 * (gh-111963).
 *
 * Frames that run when the recording starts may never begin anything: those of all threads are looked at then.
 *
 * The same table has the code objects in which places were switched off (monitoring_sites.c). */
#include "source/monitoring.h"

#if SM_HAS_MONITORING

#include "base/alloc.h"
#include "event/linewalk.h"

static struct {
    int tool_id;
    long events;        /* to be asked for on each wanted code object; 0: all are the interpreter's */
    const void **codes; /* owned; open addressing; NULL: free */
    uint32_t size, count;
} local;

static uint32_t home_of(const void *code) {
    return (uint32_t)((((uintptr_t)code >> 4) * 0x9E3779B97F4A7C15u) >> 32) & (local.size - 1);
}

static const void **slot_of(const void *code) {
    for (uint32_t i = home_of(code);; i = (i + 1) & (local.size - 1)) {
        if (local.codes[i] == code || local.codes[i] == NULL)
            return &local.codes[i];
    }
}

bool sm_monitoring_remember(const void *code) {
    if (local.count * 2 >= local.size) {
        const void **old = local.codes;
        uint32_t old_size = local.size, size = old_size ? old_size * 2 : 1024;
        const void **codes = sm_calloc(size, sizeof *codes);
        if (codes == NULL)
            return false;
        local.codes = codes, local.size = size;
        for (uint32_t i = 0; i < old_size; i++) {
            if (old[i] != NULL)
                *slot_of(old[i]) = old[i];
        }
        sm_free(old);
    }
    const void **slot = slot_of(code);
    local.count += *slot == NULL;
    *slot = code;
    return true;
}

/* Takes it out of the table: those behind it move up, unless they would come to stand before their home. */
void sm_monitoring_local_forget(const void *code) {
    if (local.size == 0 || *slot_of(code) == NULL)
        return;
    uint32_t mask = local.size - 1, hole = (uint32_t)(slot_of(code) - local.codes);
    for (uint32_t i = (hole + 1) & mask; local.codes[i] != NULL; i = (i + 1) & mask) {
        if (((i - home_of(local.codes[i])) & mask) < ((i - hole) & mask))
            continue;
        local.codes[hole] = local.codes[i];
        hole = i;
    }
    local.codes[hole] = NULL;
    local.count--;
}

long sm_monitoring_local_start(int tool_id, long events) {
    static const char *const names[] = {"LINE", "INSTRUCTION", "PY_RETURN", "PY_YIELD"};
    local.tool_id = tool_id;
    local.events = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        long number = sm_monitoring_number(names[i]);
        if (number < 0)
            return -1;
        local.events |= events & number;
    }
    return events & ~local.events;
}

bool sm_monitoring_meet(PyObject *code) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback); /* a throw comes with an exception */
    bool wanted = !sm_engine.running || sm_monitoring_callbacks_in_use->wants(code, PyEval_GetGlobals());
    sm_code_entry *entry = wanted ? sm_code_entry_of_any(code) : NULL;
    if (entry != NULL && sm_engine.running) {
        entry->session = sm_engine.session;
        if (local.events != 0 && (!sm_monitoring_remember(code) ||
                                  sm_monitoring_set_local(local.tool_id, (PyCodeObject *)code, local.events) < 0))
            sm_engine.lost_memory++;
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
    return wanted;
}

static void meet_frames(PyFrameObject *frame) { /* steals it; NULL is none */
    while (frame != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *globals = PyFrame_GetGlobals(frame);
        if (sm_monitoring_callbacks_in_use->wants((PyObject *)code, globals) &&
            (!sm_monitoring_remember(code) || sm_monitoring_set_local(local.tool_id, code, local.events) < 0))
            sm_engine.lost_memory++;
        PyErr_Clear();
        Py_DECREF(code);
        Py_XDECREF(globals);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
}

void sm_monitoring_local_running(void) {
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

void sm_monitoring_local_stop(int tool_id) {
    long rarest = local.events == 0 && local.count > 0 ? sm_monitoring_number("PY_YIELD") : 0;
    PyErr_Clear();
    for (uint32_t i = 0; i < local.size; i++) {
        if (local.codes[i] != NULL)
            give_back(tool_id, (PyCodeObject *)(uintptr_t)local.codes[i], rarest);
    }
    sm_free(local.codes);
    local.codes = NULL;
    local.size = local.count = 0;
    local.events = 0;
}

bool sm_monitoring_needs_start(PyObject *code, int offset) {
    return SM_FIRST_LINE_NEEDS_START && offset >= 0 && sm_line_goes_on((PyCodeObject *)code, (uint64_t)offset / 2);
}

#endif
