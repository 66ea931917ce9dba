/* Flat call statistics.
 *
 * An event. Entering finds the function by the caller's newest link, or in the table of links. The clock is read last
 * when entering and first when leaving. Leaving compares frame and code with the top call, and adds to its sums. The
 * entry holds the code object, so its address is not reused.
 *
 * Balance. An end that matches a lower call also ends those above it, whose ends were not reported. One that matches
 * none began before us and is ignored. So a lost event only affects one call.
 *
 * A custom timer lets other threads enter functions, or stop or clear this recorder, so `generation` is checked
 * after it. The threads in `timing`, which are in the timer, may not change the recorder. */
#include "hub/callstats/callstats.h"

#include <math.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "hub/backend.h"
#include "hub/callstats/running.h"
#include "hub/callstats/store.h"
#include "hub/hub.h"

typedef struct {
    sm_tool base; /* first */
    sm_callstats *stats;
} tool;

typedef sm_call_lane lane;
typedef sm_call_track track;
typedef sm_running_call call;

struct sm_callstats {
    tool *tool;     /* NULL if off */
    int references; /* the maker's, and one for each tool that the hub has */
    bool subcalls, builtins, no_memory, complained, this_thread;
    PyObject *timer; /* owned, or NULL */
    double unit;
    int64_t timer_last;
    uint64_t generation;    /* number of times that all calls were dropped */
    PyThreadState **timing; /* threads that run the timer now */
    uint32_t timing_count, timing_size;
    lane *lanes;
    sm_call_store store;
    sm_call_entry *newest; /* called last without a caller, or with links off */
};

static sm_clock default_clock;
static bool clock_chosen = false;

/* ---- the clock ---- */

static int refuse_in_timer(const sm_callstats *stats, const char *what) {
    PyThreadState *here = PyThreadState_Get();
    for (size_t i = 0; i < stats->timing_count; i++) {
        if (stats->timing[i] == here)
            return SM_FAIL(PyExc_RuntimeError, "cannot %s profiler in external timer", what);
    }
    return 0;
}

/* Return the timer's value in units, or in nanoseconds if it returns seconds. Return -1 with an exception set. */
static int64_t timer_value(const sm_callstats *stats, PyObject *given) {
    if (stats->unit > 0.0)
        return PyLong_AsLongLong(given);
    if (!PyFloat_Check(given)) {
        int64_t seconds = PyLong_AsLongLong(given), ns = 0;
        if (seconds == -1 && PyErr_Occurred())
            return -1;
        if (!__builtin_mul_overflow(seconds, (int64_t)1000000000, &ns))
            return ns;
    } else {
        double ns = floor(PyFloat_AS_DOUBLE(given) * 1e9);
        if (ns > -9.2e18 && ns < 9.2e18)
            return (int64_t)ns;
    }
    return SM_FAIL(PyExc_OverflowError, "the timer's value is out of range");
}

static int64_t ask_timer(sm_callstats *stats) {
    if (!sm_grow(&stats->timing, stats->timing_count, &stats->timing_size, sizeof *stats->timing, 4)) {
        stats->no_memory = true;
        return stats->timer_last;
    }
    PyThreadState *here = PyThreadState_Get();
    PyObject *timer = Py_NewRef(stats->timer);
    stats->timing[stats->timing_count++] = here;
    PyObject *given;
    SM_CORE_AWAY(given = PyObject_CallNoArgs(timer));
    int64_t value = given ? timer_value(stats, given) : -1;
    Py_XDECREF(given);
    if (value == -1 && PyErr_Occurred()) {
        if (stats->complained)
            PyErr_Clear();
        else
            PyErr_WriteUnraisable(timer); /* only once, since every event could fail */
        stats->complained = true;
        value = stats->timer_last;
    }
    for (size_t i = stats->timing_count; i-- > 0;) {
        if (stats->timing[i] == here) {
            stats->timing[i] = stats->timing[--stats->timing_count];
            break;
        }
    }
    stats->timer_last = value;
    Py_DECREF(timer);
    return value;
}

static inline int64_t read_clock(sm_callstats *stats) {
    return SM_LIKELY(stats->timer == NULL) ? (int64_t)sm_clock_read(&default_clock) : ask_timer(stats);
}

/* ---- threads ---- */

/* Make the lane at the thread's first event. */
static lane *new_lane(sm_callstats *stats, lane **noted) {
    lane *l = noted ? sm_calloc(1, sizeof *l) : NULL;
    if (l == NULL) {
        stats->no_memory = true;
        return NULL;
    }
    l->tstate = PyThreadState_Get();
    l->next = stats->lanes;
    stats->lanes = l;
    return *noted = l;
}

static inline track *track_of_event(tool *t, sm_hook_thread *thread) {
    lane **noted = thread->data[t->base.slot];
    lane *l = SM_LIKELY(noted != NULL) ? *noted : NULL;
    if (SM_UNLIKELY(l == NULL)) {
        noted = sm_hub_thread_data(thread, &t->base, sizeof *noted);
        l = new_lane(t->stats, noted);
        if (l == NULL)
            return NULL;
    }
    sm_chunk *chunk = sm_tstate_chunk(l->tstate);
    if (SM_LIKELY(l->now != NULL && l->now->chunk == chunk))
        return l->now;
    track *now = sm_call_track_change(l, chunk);
    if (now == NULL)
        t->stats->no_memory = true;
    return now;
}

/* ---- calls ---- */

static void enter(sm_callstats *stats, track *on, const void *key, PyObject *named, const void *frame) {
    sm_call_entry *callee;
    sm_call_link *with = NULL;
    if (on->depth > 0 && stats->subcalls) {
        sm_call_entry *caller = on->calls[on->depth - 1].entry;
        with = caller->newest;
        if (with == NULL || with->key != key) {
            with = sm_call_store_link(&stats->store, caller, key, named);
            if (SM_UNLIKELY(with == NULL))
                goto no_memory;
            caller->newest = with;
        }
        callee = with->callee;
    } else {
        callee = stats->newest;
        if (callee == NULL || callee->key != key) {
            callee = sm_call_store_entry(&stats->store, key, named);
            if (SM_UNLIKELY(callee == NULL))
                goto no_memory;
            stats->newest = callee;
        }
    }
    if (SM_UNLIKELY(on->depth == on->size) && !sm_call_track_grow(on))
        goto no_memory;
    call *made = sm_call_push(on, key, frame, callee, with);
    if (SM_LIKELY(stats->timer == NULL)) {
        made->start = (int64_t)sm_clock_read(&default_clock);
        return;
    }
    uint64_t generation = stats->generation;
    size_t depth = on->depth;
    int64_t now = ask_timer(stats);
    if (stats->generation == generation)
        on->calls[depth - 1].start = now;
    return;
no_memory:
    stats->no_memory = true;
}

static void leave(sm_callstats *stats, track *on, const void *key, const void *frame) {
    size_t depth = sm_call_find(on, key, frame);
    if (SM_UNLIKELY(depth == 0))
        return;
    uint64_t generation = stats->generation;
    int64_t now = read_clock(stats);
    if (SM_UNLIKELY(stats->generation != generation))
        return;
    while (on->depth >= depth)
        sm_call_end(on, now);
}

static const void *method_of(PyObject *callable) {
    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_method;
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml : NULL;
}

static int on_event(sm_tool *base, sm_hook_thread *thread, const sm_hook_event *event) {
    tool *t = (tool *)base;
    sm_callstats *stats = t->stats;
    if (SM_UNLIKELY(stats->tool != t))
        return 0;
    track *on = track_of_event(t, thread);
    if (SM_UNLIKELY(on == NULL))
        return 0;
    const void *frame = sm_tstate_frame(thread->tstate), *method;
    switch (event->kind) {
    case SM_HOOK_START:
    case SM_HOOK_RESUME:
    case SM_HOOK_THROW:
        enter(stats, on, event->code, (PyObject *)event->code, frame);
        break;
    case SM_HOOK_RETURN:
    case SM_HOOK_YIELD:
    case SM_HOOK_UNWIND:
        leave(stats, on, event->code, frame);
        break;
    case SM_HOOK_C_CALL:
        if (stats->builtins && (method = method_of(event->arg)) != NULL)
            enter(stats, on, method, event->arg, frame);
        break;
    case SM_HOOK_C_RETURN:
    case SM_HOOK_C_RAISE:
        if ((method = method_of(event->arg)) != NULL) /* belongs to a counted call, whatever the settings are now */
            leave(stats, on, method, frame);
        break;
    default:
        break;
    }
    return 0;
}

/* ---- on and off ---- */

/* End the running calls of these lanes, which nothing else refers to, and free them. */
static void end_calls(sm_callstats *stats, lane *lanes) {
    uint64_t generation = ++stats->generation;
    bool valid = true;
    for (lane *l = lanes; l != NULL && valid; l = l->next) {
        for (track *on = sm_call_track_next(l, NULL); on != NULL && valid; on = sm_call_track_next(l, on)) {
            while (on->depth > 0 && valid) {
                int64_t now = read_clock(stats);
                valid = stats->generation == generation;
                if (valid)
                    sm_call_end(on, now);
            }
        }
    }
    sm_call_lanes_free(lanes);
}

static void thread_gone(sm_tool *base, void *data) {
    tool *t = (tool *)base;
    sm_callstats *stats = t->stats;
    lane *l = *(lane **)data, **at = &stats->lanes;
    if (l == NULL || stats->tool != t) /* the lanes were freed, or belong to another tool */
        return;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    l->next = NULL;
    int64_t now = stats->timer ? stats->timer_last : (int64_t)sm_clock_read(&default_clock);
    for (track *on = sm_call_track_next(l, NULL); on != NULL; on = sm_call_track_next(l, on))
        while (on->depth > 0)
            sm_call_end(on, now);
    sm_call_lanes_free(l);
}

/* Drop the running calls of other threads, which continue in the parent. The hub reports their ends later. */
static void forked(sm_tool *base) {
    tool *t = (tool *)base;
    if (t->stats->tool != t || !PyGILState_Check())
        return; /* C code forked without the GIL, so the state may be inconsistent */
    PyThreadState *here = PyThreadState_Get();
    t->stats->timing_count = 0;
    for (lane *l = t->stats->lanes; l != NULL; l = l->next)
        if (l->tstate != here)
            sm_call_lane_drop(l);
}

static void let_go(sm_callstats *stats) {
    if (--stats->references > 0)
        return;
    sm_free(stats->timing);
    sm_free(stats);
}

static void removed(sm_tool *base) {
    tool *t = (tool *)base;
    sm_callstats *stats = t->stats;
    if (stats->tool == t) { /* the tool's only thread has ended */
        stats->tool = NULL;
        sm_call_lanes_free(stats->lanes);
        stats->lanes = NULL;
    }
    let_go(stats);
    sm_free(t);
}

sm_callstats *sm_callstats_new(void) {
    sm_callstats *stats = sm_calloc(1, sizeof *stats);
    if (stats == NULL)
        return (sm_callstats *)PyErr_NoMemory();
    stats->references = 1;
    stats->subcalls = stats->builtins = true;
    return stats;
}

/* Remove the tool and return its lanes. */
static lane *stop(sm_callstats *stats) {
    tool *t = stats->tool;
    lane *lanes = stats->lanes;
    stats->tool = NULL;
    stats->lanes = NULL;
    if (t != NULL)
        sm_hub_remove(&t->base);
    return lanes;
}

void sm_callstats_free(sm_callstats *stats) {
    SM_CORE_GUARD;
    lane *lanes = stop(stats);
    stats->generation++;
    sm_call_lanes_free(lanes);
    sm_call_store_forget(&stats->store);
    stats->newest = NULL;
    Py_CLEAR(stats->timer);
    let_go(stats);
}

static int start(sm_callstats *stats) {
    if (!clock_chosen && stats->timer == NULL)
        clock_chosen = sm_clock_choose(&default_clock, "auto");
    tool *t = sm_calloc(1, sizeof *t);
    if (t == NULL)
        return sm_no_memory();
    t->base.events = SM_HOOK_CALLS | (stats->builtins ? SM_HOOK_C_CALLS : 0);
    t->base.only = stats->this_thread ? PyThreadState_Get() : NULL;
    t->base.call = on_event;
    t->base.thread_gone = thread_gone;
    t->base.forked = forked;
    t->base.removed = removed;
    t->stats = stats;
    stats->complained = false;
    stats->tool = t;
    stats->references++;
    if (sm_hub_add(&t->base) < 0) {
        stats->tool = NULL;
        stats->references--;
        sm_free(t);
        return -1;
    }
    return 0;
}

int sm_callstats_enable(sm_callstats *stats, int subcalls, int builtins) {
    SM_CORE_GUARD;
    if (refuse_in_timer(stats, "enable") < 0)
        return -1;
    stats->subcalls = subcalls < 0 ? stats->subcalls : subcalls > 0;
    stats->builtins = builtins < 0 ? stats->builtins : builtins > 0;
    if (stats->tool != NULL && stats->builtins && !(stats->tool->base.events & SM_HOOK_C_CALLS))
        end_calls(stats, stop(stats)); /* the set of events changes, so start again */
    return stats->tool == NULL ? start(stats) : 0;
}

int sm_callstats_disable(sm_callstats *stats) {
    SM_CORE_GUARD;
    if (refuse_in_timer(stats, "disable") < 0)
        return -1;
    if (stats->tool != NULL)
        end_calls(stats, stop(stats));
    if (stats->no_memory) {
        stats->no_memory = false;
        return SM_FAIL(PyExc_MemoryError, "memory was exhausted while profiling");
    }
    return 0;
}

static void forget(sm_callstats *stats) {
    stats->generation++;
    for (lane *l = stats->lanes; l != NULL; l = l->next)
        sm_call_lane_drop(l);
    stats->newest = NULL;
    sm_call_store_forget(&stats->store);
}

int sm_callstats_clear(sm_callstats *stats) {
    SM_CORE_GUARD;
    if (refuse_in_timer(stats, "clear") < 0)
        return -1;
    forget(stats);
    return 0;
}

int sm_callstats_setup(sm_callstats *stats, PyObject *timer, double unit, bool subcalls, bool builtins,
                       bool this_thread) {
    SM_CORE_GUARD;
    if (refuse_in_timer(stats, "reinitialize") < 0)
        return -1;
    if (stats->tool != NULL)
        return SM_FAIL(PyExc_RuntimeError, "cannot reinitialize profiler while it is enabled");
    PyObject *before = stats->timer;
    stats->timer = Py_XNewRef(timer);
    stats->unit = unit;
    stats->timer_last = 0;
    stats->subcalls = subcalls;
    stats->builtins = builtins;
    stats->this_thread = this_thread;
    forget(stats);
    Py_XDECREF(before);
    return 0;
}

PyObject *sm_callstats_timer(sm_callstats *stats) {
    return stats->timer;
}

/* ---- results ---- */

static sm_callstats_row row_of(const sm_call_entry *entry, const sm_call_sums *sums, double factor) {
    return (sm_callstats_row){Py_NewRef(entry->code), sums->calls, sums->recursive, (double)sums->total * factor,
                              (double)sums->own * factor};
}

int sm_callstats_visit(sm_callstats *stats, sm_callstats_visitor visit, void *data) {
    SM_CORE_GUARD;
    if (clock_chosen)
        sm_clock_anchor(&default_clock);
    double factor = default_clock.ns_per_tick * 1e-9;
    if (stats->timer != NULL)
        factor = stats->unit > 0.0 ? stats->unit : 1e-9;
    size_t entries = stats->store.by_key.count, rows = 0;
    sm_callstats_row *all = sm_malloc((entries + stats->store.link_count) * sizeof *all);
    size_t *ends = all ? sm_malloc(entries * sizeof *ends) : NULL;
    if (ends == NULL) {
        sm_free(all);
        return sm_no_memory();
    }
    size_t *end = ends;
    for (const sm_call_entry *entry = stats->store.first; entry != NULL; entry = entry->next) {
        if (entry->sums.calls > 0)
            all[rows++] = row_of(entry, &entry->sums, factor);
        for (sm_call_link *l = entry->sums.calls > 0 ? entry->links : NULL; l != NULL; l = l->next)
            if (l->sums.calls > 0)
                all[rows++] = row_of(l->callee, &l->sums, factor);
        *end++ = rows;
    }
    int status = 0;
    for (size_t i = 0, begin = 0; i < entries && status == 0; begin = ends[i++])
        if (ends[i] > begin)
            status = visit(data, &all[begin], ends[i] - begin - 1);
    for (size_t i = 0; i < rows; i++)
        Py_DECREF(all[i].code);
    sm_free(ends);
    sm_free(all);
    return status;
}
