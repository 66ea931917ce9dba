/* The local variables of a frame, without the snapshot of `f_locals` up to 3.12, which the program could notice. */
#pragma once

#include <Python.h>

/* Return a new dict of a function's variables that have a value, in the order of definition, or a copy of the namespace
 * of a module or class body. Return NULL with an exception set if out of memory. */
PyObject *sm_locals(PyFrameObject *frame);
