/* The frames of a thread's path, for a source that reports starts only.
 *
 * Each thread keeps a *shadow* of each frame, its address and its node, at the frame's depth. The interpreter counts
 * the frames of Python functions (frame_depths.h), so the caller's shadow is at a known place. Nothing is searched or
 * removed: an ended frame's shadow is overwritten when the stack reaches its depth again.
 *
 * Why this is exact: A live frame keeps its address and depth, so only frames of another stack (greenlets) can write to
 * its slot, which is noticed. A dead shadow may have the address of an unreported frame, so the frame must run the
 * shadow's code, too. A frame of code whose starts are reported has written to its slot itself.
 *
 * Unreported frames: Some mark a stretch of C stack; they are skipped, and show that C code made the call. Frames
 * of functions that are left out are skipped, too. All others ran before their thread or stack was recorded; for these
 * the stack is walked (engine/threads.c).
 *
 * A running C function is in its caller's shadow, with the caller's instruction. It is the parent of what C code calls
 * while the caller is still there. */
#pragma once

#include "compat/frame.h"
#include "recorder/calls/tree.h"

/* Ensure that there is a slot for this depth. Return false if out of memory. */
bool sm_shadows_reserve(sm_shadows *shadows, uint32_t depth);
void sm_shadows_free(sm_shadows *shadows);

/* The code of frames that mark an entry from C, and of those that mark the specialised call of a class, or NULL before
 * the first such frame. Each is one object that lives as long as the process, so one comparison recognises the frame.
 * Guard: the GIL. */
enum { SM_FRAME_ENTRY, SM_FRAME_CLASS, SM_FRAMES_OF_C };
extern const void *sm_frames_of_c[SM_FRAMES_OF_C];

/* Return the slot of the frame that the thread runs, or ran last, or NULL if there is none yet. */
static inline sm_shadow *sm_shadows_here(const sm_shadows *shadows, PyThreadState *tstate) {
    uint32_t depth = (uint32_t)sm_tstate_depth(tstate);
    if (SM_UNLIKELY(depth >= shadows->size))
        return NULL;
    sm_shadow *here = &shadows->slots[depth];
    if (here == NULL)
        __builtin_unreachable();
    return here;
}

/* Return this slot on the fast path, or NULL also while each event has to take the slow path. */
static inline sm_shadow *sm_shadows_open(const sm_shadows *shadows, PyThreadState *tstate) {
    uint32_t depth = (uint32_t)sm_tstate_depth(tstate);
    if (SM_UNLIKELY(depth >= shadows->open))
        return NULL;
    sm_shadow *here = &shadows->slots[depth];
    if (here == NULL)
        __builtin_unreachable();
    return here;
}

static inline bool sm_shadow_is_of(const sm_shadow *shadow, const sm_frame_head *frame) {
    return shadow->frame == frame && SM_LIKELY(shadow->at == frame->executable);
}

/* Return true if this frame, which has called C code, is in the C function of its shadow. */
static inline bool sm_shadow_is_in_c(const sm_shadow *shadow, const sm_frame_head *frame) {
    return shadow->frame == frame && shadow->c_at == (uintptr_t)frame->instruction && shadow->c_at != 0;
}

typedef struct {
    const sm_frame_head *frame; /* the innermost candidate, or NULL */
    uint32_t depth;             /* depth of the frame, or of the frame below if it marks C code */
    bool through_c;             /* C code called the frame above */
    bool thrown;                /* an exception entered the frame above: see frame_depths.h */
    bool unknown;               /* skip also frames that should have a shadow */
} sm_reach;

/* Return the node of the innermost frame with a shadow, or else the root, or NULL if a frame on the way lacks its
 * shadow. */
sm_node *sm_shadows_reach(const sm_tree_thread *tree, sm_reach from);

/* Return true if the frame has its shadow at this depth. The sampler calls it, too. */
static inline bool sm_shadows_has(sm_thread *thread, const void *frame, int64_t depth) {
    const sm_shadows *shadows = &sm_tree_of(thread)->shadows;
    return depth >= -1 && depth < shadows->size &&
           __atomic_load_n(&shadows->slots[depth].frame, __ATOMIC_RELAXED) == frame;
}

/* Set the thread's node according to its frames. For any thread, with the GIL. */
void sm_shadows_settle(sm_thread *thread);
/* Return true if the running frame, or (entering) its caller, has a shadow: then the stack was not exchanged. */
bool sm_shadows_follow(sm_thread *thread, bool entering);
/* Make the shadows of these frames, outermost first, which lead to the thread's node, except the first `below`
 * frames. */
void sm_shadows_rebuild(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);

static inline bool sm_from_starts(const sm_tree_thread *tree) {
    return tree->shadows.slots != NULL;
}
