#include "recorder/calls/frame_shadows.h"

#include <string.h>

#include "base/alloc.h"
#include "recorder/calls/store.h"
#include "recorder/frame_depths.h"

#define FIRST 64
#define KEPT 1024 /* slots that a deep stack leaves */
#define BELOW 2   /* slots below the first, which lookups may read */

static const char nowhere; /* address of no frame and no code */

const void *sm_frames_of_c[SM_FRAMES_OF_C] = {&nowhere, &nowhere};

bool sm_shadows_reserve(sm_shadows *shadows, uint32_t depth) {
    if (depth < shadows->size)
        return true;
    uint32_t size = shadows->size > 0 ? shadows->size : FIRST;
    while (size <= depth && size <= UINT32_MAX / 4)
        size *= 2;
    sm_shadow *base = shadows->slots != NULL ? shadows->slots - BELOW : NULL;
    sm_sampler_lock();
    sm_shadow *grown = depth < size ? sm_realloc(base, ((size_t)size + BELOW) * sizeof *grown) : NULL;
    if (grown != NULL) {
        for (size_t i = base != NULL ? (size_t)shadows->size + BELOW : 0; i < (size_t)size + BELOW; i++)
            grown[i] = (sm_shadow){.frame = &nowhere};
        shadows->slots = grown + BELOW;
        shadows->size = size;
        shadows->open = shadows->open != 0 ? size : 0;
    }
    sm_sampler_unlock();
    return grown != NULL;
}

/* Forget all frames, since the stack may be another one. Ensure that there is a slot for this depth. */
static bool begin_again(sm_shadows *shadows, uint32_t depth) {
    sm_sampler_lock();
    if (shadows->size > KEPT && shadows->size / 8 > depth) {
        sm_shadow *shrunk = sm_realloc(shadows->slots - BELOW, (KEPT + BELOW) * sizeof *shrunk);
        shadows->slots = shrunk != NULL ? shrunk + BELOW : shadows->slots;
        shadows->size = shrunk != NULL ? KEPT : shadows->size;
    }
    for (size_t i = 0; i < shadows->size; i++)
        shadows->slots[i].frame = &nowhere;
    shadows->open = shadows->open != 0 ? shadows->size : 0;
    sm_sampler_unlock();
    return sm_shadows_reserve(shadows, depth);
}

void sm_shadows_free(sm_shadows *shadows) {
    sm_free(shadows->slots != NULL ? shadows->slots - BELOW : NULL);
    *shadows = (sm_shadows){NULL, 0, 0};
}

static bool is_left_out(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    return entry != NULL && entry->function != NULL && entry->function->left_out;
}

/* Skip a frame that belongs to no function, and note its immortal code. Return true if the interpreter counts it. */
static bool pass_by(const sm_frame_head *frame) {
    PyObject *executable = (PyObject *)(frame->executable & ~(uintptr_t)7);
    bool counted = sm_frame_is_counted(frame);
    const void **known = &sm_frames_of_c[counted ? SM_FRAME_CLASS : SM_FRAME_ENTRY];
    if (*known == &nowhere && executable != NULL)
        *known = Py_NewRef(executable);
    return counted;
}

/* Return true if a frame without a shadow may wait in the frame above. To find out runs code of the interpreter, which
 * is impossible while the world is stopped. */
static bool may_wait(const sm_reach *from, const sm_frame_head *frame, PyCodeObject *code) {
    return from->unknown && !sm_world_is_stopped() && sm_frame_waits(frame, code);
}

static const sm_shadow *slot_of(const sm_shadows *shadows, const sm_frame_head *frame, uint32_t depth) {
    const sm_shadow *slot = depth < shadows->size ? &shadows->slots[depth] : NULL;
    return slot != NULL && slot->frame == frame ? slot : NULL;
}

sm_node *sm_shadows_reach(const sm_tree_thread *tree, sm_reach from) {
    bool waited = false; /* the frame above may not have been counted */
    for (const sm_frame_head *frame = from.frame; frame != NULL; frame = frame->previous) {
        PyCodeObject *code = sm_frame_code_of(frame);
        if (code == NULL) {
            from.depth -= pass_by(frame);
            from.through_c = true;
            continue;
        }
        const sm_shadow *slot = slot_of(&tree->shadows, frame, from.depth);
        if (slot == NULL && waited && (slot = slot_of(&tree->shadows, frame, from.depth + 1)) != NULL)
            from.depth++;
        bool passed = from.thrown && sm_frame_waits(frame, code);
        if (!passed && slot != NULL && from.through_c && sm_shadow_is_in_c(slot, frame))
            return slot->c_node;
        if (!passed && slot != NULL && sm_shadow_is_of(slot, frame))
            return slot->node;
        if (!passed && !from.unknown && !is_left_out(code))
            return NULL;
        waited = slot == NULL && (passed || may_wait(&from, frame, code));
        from.depth -= slot != NULL || !passed;
        from.through_c = passed;
    }
    return tree->root;
}

static const sm_frame_head *running(const sm_thread *thread) {
    return thread->ended || thread->tstate == &sm_no_tstate ? NULL : sm_tstate_frame(thread->tstate);
}

void sm_shadows_settle(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (sm_from_starts(tree) && sm_thread_is_elsewhere(thread)) { /* its frames may change meanwhile */
        sm_node *node = sm_tree_running(thread);
        tree->node = node != NULL ? node : tree->root;
        return;
    }
    const sm_frame_head *frame = sm_from_starts(tree) ? running(thread) : NULL;
    uint32_t depth = frame != NULL ? (uint32_t)sm_tstate_depth(thread->tstate) : 0;
    if (sm_from_starts(tree))
        tree->node =
            sm_shadows_reach(tree, (sm_reach){.frame = frame, .depth = depth, .through_c = true, .unknown = true});
}

bool sm_shadows_follow(sm_thread *thread, bool entering) {
    const sm_tree_thread *tree = sm_tree_of(thread);
    const sm_frame_head *frame = sm_from_starts(tree) ? running(thread) : NULL;
    uint32_t depth = frame != NULL ? (uint32_t)sm_tstate_depth(thread->tstate) : 0;
    if (entering && frame != NULL) {
        frame = frame->previous;
        depth--;
    }
    for (; frame != NULL; frame = frame->previous) {
        PyCodeObject *code = sm_frame_code_of(frame);
        const sm_shadow *slot = slot_of(&tree->shadows, frame, depth);
        if (code != NULL && slot != NULL && sm_shadow_is_of(slot, frame))
            return true;
        if (code != NULL && !is_left_out(code))
            return false;
        depth -= code != NULL || pass_by(frame);
    }
    return false;
}

static bool is_c(const sm_node *node) {
    return sm_rest(node)->function->function->kind == SM_C;
}

/* Return the thread's path, outermost first and owned by the caller, or NULL if out of memory or empty. */
static sm_node **path_to(sm_node *end, size_t *length) {
    *length = 0;
    for (const sm_node *node = end; node->parent != NULL; node = node->parent)
        ++*length;
    sm_node **path = *length > 0 ? sm_malloc(*length * sizeof *path) : NULL;
    size_t left = path != NULL ? *length : 0;
    *length = left;
    for (sm_node *node = end; left > 0; node = node->parent)
        path[--left] = node;
    return path;
}

void sm_shadows_rebuild(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_tree_thread *tree = sm_tree_of(thread);
    uint32_t *depths = sm_frame_depths(thread, frames, count, sm_shadows_has);
    bool ready = begin_again(&tree->shadows, (uint32_t)sm_tstate_depth(thread->tstate));
    if (depths == NULL || !ready) {
        sm_main.lost_memory += count > 0 || !ready;
        sm_free(depths);
        return;
    }
    size_t length, at = 0;
    sm_node **path = path_to(tree->node, &length);
    for (size_t i = 0; i < count; i++) {
        const sm_frame_head *frame = frames[i].frame;
        if (is_left_out(frames[i].code))
            continue;
        if (i >= below && at < length)
            at++;
        sm_node *node = at > 0 ? path[at - 1] : tree->root;
        sm_node *c_node = NULL;
        for (; i >= below && at < length && is_c(path[at]); at++)
            c_node = path[at];
        if (depths[i] != 0 && depths[i] < tree->shadows.size)
            tree->shadows.slots[depths[i]] =
                (sm_shadow){frame, frame->executable, node, c_node ? (uintptr_t)frame->instruction : 0, c_node};
    }
    sm_free(path);
    sm_free(depths);
}
