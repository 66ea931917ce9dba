/* Lines and steps by the interpreter's trace function, where there can be no probes.
 *
 * The evaluator switches it on for a frame whose hits are counted or whose code ran before the start, and for
 * everything while another tool uses the profile or trace slot of any thread: a probe would be reported to it as a
 * return.
 *
 * A step needs the frame's previous line, which a table keeps until the frame is left. */
#include "source/py311/probes/probe_state.h"

#if SM_HAS_EVALFRAME

#include "base/map.h"
#include "compat/quickening.h"
#include "hooks/py311/thread_slots.h"

typedef struct {
    uint64_t frame;
    int32_t line;
} last_line;

static sm_map lasts;

static last_line *find_last(const void *frame) {
    return sm_map_find(&lasts, (uintptr_t)frame, sizeof(last_line));
}

static last_line *make_last(const void *frame) { /* NULL if out of memory */
    last_line *known = find_last(frame);
    if (known != NULL)
        return known;
    last_line *made = sm_map_make(&lasts, (uintptr_t)frame, sizeof *made, 256);
    if (made != NULL)
        made->line = SM_NO_LINE;
    return made;
}

/* ---- the event -------------------------------------------------------------------------------------------------- */

static void begin(PyFrameObject *object, const sm_frame *frame, PyCodeObject *code) {
    const uint8_t *at = sm_code_bytes(code) + 2 * (size_t)sm_frame_unit(frame);
    last_line *last = make_last(frame);
    if (last != NULL)
        last->line = at[1] == 0 ? -code->co_firstlineno : PyFrame_GetLineNumber(object); /* RESUME's argument */
}

static void step_to(const sm_probed *probed, const sm_frame *frame, int line) {
    last_line *last = make_last(frame);
    if (last == NULL)
        return;
    if (last->line != SM_NO_LINE)
        sm_probe_report_step(probed->record, last->line, line);
    last->line = line;
}

static void end(const sm_probed *probed, const sm_frame *frame, PyCodeObject *code, bool raises) {
    uint32_t unit = sm_frame_unit(frame);
    bool yields = !raises && unit < (uint32_t)Py_SIZE(code) && sm_code_bytes(code)[2 * unit] == YIELD_VALUE;
    last_line *last = find_last(frame);
    if (last != NULL && last->line != SM_NO_LINE && !yields)
        sm_probe_report_step(probed->record, last->line, -code->co_firstlineno);
    last = find_last(frame); /* the report may have moved it */
    if (last != NULL)
        sm_map_remove(&lasts, last, sizeof *last);
}

static int hook(PyObject *Py_UNUSED(obj), PyFrameObject *object, int what, PyObject *arg) {
    const sm_frame *frame = sm_frame_of(object);
    PyCodeObject *code = sm_frame_code(frame);
    if (!sm_probe.on)
        return 0;
    void *found = sm_probe_found(code);
    if (found == NULL && sm_probe.escaped)
        found = sm_probe_meet(code, sm_frame_globals(frame));
    if (found == NULL || found == sm_probe.unwanted)
        return 0;
    sm_probed *probed = found;
    uint32_t unit = sm_frame_unit(frame);
    if (what == PyTrace_RETURN && probed->armed_count != 0 && unit < probed->points.units && probed->armed[unit])
        return 0; /* not a return: a probe is hit */
    if (what == PyTrace_CALL) {
        if (sm_probe.escaped && probed->record->test)
            sm_cover_enter(probed->record, frame);
        if (sm_probe.steps)
            begin(object, frame, code);
    } else if (what == PyTrace_LINE) {
        int line = PyFrame_GetLineNumber(object);
        sm_probe_report_line(probed->record, line);
        if (sm_probe.steps)
            step_to(probed, frame, line);
    } else if (what == PyTrace_RETURN) {
        if (sm_probe.steps)
            end(probed, frame, code, arg == NULL);
        if (sm_probe.escaped && probed->record->test)
            sm_cover_leave(frame);
    }
    return 0;
}

static int nothing(PyObject *Py_UNUSED(obj), PyFrameObject *Py_UNUSED(frame), int Py_UNUSED(what),
                   PyObject *Py_UNUSED(arg)) {
    return 0;
}

static sm_thread_slot_user tracer = {.slot = SM_THREAD_SLOT_TRACE, .function = hook, .idle = true};
/* Never called. By its slot, thread_slots.h notices when another tool sets a profile function. */
static sm_thread_slot_user sentinel = {.slot = SM_THREAD_SLOT_PROFILE, .function = nothing, .idle = true};

int sm_probe_trace_join(void (*alongside)(bool present)) {
    tracer.alongside = sentinel.alongside = alongside;
    if (PySys_Audit("sys.settrace", NULL) < 0)
        return -1;
    if (sm_thread_slots_join(&sentinel) < 0)
        return -1;
    if (sm_thread_slots_join(&tracer) < 0) {
        sm_thread_slots_leave(&sentinel);
        return -1;
    }
    return 0;
}

void sm_probe_trace_leave(void) {
    sm_thread_slots_leave(&tracer);
    sm_thread_slots_leave(&sentinel);
    tracer.idle = true;
    sm_map_free(&lasts);
}

void sm_probe_trace_all(bool on) {
    tracer.idle = !on;
    sm_thread_slots_review(NULL);
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate))
        sm_thread_slots_lull(tstate, &tracer, !on);
    sm_map_free(&lasts);
}

void sm_probe_trace_here(PyThreadState *tstate, bool on) {
    if (on && tstate->c_traceobj == NULL) /* C code made this thread */
        sm_thread_slots_review(tstate);
    sm_thread_slots_lull(tstate, &tracer, !on);
}

bool sm_probe_is_alongside(PyThreadState *tstate) {
    return sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_PROFILE) ||
           sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_TRACE);
}

#endif
