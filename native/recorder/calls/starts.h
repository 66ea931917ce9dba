/* The events of a source of starts, for the tree. No time is kept: nothing tells when a call ends. frames.h says how a
 * caller is found; here is the way of an event, of which all but the common case is in starts.c. */
#ifndef SM_RECORDER_CALLS_STARTS_H
#define SM_RECORDER_CALLS_STARTS_H

#include "recorder/calls/calltree.h"
#include "recorder/calls/frames.h"

bool sm_starts_unwind_slow(sm_thread *thread, const void *code);
void sm_starts_look(sm_thread *thread); /* now and then: makes room, and does what is due */

static inline const sm_frame_head *sm_starts_frame(const sm_thread *thread) {
    return sm_tstate_frame(thread->tstate);
}

/* The shadow of the frame, if it is near the top; else NULL. */
static inline sm_shadow *sm_starts_near(const sm_tree_thread *tree, const sm_frame_head *frame) {
    sm_shadow *shadow = tree->shadows.top;
#pragma GCC unroll 8
    for (int i = 0; i < SM_SHADOWS_NEAR; i++, shadow--) {
        if (shadow->frame == frame)
            return SM_LIKELY(shadow->at == frame->executable) ? shadow : NULL;
    }
    return NULL;
}

/* The same, or that of the C function that the frame is in. */
static inline sm_shadow *sm_starts_near_c(const sm_tree_thread *tree, const sm_frame_head *frame) {
    sm_shadow *shadow = tree->shadows.top;
#pragma GCC unroll 8
    for (int i = 0; i < SM_SHADOWS_NEAR; i++, shadow--) {
        if (shadow->frame == SM_IN_C(frame) && shadow->at == (uintptr_t)frame->instruction)
            return shadow;
        if (shadow->frame == frame)
            return SM_LIKELY(shadow->at == frame->executable) ? shadow : NULL;
    }
    return NULL;
}

static inline void sm_starts_push(sm_thread *thread, sm_shadow *caller, const void *frame, uintptr_t at,
                                  sm_node *node) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    caller[1] = (sm_shadow){frame, at, node};
    shadows->top = caller + 1;
    if (SM_UNLIKELY(--shadows->countdown <= 0))
        sm_starts_look(thread);
}

static inline void sm_starts_count(sm_node *child, bool resumed) {
    if (SM_UNLIKELY(++*(resumed ? &child->resumes : &child->calls) == 0))
        sm_tree_carry(child, !resumed);
}

/* The events. Those that say `known` do the common case, and no more: they call nothing, so that the callbacks need no
 * stack of their own. False: nothing was done, and the event is for the function after. */

/* The caller's child is entered. */
SM_INLINE bool sm_starts_step(sm_thread *thread, sm_shadow *caller, const void *key, bool resumed, const void *frame,
                              uintptr_t at) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    sm_node *node = caller->node, *child;
    if (SM_LIKELY(node->child_key[0] == key))
        child = node->child[0];
    else if (SM_LIKELY(node->child_key[1] == key))
        child = node->child[1];
    else {
        child = *sm_node_recent(node, key);
        if (SM_UNLIKELY(child->key != key) || SM_UNLIKELY(child->parent != node))
            return false;
    }
    if (SM_UNLIKELY(--shadows->countdown < 0)) /* the function after looks, then */
        return false;
    uint32_t *count = resumed ? &child->resumes : &child->calls;
    if (SM_UNLIKELY(++*count == 0)) {
        --*count;
        return false;
    }
    caller[1] = (sm_shadow){frame, at, child};
    shadows->top = caller + 1;
    return true;
}

SM_INLINE bool sm_starts_enter_known(sm_thread *thread, const void *code, bool resumed) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_frame_is_of(frame, code)))
        return false;
    const sm_frame_head *below = frame->previous;
    sm_shadow *caller = sm_tree_of(thread)->shadows.top; /* it calls for the first time, or again: */
    if ((caller->frame != below && (--caller)->frame != below) || SM_UNLIKELY(caller->at != below->executable))
        return false;
    return sm_starts_step(thread, caller, code, resumed, frame, frame->executable);
}

/* The same of any caller that is near the top, and of the C function that it is in if C code has called the frame. */
SM_INLINE bool sm_starts_enter_near(sm_thread *thread, const void *code, bool resumed) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_frame_is_of(frame, code)))
        return false;
    const sm_frame_head *below = frame->previous;
    const sm_tree_thread *tree = sm_tree_of(thread);
    sm_shadow *caller;
    if (below == NULL || !sm_frame_is_c(below))
        caller = sm_starts_near(tree, below);
    else if ((below = below->previous) != NULL)
        caller = sm_starts_near_c(tree, below);
    else
        caller = NULL;
    return SM_LIKELY(caller != NULL) && sm_starts_step(thread, caller, code, resumed, frame, frame->executable);
}

/* A frame of this code begins or, resumed, goes on; thrown: with an exception. False: it is left out. */
bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown);

SM_INLINE bool sm_starts_c_call_known(sm_thread *thread, const void *key) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_shadow *caller = sm_starts_near(sm_tree_of(thread), frame);
    return SM_LIKELY(caller != NULL) &&
           sm_starts_step(thread, caller, key, false, SM_IN_C(frame), (uintptr_t)frame->instruction);
}

/* A frame of the code `caller` calls a C function. */
bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable);

/* What the frame has called returns: the C function that it is in, if it is in any. */
SM_INLINE bool sm_starts_c_leave_known(sm_thread *thread) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (SM_LIKELY(shadows->top->frame == SM_IN_C(frame)))
        shadows->top--;
    else if (shadows->top->frame != frame)
        return false;
    return true;
}

/* The C function has been left. */
void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how);

/* An exception leaves a frame. False: of a function that is left out. */
SM_INLINE bool sm_starts_unwind(sm_thread *thread, const void *code) {
    sm_shadow *shadow = sm_starts_near(sm_tree_of(thread), sm_starts_frame(thread));
    if (SM_UNLIKELY(shadow == NULL) || SM_UNLIKELY(!sm_frame_is_of(shadow->frame, code)))
        return sm_starts_unwind_slow(thread, code);
    sm_tree_raised(shadow->node);
    sm_tree_of(thread)->shadows.top = shadow - 1;
    return true;
}

#endif
