/* Which call a thread is in.
 *
 * At most one span runs on a thread, so a thread's state is one: the span and the frame of the call that it is. The
 * frame's address says which of the events to come belong to it: RETURN and UNWIND of that frame end the span, YIELD
 * suspends it. All others are calls inside and are passed over, which costs a comparison however deep a recursion goes.
 *
 * A suspended call waits in a table, by its frame's address, which a generator or coroutine keeps for its life; RESUME
 * and THROW find it there, on whatever thread. So the spans of a hundred tasks interleave on one thread and each gets
 * what happened while it ran. A generator that goes on inside another span stays in the table: what it does there
 * belongs to that span, and its own end is noticed all the same.
 *
 * What can go wrong is that an end is not reported. A generator that is closed where it waits is not reported by some
 * versions (gh-140373): its entry stays until a new call has the address, and the span ends then. A greenlet exchanges
 * the thread's stack without a word: the span of the thread then has its frame on a stack that is not there. That is
 * seen at the next event of a chosen function, since the interpreter keeps a stack in a chain of chunks, and the chunk
 * that was on top when the span began to run is in the chain for as long as that runs. The span is set aside among
 * those that wait, where its end finds it. Until that event, what the other greenlet does counts for it.
 *
 * Why the hub and not a source of the engine: chosen functions are few, and the hub has the interpreter say nothing of
 * any others. */
#include "hub/spans.h"

#include <string.h>

#include "base/alloc.h"

typedef struct {           /* of a thread */
    sm_span_waiting call;  /* that runs; span 0: none */
    const sm_chunk *chunk; /* on top of the stack when it began to run; never followed */
} here;

/* ---- those that wait ---- */

static void put_aside(sm_spans *spans, const sm_span_waiting *call) {
    sm_span_waiting *made = sm_map_make(&spans->waiting, call->frame, sizeof *made, 64);
    if (made == NULL)
        spans->lost++;
    else
        *made = *call;
}

/* Takes a frame's call out. Its span is 0 if it has none. */
static sm_span_waiting take(sm_spans *spans, const void *frame) {
    sm_span_waiting *found = sm_map_find(&spans->waiting, (uintptr_t)frame, sizeof *found);
    if (found == NULL)
        return (sm_span_waiting){0};
    sm_span_waiting call = *found;
    sm_map_remove(&spans->waiting, found, sizeof *found);
    return call;
}

/* ---- the thread ---- */

static void run(const sm_spans *spans, here *thread, const sm_span_waiting *call) {
    *thread = (here){*call, sm_tstate_chunk(PyThreadState_Get())};
    spans->receiver->run(call->span);
}

static void run_none(const sm_spans *spans, here *thread) {
    *thread = (here){0};
    spans->receiver->run(0);
}

static bool on_this_stack(const sm_chunk *wanted) {
    const sm_chunk *chunk = sm_tstate_chunk(PyThreadState_Get());
    while (chunk != NULL && chunk != wanted)
        chunk = chunk->previous;
    return chunk != NULL;
}

/* ---- events ---- */

static void start(sm_spans *spans, here *thread, const sm_hook_event *event, const void *frame) {
    uint64_t stale = take(spans, frame).span;
    if (stale != 0)
        spans->receiver->close(stale);
    if (thread->call.span != 0)
        return;
    spans->receiver->look_away(true);
    const sm_function *function =
        sm_tool_filter_of_event(&spans->choice, event) ? sm_function_of_code(event->code, NULL) : NULL;
    spans->receiver->look_away(false);
    uint64_t span = function != NULL ? spans->receiver->open(function) : 0;
    if (span != 0)
        run(spans, thread, &(sm_span_waiting){(uintptr_t)frame, span, function});
}

static void suspend(sm_spans *spans, here *thread) {
    put_aside(spans, &thread->call);
    run_none(spans, thread);
}

static void end(sm_spans *spans, here *thread, const void *frame) {
    uint64_t span = take(spans, frame).span;
    if (thread->call.span != 0 && thread->call.frame == (uintptr_t)frame) {
        span = thread->call.span;
        run_none(spans, thread);
    }
    if (span != 0)
        spans->receiver->close(span);
}

static int on_event(sm_tool *tool, sm_hook_thread *hook_thread, const sm_hook_event *event) {
    sm_spans *spans = (sm_spans *)tool;
    here *thread = sm_hub_thread_data(hook_thread, tool, sizeof *thread);
    const void *frame = sm_tstate_frame(PyThreadState_Get());
    if (event->made != NULL)
        spans->receiver->made_for_us(event->made);
    if (thread == NULL) {
        spans->lost++;
        return 0;
    }
    if (thread->call.span != 0 && !on_this_stack(thread->chunk))
        suspend(spans, thread);
    switch (event->kind) {
    case SM_HOOK_START:
        start(spans, thread, event, frame);
        break;
    case SM_HOOK_RESUME:
    case SM_HOOK_THROW:
        if (thread->call.span == 0) {
            sm_span_waiting call = take(spans, frame);
            if (call.span != 0)
                run(spans, thread, &call);
        }
        break;
    case SM_HOOK_YIELD:
        if (thread->call.span != 0 && thread->call.frame == (uintptr_t)frame)
            suspend(spans, thread);
        break;
    default:
        end(spans, thread, frame);
    }
    return 0;
}

static uint32_t wants(sm_tool *tool, PyCodeObject *code, PyObject *globals) {
    sm_spans *spans = (sm_spans *)tool;
    uint32_t kinds = sm_tool_filter_of_code(&spans->choice, code, globals);
    return (kinds & SM_HOOK_BIT(SM_HOOK_START)) != 0 ? SM_HOOK_CALLS : 0;
}

/* ---- start and end ---- */

static void removed(sm_tool *tool) {
    sm_spans *spans = (sm_spans *)tool;
    sm_tool_filter_clear(&spans->choice);
    sm_map_free(&spans->waiting);
}

const char *sm_spans_objection(const sm_filter *filter) {
    if ((sm_filter_kinds(filter) & SM_EVENT_BIT(SM_EVENT_CALL)) == 0)
        return "spans are calls, and this expression is true of no call";
    if (sm_filter_needs(filter, SM_FACT_DURATION) || sm_filter_needs(filter, SM_FACT_OWN) ||
        sm_filter_needs(filter, SM_FACT_EXCEPTION))
        return "a span is chosen when the call begins, and this expression asks for what is known at its end";
    if (sm_filter_needs(filter, SM_FACT_CALLS) || sm_filter_needs(filter, SM_FACT_ARG) ||
        sm_filter_needs(filter, SM_FACT_VALUE))
        return "a span is chosen by its function, thread, task or depth, and this expression asks for something else";
    return NULL;
}

int sm_spans_start(sm_spans *spans) {
    sm_tool *tool = &spans->tool;
    tool->events = SM_HOOK_CALLS;
    tool->filtered = true;
    tool->only = NULL;
    tool->call = on_event;
    tool->wants = wants;
    tool->thread_gone = NULL;
    tool->forked = NULL;
    tool->removed = removed;
    tool->direct = NULL;
    spans->lost = 0;
    if (sm_hub_add(tool) == 0)
        return 0;
    removed(tool);
    return -1;
}

void sm_spans_stop(sm_spans *spans) {
    sm_hub_remove(&spans->tool);
}

void sm_spans_forked(sm_spans *spans) {
    if (!spans->tool.active)
        return;
    sm_map_clear(&spans->waiting, sizeof(sm_span_waiting));
    sm_hook_thread *hook_thread = sm_hub_thread();
    here *thread = hook_thread != NULL ? sm_hub_thread_data(hook_thread, &spans->tool, sizeof *thread) : NULL;
    if (thread == NULL || thread->call.span == 0)
        return;
    thread->call.span = spans->receiver->open(thread->call.function);
    spans->receiver->run(thread->call.span);
}
