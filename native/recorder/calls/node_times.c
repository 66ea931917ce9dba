/* The time of nodes: which of their pieces are exact, and what the sampler adds (clock/timing.h).
 *
 * The clock is read at a function's entries and ends until YOUNG of its entries have been timed. Then it is *mature*,
 * unless its pieces are so long that the clock costs next to nothing. A source of starts switches the ends of a mature
 * function off for good (source/monitoring/start_events.h). So rare functions have exact times, and frequent ones many
 * samples.
 *
 * Guard: Threads write a node's exact pieces with the GIL, and the sampler writes its looks. They share no field, so no
 * thread of the program waits for the sampler, which may have no processor. */
#include <assert.h>

#include "base/alloc.h"
#include "recorder/calls/calltree.h"
#include "recorder/calls/frame_shadows.h"
#include "recorder/calls/store.h"
#include "recorder/frame_depths.h"

#ifndef YOUNG
#define YOUNG 64
#endif
#define WORTH_NS 5000.0 /* a piece this long is worth two readings of the clock: 1 % of it */

static double worth_ticks(void) {
    return WORTH_NS / SM_PEEK(sm_engine.clock.ns_per_tick);
}

static void note_off(sm_node *node, const sm_off *off) {
    sm_node_more *more = sm_node_has(node);
    if (more != NULL)
        sm_off_add(&more->off, off);
    else
        sm_main.lost_memory++;
}

static void mature(sm_tree_function *function) {
    function->young = false;
    for (sm_node *node = function->nodes; node != NULL; node = sm_rest(node)->same)
        SM_WRITE(node->timed, false);
}

static void account(sm_node *node, const sm_piece *ended) {
    sm_node_rest *rest = sm_rest(node);
    sm_tree_function *function = rest->function;
    uint64_t own = ended->ran + sm_ticks_since(ended->off.ready + ended->off.lock, ended->off.all);
    SM_ADD(rest->timed, 1);
    SM_ADD(rest->timed_ticks, ended->ran);
    if (SM_UNLIKELY(ended->off.all != 0))
        note_off(node, &ended->off);
    function->pieces++;
    function->ticks += own;
    if (own > function->longest)
        function->longest = own;
    if (SM_UNLIKELY(function->entries >= YOUNG) && sm_main.settings.timing != SM_TIMING_EVERY && function->young &&
        (double)function->ticks < worth_ticks() * (double)function->pieces)
        mature(function);
}

static void end_piece(sm_thread *thread, uint64_t now) {
    if (SM_UNLIKELY(__atomic_load_n(&thread->timing.idle, __ATOMIC_RELAXED)))
        sm_sampler_attend(&thread->timing, now);
    sm_piece ended = sm_timing_end(&thread->timing, now);
    if (ended.of != NULL)
        account(ended.of, &ended);
}

/* Close the gate while an exact piece is open: the next event ends it. */
static void set_gate(sm_thread *thread, bool closed) {
    sm_tree_thread *tree = sm_tree_of(thread);
    __atomic_store_n(&tree->gate, closed, __ATOMIC_SEQ_CST);
    __atomic_store_n(&tree->shadows.open, closed ? 0 : tree->shadows.size, __ATOMIC_SEQ_CST);
}

/* Open the gate. The reason to close it is set before it is closed, so one of the two sees the other. */
static void open_gate(sm_thread *thread) {
    set_gate(thread, false);
    if (SM_UNLIKELY(__atomic_load_n(&thread->timing.idle, __ATOMIC_SEQ_CST)) || sm_engine_is_unattended())
        set_gate(thread, true);
}

static void begin_piece(sm_thread *thread, sm_node *node) {
    bool exact = node != NULL && node->timed;
    sm_timing_begin(&thread->timing, exact ? SM_TIME_EXACT : SM_TIME_SAMPLED, exact ? node : NULL);
    if (exact)
        set_gate(thread, true);
    else
        open_gate(thread);
}

void sm_tree_entry(sm_node *node) {
    SM_ADD(sm_rest(node)->entered, 1);
    sm_rest(node)->function->entries++;
}

void sm_tree_switch(sm_thread *thread, sm_node *to, uint64_t now) {
    SM_EVENT_GUARD;
    end_piece(thread, now);
    sm_engine_attend();
    begin_piece(thread, to);
}

void sm_tree_look(sm_thread *thread) {
    sm_engine_attend();
    open_gate(thread);
}

void sm_tree_clock(sm_thread *thread, sm_node *entered, sm_node *to, uint64_t now) {
    SM_EVENT_GUARD;
    if (SM_UNLIKELY(sm_main.settings.timing == SM_TIMING_NONE)) { /* slow paths call this in any case */
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

/* Return the node of a shadow. Its thread may be changing it, but any value read is a node. */
static sm_node *node_of(const sm_shadow *shadow) {
    bool in_c = __atomic_load_n(&shadow->c_at, __ATOMIC_ACQUIRE) != 0;
    sm_node *c_node = __atomic_load_n(&shadow->c_node, __ATOMIC_RELAXED);
    return in_c && c_node != NULL ? c_node : __atomic_load_n(&shadow->node, __ATOMIC_RELAXED);
}

sm_node *sm_tree_running(sm_thread *thread) {
    const sm_tree_thread *tree = sm_tree_of(thread);
    if (!sm_from_starts(tree))
        return __atomic_load_n(&tree->node, __ATOMIC_RELAXED);
    int64_t depth;
    return sm_frame_find(thread, sm_shadows_has, &depth) ? node_of(&tree->shadows.slots[depth]) : NULL;
}

static void *current(const sm_timing *timing) {
    return sm_tree_running(sm_thread_of(timing));
}

/* Add a look. In a trace the next event reads the clock, so that the end of a long call is known. */
static void add(sm_timing *timing, void *of, const sm_look *look) {
    sm_thread *thread = sm_thread_of(timing);
    sm_node *node = of;
    sm_node_rest *rest = sm_rest(node);
    SM_ADD(rest->sampled, 1);
    SM_ADD(rest->sampled_ticks, look->ran);
    SM_ADD(rest->sampled_sq, (double)look->ran * (double)look->ran);
    if (sm_tree_of(thread)->journal.stream != NULL)
        set_gate(thread, true);
    if (look->off.all == 0)
        return;
    sm_node_more *more = sm_node_has(node);
    if (more == NULL)
        return;
    sm_off_add(&more->seen, &look->off);
    if (!look->certain)
        SM_ADD(more->seen_sq, (double)look->off.all * (double)look->off.all);
}

void sm_tree_wake(sm_thread *thread) {
    set_gate(thread, true);
}

static void wake(sm_timing *timing) {
    sm_tree_wake(sm_thread_of(timing));
}

static void compare(void *current, uint64_t ran, uint64_t beside) {
    sm_node_more *more = sm_node_has(current);
    if (more == NULL)
        return;
    SM_ADD(more->compared, ran);
    SM_ADD(more->beside, beside);
}

const sm_sampled sm_tree_clocked = {current, add, wake, compare};

void sm_tree_hold(sm_thread *thread, bool on) {
    SM_EVENT_GUARD;
    sm_tree_thread *tree = sm_tree_of(thread);
    if (sm_main.settings.timing == SM_TIMING_NONE)
        return;
    if (!on) {
        if (--tree->held == 0)
            begin_piece(thread, NULL);
        return;
    }
    if (tree->held++ > 0)
        return;
    end_piece(thread, sm_clock_read(&sm_engine.clock));
    set_gate(thread, true);
}

void sm_tree_end_time(sm_thread *thread) {
    sm_piece open = sm_sampler_so_far(&thread->timing, sm_clock_read(&sm_engine.clock));
    if (open.of != NULL)
        account(open.of, &open);
}
