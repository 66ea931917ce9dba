/* The depth of a frame on its thread's stack, for recorders that store something per depth. The interpreter counts the
 * frames of Python functions, and the one behind __init__ in the specialised call of a class. It does not count frames
 * that stand for an entry from C. Nor does it count a generator that waits for another one into which an exception is
 * thrown: that links its frame into the stack without running it. */
#pragma once

#include "compat/frame.h"
#include "engine/engine.h"

/* Return true if a frame is known at this depth. */
typedef bool (*sm_frame_is_at)(sm_thread *thread, const void *frame, int64_t depth);

/* Find the depth of the running frame of a thread, near the interpreter's depth, for the sampler: the frame itself may
 * be gone. Return false if it is unknown. */
bool sm_frame_find(sm_thread *thread, sm_frame_is_at is_at, int64_t *depth);

/* Return true if the interpreter counts this frame, which is no function's. */
bool sm_frame_is_counted(const sm_frame_head *frame);
/* Return true if the frame is a generator's that waits for another one. */
bool sm_frame_waits(const sm_frame_head *frame, PyCodeObject *code);

/* Return the depths of walked frames, outermost first, or NULL if out of memory or count is 0. The caller owns them. A
 * frame that is not counted has depth 0. */
uint32_t *sm_frame_depths(sm_thread *thread, const sm_walked_frame *frames, size_t count, sm_frame_is_at is_at);
