/* Probes in code objects.
 *
 * A probe is the opcode RETURN_VALUE written over another. The evaluation loop pops a value and returns; the frame
 * stays, because 3.11 leaves clearing a frame that was entered from C to its caller, run() in probes.c. It pushes the
 * value back, restores the opcode and continues the loop there, as in a generator. So a probe costs some 30 ns when
 * hit, and nothing before or after. The value is never read: on an empty stack it is a local variable, or no object.
 *
 * A probe at a conditional jump stays while one of its ways is new, so the jump is executed here. Specialised
 * instructions read or run the next one, so those before a probe return to their general forms. */
#include "source/py311/probes/probe_state.h"

#if SM_HAS_EVALFRAME

#include "compat/quickening.h"

/* Backward jumps executed here between two checks for signals and other threads. */
#define BREATH 64

sm_probe_state sm_probe;

/* ---- new lines and steps ---------------------------------------------------------------------------------------- */

/* Return true on a skipped thread. With such threads the trace function reports: a hit probe is gone for all
 * threads. */
static bool is_apart(void) {
    return sm_beside.apart.last != 0 && sm_is_apart(&sm_beside.apart, PyThreadState_Get());
}

void sm_probe_report_line(sm_cover_code *record, int line) {
    if (record->of != NULL && !is_apart())
        (void)sm_cover_line(record, line);
}

void sm_probe_report_step(sm_cover_code *record, int from, int to) {
    if (record->of != NULL && !is_apart())
        (void)sm_cover_arc(record, from, to);
}

/* Code that is known only as a test has nothing new. */
static bool line_is_new(const sm_probed *probed, int line) {
    return line != SM_NO_LINE && probed->record->of != NULL && !sm_cover_line_seen(probed->record, line);
}

static bool step_is_new(const sm_probed *probed, sm_probe_step step) {
    return step.from != SM_NO_LINE && probed->record->of != NULL &&
           !sm_cover_arc_seen(probed->record, step.from, step.to);
}

static bool ways_are_new(const sm_probed *probed, const sm_probe_point *point) {
    return step_is_new(probed, point->ways[0]) || step_is_new(probed, point->ways[1]);
}

static bool is_needed(const sm_probed *probed, const sm_probe_point *point) {
    if (line_is_new(probed, point->line))
        return true;
    return sm_probe.steps && (step_is_new(probed, point->steps[0]) || step_is_new(probed, point->steps[1]) ||
                              ways_are_new(probed, point));
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

/* Keep the instructions before the point from running it or skipping it. */
static void part(uint8_t *bytes, const sm_probe_point *point) {
    uint8_t *before = &bytes[2 * point->before], *behind = &bytes[2 * point->before_that];
    if (point->before == point->unit)
        return;
    if (sm_opcode_is_fused(*before))
        *before = sm_opcode_plain(*before);
    else if (sm_opcode_compares_and_jumps(*before))
        *before = COMPARE_OP_ADAPTIVE;
    else if (*before == BINARY_OP_INPLACE_ADD_UNICODE)
        *before = BINARY_OP_ADAPTIVE;
    if (*behind == PRECALL_NO_KW_LIST_APPEND)
        *behind = PRECALL_ADAPTIVE;
}

static void arm(sm_probed *probed, sm_probe_point *point) {
    uint8_t *bytes = sm_code_bytes(probed->code);
    part(bytes, point);
    uint8_t opcode = bytes[2 * point->unit];
    point->covered = sm_opcode_is_fused(opcode) ? sm_opcode_plain(opcode) : opcode;
    bytes[2 * point->unit] = RETURN_VALUE;
    point->armed = true;
    probed->armed[point->unit] = 1;
    probed->armed_count++;
}

static void disarm(sm_probed *probed, sm_probe_point *point) {
    uint8_t *bytes = sm_code_bytes(probed->code);
    uint8_t opcode = point->covered, adaptive = 0;
    if (sm_code_is_quickened(probed->code)) { /* The code may have been quickened meanwhile. */
        adaptive = sm_opcode_adaptive(opcode);
        if (sm_probe_is_way(point) && bytes[2 * point->before] == COMPARE_OP)
            bytes[2 * point->before] = COMPARE_OP_ADAPTIVE; /* The instruction gave up specialising before the probe. */
    }
    bytes[2 * point->unit] = adaptive != 0 ? adaptive : opcode;
    point->armed = false;
    probed->armed[point->unit] = 0;
    probed->armed_count--;
}

void sm_probe_arm(sm_probed *probed) {
    probed->stamp = sm_probe.stamp;
    if (probed->traced || sm_probe.tracing)
        return;
    for (uint32_t i = 0; i < probed->points.count; i++) {
        sm_probe_point *point = &probed->points.points[i];
        bool needed = is_needed(probed, point);
        if (needed && !point->armed)
            arm(probed, point);
        else if (!needed && point->armed)
            disarm(probed, point);
    }
}

void sm_probe_disarm(sm_probed *probed) {
    for (uint32_t i = 0; probed->armed_count != 0 && i < probed->points.count; i++) {
        if (probed->points.points[i].armed)
            disarm(probed, &probed->points.points[i]);
    }
}

/* ---- a conditional jump, executed here -------------------------------------------------------------------------- */

/* Return the truth of the value, whose reference is stolen, or -1 with an exception set. */
static int holds(PyObject *value) {
    int result = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    Py_DECREF(value);
    return result;
}

static int holds_none(PyObject *value) {
    bool result = value == Py_None;
    Py_DECREF(value);
    return result;
}

static int not_so(int result) {
    return result < 0 ? result : !result;
}

static int jump_or_pop(sm_frame *frame, bool if_true) {
    PyObject *value = sm_frame_top(frame);
    int result = holds(Py_NewRef(value));
    if (result < 0)
        return result;
    bool jump = (result != 0) == if_true;
    if (!jump)
        Py_DECREF(sm_frame_pop(frame));
    return jump;
}

static int for_iter(sm_frame *frame) {
    PyObject *iterator = sm_frame_top(frame);
    PyObject *value = Py_TYPE(iterator)->tp_iternext(iterator);
    if (value != NULL) {
        sm_frame_push(frame, value);
        return 0;
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration))
            return -1;
        PyErr_Clear();
    }
    Py_DECREF(sm_frame_pop(frame));
    return 1;
}

/* Return 0 to fall through, 1 to jump, or -1 with an exception set. */
static int decide(sm_frame *frame, uint8_t opcode) {
    switch (opcode) {
    case FOR_ITER:
        return for_iter(frame);
    case JUMP_IF_TRUE_OR_POP:
        return jump_or_pop(frame, true);
    case JUMP_IF_FALSE_OR_POP:
        return jump_or_pop(frame, false);
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_TRUE:
        return holds(sm_frame_pop(frame));
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NONE:
        return holds_none(sm_frame_pop(frame));
    case POP_JUMP_FORWARD_IF_NOT_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
        return not_so(holds_none(sm_frame_pop(frame)));
    default:
        return not_so(holds(sm_frame_pop(frame)));
    }
}

/* Do what the loop does at backward jumps. Return -1 with an exception set. */
static int breathe(void) {
    static unsigned breath = 0;
    if (++breath % BREATH != 0)
        return 0;
    Py_BEGIN_ALLOW_THREADS;
    Py_END_ALLOW_THREADS;
    return Py_MakePendingCalls();
}

/* Execute the jump. Its condition may run any code, so the record is looked up again afterwards. */
static bool take_way(PyThreadState *tstate, sm_frame *frame, const sm_probe_point *at) {
    sm_probe_point point = *at;
    sm_link link;
    sm_tstate_link(tstate, &link, frame);
    int way = decide(frame, point.opcode);
    const sm_probed *probed = sm_probe_wanted(sm_frame_code(frame));
    if (way >= 0) {
        if (probed != NULL && step_is_new(probed, point.ways[way]))
            sm_probe_report_step(probed->record, point.ways[way].from, point.ways[way].to);
        sm_frame_go_to(frame, way ? point.jump : point.on);
        if (way && point.backward && breathe() < 0)
            way = -1;
    }
    sm_tstate_unlink(tstate, &link);
    return way < 0;
}

/* ---- a hit ------------------------------------------------------------------------------------------------------ */

static void emit(sm_probed *probed, sm_probe_point *point) {
    if (line_is_new(probed, point->line)) {
        sm_probe_report_line(probed->record, point->line);
        sm_probe_point *all = probed->points.points;
        for (sm_probe_point *like = &all[point->next]; like != point; like = &all[like->next]) {
            if (like->armed && !is_needed(probed, like))
                disarm(probed, like);
        }
    }
    for (int i = 0; i < 2 && sm_probe.steps; i++) {
        if (step_is_new(probed, point->steps[i]))
            sm_probe_report_step(probed->record, point->steps[i].from, point->steps[i].to);
    }
}

bool sm_probe_hit(PyThreadState *tstate, sm_frame *frame, sm_probed *probed, uint32_t unit) {
    sm_probe_point *point = sm_probe_point_at(&probed->points, unit);
    sm_frame_unpop(frame);
    emit(probed, point);
    sm_frame_go_to(frame, unit);
    if (!sm_probe.steps || !ways_are_new(probed, point)) {
        disarm(probed, point);
        return false;
    }
    return take_way(tstate, frame, point);
}

void sm_probe_unwound(const sm_frame *frame, sm_probed *probed) {
    PyCodeObject *code = sm_frame_code(frame);
    int line = sm_probe_exit_line(code, sm_frame_unit(frame));
    if (line > 0)
        sm_probe_report_step(probed->record, line, -code->co_firstlineno);
}

#endif
