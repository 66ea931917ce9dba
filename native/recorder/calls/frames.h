/* Which frames a thread's path leads through: for a source that tells of starts alone.
 *
 * Where every end is told, the node that a thread is at is all that need be known. A source of starts (sm_source's
 * `starts_only`) says when a frame begins or goes on, and the interpreter's own chain of frames says who called it. So
 * each thread has a stack of *shadows*, each a frame and its node: at a start, the innermost shadow whose frame is the
 * caller is looked for from the top, what lies above has ended unseen, and the new frame goes on top.
 *
 * Why that is exact. A frame that is alive keeps its address, so that nothing else can have it; and what lies above the
 * shadow of a frame that calls has ended. A shadow that is dead may have the address of a frame of which nothing was
 * told, so the frame must run the shadow's code, too. Then it cannot be taken for another one: a frame of code whose
 * starts are told has a shadow of its own, above all older ones.
 *
 * Frames of which nothing is told. Some stand for a stretch of C stack, and are no function's: they are passed by, and
 * say that C code called what is above. Those of functions that are left out are passed by as well. All others were
 * running before anything was told of their thread or its stack; for these the stack is walked (engine/threads.c).
 *
 * A C function that runs has a shadow above its caller's: the caller's address plus 1, and where in its code the caller
 * is. It is the parent of what C code calls while the caller is still there.
 *
 * Bounds. SM_SHADOWS_ROOM shadows are free after each look (sm_starts_look), and as many events may pass until the next
 * one; so a push needs no check of its own. */
#ifndef SM_RECORDER_CALLS_FRAMES_H
#define SM_RECORDER_CALLS_FRAMES_H

#include "compat/frame.h"
#include "recorder/calls/tree.h"

#define SM_SHADOWS_ROOM 256
#define SM_SHADOWS_NEAR                                                                                                \
    8 /* so many are looked at without asking where the bottom is: below it are as many of no frame */

#define SM_IN_C(frame) ((const void *)((uintptr_t)(frame) + 1))

/* False: out of memory. Makes room, and counts anew. */
bool sm_shadows_reserve(sm_shadows *shadows, size_t more);
void sm_shadows_free(sm_shadows *shadows);

/* The shadow of the frame, which is a function's, or with through_c of the C function that it is in; NULL: none. */
sm_shadow *sm_shadows_find(const sm_shadows *shadows, const sm_frame_head *frame, bool through_c);

/* What frames run that stand for C code, as far as they have been met: of all entries from C, and of all specialised
 * calls of classes, which each have one. They live as long as the process, so that one comparison tells such a frame.
 */
extern const void *sm_frames_of_c[2];

static inline bool sm_frame_is_c(const sm_frame_head *frame) {
    return sm_frame_is_of(frame, sm_frames_of_c[0]) || sm_frame_is_of(frame, sm_frames_of_c[1]);
}

typedef struct {    /* of those that pass frames by */
    bool through_c; /* what is above was called by C code */
    bool thrown;    /* what is above was entered by an exception: see sm_frame_waits */
    bool unknown;   /* pass those by, too, that should have one */
} sm_reach;

/* The innermost shadow from this frame on, outwards; the bottom if there is no frame. NULL: unknown. */
sm_shadow *sm_shadows_reach(const sm_shadows *shadows, const sm_frame_head *frame, sm_reach how);

/* Is the thread's path where its frames are? What has ended above goes. Any thread's, with the GIL. */
void sm_shadows_settle(sm_thread *thread);
/* Is the frame that runs, or entering its caller, known? Then the stack has not been exchanged. */
bool sm_shadows_follow(sm_thread *thread, bool entering);
/* These frames, outermost first, lead to the node that the thread is at; `below` of them are no part of the path. */
void sm_shadows_rebuild(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count);

static inline bool sm_from_starts(const sm_tree_thread *tree) {
    return tree->shadows.bottom != NULL;
}

#endif
