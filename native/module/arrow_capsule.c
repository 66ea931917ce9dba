#include "module/arrow_capsule.h"

#include "base/alloc.h"
#include "file/columns.h"

static const char NAME[] = "arrow_array_stream"; /* from the interface */

static void drop(struct ArrowArrayStream *stream) {
    if (stream->release) /* it has no consumer */
        stream->release(stream);
    sm_free(stream);
}

static void capsule_destructor(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, NAME);
    if (stream == NULL) {
        PyErr_Clear(); /* unreachable: the capsule is ours */
        return;
    }
    drop(stream);
}

PyObject *sm_arrow_capsule(struct ArrowArrayStream *stream) {
    PyObject *capsule = PyCapsule_New(stream, NAME, capsule_destructor);
    if (capsule == NULL)
        drop(stream);
    return capsule;
}
