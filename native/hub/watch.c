/* Running calls of watched code.
 *
 * A call that matched at its start, or may match at its end, is kept on its thread's stack while it runs, and in a
 * table while it is suspended, by its frame's address. It is nearly always on top, except with greenlets. A call whose
 * end is not reported (gh-140373) stays in the table until its address is reused.
 *
 * Own time is the call's time minus `nested`, the time of its callees, if all calls are kept. The time that a call
 * spent itself or in calls that did not match is `ran` minus `matched_inside`, to which matched callees add. */
#include "hub/watch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/time.h"
#include "code/cfunction.h"
#include "compat/frame.h"
#include "hooks/safepoint.h"
#include "hub/tool_filter.h"

typedef struct sm_watch_call {
    struct sm_watch_call *next; /* the next call of the same thread */
    const void *frame;          /* never dereferenced */
    sm_watched *of;
    uint64_t number;
    uint64_t begun, resumed, nested, active; /* ns: start; last resumption; callees since; own time before */
    uint64_t ran, matched_inside;            /* ns: until its suspension; in matched calls that ended */
    uint32_t nesting;
    bool handed;      /* the start was reported */
    bool undecided;   /* the end of the call decides */
    PyObject *raised; /* owned, or NULL; class of the frame's last exception, if UNWIND lacks it */
} sm_watch_call;

typedef struct {
    uint64_t frame;
    sm_watch_call *call; /* owned */
} suspended_call;

typedef struct {
    sm_watch_call *top; /* owned, with all below it */
    uint64_t spent;     /* ns in reports, which no call includes */
} thread_calls;

int (*sm_watch_keep)(void);

static uint64_t now_of(const thread_calls *thread) {
    return sm_monotonic_ns() - thread->spent;
}

/* The context in which a filter is evaluated. */
typedef struct {
    sm_watch *watch;
    const sm_watched *of;
    const sm_watch_call *call; /* the call that ends, or NULL if times are unknown */
    uint64_t now;
    PyObject *text; /* owned; the last text returned */
} question;

/* Functions. */

/* Return true for files of the import system, which raises and catches exceptions at every step. */
static bool is_machinery(const char *file) {
    return strncmp(file, "<frozen importlib", 17) == 0 || strncmp(file, "<frozen runpy", 13) == 0;
}

/* Return the function's record, or NULL if out of memory (counted). */
static sm_watched *watched(sm_watch *watch, PyCodeObject *code, PyObject *globals) {
    const sm_function *function = sm_function_of_code(code, globals);
    if (function == NULL ||
        !sm_grow_to(&watch->functions, function->id, &watch->functions_size, sizeof *watch->functions))
        goto lost;
    sm_watched *of = watch->functions[function->id];
    if (of != NULL)
        return of;
    of = watch->functions[function->id] = sm_calloc(1, sizeof *of);
    if (of == NULL)
        goto lost;
    of->function = function;
    bool ours = watch->hide != NULL && strncmp(function->file, watch->hide, strlen(watch->hide)) == 0;
    if (!ours && (watch->machinery || !is_machinery(function->file)))
        of->verdict = sm_filter_of_code(watch->filter, function, code);
    else
        of->hidden = true;
    of->verdict.yes &= watch->kinds;
    of->verdict.maybe &= watch->kinds;
    return of;
lost:
    watch->lost++;
    return NULL;
}

/* Return the hub's events that are needed to match these kinds. */
static uint32_t events_for(const sm_watch *watch, uint32_t kinds) {
    uint32_t events = kinds;
    bool calls = (kinds & SM_EVENT_BIT(SM_EVENT_CALL)) != 0;
    if (watch->keeps_all || (watch->tracks && calls))
        events |= SM_HOOK_CALLS;
    if (watch->lines && calls)
        events |= SM_HOOK_BIT(SM_HOOK_LINE);
    if (watch->unwinds_by_raise && calls)
        events |= SM_HOOK_BIT(SM_HOOK_RAISE);
    if (sm_filter_needs(watch->filter, SM_FACT_CALLS) || (kinds & SM_EVENT_BIT(SM_EVENT_OPCODE)) != 0)
        events |= SM_HOOK_BIT(SM_HOOK_START);
    return events;
}

static uint32_t wants(sm_tool *tool, PyCodeObject *code, PyObject *globals) {
    sm_watch *watch = (sm_watch *)tool;
    const sm_watched *of = watched(watch, code, globals);
    if (of == NULL || of->hidden)
        return 0;
    uint32_t kinds = of->verdict.yes | of->verdict.maybe, events = watch->all_calls ? SM_HOOK_CALLS : 0;
    return kinds != 0 ? (events | events_for(watch, kinds)) & tool->events : events;
}

/* Running calls. */

static uint64_t own_of(const sm_watch_call *call, uint64_t now) {
    uint64_t stretch = now - call->resumed;
    return call->active + (stretch > call->nested ? stretch - call->nested : 0);
}

static void forget(sm_watch *watch, sm_watch_call *call) {
    if (call->handed)
        watch->open--;
    Py_XDECREF(call->raised);
    sm_free(call);
}

/* Remove the frame's suspended call from the table and return it, or NULL. */
static sm_watch_call *take_suspended(sm_watch *watch, const void *frame) {
    suspended_call *found = sm_map_find(&watch->suspended, (uintptr_t)frame, sizeof *found);
    if (found == NULL)
        return NULL;
    sm_watch_call *call = found->call;
    sm_map_remove(&watch->suspended, found, sizeof *found);
    return call;
}

static void push(thread_calls *thread, sm_watch_call *call) {
    const sm_watch_call *below = thread->top;
    call->nesting = below == NULL ? 0 : below->nesting + (below->handed || below->undecided);
    call->next = thread->top;
    thread->top = call;
}

/* Remove the running frame's call and add its time to its caller's. Return it, or NULL if it is not kept. */
static sm_watch_call *pop(thread_calls *thread, const void *frame, uint64_t now) {
    for (sm_watch_call **link = &thread->top; *link != NULL; link = &(*link)->next) {
        sm_watch_call *call = *link;
        if (call->frame != frame)
            continue;
        *link = call->next;
        call->ran += now - call->resumed;
        if (call->next != NULL) {
            call->next->nested += now - call->resumed;
            call->next->matched_inside += call->handed ? now - call->resumed : 0;
        }
        return call;
    }
    return NULL;
}

static void suspend(sm_watch *watch, thread_calls *thread, const void *frame) {
    uint64_t now = now_of(thread);
    sm_watch_call *call = pop(thread, frame, now);
    if (call == NULL)
        return;
    call->active = own_of(call, now);
    call->begun += thread->spent; /* the call may resume on another thread */
    suspended_call *made = sm_map_make(&watch->suspended, (uintptr_t)frame, sizeof *made, 128);
    watch->lost += made == NULL;
    sm_watch_call *gone = made != NULL ? made->call : call;
    if (made != NULL)
        made->call = call;
    if (gone != NULL)
        forget(watch, gone);
}

static void resume(sm_watch *watch, thread_calls *thread, const void *frame) {
    sm_watch_call *call = take_suspended(watch, frame);
    if (call == NULL)
        return;
    call->begun -= thread->spent;
    call->resumed = now_of(thread);
    call->nested = 0;
    push(thread, call);
}

/* Evaluation. */

static bool number_of(void *context, sm_fact fact, int64_t *value) {
    const question *q = context;
    switch (fact) {
    case SM_FACT_DEPTH:
        *value = sm_tstate_depth(PyThreadState_Get());
        return true;
    case SM_FACT_CALLS:
        *value = (int64_t)q->of->calls;
        return true;
    case SM_FACT_DURATION:
        if (q->call != NULL)
            *value = (int64_t)(q->now - q->call->begun);
        return q->call != NULL;
    case SM_FACT_OWN:
        if (q->call != NULL)
            *value = (int64_t)own_of(q->call, q->now);
        return q->call != NULL;
    default:
        return false;
    }
}

static const char *text_of(void *context, sm_fact fact) {
    return sm_tool_filter_text(&((question *)context)->text, fact);
}

static sm_verdict python_of(void *context, uint32_t term) {
    sm_watch *watch = ((question *)context)->watch;
    return watch->python == NULL ? SM_UNKNOWN : watch->python(watch, term);
}

/* Evaluate the filter for an event. call: the kept call that ends with it, or NULL. */
static sm_verdict ask(sm_watch *watch, const sm_watched *of, sm_event_kind kind, const sm_hook_event *event,
                      const sm_watch_call *call, uint64_t now) {
    uint32_t bit = SM_EVENT_BIT(kind);
    if ((of->verdict.yes & bit) != 0)
        return SM_YES;
    if ((of->verdict.maybe & bit) == 0)
        return SM_NO;
    question q = {watch, of, call, now, NULL};
    sm_thread_facts facts = {.kind = kind, .function = of->function, .line = event->line, .context = &q};
    facts.number = number_of;
    facts.text = text_of;
    facts.python = python_of;
    if (kind == SM_EVENT_CALL)
        facts.exception = call == NULL                    ? NULL
                          : event->kind != SM_HOOK_UNWIND ? Py_None
                          : event->arg != NULL            ? event->arg
                                                          : call->raised;
    else if (event->kind == SM_HOOK_RAISE || event->kind == SM_HOOK_UNWIND || event->kind == SM_HOOK_THROW ||
             event->kind == SM_HOOK_STOP_ITERATION)
        facts.exception = event->arg;
    if ((SM_HOOK_BIT(event->kind) & SM_HOOK_C_CALLS) != 0 && sm_filter_needs(watch->filter, SM_FACT_CALLEE)) {
        PyObject *callee = sm_unbound(event->arg);
        const void *key = sm_c_function(callee, 1);
        facts.callee = key ? sm_function_of_c(key, callee) : NULL;
    }
    if (facts.line == 0 && sm_filter_needs(watch->filter, SM_FACT_LINE) && kind != SM_EVENT_CALL)
        facts.line = event->offset >= 0 ? PyCode_Addr2Line(event->code, event->offset) : 0;
    sm_verdict verdict = sm_filter_of_event(watch->filter, &of->verdict, &facts);
    Py_XDECREF(q.text);
    return verdict;
}

/* Matches. */

static void leave_if_through(sm_watch *watch) {
    if (watch->matched >= watch->limit && watch->open == 0)
        sm_hub_remove(&watch->tool);
}

static int report(sm_watch *watch, thread_calls *thread, const sm_match *match) {
    if (watch->report == NULL)
        return 0;
    uint64_t before = sm_monotonic_ns();
    int status = watch->report(watch, match);
    thread->spent += sm_monotonic_ns() - before;
    return status;
}

/* Count and report a match, if the limit allows. Set *taken if so. */
static int hand_over(sm_watch *watch, thread_calls *thread, sm_watched *of, const sm_match *match, bool *taken) {
    *taken = watch->matched < watch->limit;
    if (!*taken)
        return 0;
    watch->matched++;
    of->matches++;
    int status = report(watch, thread, match);
    if (SM_UNLIKELY(sm_watch_keep != NULL && status == 0 && sm_safepoint_due(SM_SAFE_WATCHES))) {
        uint64_t before = sm_monotonic_ns();
        status = sm_watch_keep();
        thread->spent += sm_monotonic_ns() - before;
    }
    return status;
}

static int begin(sm_watch *watch, thread_calls *thread, sm_watched *of, const sm_hook_event *event) {
    const void *frame = sm_tstate_frame(PyThreadState_Get());
    of->calls++;
    if ((event->code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0) {
        sm_watch_call *stale = take_suspended(watch, frame);
        if (stale != NULL)
            forget(watch, stale);
    }
    sm_verdict verdict = ask(watch, of, SM_EVENT_CALL, event, NULL, 0);
    sm_watch_call *call = NULL;
    bool keep = watch->keeps_all || (watch->tracks && verdict != SM_NO);
    if (keep && (watch->matched < watch->limit || watch->open != 0)) {
        call = sm_calloc(1, sizeof *call);
        if (call == NULL) {
            watch->lost++;
        } else {
            call->frame = frame;
            call->of = of;
            call->number = ++watch->numbers;
            call->undecided = verdict == SM_UNKNOWN;
            push(thread, call);
        }
    }
    int status = 0;
    if (verdict == SM_YES) {
        sm_match match = {SM_MATCH_EVENT, SM_EVENT_CALL, event, of->function, 0, 0, -1, -1, of->calls};
        bool taken = false;
        if (call != NULL) {
            match.call = call->number;
            match.nesting = call->nesting;
            call->handed = watch->matched < watch->limit;
            watch->open += call->handed;
        }
        status = hand_over(watch, thread, of, &match, &taken);
        leave_if_through(watch);
    }
    if (call != NULL)
        call->begun = call->resumed = now_of(thread);
    return status;
}

static int end(sm_watch *watch, thread_calls *thread, const sm_hook_event *event) {
    const void *frame = sm_tstate_frame(PyThreadState_Get());
    uint64_t now = now_of(thread);
    sm_watch_call *call = pop(thread, frame, now);
    if (call == NULL)
        return 0;
    sm_watched *of = call->of;
    sm_match match = {.moment = SM_MATCH_END, .kind = SM_EVENT_CALL, .event = event, .function = of->function};
    match.call = call->number;
    match.nesting = call->nesting;
    match.duration_ns = (int64_t)(now - call->begun);
    match.own_ns = watch->all_calls ? (int64_t)own_of(call, now) : -1;
    match.calls = of->calls;
    int status = 0;
    bool counted = call->handed;
    if (call->undecided && ask(watch, of, SM_EVENT_CALL, event, call, now) == SM_YES) {
        match.moment = SM_MATCH_WHOLE;
        status = hand_over(watch, thread, of, &match, &counted);
    } else if (call->handed && watch->ends) {
        status = report(watch, thread, &match);
    }
    if (counted && watch->times)
        sm_watch_time(watch, of, (double)match.duration_ns,
                      call->ran > call->matched_inside ? (double)(call->ran - call->matched_inside) : 0);
    if (!call->handed && thread->top != NULL) /* the call that contains it, except with greenlets */
        thread->top->matched_inside += counted ? call->ran : call->matched_inside;
    forget(watch, call);
    leave_if_through(watch);
    return status;
}

/* Report the event if the filter's verdict on it is yes. */
static int plain(sm_watch *watch, thread_calls *thread, sm_watched *of, const sm_hook_event *event) {
    sm_event_kind kind = (sm_event_kind)event->kind;
    if (((of->verdict.yes | of->verdict.maybe) & SM_EVENT_BIT(kind)) == 0)
        return 0;
    const sm_watch_call *top = thread->top;
    bool leaving = event->kind == SM_HOOK_RETURN || event->kind == SM_HOOK_UNWIND;
    bool here = top != NULL && top->frame == sm_tstate_frame(PyThreadState_Get());
    const sm_watch_call *ending = leaving && here ? top : NULL;
    uint64_t now = ending != NULL ? now_of(thread) : 0;
    if (ask(watch, of, kind, event, ending, now) != SM_YES)
        return 0;
    sm_match match = {SM_MATCH_EVENT, kind, event, of->function, 0, 0, -1, -1, of->calls};
    if (here)
        match.call = top->number;
    if (top != NULL)
        match.nesting = top->nesting + (top->handed || top->undecided);
    if (ending != NULL) {
        match.duration_ns = (int64_t)(now - ending->begun);
        match.own_ns = watch->all_calls ? (int64_t)own_of(ending, now) : -1;
    }
    bool taken;
    int status = hand_over(watch, thread, of, &match, &taken);
    leave_if_through(watch);
    return status;
}

/* Return true if the exception was raised in this frame: its traceback grows in each frame that it passes. */
static bool raised_here(PyObject *exception) {
    if (exception == NULL || !PyExceptionInstance_Check(exception))
        return true;
    const PyTracebackObject *traceback = (PyTracebackObject *)((PyBaseExceptionObject *)exception)->traceback;
    return traceback == NULL || traceback->tb_next == NULL;
}

static void remember(const thread_calls *thread, PyObject *exception) {
    sm_watch_call *call = thread->top;
    if (call != NULL && call->frame == sm_tstate_frame(PyThreadState_Get()))
        Py_XSETREF(call->raised, Py_NewRef((PyObject *)Py_TYPE(exception)));
}

static int line_of_a_call(sm_watch *watch, thread_calls *thread, const sm_hook_event *event) {
    const sm_watch_call *call = thread->top;
    if (call == NULL || !call->handed || call->frame != sm_tstate_frame(PyThreadState_Get()))
        return 0;
    sm_match match = {SM_MATCH_LINE,  SM_EVENT_LINE, event, call->of->function, call->number, call->nesting, -1, -1,
                      call->of->calls};
    return report(watch, thread, &match);
}

static int dispatch(sm_tool *tool, sm_hook_thread *hook_thread, const sm_hook_event *event) {
    sm_watch *watch = (sm_watch *)tool;
    sm_watched *of = watched(watch, event->code, NULL);
    thread_calls *thread = sm_hub_thread_data(hook_thread, tool, sizeof *thread);
    if (of == NULL || thread == NULL) {
        watch->lost += of != NULL;
        return 0;
    }
    if ((watch->kinds & SM_EVENT_BIT(SM_EVENT_OPCODE)) != 0 && !of->opcodes) {
        of->opcodes = true;
        if (((of->verdict.yes | of->verdict.maybe) & SM_EVENT_BIT(SM_EVENT_OPCODE)) != 0 &&
            sm_hub_opcodes(tool, event->code, true) < 0) {
            PyErr_Clear();
            watch->lost++;
        }
    }
    int status = 0;
    switch (event->kind) {
    case SM_HOOK_START:
        return begin(watch, thread, of, event);
    case SM_HOOK_RESUME:
    case SM_HOOK_THROW:
        resume(watch, thread, sm_tstate_frame(PyThreadState_Get()));
        return plain(watch, thread, of, event);
    case SM_HOOK_YIELD:
        status = plain(watch, thread, of, event);
        suspend(watch, thread, sm_tstate_frame(PyThreadState_Get()));
        return status;
    case SM_HOOK_RETURN:
    case SM_HOOK_UNWIND:
        status = plain(watch, thread, of, event);
        return status < 0 ? status : end(watch, thread, event);
    case SM_HOOK_LINE:
        status = watch->lines ? line_of_a_call(watch, thread, event) : 0;
        return status < 0 ? status : plain(watch, thread, of, event);
    case SM_HOOK_RAISE:
        if (watch->unwinds_by_raise && event->arg != NULL)
            remember(thread, event->arg);
        return raised_here(event->arg) ? plain(watch, thread, of, event) : 0;
    default:
        return plain(watch, thread, of, event);
    }
}

static int on_event(sm_tool *tool, sm_hook_thread *thread, const sm_hook_event *event) {
    sm_watch *watch = (sm_watch *)tool;
    int status = dispatch(tool, thread, event);
    if (SM_UNLIKELY(watch->raised != NULL)) {
        PyObject *raised = watch->raised;
        watch->raised = NULL;
        if (status == 0)
            PyErr_SetNone(raised);
        Py_DECREF(raised);
        return -1;
    }
    return status;
}

/* Start and end. */

static void thread_gone(sm_tool *tool, void *data) {
    thread_calls *thread = data;
    while (thread->top != NULL) {
        sm_watch_call *call = thread->top;
        thread->top = call->next;
        forget((sm_watch *)tool, call);
    }
}

static void removed(sm_tool *tool) {
    sm_watch *watch = (sm_watch *)tool;
    if (watch->done != NULL)
        watch->done(watch);
}

int sm_watch_start(sm_watch *watch) {
    const sm_filter *filter = watch->filter;
    watch->kinds &= sm_filter_kinds(filter);
    bool durations = sm_filter_needs(filter, SM_FACT_DURATION), own = sm_filter_needs(filter, SM_FACT_OWN);
    watch->all_calls = own;
    bool exceptions = sm_filter_needs(filter, SM_FACT_EXCEPTION);
    watch->tracks |= watch->ends || watch->lines || watch->times || durations || own || exceptions;
    watch->unwinds_by_raise = !SM_HAS_MONITORING && exceptions;
    uint32_t leaving = SM_EVENT_BIT(SM_EVENT_RETURN) | SM_EVENT_BIT(SM_EVENT_UNWIND);
    watch->keeps_all |= own || (durations && (watch->kinds & leaving) != 0);
    sm_tool *tool = &watch->tool;
    tool->events = events_for(watch, watch->kinds);
    tool->filtered = true;
    tool->call = on_event;
    tool->wants = wants;
    tool->thread_gone = thread_gone;
    tool->removed = removed;
    return sm_hub_add(tool);
}

void sm_watch_release(sm_watch *watch) {
    for (suspended_call *at = NULL; (at = sm_map_next(&watch->suspended, at, sizeof *at)) != NULL;)
        forget(watch, at->call);
    sm_map_free(&watch->suspended);
    for (uint32_t i = 0; i < watch->functions_size; i++) {
        if (watch->functions[i] != NULL)
            sm_free(watch->functions[i]->buckets);
        sm_free(watch->functions[i]);
    }
    sm_free(watch->functions);
    sm_filter_release(watch->filter);
    Py_CLEAR(watch->raised);
    watch->functions = NULL;
    watch->filter = NULL;
    watch->functions_size = 0;
}
