#include "recorder/calls/starts.h"

#include <assert.h>

#include "recorder/calls/store.h"

/* The shadow to start from, outwards from this frame. Where that is not known, the stack is walked. */
static sm_shadow *reach(sm_thread *thread, const sm_frame_head *frame, sm_reach how, bool entering) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    sm_shadow *shadow = sm_shadows_reach(shadows, frame, how);
    if (SM_LIKELY(shadow != NULL))
        return shadow;
    sm_engine_repair(thread, entering);
    how.unknown = true; /* for want of memory */
    return sm_shadows_reach(shadows, frame, how);
}

/* The child of a shadow's node, made if need be; NULL: none is to be had. */
static sm_node *child_of(sm_thread *thread, sm_shadow *shadow, const void *key, sm_function_kind kind,
                         PyObject *object) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_node *child = sm_node_child(shadow->node, key);
    if (child != NULL)
        return child;
    tree->shadows.top = shadow;
    tree->node = shadow->node;
    return sm_tree_find(thread, key, kind, object);
}

static bool enter_from(sm_thread *thread, sm_shadow *caller, const void *code, bool resumed) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    sm_node *child = child_of(thread, caller, code, SM_PYTHON, (PyObject *)(uintptr_t)code);
    if (SM_LIKELY(child != NULL))
        sm_starts_count(child, resumed);
    else if (sm_tree_hides(code))
        return false;
    /* Without memory for a path, what it calls counts for its caller. */
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_starts_push(thread, caller, frame, frame->executable, child != NULL ? child : caller->node);
    return true;
}

bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    /* Code that was compiled to C may tell of its calls, too, without a frame: they are counted where they are, but
     * what they call counts for the frame below. */
    bool framed = frame != NULL && sm_frame_is_of(frame, code);
    if (!framed && sm_tree_hides(code))
        return false;
    sm_shadow *caller = reach(thread, framed ? frame->previous : frame, (sm_reach){.thrown = thrown}, framed);
    if (framed)
        return enter_from(thread, caller, code, resumed);
    sm_node *child = child_of(thread, caller, code, SM_PYTHON, (PyObject *)(uintptr_t)code);
    if (child == NULL && sm_tree_hides(code))
        return false;
    if (child != NULL)
        sm_starts_count(child, resumed);
    return true;
}

bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || (sm_tree_hides(caller) && sm_tree_is_own(caller)))
        return false;
    sm_shadow *shadow = reach(thread, frame, (sm_reach){0}, false);
    sm_node *child = child_of(thread, shadow, key, SM_C, callable);
    if (child == NULL)
        return true;
    sm_starts_count(child, false);
    sm_starts_push(thread, shadow, SM_IN_C(frame), (uintptr_t)frame->instruction, child);
    return true;
}

void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    const sm_frame_head *frame = sm_starts_frame(thread);
    sm_shadow *shadow = shadows->top;
    while (shadow > shadows->bottom && shadow->frame != SM_IN_C(frame) && shadow->frame != frame)
        shadow--;
    if (shadow == shadows->bottom || shadow->frame == frame) /* it was running when the recording began */
        return;
    if (how != SM_BY_RETURN && shadow->node->key == key)
        sm_tree_raised(shadow->node);
    shadows->top = shadow - 1;
}

bool sm_starts_unwind_slow(sm_thread *thread, const void *code) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || !sm_frame_is_of(frame, code))
        return true;
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    sm_shadow *shadow = sm_shadows_find(shadows, frame, false);
    if (shadow == NULL && sm_tree_hides(code))
        return false;
    if (shadow == NULL) { /* a frame that the path does not know: look at those below it */
        sm_engine_repair(thread, true);
        return true;
    }
    sm_tree_raised(shadow->node);
    shadows->top = shadow - 1;
    return true;
}

void sm_starts_look(sm_thread *thread) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    if (!sm_shadows_reserve(shadows, 0)) { /* the path is cut, and found again by a walk */
        sm_engine.lost_memory++;
        shadows->top = shadows->bottom;
        shadows->countdown = SM_SHADOWS_ROOM - 1;
    }
    if (sm_engine_due(sm_clock_read(&sm_engine.clock)))
        sm_engine_tick(thread);
}
