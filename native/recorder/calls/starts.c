#include "recorder/calls/starts.h"

#include <assert.h>

#include "recorder/calls/store.h"

/* The node of the caller of what begins. Where that is not known, the stack is walked. */
static sm_node *reach(sm_thread *thread, sm_reach from, bool entering) {
    sm_node *node = sm_shadows_reach(sm_tree_of(thread), from);
    if (SM_LIKELY(node != NULL))
        return node;
    sm_engine_repair(thread, entering);
    from.unknown = true; /* for want of memory */
    return sm_shadows_reach(sm_tree_of(thread), from);
}

/* A slot for the shadow of the frame that runs; NULL: out of memory, and what it calls is found by a walk. */
static sm_shadow *here(sm_thread *thread) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    if (!sm_shadows_reserve(shadows, (uint32_t)sm_tstate_depth(thread->tstate)))
        sm_engine.lost_memory++;
    return sm_shadows_here(shadows, thread->tstate);
}

/* The child of a node, made if need be; NULL: none is to be had. */
static sm_node *child_of(sm_thread *thread, sm_node *node, const void *key, sm_function_kind kind, PyObject *object) {
    sm_node *child = sm_node_child(node, key);
    if (child != NULL)
        return child;
    sm_tree_of(thread)->node = node;
    return sm_tree_find(thread, key, kind, object);
}

static void look(sm_thread *thread) {
    if (sm_engine_due(sm_clock_read(&sm_engine.clock)))
        sm_engine_tick(thread);
}

/* What is due is done now and then: a node's first call is, and every 256th. */
void sm_starts_count(sm_thread *thread, sm_node *child, bool resumed) {
    uint32_t *count = resumed ? &child->resumes : &child->calls;
    if (SM_UNLIKELY(++*count == 0))
        sm_tree_carry(child, !resumed);
    if ((*count & 255) <= (child->calls + child->resumes == 1))
        look(thread);
}

bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    uint32_t depth = (uint32_t)sm_tstate_depth(thread->tstate);
    /* Code that was compiled to C may tell of its calls, too, without a frame: they are counted where they are, but
     * what they call counts for the frame below. */
    bool framed = frame != NULL && sm_frame_is_of(frame, code);
    if (!framed && sm_tree_hides(code))
        return false;
    sm_reach from = {.frame = framed ? frame->previous : frame, .depth = depth - framed, .thrown = thrown};
    sm_node *caller = reach(thread, from, framed);
    sm_node *child = child_of(thread, caller, code, SM_PYTHON, (PyObject *)(uintptr_t)code);
    if (child == NULL && sm_tree_hides(code))
        return false;
    sm_shadow *slot = framed ? here(thread) : NULL;
    if (slot != NULL) /* Without memory for a path, what it calls counts for its caller. */
        *slot = (sm_shadow){frame, frame->executable, child != NULL ? child : caller, 0, NULL};
    if (framed)
        sm_tree_of(thread)->node = child != NULL ? child : caller;
    if (child != NULL)
        sm_starts_count(thread, child, resumed);
    return true;
}

bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || (sm_tree_hides(caller) && sm_tree_is_own(caller)))
        return false;
    sm_reach from = {.frame = frame, .depth = (uint32_t)sm_tstate_depth(thread->tstate)};
    sm_node *node = reach(thread, from, false);
    sm_node *child = child_of(thread, node, key, SM_C, callable);
    if (child == NULL)
        return true;
    sm_shadow *slot = here(thread);
    if (slot != NULL && !sm_shadow_is_of(slot, frame)) /* it is left out */
        *slot = (sm_shadow){.frame = frame};
    if (slot != NULL) {
        slot->c_at = (uintptr_t)frame->instruction;
        slot->c_node = child;
    }
    sm_tree_of(thread)->node = child;
    sm_starts_count(thread, child, false);
    return true;
}

void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    sm_shadow *slot = sm_shadows_here(&sm_tree_of(thread)->shadows, thread->tstate);
    if (slot == NULL || slot->frame != sm_starts_frame(thread) || slot->c_at == 0)
        return; /* it was running when the recording began */
    if (how != SM_BY_RETURN && slot->c_node->key == key)
        sm_tree_raised(slot->c_node);
    slot->c_at = 0;
}

bool sm_starts_unwind_slow(sm_thread *thread, const void *code) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || !sm_frame_is_of(frame, code))
        return true;
    if (sm_tree_hides(code))
        return false;
    sm_engine_repair(thread, true); /* a frame that the path does not know: look at those below it */
    return true;
}
