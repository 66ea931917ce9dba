/* The calltree recorder: every call counted in a tree of paths, time measured on segments.
 *
 * Shape. A *node* is a distinct path of functions on one thread. The thread's state is the node it is at: a call steps
 * to a child, a return to the parent, so the path itself is the shadow stack and nothing is stored per frame. A step
 * compares the code object with the two children met last or first (in the node's own cache line), then asks a small
 * hash table.
 *
 * Time. Where a young or long function begins or ends, the clock is read; all other time is sampled (node_times.c). A
 * function's own time is measured directly, and totals are sums over the tree: no difference of two large estimates, no
 * negative time.
 *
 * Invariants (sm_calltree_check()): thread.node is reached from its root; a child's parent is the node that holds it;
 * a node's key is its code object (or PyMethodDef), NULL for a root, and never an address that has died; and that of
 * segments. (Without memory for a single node there is none.)
 *
 * Bounds. Past max_paths no node is made: calls whose path is new are counted flat, one bucket per function under
 * "<folded paths>", and the recording says how many. Cold data of a node lies apart from the line that events touch: a
 * chunk of 64 KiB holds the hot lines first, then the rest; 168 bytes a path in all, and the child table. */
#ifndef SM_RECORDER_CALLS_CALLTREE_H
#define SM_RECORDER_CALLS_CALLTREE_H

#include "recorder/calls/trace.h"
#include "recorder/calls/tree.h"

extern const sm_recorder sm_calltree;

bool sm_calltree_check(void); /* consistency, for debug builds and tests */
uint64_t sm_calltree_paths(void);
int64_t sm_calltree_number(const sm_node *node); /* of its row in a recording; -1: it has none */
uint64_t sm_calltree_bytes(void);                /* of nodes and child tables: what a path costs */

/* The slow paths. */
bool sm_tree_hides(const void *code);  /* is it left out of the recording? (Not: has it no node for want of memory.) */
bool sm_tree_is_own(const void *code); /* is it seismo's? */
sm_node *sm_tree_find(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object);
/* A child for a frame that runs already: parent itself if it is left out; NULL: no memory, or too many paths. */
sm_node *sm_tree_seed_frame(sm_thread *thread, sm_node *parent, PyCodeObject *code, PyObject *globals);
bool sm_tree_leave_slow(sm_thread *thread, const void *key, sm_leaving how);
bool sm_tree_c_leave_slow(sm_thread *thread, const void *caller, const void *key, sm_leaving how);
/* A frame of this code, which the path does not end with, calls: false if it is one of seismo's own. */
bool sm_tree_calls_from(sm_thread *thread, const void *caller);
void sm_tree_raised(sm_node *node);
void sm_tree_suspended(sm_thread *thread, sm_node *node);
void sm_tree_awaited(sm_thread *thread, sm_node *node);
/* The clock is read at an event: from now on `to` runs. entered: it, if it has been entered, else NULL. */
void sm_tree_clock(sm_thread *thread, sm_node *entered, sm_node *to, uint64_t now);
void sm_tree_switch(sm_thread *thread, sm_node *to, uint64_t now);
void sm_tree_entry(sm_node *node);    /* an entry of this node is timed */
void sm_tree_look(sm_thread *thread); /* instead, where no time is kept, and the gate is closed */
void sm_tree_carry(sm_node *node, bool calls);
/* Is this C function known to be trivial: not worth an event at a place that always calls it? */
bool sm_tree_is_trivial(const sm_node *node);
/* The child of the node that the thread is at, if there is one; none is made. */
sm_node *sm_tree_known(sm_thread *thread, const void *key);
/* A place in this code object, which has called this C function for long, tells of no call after this one: which is
 * counted without stepping into it. What is missing from now on is marked (lower_bounds.c). */
void sm_tree_site_off(sm_thread *thread, const void *caller, const void *key, PyObject *callable);

static inline sm_node *sm_tree_child(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object) {
    sm_node *node = sm_tree_of(thread)->node;
    if (SM_LIKELY(node->child_key[0] == key))
        return node->child[0];
    if (SM_LIKELY(node->child_key[1] == key))
        return node->child[1];
    sm_node *child = sm_node_in_table(node, key); /* one call in six, in large programs */
    return SM_LIKELY(child != NULL) ? child : sm_tree_find(thread, key, kind, object);
}

/* The thread has entered (or left) a node, and is at `to` already. */
static inline void sm_tree_stepped(sm_thread *thread, const sm_node *node, sm_node *entered, sm_node *to) {
    if (SM_UNLIKELY(node->timed | sm_tree_of(thread)->gate))
        sm_tree_clock(thread, entered, to, sm_clock_read(&sm_engine.clock)); /* read here: before cold code and data */
}

static inline void sm_tree_step(sm_thread *thread, sm_node *from, sm_node *to) {
    sm_tree_of(thread)->node = to;
    sm_tree_stepped(thread, from, NULL, to);
}

/* The same where every piece is exact: as sm_tree_clock() where there is nothing else to do. The clock is read once;
 * what is done here is part of the piece that begins, as all else that an event costs. */
SM_INLINE void sm_tree_stamp(sm_thread *thread, sm_node *from, sm_node *to, uint8_t token, sm_tree_way way) {
    uint64_t now = sm_clock_read(&sm_engine.clock);
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_timing *timing = &thread->timing;
    tree->node = to;
    if (way & SM_WAY_JOURNAL)
        sm_trace_stamp(thread, token, now);
    uint64_t ticks = now - timing->since;
    if (SM_UNLIKELY(timing->open != from || now < timing->since || now - timing->cpu_ticks >= sm_timing_long)) {
        sm_tree_switch(thread, to, now);
        return;
    }
    sm_node_rest *rest = sm_rest(from);
    rest->timed++;
    rest->timed_ticks += ticks;
    __atomic_store_n(&timing->since, now, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->open, to, __ATOMIC_RELEASE);
}

/* The same where no time is kept. */
static inline void sm_tree_move(sm_thread *thread, sm_node *to) {
    sm_tree_thread *tree = sm_tree_of(thread);
    tree->node = to;
    if (SM_UNLIKELY(tree->gate))
        sm_tree_look(thread);
}

/* The thread calls or resumes a child of the node that it is at. */
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
        sm_tree_of(thread)->node = child;
    sm_tree_stepped(thread, child, child, child);
}

/* It leaves that node for its parent. */
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
        sm_tree_of(thread)->node = node->parent;
    sm_tree_stepped(thread, node, NULL, node->parent);
}

/* The events. */

/* A call. key: the code object or PyMethodDef; object: the code object or callable, to name it. False: hidden, the
 * source need not tell of this place again. */
SM_INLINE bool sm_tree_call(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object,
                            sm_tree_way way) {
    sm_node *from = sm_tree_of(thread)->node;
    sm_node *child = sm_tree_child(thread, key, kind, object);
    if (SM_UNLIKELY(child == NULL))
        return kind != SM_PYTHON || !sm_tree_hides(key);
    if (SM_UNLIKELY(++child->calls == 0))
        sm_tree_carry(child, true);
    sm_tree_enter(thread, from, child, false, way);
    return true;
}

/* A call of a C function from a frame of this code. */
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

/* A generator or coroutine goes on (also by throw). */
SM_INLINE bool sm_tree_resume(sm_thread *thread, const void *key, PyObject *object, sm_tree_way way) {
    sm_node *from = sm_tree_of(thread)->node;
    sm_node *child = sm_tree_child(thread, key, SM_PYTHON, object);
    if (SM_UNLIKELY(child == NULL))
        return !sm_tree_hides(key);
    if (SM_UNLIKELY(++child->resumes == 0))
        sm_tree_carry(child, false);
    if (SM_UNLIKELY(child->awaits))
        sm_tree_awaited(thread, child);
    sm_tree_enter(thread, from, child, true, way);
    return true;
}

/* A frame is left. False: it was a hidden one. */
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

#endif
