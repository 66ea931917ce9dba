#include "recorder/frame_depths.h"

#include "base/alloc.h"
#include "compat/opcodes.h"

#define NEAR 8
#define RETRIES 16 /* of a look that finds a frame some ns before the recorder knows it */

bool sm_frame_find(sm_thread *thread, sm_frame_is_at is_at, int64_t *depth) {
    PyThreadState *tstate = thread->tstate;
    for (int retry = 0; retry < RETRIES && tstate != &sm_no_tstate; retry++) {
        const void *frame = sm_tstate_frame_racy(tstate);
        int64_t middle = sm_tstate_depth_racy(tstate);
        for (int64_t i = 0; frame != NULL && i <= 2 * NEAR; i++) {
            *depth = middle + ((i & 1) != 0 ? (i + 1) / 2 : -i / 2);
            if (is_at(thread, frame, *depth))
                return true;
        }
    }
    return false;
}

#if SM_HAS_MONITORING

bool sm_frame_is_counted(const sm_frame_head *frame) {
#ifdef CO_NO_MONITORING_EVENTS
    PyObject *executable = (PyObject *)(frame->executable & ~(uintptr_t)7);
    return executable != NULL && PyCode_Check(executable);
#else
    (void)frame;
    return false;
#endif
}

bool sm_frame_waits(const sm_frame_head *frame, PyCodeObject *code) {
    if ((code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) == 0)
        return false;
    int at = PyUnstable_InterpreterFrame_GetLasti((struct _PyInterpreterFrame *)(uintptr_t)frame);
    PyObject *bytes = at >= 0 ? PyCode_GetCode(code) : NULL;
    bool found = bytes != NULL && at < PyBytes_GET_SIZE(bytes) && sm_op_suspends((uint8_t)PyBytes_AS_STRING(bytes)[at]);
    if (at >= 0 && bytes == NULL)
        PyErr_Clear();
    Py_XDECREF(bytes);
    return found;
}

uint32_t *sm_frame_depths(sm_thread *thread, const sm_walked_frame *frames, size_t count, sm_frame_is_at is_at) {
    bool gone = thread->ended || thread->tstate == &sm_no_tstate;
    uint32_t *depths = count > 0 ? sm_calloc(count, sizeof *depths) : NULL, *above = NULL;
    const sm_frame_head *frame = depths != NULL && !gone ? sm_tstate_frame(thread->tstate) : NULL;
    uint32_t depth = frame != NULL ? (uint32_t)sm_tstate_depth(thread->tstate) : 0;
    for (; frame != NULL && count > 0; frame = frame->previous) {
        PyCodeObject *code = sm_frame_code_of(frame);
        if (code == NULL || frame != frames[count - 1].frame) {
            depth -= code != NULL || sm_frame_is_counted(frame);
            continue;
        }
        if (above != NULL && !is_at(thread, frame, depth) && is_at(thread, frame, depth + 1)) {
            *above = 0;
            depth++;
        }
        depths[--count] = depth--;
        above = sm_frame_waits(frame, code) ? &depths[count] : NULL;
    }
    return depths;
}

#else

bool sm_frame_is_counted(const sm_frame_head *Py_UNUSED(frame)) {
    return false;
}

bool sm_frame_waits(const sm_frame_head *Py_UNUSED(frame), PyCodeObject *Py_UNUSED(code)) {
    return false;
}

uint32_t *sm_frame_depths(sm_thread *Py_UNUSED(thread), const sm_walked_frame *Py_UNUSED(frames), size_t count,
                          sm_frame_is_at Py_UNUSED(is_at)) {
    return count > 0 ? sm_calloc(count, sizeof(uint32_t)) : NULL;
}

#endif
