/* The tracefunc source: the interpreter's trace function, on every thread, for a recorder of lines on 3.11.
 *
 * Frames that run at the start report from their next line on, because the flag for tracing is set in all evaluation
 * loops on a stack. code.replace accepts a wrong line table, which makes the interpreter write out of bounds, so a
 * PEP 523 function checks each table before the first event. Near the end of the C stack (evalframe.c), it is
 * removed. */
#include "source/py311/tracefunc.h"

#if SM_SHARES_SLOTS

#include "code/probe_points.h"
#include "compat/exception.h"
#include "compat/quickening.h"
#include "source/py311/evalframe.h"

Py_tracefunc sm_tracefunc_in_use = NULL;
bool (*sm_tracefunc_wants_in_use)(PyObject *code, PyObject *globals) = NULL;
bool sm_tracefunc_on = false;

static sm_thread_slot_user user = {.slot = SM_THREAD_SLOT_TRACE};
static uint64_t evicted_before, lost_before;

bool sm_tracefunc_meet(PyCodeObject *code, PyObject *globals) {
    SM_EXCEPTION_GUARD;
    bool wanted = sm_tracefunc_wants_in_use((PyObject *)code, globals);
    sm_code_entry *entry = wanted ? sm_code_entry_of(code) : NULL;
    if (entry != NULL)
        entry->session = sm_engine.session;
    return wanted;
}

/* Return the opcode of the frame's instruction, or RESUME if the frame, made by C code, has none. */
static uint8_t opcode_at(const sm_frame *frame, const PyCodeObject *code, uint8_t *argument) {
    uint32_t unit = sm_frame_unit(frame);
    *argument = 0;
    if (unit >= (uint32_t)Py_SIZE(code))
        return RESUME;
    const uint8_t *bytes = sm_code_bytes((PyCodeObject *)code) + 2 * (size_t)unit;
    *argument = bytes[1];
    return sm_opcode_plain(bytes[0]);
}

bool sm_tracefunc_goes_on(const sm_frame *frame, const PyCodeObject *code) {
    uint8_t argument, opcode = opcode_at(frame, code, &argument);
    if (opcode != RESUME) /* An exception is thrown into it; a frame before its start is at RETURN_GENERATOR. */
        return opcode == YIELD_VALUE;
    return (argument & 3) != 0; /* after yield, yield from or await */
}

sm_leaving sm_tracefunc_leaving(const sm_frame *frame, const PyCodeObject *code, PyObject *value) {
    uint8_t argument;
    if (value == NULL)
        return SM_BY_EXCEPTION;
    return opcode_at(frame, code, &argument) == YIELD_VALUE ? SM_BY_YIELD : SM_BY_RETURN;
}

/* ---- the evaluator ---- */

static PyObject *eval(PyThreadState *tstate, sm_frame *frame, int throwing);
_PyFrameEvalFunction sm_tracefunc_eval = eval, sm_tracefunc_below = NULL;

static void put_evaluator(bool on) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (on && there != eval) {
        sm_tracefunc_below = there;
        _PyInterpreterState_SetEvalFrameFunc(interpreter, eval);
    } else if (!on && there == eval) { /* otherwise ours stays in place below another tool's function */
        _PyInterpreterState_SetEvalFrameFunc(interpreter, sm_tracefunc_below);
    }
}

static PyObject *eval(PyThreadState *tstate, sm_frame *frame, int throwing) {
    char here;
    PyCodeObject *code = sm_frame_code(frame);
    if (SM_UNLIKELY(sm_tracefunc_on && !sm_code_has_lines(code)))
        (void)sm_probe_mend_lines(code);
    if (SM_UNLIKELY(&here < sm_evalframe_floor && sm_evalframe_is_deep(&here)))
        put_evaluator(false);
    return sm_tracefunc_below(tstate, frame, throwing);
}

/* ---- interface to the engine ---- */

static int start(const sm_settings *Py_UNUSED(settings)) {
    if (PySys_Audit("sys.settrace", NULL) < 0)
        return -1;
    user.function = sm_tracefunc_in_use;
    evicted_before = sm_thread_slots.evicted[SM_THREAD_SLOT_TRACE];
    lost_before = sm_thread_slots.lost;
    sm_tracefunc_on = true;
    if (sm_thread_slots_join(&user) < 0) {
        sm_tracefunc_on = false;
        return -1;
    }
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (tstate->tracing == 0)
            sm_tstate_trace_stack(tstate);
    }
    put_evaluator(true);
    return 0;
}

static void stop(void) {
    SM_EXCEPTION_GUARD;
    sm_tracefunc_on = false;
    put_evaluator(false);
    sm_thread_slots_leave(&user);
    sm_main.hook_lost += sm_thread_slots.evicted[SM_THREAD_SLOT_TRACE] - evicted_before;
    sm_main.lost_memory += sm_thread_slots.lost - lost_before;
}

static void poll(void) {
    sm_engine.late_threads += sm_thread_slots_review(NULL);
}

const sm_source sm_source_tracefunc = {"tracefunc", NULL, start, stop, poll, NULL, false, false, false, NULL};

#else

static const char *objection(void) {
    return "sys.monitoring is better from 3.12 on: it leaves other code at its speed";
}

const sm_source sm_source_tracefunc = {"tracefunc", objection, NULL, NULL, NULL, NULL, false, false, false, NULL};

#endif
