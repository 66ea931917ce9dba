/* The interpreter's own frames, for PEP 523 on 3.11: the one place that reads a private structure, and only its head.
 */
#ifndef SM_FRAME_H
#define SM_FRAME_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME
#define Py_BUILD_CORE 1
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE

typedef struct _PyInterpreterFrame sm_frame;

static inline PyCodeObject *sm_frame_code(const sm_frame *frame) {
    return frame->f_code;
}
static inline bool sm_frame_of_generator(const sm_frame *frame) {
    return frame->owner == FRAME_OWNED_BY_GENERATOR;
}
static inline int sm_frame_last(const sm_frame *frame) { /* byte offset of the last instruction */
    return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
}
static inline const sm_frame *sm_frame_running(PyThreadState *tstate) {
    return tstate->cframe->current_frame;
}
static inline const sm_frame *sm_frame_of(const PyFrameObject *object) {
    return object->f_frame;
}
static inline const sm_frame *sm_frame_caller(const sm_frame *frame) {
    return frame->previous;
}
static inline PyObject *sm_frame_globals(const sm_frame *frame) { /* borrowed */
    return frame->f_globals;
}
/* What `frame.f_trace_opcodes = True` does. */
static inline void sm_frame_trace_opcodes(PyFrameObject *object) {
    object->f_trace_opcodes = 1;
}

#endif
#endif
