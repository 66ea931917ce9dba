/* The fast path of a source of starts; start_receiver.c has the rest. frame_shadows.h explains how a caller is
 * found. */
#pragma once

#include "recorder/calls/calltree.h"
#include "recorder/calls/frame_shadows.h"

static inline const sm_frame_head *sm_starts_frame(const sm_thread *thread) {
    return sm_tstate_frame(thread->tstate);
}

/* Count an entry of a node. Return false, for the slow path, before the counter overflows. */
SM_INLINE bool sm_starts_count_known(sm_node *child, bool resumed) {
    uint32_t *entries = resumed ? &child->resumes : &child->calls;
    if (SM_LIKELY(SM_ADD(*entries, 1) != 0))
        return true;
    --*entries;
    return false;
}

/* Functions named `known` or `near` handle the common case without calls, so that the callbacks need no stack of their
 * own. Otherwise they return false without any effect. */

/* Return the child that is entered once more, or NULL if it was not found quickly. */
SM_INLINE sm_node *sm_starts_child(sm_node *node, const void *key, bool resumed) {
    sm_node *child;
    if (SM_LIKELY(node->child_key[0] == key))
        child = node->child[0];
    else if (SM_LIKELY(node->child_key[1] == key))
        child = node->child[1];
    else {
        child = *sm_node_recent(node, key);
        if (SM_UNLIKELY(child->key != key) || SM_UNLIKELY(child->parent != node))
            return NULL;
    }
    if (SM_UNLIKELY(SM_PEEK(child->timed)) || (resumed && SM_UNLIKELY(child->awaits)))
        return NULL;
    return sm_starts_count_known(child, resumed) ? child : NULL;
}

SM_INLINE bool sm_starts_step(sm_thread *thread, sm_node *caller, const void *code, bool resumed,
                              const sm_frame_head *frame, sm_shadow *here) {
    sm_node *child = sm_starts_child(caller, code, resumed);
    if (SM_UNLIKELY(child == NULL))
        return false;
    here->frame = frame;
    here->at = frame->executable;
    here->node = child;
    here->c_at = 0;
    sm_tree_of(thread)->node = child;
    return true;
}

/* Enter a frame that another frame called directly. */
SM_INLINE bool sm_starts_enter_known(sm_thread *thread, const void *code, bool resumed) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_frame_is_of(frame, code)))
        return false;
    sm_shadow *here = sm_shadows_open(&sm_tree_of(thread)->shadows, thread->tstate);
    const sm_frame_head *below = frame->previous;
    if (SM_UNLIKELY(here == NULL) || here[-1].frame != below || SM_UNLIKELY(here[-1].at != below->executable))
        return false;
    return sm_starts_step(thread, here[-1].node, code, resumed, frame, here);
}

/* Enter a frame that C code called, perhaps the C function that the caller runs. */
SM_INLINE bool sm_starts_enter_near(sm_thread *thread, const void *code, bool resumed) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_frame_is_of(frame, code)))
        return false;
    sm_shadow *here = sm_shadows_open(&sm_tree_of(thread)->shadows, thread->tstate);
    const sm_frame_head *below = frame->previous;
    if (SM_UNLIKELY(here == NULL) || SM_UNLIKELY(below == NULL))
        return false;
    const sm_shadow *caller = here - 1;
    if (sm_frame_is_of(below, sm_frames_of_c[SM_FRAME_CLASS]))
        caller--;
    else if (SM_UNLIKELY(!sm_frame_is_of(below, sm_frames_of_c[SM_FRAME_ENTRY])))
        return false;
    if (SM_UNLIKELY((below = below->previous) == NULL))
        return false;
    if (sm_shadow_is_in_c(caller, below))
        return sm_starts_step(thread, caller->c_node, code, resumed, frame, here);
    return sm_shadow_is_of(caller, below) && sm_starts_step(thread, caller->node, code, resumed, frame, here);
}

/* Enter or resume a frame of this code; thrown: with an exception. Return false if it is left out. */
bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown);

SM_INLINE bool sm_starts_c_call_known(sm_thread *thread, const void *key) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_shadow *here = sm_shadows_open(&sm_tree_of(thread)->shadows, thread->tstate);
    if (SM_UNLIKELY(here == NULL) || SM_UNLIKELY(!sm_shadow_is_of(here, frame)))
        return false;
    sm_node *child = sm_starts_child(here->node, key, false);
    if (SM_UNLIKELY(child == NULL))
        return false;
    here->c_at = (uintptr_t)frame->instruction;
    here->c_node = child;
    sm_tree_of(thread)->node = child;
    return true;
}

bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable);

/* Leave the C function that the frame runs, if any. */
SM_INLINE bool sm_starts_c_leave_known(sm_thread *thread) {
    sm_shadow *here = sm_shadows_open(&sm_tree_of(thread)->shadows, thread->tstate);
    if (SM_UNLIKELY(here == NULL) || SM_UNLIKELY(here->frame != sm_starts_frame(thread)))
        return false;
    here->c_at = 0;
    return true;
}

void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how);

/* Leave a frame by return or yield. Return false if the place need not report again. */
bool sm_starts_leave(sm_thread *thread, const void *code, sm_leaving how);
/* Return true if the C function is not worth an event at a place that always calls it. */
bool sm_starts_may_disable(sm_thread *thread, const void *key, PyObject *callable);
void sm_starts_site_off(sm_thread *thread, const void *caller, const void *key, PyObject *callable);

/* Leave a frame by an exception. Return false if its function is left out. */
bool sm_starts_unwind(sm_thread *thread, const void *code);

SM_INLINE bool sm_starts_unwind_known(sm_thread *thread, const void *code) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_shadow *here = sm_shadows_open(&sm_tree_of(thread)->shadows, thread->tstate);
    if (SM_UNLIKELY(here == NULL) || SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_shadow_is_of(here, frame)) ||
        SM_UNLIKELY(!sm_frame_is_of(frame, code)) || SM_PEEK(here->node->timed))
        return false;
    sm_tree_raised(here->node);
    return true;
}
