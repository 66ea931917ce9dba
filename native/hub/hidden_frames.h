/* The bottom of a recorded program's stack. The program runs inside calls of ours, which it must not notice.
 *
 * - No frame of ours is below its first one, so all walks over the stack end where they would without us.
 * - They do not count towards its recursion limit. A thread's depth is the limit minus the calls that it may still
 *   make. Adding our depth to the remaining calls, which sys.setrecursionlimit preserves, makes our call the bottom.
 * From 3.14 on, C calls are limited by the C stack, of which we use some hundred bytes a frame.
 *
 * Only the thread's pointer to its newest frame is replaced, as greenlets do, and restored after the program's call. */
#pragma once

#include <Python.h>

/* Run a code object in the globals `with`, or call a function with the tuple `with`, as if nothing had called it.
 * Return a new reference, or NULL with an exception set. */
PyObject *sm_hidden_frames_run(PyObject *what, PyObject *with);
