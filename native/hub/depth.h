/* Frames of ours below a recorded program, which do not count towards its recursion limit.
 *
 * A thread keeps how many calls it may still make, and the interpreter reckons its depth as the limit less that. So who
 * adds the depth to what remains is taken for the bottom of the stack: sys.setrecursionlimit, which reckons in the same
 * way, keeps it so, and sys.getrecursionlimit shows the program's own limit. From 3.14 on, calls in C are limited by
 * the addresses of the C stack, of which nothing can be given back: our share is some hundred bytes a frame. */
#ifndef SM_HUB_DEPTH_H
#define SM_HUB_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* From a built-in function that Python calls on the thread that runs the program: what is on its stack up to that
 * function's caller, and for through_c a call of a built-in function above, counts no more. */
void sm_depth_forget(bool through_c);
/* It counts again: before our frames go on. No effect on another thread, or when nothing was forgotten. */
void sm_depth_restore(void);
/* How many Python frames of the running thread do not count. 3.11 counts frames by walking them: 0. */
int64_t sm_depth_forgotten(void);

#endif
