/* The bottom of a recorded program's stack. The program runs inside calls of ours, and none of them is there for it:
 *
 * - No frame of ours is below its first one. sys._getframe, traceback.print_stack, faulthandler, the place that a
 *   warning with a stacklevel names, debuggers and loggers come to the end of the stack where they do bare.
 * - They do not count towards its recursion limit. A thread keeps how many calls it may still make, and the interpreter
 *   reckons its depth as the limit less that. So who adds the depth to what remains is taken for the bottom of the
 *   stack: sys.setrecursionlimit, which reckons in the same way, keeps it so, and sys.getrecursionlimit shows the
 *   program's own limit. From 3.14 on, calls in C are limited by the addresses of the C stack, of which nothing can be
 *   given back: our share is some hundred bytes a frame.
 *
 * Our frames stay where they are in memory: only the thread's pointer to the newest of them is exchanged for what a
 * thread has that has called nothing yet, as greenlets exchange it, and put back when the program's call is over. */
#ifndef SM_HUB_HIDDEN_FRAMES_H
#define SM_HUB_HIDDEN_FRAMES_H

#include "compat/compat.h"

/* For a built-in function that Python calls on the thread that runs the program: runs a code object in the globals
 * `with`, or calls a function with the tuple `with`, as if nothing had called it. A new reference; NULL with its
 * exception. */
PyObject *sm_hidden_frames_run(PyObject *what, PyObject *with);

#endif
