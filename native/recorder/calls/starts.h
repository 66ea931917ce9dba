/* The events of a source of starts, for the tree. No time is kept: nothing tells when a call ends. frames.h says how a
 * caller is found; here is the way of an event, of which all but the common case is in starts.c. */
#ifndef SM_RECORDER_CALLS_STARTS_H
#define SM_RECORDER_CALLS_STARTS_H

#include "recorder/calls/calltree.h"
#include "recorder/calls/frames.h"

/* The slow paths do the whole event. */
bool sm_starts_enter_slow(sm_thread *thread, const void *code, bool resumed, bool thrown);
bool sm_starts_enter_from(sm_thread *thread, sm_shadow *caller, const void *code, bool resumed); /* caller: is known */
bool sm_starts_c_call_slow(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
void sm_starts_c_leave_slow(sm_thread *thread, const void *key, sm_leaving how);
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
            return SM_LIKELY(sm_frame_is_of(frame, shadow->code)) ? shadow : NULL;
    }
    return NULL;
}

/* The same, or that of the C function that the frame is in. */
static inline sm_shadow *sm_starts_near_c(const sm_tree_thread *tree, const sm_frame_head *frame) {
    sm_shadow *shadow = tree->shadows.top;
    for (int i = 0; i < SM_SHADOWS_NEAR; i++, shadow--) {
        if (shadow->frame == SM_IN_C(frame) && shadow->code == frame->instruction)
            return shadow;
        if (shadow->frame == frame)
            return SM_LIKELY(sm_frame_is_of(frame, shadow->code)) ? shadow : NULL;
    }
    return NULL;
}

/* The same of what called the frame above this one, which may stand for C code. */
static inline sm_shadow *sm_starts_caller(const sm_tree_thread *tree, const sm_frame_head *frame) {
    if (SM_LIKELY(tree->shadows.top->frame == frame))
        return SM_LIKELY(sm_frame_is_of(frame, tree->shadows.top->code)) ? tree->shadows.top : NULL;
    if (frame == NULL || SM_LIKELY(!sm_frame_is_c(frame)))
        return sm_starts_near(tree, frame);
    frame = frame->previous;
    return frame != NULL ? sm_starts_near_c(tree, frame) : NULL;
}

static inline void sm_starts_push(sm_thread *thread, sm_shadow *caller, const void *frame, const void *code,
                                  sm_node *node) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    caller[1] = (sm_shadow){frame, code, node};
    shadows->top = caller + 1;
    if (SM_UNLIKELY(--shadows->countdown <= 0))
        sm_starts_look(thread);
}

/* A node's child, if it was met there of late; else NULL. */
static inline sm_node *sm_starts_child(sm_node *node, const void *key) {
    if (SM_LIKELY(node->child_key[0] == key))
        return node->child[0];
    return SM_LIKELY(node->child_key[1] == key) ? node->child[1] : NULL;
}

static inline void sm_starts_count(sm_node *child, bool resumed) {
    if (SM_UNLIKELY(++*(resumed ? &child->resumes : &child->calls) == 0))
        sm_tree_carry(child, !resumed);
}

/* A frame of this code begins or, resumed, goes on; thrown: with an exception. False: it is left out. */
SM_INLINE bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (thrown || SM_UNLIKELY(frame == NULL) || SM_UNLIKELY(!sm_frame_is_of(frame, code)))
        return sm_starts_enter_slow(thread, code, resumed, thrown);
    sm_shadow *caller = sm_starts_caller(sm_tree_of(thread), frame->previous);
    if (SM_UNLIKELY(caller == NULL))
        return sm_starts_enter_slow(thread, code, resumed, false);
    sm_node *child = sm_starts_child(caller->node, code);
    if (SM_UNLIKELY(child == NULL))
        return sm_starts_enter_from(thread, caller, code, resumed);
    sm_starts_count(child, resumed);
    sm_starts_push(thread, caller, frame, code, child);
    return true;
}

/* A frame of the code `caller` calls a C function. */
SM_INLINE bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_shadow *shadow = sm_starts_near(sm_tree_of(thread), frame);
    sm_node *child = SM_LIKELY(shadow != NULL) ? sm_starts_child(shadow->node, key) : NULL;
    if (SM_UNLIKELY(child == NULL))
        return sm_starts_c_call_slow(thread, caller, key, callable);
    sm_starts_count(child, false);
    sm_starts_push(thread, shadow, SM_IN_C(frame), frame->instruction, child);
    return true;
}

/* The C function has been left. */
SM_INLINE void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    if (SM_LIKELY(shadows->top->frame == SM_IN_C(sm_starts_frame(thread))) && SM_LIKELY(how == SM_BY_RETURN))
        shadows->top--;
    else
        sm_starts_c_leave_slow(thread, key, how);
}

/* An exception leaves a frame. False: of a function that is left out. */
SM_INLINE bool sm_starts_unwind(sm_thread *thread, const void *code) {
    sm_shadow *shadow = sm_starts_near(sm_tree_of(thread), sm_starts_frame(thread));
    if (SM_UNLIKELY(shadow == NULL) || SM_UNLIKELY(shadow->code != code))
        return sm_starts_unwind_slow(thread, code);
    sm_tree_raised(shadow->node);
    sm_tree_of(thread)->shadows.top = shadow - 1;
    return true;
}

#endif
