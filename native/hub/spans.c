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
 * What can go wrong is that nobody tells. A generator that is closed where it waits is not reported by some versions
 * (gh-140373): its entry stays until a new call has the address, and the span ends then. A greenlet exchanges the
 * thread's stack without a word: the span of the thread then has its frame on a stack that is not there. That is seen
 * at the next event of a chosen function, since the interpreter keeps a stack in a chain of chunks, and the chunk that
 * was on top when the span began to run is in the chain for as long as that runs. The span is set aside among those
 * that wait, where its end finds it. Until that event, what the other greenlet does counts for it.
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

static uint32_t home_of(const sm_spans *spans, const void *frame) {
    return (uint32_t)(((uint64_t)(uintptr_t)frame * 0x9E3779B97F4A7C15u) >> 32) & (spans->waiting_size - 1);
}

/* Where the frame is, or the hole where it would be. The table has a hole. */
static uint32_t place_of(const sm_spans *spans, const void *frame) {
    uint32_t place = home_of(spans, frame);
    while (spans->waiting[place].frame != NULL && spans->waiting[place].frame != frame)
        place = (place + 1) & (spans->waiting_size - 1);
    return place;
}

static bool make_room(sm_spans *spans) {
    if (spans->waiting_count * 2 < spans->waiting_size)
        return true;
    sm_spans grown = {.waiting_size = spans->waiting_size != 0 ? spans->waiting_size * 2 : 64};
    grown.waiting = sm_calloc(grown.waiting_size, sizeof *grown.waiting);
    if (grown.waiting == NULL)
        return spans->waiting_count + 1 < spans->waiting_size;
    for (uint32_t i = 0; i < spans->waiting_size; i++) {
        if (spans->waiting[i].frame != NULL)
            grown.waiting[place_of(&grown, spans->waiting[i].frame)] = spans->waiting[i];
    }
    sm_free(spans->waiting);
    spans->waiting = grown.waiting;
    spans->waiting_size = grown.waiting_size;
    return true;
}

static void put_aside(sm_spans *spans, const sm_span_waiting *call) {
    if (!make_room(spans)) {
        spans->lost++;
        return;
    }
    spans->waiting[place_of(spans, call->frame)] = *call;
    spans->waiting_count++;
}

/* Takes a frame's call out. Its span is 0 if it has none. */
static sm_span_waiting take(sm_spans *spans, const void *frame) {
    if (spans->waiting_count == 0)
        return (sm_span_waiting){0};
    uint32_t hole = place_of(spans, frame), mask = spans->waiting_size - 1;
    sm_span_waiting call = spans->waiting[hole];
    if (call.frame == NULL)
        return call;
    for (uint32_t i = (hole + 1) & mask; spans->waiting[i].frame != NULL; i = (i + 1) & mask) {
        if (((i - home_of(spans, spans->waiting[i].frame)) & mask) < ((i - hole) & mask))
            continue; /* it would come to stand before its home */
        spans->waiting[hole] = spans->waiting[i];
        hole = i;
    }
    spans->waiting[hole] = (sm_span_waiting){0};
    spans->waiting_count--;
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
        sm_choice_of_event(&spans->choice, event) ? sm_function_of_code(event->code, NULL) : NULL;
    spans->receiver->look_away(false);
    uint64_t span = function != NULL ? spans->receiver->open(function) : 0;
    if (span != 0)
        run(spans, thread, &(sm_span_waiting){frame, span, function});
}

static void suspend(sm_spans *spans, here *thread) {
    put_aside(spans, &thread->call);
    run_none(spans, thread);
}

static void end(sm_spans *spans, here *thread, const void *frame) {
    uint64_t span = take(spans, frame).span;
    if (thread->call.span != 0 && thread->call.frame == frame) {
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
        if (thread->call.span != 0 && thread->call.frame == frame)
            suspend(spans, thread);
        break;
    default:
        end(spans, thread, frame);
    }
    return 0;
}

static uint32_t wants(sm_tool *tool, PyCodeObject *code, PyObject *globals) {
    sm_spans *spans = (sm_spans *)tool;
    uint32_t kinds = sm_choice_of_code(&spans->choice, code, globals);
    return (kinds & SM_HOOK_BIT(SM_HOOK_START)) != 0 ? SM_HOOK_CALLS : 0;
}

/* ---- life ---- */

static void removed(sm_tool *tool) {
    sm_spans *spans = (sm_spans *)tool;
    sm_choice_clear(&spans->choice);
    sm_free(spans->waiting);
    spans->waiting = NULL;
    spans->waiting_count = spans->waiting_size = 0;
}

const char *sm_spans_objection(const sm_filter *filter) {
    if ((sm_filter_kinds(filter) & SM_EVENT_BIT(SM_EVENT_CALL)) == 0)
        return "spans are calls, and this expression is never true of one";
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
    if (spans->waiting != NULL)
        memset(spans->waiting, 0, spans->waiting_size * sizeof *spans->waiting);
    spans->waiting_count = 0;
    sm_hook_thread *hook_thread = sm_hub_thread();
    here *thread = hook_thread != NULL ? sm_hub_thread_data(hook_thread, &spans->tool, sizeof *thread) : NULL;
    if (thread == NULL || thread->call.span == 0)
        return;
    thread->call.span = spans->receiver->open(thread->call.function);
    spans->receiver->run(thread->call.span);
}
