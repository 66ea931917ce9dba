/* The probes source: the evaluator, and the source's start and end.
 *
 * Three ways to be told of lines on 3.11 were weighed.
 * - Tracing (what coverage.py does): the interpreter leaves its specialised instructions, makes a frame object and
 *   calls at each line. To trace only frames whose code has lines that never ran does not help much: most functions of
 *   most programs have such a line, an error's, for ever.
 * - Rewriting code objects with calls in them (SlipCover): all code grows and is another object than the program's, and
 *   what was passed once still jumps over its probe.
 * - Probes: a byte of the code that runs is another until it is hit once (arm.c). What is left of the price is
 *   that Python calls go through C, +10 ns each, for the probe's way out has to lead to us. This is what is done here.
 *
 * Where a probe stands, the frame must be ours: every frame that runs such code has to be entered through eval() below.
 * So these rules hold.
 * - The evaluator is set before the first probe. A frame that ran already then is not ours: the code objects of all
 *   frames on all threads at the start never get a probe, and their frames are traced. Greenlets keep frames that no
 *   thread shows, so if there is greenlet at the start, there are no probes.
 * - Code of other interpreters or static code (deep-frozen modules, which all interpreters share) never gets one.
 * - A PEP 523 function that was there before us is not trusted to call us again for the rest of a frame; there are no
 *   probes then. Our own call tree's goes on top. One that comes later has to call what it found, as they do.
 * - When the C stack is nearly used up (evalframe.c says why that can be), all probes go and the evaluator goes, for
 *   good, and the trace function takes over.
 * - A probe's RETURN_VALUE is reported as a return to whoever has a profile or trace function. When one comes, on any
 *   thread, by whatever way (hooks/py311/thread_slots.h notices before its first event), all probes go, and the trace
 * function takes over; when that tool has gone, it is over at the next frame.
 * - The bytes that Python code can see (co_code, and with it copies, pickles and dis) are the compiler's: the
 *   interpreter keeps them in the code object, and is made to do so before the first probe.
 * - Nothing but the loop reads the opcodes of code that runs, with one exception: RESUME, which never gets a probe.
 *
 * In a context (sm_probes_again), everything is new again. A code object gets its probes at its next entry, those of
 * frames that run get theirs at once. */
#include "source/py311/probes/probes.h"

#if SM_HAS_EVALFRAME

#include "base/alloc.h"
#include "compat/exception.h"
#include "source/py311/evalframe.h"
#include "source/py311/probes/probe_state.h"
#include "source/py311/tracefunc.h"

#define STATIC_REFERENCES (1 << 28) /* more than these: the object is static */

/* ---- code objects ----------------------------------------------------------------------------------------------- */

static void release(sm_code_entry *entry) { /* the code object goes away, or the session ends */
    sm_probed *probed = entry->of[SM_CODE_PROBES];
    entry->of[SM_CODE_PROBES] = NULL;
    if (((uintptr_t)probed & 1) != 0)
        return;
    *probed->link = probed->next;
    if (probed->next != NULL)
        probed->next->link = probed->link;
    sm_probe.probes -= probed->armed_count;
    sm_probe.codes_count--;
    sm_probe_points_clear(&probed->points);
    sm_free(probed->armed);
    sm_free(probed);
}

static bool can_be_probed(PyCodeObject *code) {
#ifdef Py_DEBUG
    return false; /* its loop asserts that RETURN_VALUE leaves an empty stack */
#endif
    return !sm_probe.counts && !sm_probe.escaped && Py_REFCNT(code) < STATIC_REFERENCES && Py_SIZE(code) > 0;
}

static sm_probed *make(PyCodeObject *code, void *record, bool frames) {
    sm_probed *made = sm_calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    *made = (sm_probed){.record = record, .code = code, .frames = frames, .traced = true};
    if (can_be_probed(code)) {
        bool found = sm_probe_points_find(&made->points, code, sm_probe.steps);
        if (found && !made->points.odd)
            made->armed = sm_calloc(made->points.units, 1);
        made->traced = made->armed == NULL;
        if (made->traced)
            sm_probe_points_clear(&made->points);
    }
    return made;
}

sm_probed *sm_probe_meet(PyCodeObject *code, PyObject *globals) {
    sm_exception kept = sm_exception_keep();
    bool frames = false;
    (void)sm_probe_mend_lines(code);
    void *record = sm_probe.receiver->meet(code, globals, &frames);
    sm_probed *made = record != NULL ? make(code, record, frames) : NULL;
    sm_code_entry *entry = sm_code_entry_make(code);
    if (entry != NULL)
        entry->of[SM_CODE_PROBES] = record != NULL ? (void *)made : sm_probe.unwanted;
    if (entry == NULL || (record != NULL && made == NULL)) {
        sm_probe.lost++;
        if (made != NULL) {
            sm_probe_points_clear(&made->points);
            sm_free(made->armed);
        }
        sm_free(made);
        made = NULL;
    }
    if (made != NULL) {
        made->next = sm_probe.codes;
        made->link = &sm_probe.codes;
        if (made->next != NULL)
            made->next->link = &made->next;
        sm_probe.codes = made;
        sm_probe.codes_count++;
    }
    sm_exception_restore(kept);
    return made;
}

/* ---- everything is traced, and back ----------------------------------------------------------------------------- */

static void trace_all(void) {
    sm_probe.calm = false;
    if (sm_probe.tracing)
        return;
    sm_probe.tracing = true;
    for (sm_probed *probed = sm_probe.codes; probed != NULL; probed = probed->next)
        sm_probe_disarm(probed);
    sm_probe_trace_all(true);
}

void sm_probe_alongside(bool present) {
    if (!sm_probe.on)
        return;
    if (present)
        trace_all();
    else
        sm_probe.calm = sm_probe.tracing && !sm_probe.escaped;
}

/* The code of every frame that runs, on all threads. */
static void for_all_frames(void (*function)(PyCodeObject *code, const sm_frame *frame)) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        for (const sm_frame *frame = sm_frame_running(tstate); frame != NULL; frame = sm_frame_caller(frame))
            function(sm_frame_code(frame), frame);
    }
}

static void arm_again(PyCodeObject *code, const sm_frame *Py_UNUSED(frame)) {
    void *found = sm_probe_found(code);
    if (found != NULL && found != sm_probe.unwanted && ((sm_probed *)found)->stamp != sm_probe.stamp)
        sm_probe_arm(found);
}

void sm_probes_again(void) {
    sm_probe.stamp++;
    if (sm_probe.on && !sm_probe.tracing)
        for_all_frames(arm_again);
}

/* Threads on whose stacks are frames that have to be traced are traced from here on, which all of their frames are,
 * then; what they call is switched on and off as anywhere. With spare, the code of every frame becomes such. */
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

/* At the entry of a frame. Not while a trace function runs somewhere: the instruction that it was called for could be
 * one that leaves the loop, and would be taken for a probe that was put there meanwhile. */
static void end_tracing(void) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (tstate->tracing != 0)
            return;
    }
    sm_probe.calm = sm_probe.tracing = false;
    sm_probe_trace_all(false);
    trace_frames(false);
    sm_probes_again();
}

/* ---- the evaluator ---------------------------------------------------------------------------------------------- */

static PyObject *eval(PyThreadState *tstate, sm_frame *frame, int throwing);

/* Our own that may sit on top of it. */
static const struct {
    _PyFrameEvalFunction *in_use, *below;
} neighbours[] = {{&sm_evalframe_in_use, &sm_evalframe_below}, {&sm_tracefunc_eval, &sm_tracefunc_below}};

/* Exchanges one evaluator for another, wherever it is. false: it is nowhere to be found. */
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
            return false; /* another tool's */
    }
    if (there != from)
        return false;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, to);
    return true;
}

static bool take_evaluator_away(void) { /* else another one stands above: ours stays below, and does nothing */
    return exchange(eval, _PyEval_EvalFrameDefault);
}

static __attribute__((noinline)) void escape(void) {
    sm_exception kept = sm_exception_keep();
    trace_all();
    sm_probe.escaped = true;
    (void)take_evaluator_away();
    sm_exception_restore(kept);
}

/* What is rare at a frame's entry. Returns whether it is to be run without us. */
static __attribute__((noinline)) bool enter_slowly(PyThreadState *tstate, char *here) {
    if (here < sm_evalframe_floor && sm_evalframe_is_deep(here)) {
        escape();
        return true;
    }
    if (sm_probe.calm)
        end_tracing();
    else if (!sm_probe.tracing && sm_tstate_is_traced(tstate) && sm_probe_is_alongside(tstate))
        trace_all(); /* a thread that C code made, of which no hook was told */
    return false;
}

/* Runs a frame to its end, or its next yield: from probe to probe. */
static PyObject *run(PyThreadState *tstate, sm_frame *frame, int throwing) {
    PyCodeObject *code = sm_frame_code(frame); /* the frame keeps it, and our caller the frame */
    uint32_t begun = throwing ? sm_frame_unit(frame) : UINT32_MAX;
    for (;;) {
        PyObject *result = _PyEval_EvalFrameDefault(tstate, frame, throwing);
        void *found = sm_probe_found(code);
        if (SM_UNLIKELY(found == NULL || found == sm_probe.unwanted))
            return result;
        sm_probed *probed = found;
        uint32_t unit = sm_frame_unit(frame);
        if (probed->armed_count != 0 && unit < probed->points.units && probed->armed[unit] &&
            (result != NULL || !PyErr_Occurred())) { /* what raised may have got a probe since */
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
    if (sm_probe.on && !sm_probe.tracing) /* else it has been switched for all */
        sm_probe_trace_here(tstate, !traced);
    return result;
}

static __attribute__((noinline)) PyObject *run_framed(PyThreadState *tstate, sm_frame *frame, int throwing,
                                                      sm_probed *probed) {
    PyCodeObject *code = sm_frame_code(frame);
    sm_probe.receiver->enter(probed->record, frame);
    if (probed->stamp != sm_probe.stamp)
        sm_probe_arm(probed);
    bool before = sm_tstate_is_traced(tstate), traced = probed->traced;
    PyObject *result = before != traced && !sm_probe.tracing ? run_switched(tstate, frame, throwing, traced)
                                                             : run(tstate, frame, throwing);
    void *found = sm_probe_found(code);
    if (found != NULL && found != sm_probe.unwanted)
        sm_probe.receiver->leave(((sm_probed *)found)->record, frame);
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
    if (SM_UNLIKELY(probed->frames) && ((code->co_flags & SM_SUSPENDING) == 0 || sm_frame_of_generator(frame)))
        return run_framed(tstate, frame, throwing, probed);
    if (SM_UNLIKELY(probed->stamp != sm_probe.stamp))
        sm_probe_arm(probed);
    if (SM_UNLIKELY(before != probed->traced) && !sm_probe.tracing)
        return run_switched(tstate, frame, throwing, probed->traced);
    return run(tstate, frame, throwing);
}

/* ---- start and end
 * --------------------------------------------------------------------------------------------------- */

static bool has_greenlets(void) {
    PyObject *modules = PyImport_GetModuleDict();
    return modules != NULL && PyDict_GetItemString(modules, "greenlet._greenlet") != NULL;
}

/* Puts the evaluator directly above the interpreter's own. false: another tool's is in between. */
static bool put_evaluator(void) {
    return exchange(eval, eval) || exchange(_PyEval_EvalFrameDefault, eval);
}

int sm_probes_start(const sm_probe_receiver *receiver, const sm_probe_wish *wish) {
    static uintptr_t session = 0;
    sm_codes_on_death(SM_CODE_PROBES, release);
    sm_codes_hold();
    sm_probe.receiver = receiver;
    sm_probe.steps = wish->steps;
    sm_probe.counts = wish->every || has_greenlets();
    sm_probe.tracing = sm_probe.escaped = sm_probe.calm = false;
    sm_probe.stamp++;
    sm_probe.hits = sm_probe.lost = 0;
    sm_probe.unwanted = (void *)(++session << 1 | 1);
    sm_probe.on = true;
    if (sm_probe_trace_join() < 0) {
        sm_probe.on = false;
        sm_codes_release();
        return -1;
    }
    trace_frames(true); /* they are none of ours */
    if (!put_evaluator()) {
        trace_all();
        sm_probe.escaped = true;
    }
    return 0;
}

void sm_probes_stop(void) {
    sm_exception kept = sm_exception_keep();
    sm_probe.on = false;
    if (!sm_probe.escaped)
        (void)take_evaluator_away();
    while (sm_probe.codes != NULL) {
        sm_probed *probed = sm_probe.codes;
        sm_probe_disarm(probed);
        release(sm_code_entry_of(probed->code));
    }
    sm_probe_trace_leave();
    sm_codes_release();
    sm_exception_restore(kept);
}

bool sm_probes_hold(void) {
    return sm_probe.escaped || exchange(eval, eval);
}

sm_probe_facts sm_probes_facts(void) {
    return (sm_probe_facts){sm_probe.tracing, sm_probe.escaped, sm_probe.codes_count,
                            sm_probe.probes,  sm_probe.hits,    sm_probe.lost};
}

#endif
