/* The time of nodes: which of their pieces are exact, and what the sampler adds to them. clock/timing.h has the idea.
 *
 * Young functions. The clock is read where a function is entered and left until YOUNG of its entries have been timed;
 * then it is *mature*, unless its pieces are so long that the clock costs next to nothing. A source of starts switches
 * the ends of a mature function off for good (source/monitoring/start_events.h). So rare functions have exact times,
 * and frequent ones have many samples.
 *
 * An exact piece belongs to a node whose end is reported, so that it is over when another one runs: the node of a young
 * function. Where a mature function begins, sampled time does, and lasts until a young one is entered or left.
 *
 * Guard. What a node has of exact pieces is its threads', with the GIL; what it has of looks is the sampler's. Nothing
 * is shared, so that no thread of the program waits for the sampler, which on a busy machine may have no processor. */
#include <assert.h>
#include <stddef.h>

#include "base/alloc.h"
#include "clock/sampler.h"
#include "clock/waits.h"
#include "recorder/calls/frame_shadows.h"
#include "recorder/calls/store.h"

#ifndef YOUNG
#define YOUNG 64 /* entries */
#endif
#define WORTH_NS 5000.0 /* a piece this long is worth reading the clock twice: 1 % of it */
#define NEAR 8          /* frames around the expected depth at which a look searches for the running one */
#define RETRIES 16      /* of a look that meets a frame before it is known: it is known some ns later */

static double worth_ticks(void) {
    return WORTH_NS / sm_engine.clock.ns_per_tick;
}

/* ---- exact pieces ---- */

static void add_off(sm_off *to, const sm_off *off) {
    to->all += off->all;
    to->ready += off->ready;
    to->lock += off->lock;
}

static void note_off(sm_node *node, const sm_off *off) {
    sm_node_more *more = sm_node_has(node);
    if (more != NULL)
        add_off(&more->off, off);
    else
        sm_engine.lost_memory++;
}

static void mature(sm_tree_function *function) {
    function->young = false;
    for (sm_node *node = function->nodes; node != NULL; node = sm_rest(node)->same)
        node->timed = false;
}

static void account(sm_node *node, const sm_piece *ended) {
    sm_node_rest *rest = sm_rest(node);
    sm_tree_function *function = rest->function;
    uint64_t own = ended->ran + sm_ticks_since(ended->off.ready + ended->off.lock, ended->off.all);
    rest->timed++;
    rest->timed_ticks += ended->ran;
    if (SM_UNLIKELY(ended->off.all != 0))
        note_off(node, &ended->off);
    function->pieces++;
    function->ticks += own;
    if (own > function->longest)
        function->longest = own;
    if (SM_UNLIKELY(function->entries >= YOUNG) && sm_engine.settings.timing != SM_TIMING_EVERY && function->young &&
        (double)function->ticks < worth_ticks() * (double)function->pieces)
        mature(function);
}

static void end_piece(sm_thread *thread, uint64_t now) {
    sm_piece ended = sm_timing_end(&sm_tree_of(thread)->timing, now);
    if (ended.of != NULL)
        account(ended.of, &ended);
}

/* Closed while an exact piece is open: the next event, whatever it is, ends it. */
static void set_gate(sm_tree_thread *tree, bool closed) {
    __atomic_store_n(&tree->gate, closed, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tree->shadows.open, closed ? 0 : tree->shadows.size, __ATOMIC_SEQ_CST);
}

/* Whoever closes it has set what it is closed for before: one of both sees the other. */
static void open_gate(sm_tree_thread *tree) {
    set_gate(tree, false);
    if (SM_UNLIKELY(__atomic_load_n(&tree->timing.idle, __ATOMIC_SEQ_CST)) || sm_engine_is_unattended())
        set_gate(tree, true);
}

static void begin_piece(sm_tree_thread *tree, sm_node *node) {
    bool exact = node != NULL && node->timed;
    sm_timing_begin(&tree->timing, exact ? SM_TIME_EXACT : SM_TIME_SAMPLED, exact ? node : NULL);
    if (exact)
        set_gate(tree, true);
    else
        open_gate(tree);
}

void sm_tree_entry(sm_node *node) {
    sm_rest(node)->entered++;
    sm_rest(node)->function->entries++;
}

void sm_tree_switch(sm_thread *thread, sm_node *to, uint64_t now) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (SM_UNLIKELY(__atomic_load_n(&tree->timing.idle, __ATOMIC_RELAXED)))
        sm_sampler_attend(&tree->timing, now);
    end_piece(thread, now);
    sm_engine_attend();
    begin_piece(tree, to);
}

void sm_tree_look(sm_thread *thread) {
    sm_engine_attend();
    open_gate(sm_tree_of(thread));
}

void sm_tree_clock(sm_thread *thread, sm_node *entered, sm_node *to, uint64_t now) {
    if (SM_UNLIKELY(sm_engine.settings.timing == SM_TIMING_NONE)) { /* the slow paths come by here all the same */
        if (sm_tree_of(thread)->gate)
            sm_tree_look(thread);
        return;
    }
    if (sm_tree_of(thread)->journal.stream != NULL)
        sm_trace_mark(thread, now);
    if (entered != NULL && entered->timed)
        sm_tree_entry(entered);
    sm_tree_switch(thread, to, now);
}

/* ---- the sampler's ---- */

static sm_tree_thread *tree_of(const sm_timing *timing) {
    return (sm_tree_thread *)((char *)(uintptr_t)timing - offsetof(sm_tree_thread, timing));
}

static sm_thread *thread_of(const sm_tree_thread *tree) {
    return (sm_thread *)((char *)(uintptr_t)tree - offsetof(sm_thread, recorder));
}

/* The node of a shadow. Its thread may be changing it: what is read is a node in any case. */
static sm_node *node_of(const sm_shadow *shadow) {
    bool in_c = __atomic_load_n(&shadow->c_at, __ATOMIC_ACQUIRE) != 0;
    sm_node *c_node = __atomic_load_n(&shadow->c_node, __ATOMIC_RELAXED);
    return in_c && c_node != NULL ? c_node : __atomic_load_n(&shadow->node, __ATOMIC_RELAXED);
}

/* Finds the running frame among the shadows, from the depth that the interpreter says on. The frame's own memory is not
 * read: it may be gone. */
static sm_node *find_running(const sm_tree_thread *tree, PyThreadState *tstate) {
    const void *frame = sm_tstate_frame_racy(tstate);
    int64_t depth = sm_tstate_depth_racy(tstate), size = tree->shadows.size;
    for (int64_t i = 0; frame != NULL && i <= 2 * NEAR; i++) {
        int64_t at = depth + ((i & 1) != 0 ? (i + 1) / 2 : -i / 2);
        if (at >= -1 && at < size && __atomic_load_n(&tree->shadows.slots[at].frame, __ATOMIC_RELAXED) == frame)
            return node_of(&tree->shadows.slots[at]);
    }
    return NULL;
}

sm_node *sm_tree_running(const sm_tree_thread *tree) {
    if (!sm_from_starts(tree))
        return __atomic_load_n(&tree->node, __ATOMIC_RELAXED);
    PyThreadState *tstate = thread_of(tree)->tstate;
    sm_node *found = NULL;
    for (int i = 0; i < RETRIES && found == NULL && tstate != &sm_no_tstate; i++)
        found = find_running(tree, tstate);
    return found;
}

static void *current(const sm_timing *timing) {
    return sm_tree_running(tree_of(timing));
}

/* In a trace the event after a look reads the clock, so that what has been long by then is known to end there. */
static void add(sm_timing *timing, void *of, const sm_look *look) {
    sm_tree_thread *tree = tree_of(timing);
    sm_node *node = of;
    sm_node_rest *rest = sm_rest(node);
    rest->sampled++;
    rest->sampled_ticks += look->ran;
    rest->sampled_sq += (double)look->ran * (double)look->ran;
    if (tree->journal.stream != NULL)
        set_gate(tree, true);
    if (look->off.all == 0)
        return;
    sm_node_more *more = sm_node_has(node);
    if (more == NULL)
        return;
    add_off(&more->seen, &look->off);
    more->seen_sq += (double)look->off.all * (double)look->off.all;
}

static void wake(sm_timing *timing, bool on) {
    if (on)
        set_gate(tree_of(timing), true);
}

void sm_tree_wake(sm_thread *thread) {
    sm_sampler_lock(); /* as who moves the shadows */
    set_gate(sm_tree_of(thread), true);
    sm_sampler_unlock();
}

static sm_wait waits(const sm_timing *timing) {
    return sm_waits_of(timing->native_id);
}

void sm_tree_sample(const sm_settings *settings) {
    static const sm_sampled sampled = {current, add, wake, waits, NULL};
    if (settings->timing != SM_TIMING_NONE)
        sm_sampler_start(&sampled, &sm_engine.clock, settings->rate);
}

/* ---- around events ---- */

void sm_tree_hold(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (sm_engine.settings.timing == SM_TIMING_NONE || tree->held++ > 0)
        return;
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (__atomic_load_n(&tree->timing.idle, __ATOMIC_RELAXED))
        sm_sampler_attend(&tree->timing, now);
    end_piece(thread, now);
    set_gate(tree, true);
}

void sm_tree_go_on(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (sm_engine.settings.timing == SM_TIMING_NONE || --tree->held > 0)
        return;
    begin_piece(tree, NULL);
}

void sm_tree_end_time(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    uint64_t now = sm_clock_read(&sm_engine.clock);
    sm_piece open = sm_sampler_so_far(&tree->timing, now);
    if (open.of != NULL)
        account(open.of, &open);
    thread->rest_ticks = sm_sampler_ran(&tree->timing, now);
    sm_sampler_remove(&tree->timing);
}
