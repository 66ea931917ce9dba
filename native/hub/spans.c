/* Keeps track of the span that runs on each thread.
 *
 * At most one span runs on a thread: RETURN and UNWIND of its frame end it, YIELD suspends it, and other events cost
 * one comparison. A suspended call waits in a table, by its frame's address, until RESUME or THROW on any thread. A
 * generator that resumes inside another span stays in the table, and its work counts for that span.
 *
 * Ends can be missed. If a suspended generator is closed without an event (gh-140373), its span ends when a new call
 * has the address. A greenlet exchanges the stack without an event. At the next event of a chosen function, the running
 * span's top chunk of the data stack is then not in the thread's chain of chunks, so the span is put aside.
 *
 * Spans use the hub, not a source of the engine, because the hub disables all other functions. */
#include "hub/spans.h"

typedef struct {           /* the spans' data of a thread */
    sm_span_waiting call;  /* its span is 0 if there is none */
    const sm_chunk *chunk; /* top of the stack when it began to run; never dereferenced */
} here;

/* ---- waiting calls ---- */

static void put_aside(sm_spans *spans, const sm_span_waiting *call) {
    sm_span_waiting *made = sm_map_make(&spans->waiting, call->frame, sizeof *made, 64);
    if (made == NULL)
        spans->lost++;
    else
        *made = *call;
}

/* Remove a frame's call from the table and return it; its span is 0 if there is none. */
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
    spans->tool =
        (sm_tool){.events = SM_HOOK_CALLS, .filtered = true, .call = on_event, .wants = wants, .removed = removed};
    spans->lost = 0;
    if (sm_hub_add(&spans->tool) == 0)
        return 0;
    removed(&spans->tool);
    return -1;
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
