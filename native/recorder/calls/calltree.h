/* The calltree recorder: counts every call in a tree of paths, and measures time on segments.
 *
 * Shape: A *node* is a distinct path of functions on one thread. The thread's state is its current node: a call steps
 * to a child, a return to the parent. So the path is the shadow stack, and nothing is stored per frame. A step compares
 * the code object with two children in the node's own cache line, then looks into a small hash table.
 *
 * Time: The clock is read where a young or long function begins or ends; all other time is sampled (node_times.c). A
 * function's own time is measured directly, and totals are sums over the tree.
 *
 * Invariants (sm_calltree_check): The thread's node is reached from its root. A child's parent is the node that holds
 * it. A node's key is its code object or PyMethodDef, NULL for a root, and never a dead address.
 *
 * Bounds: Beyond max_paths no node is made. Calls on new paths are counted flat, in one bucket per function under
 * "<folded paths>". A path takes 152 bytes, and its slots in child tables. */
#pragma once

#include "recorder/calls/trace.h"
#include "recorder/calls/tree.h"

extern const sm_recorder sm_calltree;

bool sm_calltree_check(void);
uint64_t sm_calltree_paths(void);
int64_t sm_calltree_number(const sm_node *node); /* the number of its row in a recording, or -1 */
uint64_t sm_calltree_bytes(void);

bool sm_tree_hides(const void *code);  /* true if it is left out of the recording */
bool sm_tree_is_own(const void *code); /* true if it is seismo's own */
sm_node *sm_tree_find(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object);
/* Return a child for a frame that runs already, or parent if it is left out, or NULL without memory or paths. */
sm_node *sm_tree_seed_frame(sm_thread *thread, sm_node *parent, PyCodeObject *code, PyObject *globals);
bool sm_tree_leave_slow(sm_thread *thread, const void *key, sm_leaving how);
bool sm_tree_c_leave_slow(sm_thread *thread, const void *caller, const void *key, sm_leaving how);
/* Handle a call from a frame of this code, which is not at the path's end. Return false if the code is seismo's. */
bool sm_tree_calls_from(sm_thread *thread, const void *caller);
void sm_tree_raised(sm_node *node);
void sm_tree_suspended(sm_thread *thread, sm_node *node);
void sm_tree_awaited(sm_thread *thread, sm_node *node);
/* Count the time up to an event, after which `to` runs. entered: the node that the event entered, or NULL. */
void sm_tree_clock(sm_thread *thread, sm_node *entered, sm_node *to, uint64_t now);
void sm_tree_switch(sm_thread *thread, sm_node *to, uint64_t now);
void sm_tree_entry(sm_node *node);
void sm_tree_look(sm_thread *thread); /* replaces sm_tree_clock() where no time is kept */
void sm_tree_carry(sm_node *node, bool calls);
/* Return true if this C function is trivial: not worth an event at a place that always calls it. */
bool sm_tree_is_trivial(const sm_node *node);
/* Return the child of the thread's current node, or NULL if it does not exist yet. */
sm_node *sm_tree_known(sm_thread *thread, const void *key);
/* Count the last reported call of a place, after which missing calls are marked (lower_bounds.c). */
void sm_tree_site_off(sm_thread *thread, const void *caller, const void *key, PyObject *callable);

static inline sm_node *sm_tree_child(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object) {
    sm_node *node = sm_tree_of(thread)->node;
    if (SM_LIKELY(node->child_key[0] == key))
        return node->child[0];
    if (SM_LIKELY(node->child_key[1] == key))
        return node->child[1];
    sm_node *child = SM_FREE_THREADED ? *sm_node_recent(node, key) : NULL; /* the table takes the core's lock */
    if (child != NULL && SM_LIKELY(child->key == key) && SM_LIKELY(child->parent == node))
        return child;
    child = sm_node_in_table(node, key); /* one call in six in large programs */
    return SM_LIKELY(child != NULL) ? child : sm_tree_find(thread, key, kind, object);
}

/* Handle the step of a thread that has entered or left `node`, and is at `to` already. */
static inline void sm_tree_stepped(sm_thread *thread, const sm_node *node, sm_node *entered, sm_node *to) {
    if (SM_UNLIKELY(SM_PEEK(node->timed) | SM_PEEK(sm_tree_of(thread)->gate)))
        sm_tree_clock(thread, entered, to, sm_clock_read(&sm_engine.clock)); /* read before cold code and data */
}

static inline void sm_tree_step(sm_thread *thread, sm_node *from, sm_node *to) {
    SM_WRITE(sm_tree_of(thread)->node, to);
    sm_tree_stepped(thread, from, NULL, to);
}

/* Step to a node if every piece is exact. The clock is read once, so the work here is part of the piece that begins. */
SM_INLINE void sm_tree_stamp(sm_thread *thread, sm_node *from, sm_node *to, uint8_t token, sm_tree_way way) {
    uint64_t now = sm_clock_read(&sm_engine.clock);
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_timing *timing = &thread->timing;
    SM_WRITE(tree->node, to);
    if (way & SM_WAY_JOURNAL)
        sm_trace_stamp(thread, token, now);
    uint64_t ticks = now - timing->since;
    if (SM_UNLIKELY(timing->open != from || now < timing->since || now - timing->cpu_ticks >= sm_timing_long)) {
        sm_tree_switch(thread, to, now);
        return;
    }
    sm_node_rest *rest = sm_rest(from);
    SM_ADD(rest->timed, 1);
    SM_ADD(rest->timed_ticks, ticks);
    __atomic_store_n(&timing->since, now, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->open, to, __ATOMIC_RELEASE);
}

/* Step to a node if no time is kept. */
static inline void sm_tree_move(sm_thread *thread, sm_node *to) {
    sm_tree_thread *tree = sm_tree_of(thread);
    SM_WRITE(tree->node, to);
    if (SM_UNLIKELY(SM_PEEK(tree->gate)))
        sm_tree_look(thread);
}

SM_INLINE void sm_tree_enter(sm_thread *thread, sm_node *from, sm_node *child, bool resumed, sm_tree_way way) {
    if (way & SM_WAY_BARE) {
        sm_tree_move(thread, child);
        return;
    }
    if ((way & SM_WAY_EVERY) && (!(way & SM_WAY_JOURNAL) || SM_LIKELY(child->token != 0))) {
        sm_tree_stamp(thread, from, child, resumed ? child->token | SM_TOKEN_END : child->token, way);
        return;
    }
    if (way & SM_WAY_JOURNAL)
        sm_trace_enter(thread, child, resumed);
    else
        SM_WRITE(sm_tree_of(thread)->node, child);
    sm_tree_stepped(thread, child, child, child);
}

SM_INLINE void sm_tree_back(sm_thread *thread, sm_node *node, sm_leaving how, sm_tree_way way) {
    if (way & SM_WAY_BARE) {
        sm_tree_move(thread, node->parent);
        return;
    }
    if (way & SM_WAY_EVERY) {
        sm_tree_stamp(thread, node, node->parent, (uint8_t)how, way);
        return;
    }
    if (way & SM_WAY_JOURNAL)
        sm_trace_leave(thread, node->parent, how);
    else
        SM_WRITE(sm_tree_of(thread)->node, node->parent);
    sm_tree_stepped(thread, node, NULL, node->parent);
}

/* Count a call. key: the code object or PyMethodDef; object: the code object or callable, for its name. Return false if
 * it is hidden, so that the source need not report the place again. */
SM_INLINE bool sm_tree_call(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object,
                            sm_tree_way way) {
    sm_node *from = sm_tree_of(thread)->node;
    sm_node *child = sm_tree_child(thread, key, kind, object);
    if (SM_UNLIKELY(child == NULL))
        return kind != SM_PYTHON || !sm_tree_hides(key);
    if (SM_UNLIKELY(SM_ADD(child->calls, 1) == 0))
        sm_tree_carry(child, true);
    sm_tree_enter(thread, from, child, false, way);
    return true;
}

SM_INLINE bool sm_tree_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable,
                              sm_tree_way way) {
    if (SM_UNLIKELY(sm_tree_of(thread)->node->key != caller) && !sm_tree_calls_from(thread, caller))
        return false;
    return sm_tree_call(thread, key, SM_C, callable, way);
}

SM_INLINE bool sm_tree_c_leave(sm_thread *thread, const void *caller, const void *key, sm_leaving how,
                               sm_tree_way way) {
    sm_node *node = sm_tree_of(thread)->node;
    if (SM_UNLIKELY(node->key != key || node->parent->key != caller))
        return sm_tree_c_leave_slow(thread, caller, key, how);
    if (how != SM_BY_RETURN)
        sm_tree_raised(node);
    sm_tree_back(thread, node, how, way);
    return true;
}

SM_INLINE bool sm_tree_resume(sm_thread *thread, const void *key, PyObject *object, sm_tree_way way) {
    sm_node *from = sm_tree_of(thread)->node;
    sm_node *child = sm_tree_child(thread, key, SM_PYTHON, object);
    if (SM_UNLIKELY(child == NULL))
        return !sm_tree_hides(key);
    if (SM_UNLIKELY(SM_ADD(child->resumes, 1) == 0))
        sm_tree_carry(child, false);
    if (SM_UNLIKELY(child->awaits))
        sm_tree_awaited(thread, child);
    sm_tree_enter(thread, from, child, true, way);
    return true;
}

/* Leave a frame. Return false if it is hidden. */
SM_INLINE bool sm_tree_leave(sm_thread *thread, const void *key, sm_leaving how, sm_tree_way way) {
    sm_node *node = sm_tree_of(thread)->node;
    if (SM_UNLIKELY(node->key != key))
        return sm_tree_leave_slow(thread, key, how);
    if (how == SM_BY_EXCEPTION)
        sm_tree_raised(node);
    else if (how == SM_BY_YIELD && SM_UNLIKELY(node->awaits))
        sm_tree_suspended(thread, node);
    sm_tree_back(thread, node, how, way);
    return true;
}
