/* Which frames a thread's path leads through: for a source that tells of starts alone.
 *
 * Where every end is told, the node that a thread is at is all that need be known. A source of starts (sm_source's
 * `starts_only`) says when a frame begins or goes on, and the interpreter's own chain of frames says who called it. So
 * each thread keeps a *shadow* of each frame, its address and its node, at the frame's depth: the interpreter counts
 * how many frames of Python functions are on the stack, and so where the caller's shadow is. Nothing is looked for, and
 * nothing is taken off: what has ended is overwritten when the stack gets there again. (Kept as a stack
 * whose top is known, shadows have to be looked for from there, past all that have ended: about an eighth more
 * instructions in large programs, though no more time than the readings differ by.)
 *
 * Why that is exact. A frame that is alive keeps its address and its depth, so that no other one writes to its slot
 * while it runs, but those of another stack (greenlets), which is noticed. A shadow that is dead may have the address
 * of a frame of which nothing was told, so the frame must run the shadow's code, too. Then it cannot be taken for
 * another one: a frame of code whose starts are told has written to the slot of its depth itself.
 *
 * Frames of which nothing is told. Some stand for a stretch of C stack, and are no function's: they are passed by, and
 * say that C code called what is above. Those of functions that are left out are passed by as well. All others were
 * running before anything was told of their thread or its stack; for these the stack is walked (engine/threads.c).
 *
 * Which frames the interpreter counts. Those of Python functions, and those behind __init__ in the specialised call of
 * a class; not those of entries from C. Nor a generator's that waits for another one, when an exception is thrown
 * through it: see frame_depths.h.
 *
 * A C function that runs is in its caller's shadow, with where in its code the caller is. It is the parent of what C
 * code calls while the caller is still there. */
#ifndef SM_RECORDER_CALLS_FRAME_SHADOWS_H
#define SM_RECORDER_CALLS_FRAME_SHADOWS_H

#include "compat/frame.h"
#include "recorder/calls/tree.h"

/* Sees to a slot of this depth. False: out of memory. */
bool sm_shadows_reserve(sm_shadows *shadows, uint32_t depth);
void sm_shadows_free(sm_shadows *shadows);

/* What frames run that stand for C code, as far as they have been met: of all entries from C, and of all specialised
 * calls of classes, which each have one. They live as long as the process, so that one comparison tells such a frame.
 * Guard: the GIL. */
enum { SM_FRAME_ENTRY, SM_FRAME_CLASS, SM_FRAMES_OF_C };
extern const void *sm_frames_of_c[SM_FRAMES_OF_C];

/* The slot of the frame that the thread runs, or ran last; NULL: there is none yet. */
static inline sm_shadow *sm_shadows_here(const sm_shadows *shadows, PyThreadState *tstate) {
    uint32_t depth = (uint32_t)sm_tstate_depth(tstate);
    if (SM_UNLIKELY(depth >= shadows->size))
        return NULL;
    sm_shadow *here = &shadows->slots[depth];
    if (here == NULL)
        __builtin_unreachable(); /* or the compiler asks */
    return here;
}

/* The same for the fast path: NULL also while each event has to take the slow path. */
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

/* Is this frame, which has called C code, in the C function of its shadow? */
static inline bool sm_shadow_is_in_c(const sm_shadow *shadow, const sm_frame_head *frame) {
    return shadow->frame == frame && shadow->c_at == (uintptr_t)frame->instruction && shadow->c_at != 0;
}

typedef struct {
    const sm_frame_head *frame; /* the innermost that may be the one; NULL: none */
    uint32_t depth;             /* its own; of one that stands for C code, that of what is below it */
    bool through_c;             /* what is above was called by C code */
    bool thrown;                /* what is above was entered by an exception: see frame_depths.h */
    bool unknown;               /* pass those by, too, that should have a shadow */
} sm_reach;

/* The node of the innermost frame from this one on, outwards, that has a shadow; else the root. NULL: unknown, since
 * the frames lead to one that should have a shadow. */
sm_node *sm_shadows_reach(const sm_tree_thread *tree, sm_reach from);

/* Is the thread's path where its frames are? Any thread's, with the GIL. */
void sm_shadows_settle(sm_thread *thread);
/* Is the frame that runs, or entering its caller, known? Then the stack has not been exchanged. */
bool sm_shadows_follow(sm_thread *thread, bool entering);
/* These frames, outermost first, lead to the node that the thread is at; `below` of them are no part of the path. */
void sm_shadows_rebuild(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);

static inline bool sm_from_starts(const sm_tree_thread *tree) {
    return tree->shadows.slots != NULL;
}

#endif
