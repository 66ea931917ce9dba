/* Find the path of a stack that already runs: at a thread's first event, after a switch, after a repair.
 *
 * Only frames of Python functions can be walked. C functions between them (exec, sorted, a decorator written in C) have
 * no frame, but belong to the path. So the path is searched for rather than made of frames:
 *
 * - A stack is *parked* when the thread switches away: its node is stored under the chunk in which its frames end
 * (engine/threads.c), which does not move. If the parked path leads through the frames, it is taken.
 *
 * - Otherwise the common part is kept of the parked path, or of the thread's path if the stack is the same.
 *
 * - For each further frame, the node's own child is taken, or a child of this code below one of its C functions. If
 * there is neither, the frame ran before it could be seen, and a child is made.
 *
 * A chunk's address may be reused after its greenlet died; then the frames differ, most likely. */
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "recorder/calls/frame_shadows.h"
#include "recorder/calls/store.h"
#include "recorder/calls/trace.h"

#define MAX_PARKED (1u << 15)

typedef struct {    /* the path of a stack that is not running now; guard: its thread, with the GIL */
    uint64_t chunk; /* address of the chunk in which its frames end */
    sm_node *node;
} parked;

/* Return the node at which the thread left the stack that ends in this chunk, or NULL. */
static sm_node *parked_at(const sm_tree_thread *tree, const void *chunk) {
    const parked *known = sm_map_find(&tree->parked, (uintptr_t)chunk, sizeof *known);
    return known != NULL ? known->node : NULL;
}

static void park(sm_tree_thread *tree, const void *chunk, sm_node *node) {
    if (chunk == NULL)
        return;
    if (tree->parked.count >= MAX_PARKED)
        sm_map_clear(&tree->parked, sizeof(parked));
    parked *known = sm_map_make(&tree->parked, (uintptr_t)chunk, sizeof *known, 16);
    if (known != NULL) /* otherwise the path is made of frames */
        known->node = node;
}

void sm_tree_mark_parked(sm_thread *thread, bool running) {
    const sm_tree_thread *tree = sm_tree_of(thread);
    for (const parked *at = NULL; !thread->ended && (at = sm_map_next(&tree->parked, at, sizeof *at)) != NULL;)
        sm_tree_mark(at->node, running);
}

static bool is_python(const sm_node *node) {
    return sm_rest(node)->function->function->kind == SM_PYTHON;
}

static bool has_none(const sm_walked_frame *frame) {
    const sm_function *function = sm_function_of_code(frame->code, NULL);
    return function != NULL && function->left_out;
}

/* Return true if the path to a node, without C functions, leads through exactly these codes. */
static bool fits(const sm_node *node, const sm_walked_frame *frames, size_t count) {
    while (count > 0 || node->parent != NULL) {
        while (node->parent != NULL && !is_python(node))
            node = node->parent;
        while (count > 0 && has_none(&frames[count - 1]))
            count--;
        if (count == 0 || node->parent == NULL)
            return count == 0 && node->parent == NULL;
        if (node->key != frames[--count].code)
            return false;
        node = node->parent;
    }
    return true;
}

/* Return the innermost node on the path to `end` to which the outermost frames lead. *known: their number. */
static sm_node *common(sm_tree_thread *tree, sm_node *end, const sm_walked_frame *frames, size_t count, size_t *known) {
    size_t depth = 0;
    for (sm_node *node = end; node->parent != NULL; node = node->parent)
        depth += is_python(node);
    sm_node **path = sm_malloc((depth + 1) * sizeof *path), *last = tree->root;
    *known = 0;
    if (path == NULL)
        return last;
    size_t place = depth;
    for (sm_node *node = end; node->parent != NULL; node = node->parent) {
        if (is_python(node))
            path[--place] = node;
    }
    for (size_t i = 0; i < count && place < depth; i++) {
        if (has_none(&frames[i]))
            continue;
        if (path[place]->key != frames[i].code)
            break;
        last = path[place++];
        *known = i + 1;
    }
    sm_free(path);
    return last;
}

/* Return the child of this code below one of the node's C functions, or NULL if there is none or several. */
static sm_node *below_c(sm_node *node, const void *code) {
    sm_node *found = NULL;
    const sm_children *more = sm_more(node);
    for (uint32_t i = 0; i < (more != NULL ? more->mask + 1 : 2); i++) {
        sm_node *child = more != NULL ? (sm_node *)more->slots[i] : node->child[i];
        if (child == NULL || ((uintptr_t)child & SM_BY_FUNCTION) != 0 || is_python(child))
            continue;
        sm_node *under = sm_node_child(child, code);
        if (under != NULL && found != NULL)
            return NULL;
        found = under != NULL ? under : found;
    }
    return found;
}

void sm_tree_mark(sm_node *node, bool running) {
    for (; node != NULL && node->parent != NULL; node = node->parent)
        sm_rest(node)->running = running;
}

void sm_tree_settle(void) {
    sm_world_stop(); /* the frames of other threads are read */
    SM_EACH_THREAD (thread) {
        if (!thread->ended)
            sm_shadows_settle(thread);
    }
    sm_world_start();
}

void sm_tree_mark_running(sm_thread *thread, bool gil, bool running) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (thread->ended)
        return;
    if (running)
        tree->marked = gil ? tree->node : sm_tree_running(thread);
    sm_tree_mark(tree->marked, running);
    if (gil && tree->fold_count > 0)
        sm_tree_mark(tree->fold[0].bucket, running);
}

bool sm_tree_resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count, sm_tree_seed seed) {
    sm_tree_thread *tree = sm_tree_of(thread);
    const sm_chunk *left = thread->chunk, *here = sm_tstate_chunk(thread->tstate);
    sm_node *before = tree->fold_count > 0 ? tree->fold[0].bucket : tree->node;
    sm_node *old = left == here ? before : parked_at(tree, here);
    frames += below, count -= below;
    if (left != here && before != tree->root)
        park(tree, left, before);
    if (tree->fold_count == 0 && (old == NULL || old == tree->node) && fits(tree->node, frames, count))
        return true;
    size_t known = 0;
    sm_node *node = tree->root;
    if (old != NULL && fits(old, frames, count))
        node = old, known = count;
    else
        node = common(tree, old != NULL ? old : before, frames, count, &known);
    for (size_t i = known; i < count; i++) {
        sm_node *child = sm_node_child(node, frames[i].code);
        if (child == NULL)
            child = below_c(node, frames[i].code);
        if (child == NULL)
            child = seed(thread, node, frames[i].code, frames[i].globals);
        if (child == NULL)
            break;
        node = child;
    }
    tree->fold_count = 0;
    sm_trace_goto(thread, node);
    return false;
}
