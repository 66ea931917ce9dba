/* The slow paths of the calltree: new paths, and stacks that differ from the path. calltree.h explains the tree. */
#include "recorder/calls/calltree.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "recorder/calls/frame_shadows.h"
#include "recorder/calls/store.h"

static sm_node *make_child(sm_thread *thread, sm_node *parent, const void *key, sm_tree_function *function) {
    sm_node *child = sm_node_new(sm_tree_of(thread)->store, parent, key, function);
    if (child == NULL)
        sm_main.lost_memory++;
    else if (sm_trace_has_file())
        sm_calltree_announce(thread, child);
    return child;
}

/* Find or make the child of a function that may have come this way with another code object. */
static sm_node *new_child(sm_thread *thread, sm_node *parent, const void *key, sm_tree_function *function) {
    sm_node *child = NULL;
    if (function->function->kind == SM_PYTHON) {
        if (function->first == NULL)
            function->first = key;
        function->several = function->several || function->first != key;
        if (function->several)
            child = sm_node_rekey(parent, key, function);
    }
    if (child == NULL)
        child = make_child(thread, parent, key, function);
    if (function->several && child != NULL)
        sm_node_note_key(key, child);
    return child;
}

/* Return the function's bucket. Its key is the function's address, which no event has, so it is only found here. */
static sm_node *bucket_of(sm_thread *thread, sm_tree_function *function) {
    static const char bucket_key;
    sm_tree_thread *store = sm_tree_of(thread)->store;
    if (store->folded == NULL) {
        sm_function *name = sm_function_synthetic("<folded paths>");
        sm_tree_function *known = name ? sm_tree_function_of(name) : NULL;
        store->folded = known ? make_child(thread, store->root, &bucket_key, known) : NULL;
        if (store->folded == NULL)
            return NULL;
        SM_WRITE(sm_rest(store->folded)->flags, sm_rest(store->folded)->flags | SM_NODE_FOLDED);
    }
    sm_node *bucket = sm_node_child(store->folded, function);
    if (bucket == NULL) {
        bucket = make_child(thread, store->folded, function, function);
        if (bucket == NULL)
            return NULL;
        SM_WRITE(sm_rest(bucket)->flags, sm_rest(bucket)->flags | SM_NODE_FOLDED);
        bucket->token = 0;
    }
    return bucket;
}

/* Count a call beyond the limit in its function's bucket, and remember the frame, since the buckets' tree does not
 * mirror the stack. */
static sm_node *fold(sm_thread *thread, const void *key, sm_tree_function *function) {
    sm_tree_thread *tree = sm_tree_of(thread);
    bool remembered = sm_from_starts(tree); /* shadows remember all frames */
    if (!remembered && !sm_grow(&tree->fold, tree->fold_count + 1, &tree->fold_size, sizeof *tree->fold, 256)) {
        sm_main.lost_memory++;
        return NULL;
    }
    sm_node *bucket = bucket_of(thread, function);
    if (bucket == NULL)
        return NULL;
    if (!remembered && tree->fold_count == 0) /* the node where folding began, below the frames entered since */
        tree->fold[tree->fold_count++] = (sm_fold){NULL, tree->node};
    if (!remembered)
        tree->fold[tree->fold_count++] = (sm_fold){key, bucket};
    sm_tree.folded++;
    return bucket;
}

static sm_tree_function *function_of(const void *key, sm_function_kind kind, PyObject *object, PyObject *globals) {
    sm_function *function =
        kind == SM_PYTHON ? sm_function_of_code((PyCodeObject *)object, globals) : sm_function_of_c(key, object);
    if (function == NULL)
        sm_main.lost_memory++;
    if (function == NULL || function->left_out)
        return NULL;
    sm_tree_function *known = sm_tree_function_of(function);
    if (known == NULL)
        sm_main.lost_memory++;
    return known;
}

sm_node *sm_tree_find(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object) {
    SM_EVENT_GUARD;
    assert(thread == sm_this_thread && key != NULL && object != NULL);
    sm_tree_thread *tree = sm_tree_of(thread);
    if (kind == SM_PYTHON && !PyCode_Check(object))
        return NULL;
    sm_engine_hold(NULL, true); /* naming a function may make objects */
    sm_tree_function *function = function_of(key, kind, object, kind == SM_PYTHON ? PyEval_GetGlobals() : NULL);
    sm_engine_hold(NULL, false);
    if (function == NULL)
        return NULL;
    bool folded = tree->fold_count > 0 || (sm_rest(tree->node)->flags & SM_NODE_FOLDED) != 0;
    if (folded || sm_tree.nodes >= sm_tree_chosen.max_paths)
        return fold(thread, key, function);
    return new_child(thread, tree->node, key, function);
}

static bool leave_folded(sm_thread *thread, const void *key, sm_leaving how) {
    sm_tree_thread *tree = sm_tree_of(thread);
    for (uint32_t i = tree->fold_count; i-- > 1;) {
        if (tree->fold[i].key != key)
            continue;
        for (uint32_t above = tree->fold_count; --above > i;)
            sm_trace_left(thread, tree->fold[above - 1].bucket, SM_BY_RETURN);
        if (how == SM_BY_EXCEPTION)
            SM_ADD(sm_rest(tree->fold[i].bucket)->exceptions, 1);
        tree->fold_count = i == 1 ? 0 : i;
        sm_trace_left(thread, tree->fold[i - 1].bucket, how);
        return true;
    }
    return false;
}

/* Leave a node of the path, above which others ended without an event. */
static void leave_node(sm_thread *thread, sm_node *node, sm_leaving how) {
    sm_node *left = sm_tree_of(thread)->node;
    if (node != left) {
        sm_engine.repaired++;
        sm_trace_goto(thread, node);
    }
    if (how == SM_BY_EXCEPTION)
        sm_tree_raised(node);
    else if (how == SM_BY_YIELD && node->awaits)
        sm_tree_suspended(thread, node);
    sm_trace_left(thread, node->parent, how);
    sm_tree_step(thread, left, node->parent);
}

/* Leave the innermost node of the path with this key (and this caller, unless NULL). Return false if there is none. */
static bool leave_inner(sm_thread *thread, const void *caller, const void *key, sm_leaving how) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (tree->fold_count > 0) {
        sm_node *left = tree->node;
        if (!leave_folded(thread, key, how))
            return false;
        sm_tree_step(thread, left, tree->node);
        return true;
    }
    for (sm_node *node = tree->node; node->parent != NULL; node = node->parent) {
        if (node->key != key || (caller != NULL && node->parent->key != caller))
            continue;
        leave_node(thread, node, how);
        return true;
    }
    return false;
}

/* Leave a C function whose caller is not recorded, and has no node. */
static void leave_outermost(sm_thread *thread, const void *caller, const void *key, sm_leaving how) {
    sm_node *outermost = NULL;
    for (sm_node *node = sm_tree_of(thread)->node; node->parent != NULL; node = node->parent) {
        if (node->key == caller)
            return;
        outermost = node;
    }
    if (outermost != NULL && outermost->key == key)
        leave_node(thread, outermost, how);
}

bool sm_tree_hides(const void *code) {
    if (!PyCode_Check((PyObject *)(uintptr_t)code))
        return true; /* Cython and others may report code-like objects of their own */
    sm_function *function = sm_function_of_code((PyCodeObject *)(uintptr_t)code, NULL);
    return function != NULL && function->left_out;
}

/* Return true for seismo's own code, whose calls are not counted. Calls of code that where= leaves out count for the
 * nearest caller that is kept. */
bool sm_tree_is_own(const void *code) {
    if (!PyCode_Check((PyObject *)(uintptr_t)code))
        return true;
    const sm_function *function = sm_function_of_code((PyCodeObject *)(uintptr_t)code, NULL);
    return function == NULL || function->hidden;
}

bool sm_tree_leave_slow(sm_thread *thread, const void *key, sm_leaving how) {
    SM_EVENT_GUARD;
    assert(thread == sm_this_thread && key != NULL);
    if (sm_tree_hides(key))
        return false;
    if (!leave_inner(thread, NULL, key, how)) /* the path lacks this frame, so check those below it */
        sm_engine_repair(thread, true);
    return true;
}

bool sm_tree_c_leave_slow(sm_thread *thread, const void *caller, const void *key, sm_leaving how) {
    SM_EVENT_GUARD;
    assert(thread == sm_this_thread && caller != NULL && key != NULL);
    sm_tree_thread *tree = sm_tree_of(thread);
    if (!sm_tree_hides(caller)) {
        if (!leave_inner(thread, caller, key, how) && tree->fold_count == 0)
            leave_outermost(thread, caller, key, how); /* otherwise it ran before the start */
    } else if (sm_tree_is_own(caller)) {
        return false;
    } else if (tree->node->key == key) { /* the caller has no node, so its caller's is below */
        leave_node(thread, tree->node, how);
    } else {
        (void)leave_inner(thread, NULL, key, how);
    }
    return true;
}

bool sm_tree_calls_from(sm_thread *thread, const void *caller) {
    SM_EVENT_GUARD;
    assert(thread == sm_this_thread && caller != NULL);
    if (sm_tree_hides(caller))
        return !sm_tree_is_own(caller);
    sm_tree_thread *tree = sm_tree_of(thread);
    if (tree->fold_count > 0)
        return true;
    sm_node *node = tree->node; /* C functions on top of the caller ended without an event (gh-122029) */
    while (node->parent != NULL && sm_rest(node)->function->function->kind == SM_C)
        node = node->parent;
    if (node->key == caller) {
        sm_trace_goto(thread, node);
        sm_engine.repaired++;
    } else {
        sm_engine_repair(thread, false);
    }
    return true;
}

sm_node *sm_tree_known(sm_thread *thread, const void *key) {
    return sm_node_child(sm_tree_of(thread)->node, key);
}

void sm_tree_site_off(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    if (!sm_tree_note_site(caller, key, callable))
        return;
    sm_tree_thread *tree = sm_tree_of(thread);
    if (tree->node->key != caller && !sm_tree_calls_from(thread, caller))
        return;
    sm_node *child = sm_tree_child(thread, key, SM_C, callable);
    if (child == NULL || tree->fold_count > 0)
        return;
    if (SM_ADD(child->calls, 1) == 0)
        sm_tree_carry(child, true);
    sm_node *from = tree->node;
    sm_trace_entered(thread, child);
    sm_trace_left(thread, from, SM_BY_RETURN);
}

#define TRIVIAL_NS 500.0 /* the mean call of a trivial C function is shorter; below: its longest */
#define TRIVIAL_LONGEST_NS 50e3

bool sm_tree_is_trivial(const sm_node *node) {
    /* Many calls must be measured and short on average, and none long enough to matter. */
    const sm_node_rest *rest = sm_rest(node);
    const sm_tree_function *function = rest->function;
    double per_ns = 1.0 / SM_PEEK(sm_engine.clock.ns_per_tick);
    return !function->young && (double)function->longest < TRIVIAL_LONGEST_NS * per_ns &&
           (double)function->ticks < TRIVIAL_NS * per_ns * (double)function->pieces &&
           (double)rest->sampled_ticks < 2 * TRIVIAL_NS * per_ns * (double)node->calls;
}

void sm_tree_raised(sm_node *node) {
    sm_node_rest *rest = sm_rest(node);
    SM_ADD(rest->exceptions, rest->exceptions != UINT32_MAX);
}

static void lose_await(void) {
    SM_EVENT_GUARD;
    sm_main.lost_memory++;
}

void sm_tree_suspended(sm_thread *thread, sm_node *node) {
    assert(thread == sm_this_thread && node->awaits);
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (!sm_awaits_begin(&sm_tree_of(thread)->awaits, sm_tstate_frame(thread->tstate), node->key, now))
        lose_await();
}

void sm_tree_awaited(sm_thread *thread, sm_node *node) {
    assert(thread == sm_this_thread && node->awaits);
    uint64_t since = sm_awaits_end(&sm_tree_of(thread)->awaits, sm_tstate_frame(thread->tstate), node->key);
    if (since == 0)
        return;
    sm_node_more *more = sm_node_has(node);
    if (more == NULL) {
        lose_await();
        return;
    }
    SM_ADD(more->awaits, 1);
    SM_ADD(more->await_ticks, sm_ticks_since(since, sm_clock_read(&sm_engine.clock)));
}

void sm_tree_carry(sm_node *node, bool calls) {
    SM_EVENT_GUARD;
    sm_node_more *more = sm_node_has(node);
    if (more == NULL) {
        sm_main.lost_memory++;
        SM_WRITE(sm_rest(node)->flags, sm_rest(node)->flags | SM_NODE_LOWER_BOUND);
        return;
    }
    SM_ADD(*(calls ? &more->calls_high : &more->resumes_high), 1);
}

sm_node *sm_tree_seed_frame(sm_thread *thread, sm_node *parent, PyCodeObject *code, PyObject *globals) {
    sm_tree_function *function = function_of(code, SM_PYTHON, (PyObject *)code, globals);
    if (function == NULL)
        return parent;
    sm_node *child = NULL;
    if (sm_tree.nodes < sm_tree_chosen.max_paths)
        child = new_child(thread, parent, code, function);
    if (child != NULL)
        SM_WRITE(sm_rest(child)->flags, sm_rest(child)->flags | SM_NODE_SEEDED);
    return child;
}
