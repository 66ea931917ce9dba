/* A stream of Arrow's C interface as Python hands it on: a capsule of the Arrow PyCapsule interface. */
#ifndef SM_MODULE_ARROW_CAPSULE_H
#define SM_MODULE_ARROW_CAPSULE_H

#include <Python.h>

struct ArrowArrayStream;

/* The capsule takes the stream, which sm_alloc made, and releases it if no consumer does. The stream is taken even
 * where there is no memory for a capsule: then NULL, with an exception set. */
PyObject *sm_arrow_capsule(struct ArrowArrayStream *stream);

#endif
