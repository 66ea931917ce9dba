/* The probes source, for coverage on 3.11: the evaluator, and the source's start and end.
 *
 * Alternatives on 3.11: tracing (coverage.py) loses specialised instructions and makes a frame object and a call per
 * line; most functions have lines that never run, so tracing only these helps little. Rewritten code objects
 * (SlipCover) grow and are not the program's. A probe changes a byte until it is hit once (arm.c). Calls then go
 * through C, at +10 ns each.
 *
 * Every frame that runs code with probes must be entered through eval() below. Hence:
 * - The evaluator is set before the first probe. Frames that run at the start are traced, and their code gets no
 *   probes. Greenlets hide frames, so there are no probes if greenlet is loaded.
 * - Code of other interpreters and static code (deep-frozen modules) gets no probes.
 * - There are no probes above another tool's PEP 523 function, which need not call ours for the rest of a frame.
 * - Near the end of the C stack (evalframe.c), probes and evaluator are removed for good and the trace function takes
 *   over. It also does so while another tool has a profile or trace function, which would see a probe as a return.
 * - co_code, copies, pickles and dis show the compiler's bytes: the interpreter caches them before the first probe.
 * - Only the loop reads the opcodes of running code, with one exception: RESUME, which gets no probe.
 *
 * In a new context (again), code gets its probes at its next entry, or at once if a frame runs it. */
#include "source/py311/probes/probe_state.h"

#if SM_HAS_EVALFRAME

#include "compat/exception.h"
#include "source/py311/evalframe.h"
#include "source/py311/tracefunc.h"
#include "source/sources.h"

/* ---- tracing everything, and back ------------------------------------------------------------------------------- */

static void trace_all(void) {
    sm_probe.calm = false;
    if (sm_probe.tracing)
        return;
    sm_probe.tracing = true;
    for (sm_probed *probed = sm_probe.codes; probed != NULL; probed = probed->next)
        sm_probe_disarm(probed);
    sm_probe_trace_all(true);
}

static void alongside(bool present) {
    if (!sm_probe.on)
        return;
    if (present)
        trace_all();
    else
        sm_probe.calm = sm_probe.tracing && !sm_probe.escaped;
}

static void for_all_frames(void (*function)(PyCodeObject *code, const sm_frame *frame)) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        for (const sm_frame *frame = sm_frame_running(tstate); frame != NULL; frame = sm_frame_caller(frame))
            function(sm_frame_code(frame), frame);
    }
}

static void arm_again(PyCodeObject *code, const sm_frame *Py_UNUSED(frame)) {
    sm_probed *probed = sm_probe_wanted(code);
    if (probed != NULL && probed->stamp != sm_probe.stamp)
        sm_probe_arm(probed);
}

/* Make everything new again. */
static void again(void) {
    sm_probe.stamp++;
    if (sm_probe.on && !sm_probe.tracing)
        for_all_frames(arm_again);
}

/* Trace the threads that have traced frames on their stacks. With `spare`, the code of every frame becomes traced. */
static void trace_frames(bool spare) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        bool traced = false;
        for (const sm_frame *frame = sm_frame_running(tstate); frame != NULL; frame = sm_frame_caller(frame)) {
            PyCodeObject *code = sm_frame_code(frame);
            void *found = sm_probe_found(code);
            if (found == NULL && spare)
                found = sm_probe_meet(code, sm_frame_globals(frame));
            if (found == NULL || found == sm_probe.unwanted)
                continue;
            sm_probed *probed = found;
            probed->traced = probed->traced || spare;
            traced = traced || probed->traced;
        }
        if (traced) {
            sm_probe_trace_here(tstate, true);
            sm_tstate_trace_stack(tstate);
        }
    }
}

/* End tracing, unless a trace function runs: its instruction could leave the loop and be mistaken for a new probe. */
static void end_tracing(void) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (tstate->tracing != 0)
            return;
    }
    sm_probe.calm = sm_probe.tracing = false;
    sm_probe_trace_all(false);
    trace_frames(false);
    again();
}

/* ---- the evaluator ---------------------------------------------------------------------------------------------- */

static PyObject *eval(PyThreadState *tstate, sm_frame *frame, int throwing);

/* Our evaluators that may be on top of this one. */
static const struct {
    _PyFrameEvalFunction *in_use, *below;
} neighbours[] = {{&sm_evalframe_in_use, &sm_evalframe_below}, {&sm_tracefunc_eval, &sm_tracefunc_below}};

/* Replace one evaluator in the chain. Return false if it is not found. */
static bool exchange(_PyFrameEvalFunction from, _PyFrameEvalFunction to) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction there = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    for (size_t hops = 0; there != from && hops < 3; hops++) {
        _PyFrameEvalFunction before = there;
        for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
            if (there != *neighbours[i].in_use)
                continue;
            if (*neighbours[i].below == from) {
                *neighbours[i].below = to;
                return true;
            }
            there = *neighbours[i].below;
            break;
        }
        if (there == before)
            return false; /* another tool's function */
    }
    if (there != from)
        return false;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, to);
    return true;
}

static bool take_evaluator_away(void) { /* ours stays below another function */
    return exchange(eval, _PyEval_EvalFrameDefault);
}

static __attribute__((noinline)) void escape(void) {
    SM_EXCEPTION_GUARD;
    trace_all();
    sm_probe.escaped = true;
    (void)take_evaluator_away();
}

/* Handle the rare cases at a frame's entry. Return true if the frame has to run without us. */
static __attribute__((noinline)) bool enter_slowly(PyThreadState *tstate, char *here) {
    if (here < sm_evalframe_floor && sm_evalframe_is_deep(here)) {
        escape();
        return true;
    }
    if (sm_probe.calm)
        end_tracing();
    else if (!sm_probe.tracing && sm_tstate_is_traced(tstate) && sm_probe_is_alongside(tstate))
        trace_all(); /* C code made this thread, without any hook */
    return false;
}

/* Run a frame from probe to probe, to its end or its next yield. */
static PyObject *run(PyThreadState *tstate, sm_frame *frame, int throwing) {
    PyCodeObject *code = sm_frame_code(frame); /* borrowed; the frame holds it */
    uint32_t begun = throwing ? sm_frame_unit(frame) : UINT32_MAX;
    for (;;) {
        PyObject *result = _PyEval_EvalFrameDefault(tstate, frame, throwing);
        sm_probed *probed = sm_probe_wanted(code);
        if (SM_UNLIKELY(probed == NULL))
            return result;
        uint32_t unit = sm_frame_unit(frame);
        if (probed->armed_count != 0 && unit < probed->points.units && probed->armed[unit] &&
            (result != NULL || !PyErr_Occurred())) { /* code that raised may have got a probe since */
            throwing = sm_probe_hit(tstate, frame, probed, unit);
            continue;
        }
        if (SM_UNLIKELY(result == NULL) && sm_probe.steps && !sm_probe.tracing && !probed->traced && unit != begun &&
            !sm_frame_is_fresh_call(frame))
            sm_probe_unwound(frame, probed);
        return result;
    }
}

static __attribute__((noinline)) PyObject *run_switched(PyThreadState *tstate, sm_frame *frame, int throwing,
                                                        bool traced) {
    sm_probe_trace_here(tstate, traced);
    PyObject *result = run(tstate, frame, throwing);
    if (sm_probe.on && !sm_probe.tracing) /* otherwise it was switched for all threads */
        sm_probe_trace_here(tstate, !traced);
    return result;
}

static __attribute__((noinline)) PyObject *run_framed(PyThreadState *tstate, sm_frame *frame, int throwing,
                                                      sm_probed *probed) {
    sm_cover_enter(probed->record, frame);
    if (probed->stamp != sm_probe.stamp)
        sm_probe_arm(probed);
    bool before = sm_tstate_is_traced(tstate), traced = probed->traced;
    PyObject *result = before != traced && !sm_probe.tracing ? run_switched(tstate, frame, throwing, traced)
                                                             : run(tstate, frame, throwing);
    sm_cover_leave(frame);
    return result;
}

static PyObject *eval(PyThreadState *tstate, sm_frame *frame, int throwing) {
    char here;
    PyCodeObject *code = sm_frame_code(frame);
    if (SM_UNLIKELY(!sm_probe.on))
        return _PyEval_EvalFrameDefault(tstate, frame, throwing);
    if (SM_UNLIKELY(&here < sm_evalframe_floor || sm_probe.calm || sm_tstate_is_traced(tstate)) &&
        enter_slowly(tstate, &here))
        return _PyEval_EvalFrameDefault(tstate, frame, throwing);
    bool before = sm_tstate_is_traced(tstate);
    void *found = sm_probe_found(code);
    if (SM_UNLIKELY(found == NULL))
        found = sm_probe_meet(code, sm_frame_globals(frame));
    if (found == NULL || found == sm_probe.unwanted) {
        if (SM_UNLIKELY(before && !sm_probe.tracing))
            return run_switched(tstate, frame, throwing, false);
        return _PyEval_EvalFrameDefault(tstate, frame, throwing);
    }
    sm_probed *probed = found;
    if (SM_UNLIKELY(probed->record->test) && ((code->co_flags & SM_SUSPENDING) == 0 || sm_frame_of_generator(frame)))
        return run_framed(tstate, frame, throwing, probed);
    if (SM_UNLIKELY(probed->stamp != sm_probe.stamp))
        sm_probe_arm(probed);
    if (SM_UNLIKELY(before != probed->traced) && !sm_probe.tracing)
        return run_switched(tstate, frame, throwing, probed->traced);
    return run(tstate, frame, throwing);
}

/* ---- start and end ---------------------------------------------------------------------------------------------- */

static bool has_greenlets(void) {
    PyObject *modules = PyImport_GetModuleDict();
    return modules != NULL && PyDict_GetItemString(modules, "greenlet._greenlet") != NULL;
}

/* Put the evaluator directly above the interpreter's own. Return false if another tool's is between. */
static bool put_evaluator(void) {
    return exchange(eval, eval) || exchange(_PyEval_EvalFrameDefault, eval);
}

/* A new context makes everything new by its stamp, and probes are freed with the code object. */
static const sm_cover_source asked_of = {.switched = again};

static int start(const sm_settings *Py_UNUSED(settings)) {
    static uintptr_t session = 0;
    sm_cover.source = &asked_of;
    sm_codes_on_death(SM_CODE_PROBES, sm_probe_release);
    sm_codes_hold();
    sm_probe.steps = sm_cover.branch;
    sm_probe.counts = sm_cover.counts || sm_beside.apart.last != 0 || has_greenlets();
    sm_probe.tracing = sm_probe.escaped = sm_probe.calm = false;
    sm_probe.stamp++;
    sm_probe.lost = 0;
    sm_probe.unwanted = (void *)(++session << 1 | 1);
    sm_probe.on = true;
    if (sm_probe_trace_join(alongside) < 0) {
        sm_probe.on = false;
        sm_codes_release();
        return -1;
    }
    trace_frames(true); /* for frames that were not entered through eval() */
    if (!put_evaluator()) {
        trace_all();
        sm_probe.escaped = true;
    }
    return 0;
}

static void poll(void) {
    bool holds = sm_probe.escaped || exchange(eval, eval);
    sm_beside.hook_lost += sm_beside.hook_lost == 0 && !holds;
}

static void stop(void) {
    poll();
    sm_beside.lost_memory += sm_probe.lost;
    SM_EXCEPTION_GUARD;
    sm_probe.on = false;
    if (!sm_probe.escaped)
        (void)take_evaluator_away();
    while (sm_probe.codes != NULL) {
        sm_probed *probed = sm_probe.codes;
        sm_probe_disarm(probed);
        sm_probe_release(sm_code_entry_of(probed->code));
    }
    sm_probe_trace_leave();
    sm_codes_release();
}

const sm_source sm_source_probes = {
    .name = "probes", .start = start, .stop = stop, .poll = poll, .begin_again = sm_cover_rearm};

#endif
