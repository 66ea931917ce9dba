#include "recorder/calls/start_receiver.h"

#include <assert.h>

#include "recorder/calls/store.h"

/* Return the node of the caller, after a walk of the stack if it is unknown. */
static sm_node *reach(sm_thread *thread, sm_reach from, bool entering) {
    sm_node *node = sm_shadows_reach(sm_tree_of(thread), from);
    if (SM_LIKELY(node != NULL))
        return node;
    sm_engine_repair(thread, entering);
    from.unknown = true;
    return sm_shadows_reach(sm_tree_of(thread), from);
}

/* Return a slot for the running frame's shadow, or NULL if out of memory: then its callees walk the stack. */
static sm_shadow *here(sm_thread *thread) {
    sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    if (!sm_shadows_reserve(shadows, (uint32_t)sm_tstate_depth(thread->tstate)))
        sm_main.lost_memory++;
    return sm_shadows_here(shadows, thread->tstate);
}

static sm_node *make_child(sm_thread *thread, sm_node *node, const void *key, sm_function_kind kind, PyObject *object) {
    sm_tree_of(thread)->node = node;
    return sm_tree_find(thread, key, kind, object);
}

static void count(sm_thread *thread, sm_node *child, bool resumed) {
    uint32_t *entries = resumed ? &child->resumes : &child->calls;
    if (SM_UNLIKELY(SM_ADD(*entries, 1) == 0))
        sm_tree_carry(child, !resumed);
    if (sm_main.settings.timing == SM_TIMING_NONE && sm_tree_of(thread)->gate)
        sm_tree_look(thread);
}

#define NOT_READ UINT64_MAX

/* Read the clock where an event may end a piece or make a path. */
static uint64_t now_if(bool wanted) {
    return wanted && sm_main.settings.timing != SM_TIMING_NONE ? sm_clock_read(&sm_engine.clock) : NOT_READ;
}

static void entered(sm_thread *thread, sm_node *node, uint64_t now) {
    if (node->timed)
        sm_tree_entry(node);
    if (now != NOT_READ)
        sm_tree_switch(thread, node, now);
}

bool sm_starts_enter(sm_thread *thread, const void *code, bool resumed, bool thrown) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    uint32_t depth = (uint32_t)sm_tstate_depth(thread->tstate);
    uint64_t now = now_if(sm_tree_of(thread)->gate);
    /* Code compiled to C may report calls without a frame, whose callees count for the frame below. */
    bool framed = frame != NULL && sm_frame_is_of(frame, code);
    if (!framed && sm_tree_hides(code))
        return false;
    sm_reach from = {.frame = framed ? frame->previous : frame, .depth = depth - framed, .thrown = thrown};
    sm_node *caller = reach(thread, from, framed);
    sm_node *child = sm_node_child(caller, code);
    if (now == NOT_READ)
        now = now_if(child == NULL || child->timed);
    if (child == NULL)
        child = make_child(thread, caller, code, SM_PYTHON, (PyObject *)(uintptr_t)code);
    if (child == NULL && sm_tree_hides(code))
        return false;
    sm_shadow *slot = framed ? here(thread) : NULL;
    if (slot != NULL) /* Without memory for a path, callees count for the caller. */
        *slot = (sm_shadow){frame, frame->executable, child != NULL ? child : caller, 0, NULL};
    if (framed)
        sm_tree_of(thread)->node = child != NULL ? child : caller;
    if (child == NULL)
        return true;
    count(thread, child, resumed);
    if (resumed && child->awaits)
        sm_tree_awaited(thread, child);
    if (framed)
        entered(thread, child, now);
    return true;
}

bool sm_starts_c_call(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    uint64_t now = now_if(sm_tree_of(thread)->gate);
    if (frame == NULL || (sm_tree_hides(caller) && sm_tree_is_own(caller)))
        return false;
    sm_reach from = {.frame = frame, .depth = (uint32_t)sm_tstate_depth(thread->tstate)};
    sm_node *node = reach(thread, from, false);
    sm_node *child = sm_node_child(node, key);
    if (now == NOT_READ)
        now = now_if(child == NULL || child->timed);
    if (child == NULL)
        child = make_child(thread, node, key, SM_C, callable);
    if (child == NULL)
        return true;
    sm_shadow *slot = here(thread);
    if (slot != NULL && !sm_shadow_is_of(slot, frame))
        *slot = (sm_shadow){.frame = frame};
    if (slot != NULL) {
        slot->c_node = child;
        __atomic_store_n(&slot->c_at, (uintptr_t)frame->instruction, __ATOMIC_RELEASE);
    }
    sm_tree_of(thread)->node = child;
    count(thread, child, false);
    entered(thread, child, slot != NULL ? now : NOT_READ);
    return true;
}

void sm_starts_c_leave(sm_thread *thread, const void *key, sm_leaving how) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    uint64_t now = now_if(sm_tree_of(thread)->gate);
    sm_shadow *slot = sm_shadows_here(&sm_tree_of(thread)->shadows, thread->tstate);
    if (slot == NULL || slot->frame != sm_starts_frame(thread) || slot->c_at == 0)
        return; /* the frame ran before the recording began */
    if (how != SM_BY_RETURN && slot->c_node->key == key)
        sm_tree_raised(slot->c_node);
    slot->c_at = 0;
    if (now != NOT_READ)
        sm_tree_switch(thread, slot->node, now);
}

/* Return the node of the running frame's caller, or NULL if it is not at hand. */
static sm_node *caller_of(sm_thread *thread, const sm_frame_head *frame) {
    const sm_shadow *below = sm_shadows_here(&sm_tree_of(thread)->shadows, thread->tstate);
    const sm_frame_head *caller = frame->previous;
    if (below == NULL || caller == NULL)
        return NULL;
    below--;
    if (sm_shadow_is_of(below, caller))
        return below->node;
    if (sm_frame_is_of(caller, sm_frames_of_c[SM_FRAME_CLASS]))
        below--;
    else if (!sm_frame_is_of(caller, sm_frames_of_c[SM_FRAME_ENTRY]))
        return NULL;
    caller = caller->previous;
    if (caller == NULL || !sm_shadow_is_of(below, caller))
        return NULL;
    return sm_shadow_is_in_c(below, caller) ? below->c_node : below->node;
}

static void leave(sm_thread *thread, const sm_frame_head *frame, sm_node *node, sm_leaving how) {
    if (how == SM_BY_EXCEPTION)
        sm_tree_raised(node);
    else if (how == SM_BY_YIELD && node->awaits)
        sm_tree_suspended(thread, node);
    uint64_t now = now_if(sm_tree_of(thread)->gate || node->timed);
    if (now == NOT_READ)
        return;
    sm_node *caller = caller_of(thread, frame);
    sm_tree_switch(thread, caller, now);
}

static sm_node *running_node(sm_thread *thread) {
    const sm_frame_head *frame = sm_starts_frame(thread);
    const sm_shadow *slot = sm_shadows_here(&sm_tree_of(thread)->shadows, thread->tstate);
    return frame != NULL && slot != NULL && sm_shadow_is_of(slot, frame) ? slot->node : NULL;
}

bool sm_starts_leave(sm_thread *thread, const void *code, sm_leaving how) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || !sm_frame_is_of(frame, code))
        return true;
    sm_node *node = running_node(thread);
    if (node == NULL)
        return !sm_tree_hides(code);
    leave(thread, frame, node, how);
    return sm_rest(node)->function->young || (how == SM_BY_YIELD && node->awaits);
}

bool sm_starts_unwind(sm_thread *thread, const void *code) {
    assert(thread == sm_this_thread && sm_from_starts(sm_tree_of(thread)));
    const sm_frame_head *frame = sm_starts_frame(thread);
    if (frame == NULL || !sm_frame_is_of(frame, code))
        return true;
    sm_node *node = running_node(thread);
    if (node != NULL)
        leave(thread, frame, node, SM_BY_EXCEPTION);
    else if (sm_tree_hides(code))
        return false;
    else
        sm_engine_repair(thread, true); /* the path lacks this frame, so check those below it */
    return true;
}

bool sm_starts_may_disable(sm_thread *thread, const void *key, PyObject *callable) {
    sm_node *node = running_node(thread), *child = node != NULL ? sm_node_child(node, key) : NULL;
    if (child != NULL && sm_main.settings.timing != SM_TIMING_NONE)
        return sm_tree_is_trivial(child);
    if (SM_LIKELY(!sm_main.settings.narrow))
        return false; /* without a clock none is proved trivial */
    const sm_function *function = sm_function_of_c(key, callable);
    return function != NULL && function->left_out;
}

void sm_starts_site_off(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {
    if (!sm_tree_note_site(caller, key, callable))
        return;
    sm_node *node = running_node(thread), *child = node != NULL ? sm_node_child(node, key) : NULL;
    if (child != NULL)
        count(thread, child, false);
}
