/* The local variables of a frame, without the snapshot that `f_locals` makes up to 3.12 (it keeps values alive, and
 * changes what the program's own locals() shows). */
#ifndef SM_HUB_FRAME_LOCALS_H
#define SM_HUB_FRAME_LOCALS_H

#include <Python.h>

/* A new dict: those variables that have a value, of a function in the order of its definition (arguments first); of a
 * module or class body its namespace. NULL with an exception: out of memory. */
PyObject *sm_locals(PyFrameObject *frame);

#endif
