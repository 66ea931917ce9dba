/* The hub's hook on 3.11: the profile slot and the trace slot of each thread (hooks/py311/thread_slots.h).
 *
 * The profile slot reports calls. The trace slot also reports lines and exceptions, at a cost for every line of the
 * thread. For tools that want the lines of all code, it is on. For tools that choose code, it *sleeps* unless the
 * function that runs next has wanted lines: the callee of a call, the caller at a return. It is checked again after a C
 * function, which may have switched greenlets. Other functions cost as much as an empty profile function.
 *
 * Slots distinguish less than the hub. A call event is a start, resumption or throw, by the frame's instruction; a
 * return is a yield at YIELD_VALUE. SM_HOOK_THROW has no arg, and SM_HOOK_UNWIND only the exception last traced. */
#include "hub/backend.h"

#include "compat/frame.h"
#include "hooks/py311/thread_slots.h"

#if SM_SHARES_SLOTS

#include <opcode.h>

/* The events that the tools of a thread need. */
typedef struct {
    bool lines;      /* wants lines of all code */
    bool some_lines; /* wants lines of chosen code */
    bool calls;      /* wants calls without lines */
    bool c_calls;
} needs;

static needs needs_of(PyThreadState *tstate) {
    needs found = {false, false, false, false};
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        const sm_tool *tool = sm_hub.tools[slot];
        if (tool == NULL || !tool->active || (tool->only != NULL && tool->only != tstate))
            continue;
        bool tracing = (tool->events & SM_HOOK_TRACING) != 0;
        found.lines |= tracing && !tool->filtered;
        found.some_lines |= tracing && tool->filtered;
        found.calls |= !tracing && (tool->events & SM_HOOK_CALLS) != 0;
        found.c_calls |= (tool->events & SM_HOOK_C_CALLS) != 0;
    }
    return found;
}

static bool wants_profile(PyThreadState *tstate) {
    needs needs = needs_of(tstate);
    return needs.c_calls || needs.calls || (needs.some_lines && !needs.lines);
}

static bool wants_trace(PyThreadState *tstate) {
    needs needs = needs_of(tstate);
    return needs.lines || needs.some_lines;
}

static int on_profile(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg);
static int on_trace(PyObject *obj, PyFrameObject *frame, int what, PyObject *arg);

static sm_thread_slot_user profile = {.slot = SM_THREAD_SLOT_PROFILE, .function = on_profile, .wants = wants_profile};
static sm_thread_slot_user trace = {.slot = SM_THREAD_SLOT_TRACE, .function = on_trace, .wants = wants_trace};

static inline int offset_of(const sm_frame *frame) {
    int offset = sm_frame_last(frame);
    return offset < 0 ? -1 : offset;
}

/* Return the opcode of the instruction at this offset, and its argument. */
static int instruction(PyCodeObject *code, int offset, int *argument) {
    if (offset < 0 || offset >= (int)Py_SIZE(code) * 2) { /* a frame that Cython made */
        *argument = 0;
        return RESUME;
    }
    const unsigned char *unit = (const unsigned char *)code->co_code_adaptive + offset;
    *argument = unit[1];
    return unit[0] == RESUME_QUICK ? RESUME : unit[0];
}

static sm_hook_kind call_kind(PyCodeObject *code, int offset) {
    int argument;
    if (instruction(code, offset, &argument) != RESUME)
        return SM_HOOK_THROW;
    return (argument & 3) == 0 ? SM_HOOK_START : SM_HOOK_RESUME; /* 1 to 3: after yield, yield from, await */
}

static sm_hook_kind return_kind(PyCodeObject *code, int offset, PyObject *arg) {
    int argument;
    if (arg == NULL)
        return SM_HOOK_UNWIND;
    return instruction(code, offset, &argument) == YIELD_VALUE ? SM_HOOK_YIELD : SM_HOOK_RETURN;
}

/* Return the tools with lines of all code on this thread, which keep the trace slot awake. */
static inline uint64_t unfiltered_tracing(const sm_hook_thread *thread) {
    return thread->tools & sm_hub.tracing & ~sm_hub.filtered;
}

static inline int deliver(sm_hook_thread *thread, uint64_t tools, PyFrameObject *frame, const sm_hook_event *event) {
    uint64_t listeners = sm_hub_listeners(event->kind, event->code) & tools;
    if (listeners == 0)
        return 0;
    PyFrameObject *outer = thread->frame; /* events within an event (sys.call_tracing) */
    thread->frame = frame;
    int result = sm_hub_dispatch(thread, listeners, event);
    thread->frame = outer;
    return result;
}

/* The thread's last event if it was an exception, borrowed: until the next event, the exception and the frame live. */
typedef struct {
    const PyFrameObject *frame;
    PyObject *exception;
    uint64_t changes; /* sm_hub.changes then: a tool added since has missed it */
} raised;
static SM_FAST_TLS raised last_raised;

static inline PyObject *take_raised(const PyFrameObject *frame) {
    raised last = last_raised;
    if (SM_LIKELY(last.frame == NULL))
        return NULL;
    last_raised = (raised){NULL, NULL, 0};
    return last.frame == frame && last.changes == sm_hub.changes ? last.exception : NULL;
}

/* Make the interpreter report this frame's instructions, if a tool wants them. */
static void mark_opcodes(sm_hook_thread *thread, PyFrameObject *frame, PyCodeObject *code) {
    if (SM_UNLIKELY(sm_hub.somewhere[SM_HOOK_OPCODE] != 0) &&
        (sm_hub_listeners(SM_HOOK_OPCODE, code) & thread->tools) != 0)
        sm_frame_trace_opcodes(frame);
}

/* Return true if a tool wants lines of this code. globals: borrowed; may be NULL if the code's frame is running. */
static bool wants_lines(const sm_hook_thread *thread, PyCodeObject *code, PyObject *globals) {
    const sm_hook_code *known = sm_hub_known(code);
    if (SM_UNLIKELY(known == NULL || known->decided != sm_hub.changes))
        known = sm_hub_decide(code, globals);
    if (known == NULL)
        return false;
    return ((known->wanted[SM_HOOK_LINE] | known->wanted[SM_HOOK_RAISE] | known->wanted[SM_HOOK_STOP_ITERATION] |
             known->wanted[SM_HOOK_OPCODE]) &
            thread->tools) != 0;
}

static void fall_asleep(sm_hook_thread *thread) {
    sm_thread_slots_lull(thread->tstate, &trace, true);
    sm_hub.switched_off = true; /* until again(), when the wanted events change */
}

/* Set the trace slot for the frame that runs next. */
static void look_ahead(sm_hook_thread *thread, const sm_frame *next) {
    if (next != NULL && wants_lines(thread, sm_frame_code(next), sm_frame_globals(next)))
        sm_thread_slots_lull(thread->tstate, &trace, false);
    else
        fall_asleep(thread);
}

static struct {
    sm_tool *lone;     /* the only tool, if it takes all calls and C functions directly */
    sm_tool *tracer;   /* the same for all calls, lines and exceptions of the trace slot */
    bool choosing;     /* no tool wants calls or C functions of all code */
    bool sleeping;     /* tools choose the code for lines: the trace slot sleeps at times */
    unsigned received; /* a bit for each PyTrace_... that is used */
} profiled;

/* Return true if it is decided that no tool wants this code. */
static inline bool is_unwanted(const sm_frame *frame) {
    const sm_hook_code *known = sm_hub_known(sm_frame_code(frame));
    return known != NULL && known->decided == sm_hub.changes && known->given == 0;
}

/* Return true for nearly all events of tools with a filter: unwanted, and the trace slot stays asleep. */
static inline bool is_nothing(PyFrameObject *frame, int what) {
    const sm_frame *own = sm_frame_of(frame);
    if (!profiled.choosing || !is_unwanted(own))
        return false;
    if (!profiled.sleeping)
        return true;
    if (sm_hook_this->tools == 0 || sm_hook_this->tstate->c_tracefunc != NULL)
        return false;
    const sm_frame *next = what == PyTrace_RETURN ? sm_frame_caller(own) : own;
    return next != NULL && is_unwanted(next);
}

static __attribute__((noinline)) int hand_out(PyFrameObject *frame, int what, PyObject *arg) {
    static const sm_hook_kind kinds[] = {[PyTrace_C_CALL] = SM_HOOK_C_CALL,
                                         [PyTrace_C_RETURN] = SM_HOOK_C_RETURN,
                                         [PyTrace_C_EXCEPTION] = SM_HOOK_C_RAISE};
    sm_hook_thread *thread = sm_hub_event_thread();
    if (SM_UNLIKELY(thread == NULL))
        return 0;
    PyObject *exception = take_raised(frame);
    const sm_frame *own = sm_frame_of(frame);
    sm_hook_event event = {SM_HOOK_START, sm_frame_code(own), arg, NULL, 0, offset_of(own), NULL};
    bool by_trace = false; /* tools that receive it from the trace slot */
    if (what == PyTrace_CALL) {
        event.kind = call_kind(event.code, event.offset);
        event.arg = NULL;
        by_trace = true;
    } else if (what == PyTrace_RETURN) {
        event.kind = return_kind(event.code, event.offset, arg);
        event.arg = arg != NULL ? arg : exception;
        by_trace = true;
    } else {
        event.kind = kinds[what];
    }
    if (SM_LIKELY((thread->tools & sm_hub.tracing) == 0))
        return deliver(thread, thread->tools, frame, &event);
    const sm_frame *next = own;
    if (what == PyTrace_RETURN) {
        const sm_frame *running = sm_frame_running(thread->tstate);
        next = running == own ? sm_frame_caller(own) : running;
    }
    bool all_lines = unfiltered_tracing(thread) != 0;
    uint64_t tools = by_trace && all_lines ? thread->tools & ~sm_hub.tracing : thread->tools;
    int result = deliver(thread, tools, frame, &event);
    if (what == PyTrace_CALL)
        mark_opcodes(thread, frame, event.code);
    if ((thread->tools & sm_hub.tracing) != 0 && !all_lines && unfiltered_tracing(thread) == 0)
        look_ahead(thread, next);
    return result;
}

static int on_profile(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what, PyObject *arg) {
    sm_tool *lone = profiled.lone;
    if (lone == NULL) {
        if ((profiled.received >> what & 1) == 0 || is_nothing(frame, what))
            return 0;
        return hand_out(frame, what, arg);
    }
    sm_hook_thread *thread = sm_hook_this;
    if (SM_UNLIKELY(thread == &sm_hook_no_thread))
        return hand_out(frame, what, arg);
    return thread->tools != 0 ? lone->direct(lone, thread, frame, what, arg) : 0;
}

static int on_trace(PyObject *Py_UNUSED(obj), PyFrameObject *frame, int what, PyObject *arg) {
    sm_hook_thread *thread = sm_hub_event_thread();
    if (SM_UNLIKELY(thread == NULL))
        return 0;
    sm_tool *tracer = profiled.tracer;
    if (tracer != NULL && (what == PyTrace_CALL || what == PyTrace_LINE) && thread->tools != 0 &&
        sm_hub.somewhere[SM_HOOK_OPCODE] == 0 && thread->tstate->c_tracefunc == on_trace) {
        int result = tracer->direct(tracer, thread, frame, what, NULL);
        if (result <= 0)
            return result;
    }
    const sm_frame *own = sm_frame_of(frame);
    PyCodeObject *code = sm_frame_code(own);
    sm_hook_event event = {SM_HOOK_LINE, code, NULL, NULL, 0, offset_of(own), NULL};
    bool all_lines = unfiltered_tracing(thread) != 0;
    if (!all_lines && (what == PyTrace_CALL || what == PyTrace_RETURN))
        return 0; /* the profile slot reports it */
    PyObject *exception = take_raised(frame);
    switch (what) {
    case PyTrace_CALL:
        event.kind = call_kind(code, event.offset);
        break;
    case PyTrace_RETURN:
        event.kind = return_kind(code, event.offset, arg);
        event.arg = arg != NULL ? arg : exception;
        break;
    case PyTrace_EXCEPTION: /* (type, value, traceback); the value lacks the traceback */
        event.kind = SM_HOOK_RAISE;
        event.arg = PyTuple_GET_ITEM(arg, 1);
        if (PyExceptionInstance_Check(event.arg) && PyTraceBack_Check(PyTuple_GET_ITEM(arg, 2)))
            (void)PyException_SetTraceback(event.arg, PyTuple_GET_ITEM(arg, 2));
        break;
    case PyTrace_OPCODE:
        event.kind = SM_HOOK_OPCODE;
        break;
    default:
        event.line = PyFrame_GetLineNumber(frame); /* from the frame, where the interpreter has set it */
    }
    if (!all_lines && !wants_lines(thread, code, NULL)) {
        fall_asleep(thread);
        return 0;
    }
    uint64_t tools = what == PyTrace_CALL || what == PyTrace_RETURN ? thread->tools & sm_hub.tracing : thread->tools;
    int result = deliver(thread, tools, frame, &event);
    if (what == PyTrace_CALL || what == PyTrace_LINE)
        mark_opcodes(thread, frame, code);
    if (what == PyTrace_EXCEPTION && result == 0)
        last_raised = (raised){frame, event.arg, sm_hub.changes};
    return result;
}

/* ---- interface to the hub --------------------------------------------------------------------------------------- */

static void stop(void) {
    profiled.lone = profiled.tracer = NULL;
    sm_thread_slots_leave(&trace);
    sm_thread_slots_leave(&profile);
}

static int join(sm_thread_slot_user *user, const char *audit) {
    if (user->joined)
        return 0;
    return PySys_Audit(audit, NULL) < 0 ? -1 : sm_thread_slots_join(user);
}

/* Let the next line decide about running frames. */
static void wake_all(void) {
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate))
        sm_thread_slots_lull(tstate, &trace, false);
}

/* Each event reads sm_hook_code.given, so there is nothing to set. */
static int want_in(PyCodeObject *Py_UNUSED(code), uint32_t Py_UNUSED(kinds)) {
    return 0;
}

static int again(void) {
    wake_all();
    return 0;
}

static void find_profiled(void) {
    static const unsigned calls = 1u << PyTrace_CALL | 1u << PyTrace_RETURN;
    static const unsigned c_calls = 1u << PyTrace_C_CALL | 1u << PyTrace_C_RETURN | 1u << PyTrace_C_EXCEPTION;
    uint64_t everywhere = 0, c_somewhere = 0;
    for (int kind = 0; kind < SM_HOOK_LINE; kind++)
        everywhere |= sm_hub.everywhere[kind];
    for (int kind = SM_HOOK_C_CALL; kind <= SM_HOOK_C_RAISE; kind++)
        c_somewhere |= sm_hub.everywhere[kind] | sm_hub.somewhere[kind];
    profiled.lone = profiled.tracer = NULL;
    if (sm_hub.active != 0 && (sm_hub.active & (sm_hub.active - 1)) == 0) {
        sm_tool *tool = sm_hub.tools[__builtin_ctzll(sm_hub.active)];
        bool plain = tool->direct != NULL && !tool->filtered;
        profiled.lone = plain && tool->events == (SM_HOOK_CALLS | SM_HOOK_C_CALLS) ? tool : NULL;
        profiled.tracer = plain && tool->events == (SM_HOOK_CALLS | SM_HOOK_TRACING) ? tool : NULL;
    }
    profiled.choosing = everywhere == 0;
    profiled.sleeping = (sm_hub.tracing & sm_hub.filtered) != 0;
    profiled.received = calls | (c_somewhere != 0 || profiled.sleeping ? c_calls : 0);
}

static int want(void) {
    find_profiled();
    bool profiles = false, traces = false;
    for (int slot = 0; slot < SM_HUB_TOOLS; slot++) {
        const sm_tool *tool = sm_hub.tools[slot];
        if (tool == NULL || !tool->active)
            continue;
        traces = traces || (tool->events & SM_HOOK_TRACING) != 0;
        profiles = profiles || (tool->events & SM_HOOK_TRACING) == 0 || tool->filtered ||
                   (tool->events & SM_HOOK_C_CALLS) != 0;
    }
    if ((profiles && join(&profile, "sys.setprofile") < 0) || (traces && join(&trace, "sys.settrace") < 0))
        return -1;
    sm_thread_slots_review(NULL);
    wake_all();
    if (!profiles)
        sm_thread_slots_leave(&profile);
    if (!traces)
        sm_thread_slots_leave(&trace);
    return 0;
}

static bool holds(void) {
    (void)sm_thread_slots_review(NULL);
    return true;
}

static bool foreign_tracer(PyThreadState *tstate) {
    return sm_thread_slots_foreign(tstate, SM_THREAD_SLOT_TRACE);
}

const sm_hook_backend sm_hook_backend_here = {"slots", NULL, stop, want, want_in, again, holds, foreign_tracer, NULL};

#endif
