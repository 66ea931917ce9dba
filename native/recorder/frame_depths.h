/* How deep on its thread's stack a frame is, as the interpreter counts, for recorders that keep something of a frame
 * at its depth. The interpreter counts the frames of Python functions, and those behind __init__ in the specialised
 * call of a class; not those that stand for an entry from C. Nor a generator's that waits for another one, when an
 * exception is thrown through it: that links the frame into the stack without running it. */
#ifndef SM_RECORDER_FRAME_DEPTHS_H
#define SM_RECORDER_FRAME_DEPTHS_H

#include "compat/frame.h"
#include "engine/engine.h"

/* Of a frame that is no function's. */
bool sm_frame_is_counted(const sm_frame_head *frame);
/* Is the frame a generator's that waits for another one? */
bool sm_frame_waits(const sm_frame_head *frame, PyCodeObject *code);

/* The depths of walked frames, outermost first; 0: that one is not counted. is_at: is this frame known to be at that
 * depth? Owned by the caller. NULL: out of memory, or there are none. */
uint32_t *sm_frame_depths(sm_thread *thread, const sm_walked_frame *frames, size_t count,
                          bool (*is_at)(sm_thread *thread, const void *frame, uint32_t depth));

#endif
