/* A stream of Arrow's C interface in a capsule of the Arrow PyCapsule interface. */
#ifndef SM_MODULE_ARROW_CAPSULE_H
#define SM_MODULE_ARROW_CAPSULE_H

#include <Python.h>

struct ArrowArrayStream;

/* Return a capsule that owns the stream (from sm_alloc), or NULL with an exception set and the stream released. */
PyObject *sm_arrow_capsule(struct ArrowArrayStream *stream);

#endif
