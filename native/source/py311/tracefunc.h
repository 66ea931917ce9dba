/* The tracefunc source's hook, over a receiver of lines: the interpreter's trace function, on 3.11. It reports a
 * generator's first entry and its resumptions as calls; code and instruction distinguish them. */
#pragma once

#include "compat/frame.h"
#include "hooks/py311/thread_slots.h"
#include "source/sources.h"

#if SM_SHARES_SLOTS

extern bool sm_tracefunc_on;
extern _PyFrameEvalFunction sm_tracefunc_eval, sm_tracefunc_below; /* our function, and the previous one */

/* Return true if the recording wants this code, which has no entry of this session. */
bool sm_tracefunc_meet(PyCodeObject *code, PyObject *globals);
/* Return true if the call event of a frame is a resumption. */
bool sm_tracefunc_goes_on(const sm_frame *frame, const PyCodeObject *code);
sm_leaving sm_tracefunc_leaving(const sm_frame *frame, const PyCodeObject *code, PyObject *value);

static inline bool sm_tracefunc_wants(PyCodeObject *code, const sm_frame *frame) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    if (SM_LIKELY(entry != NULL && entry->session == sm_engine.session))
        return true;
    return sm_tracefunc_meet(code, sm_frame_globals(frame));
}

SM_INLINE int sm_tracefunc_event(const sm_lines_receiver *to, PyFrameObject *object, int what, PyObject *arg) {
    const sm_frame *frame = sm_frame_of(object);
    PyCodeObject *code = sm_frame_code(frame);
    if (SM_UNLIKELY(!sm_tracefunc_on || what == PyTrace_EXCEPTION || !sm_tracefunc_wants(code, frame)))
        return 0;
    sm_thread *thread = sm_event_thread(what == PyTrace_CALL);
    if (SM_UNLIKELY(thread == NULL))
        return 0;
    if (SM_LIKELY(what == PyTrace_LINE))
        (void)to->line(thread, code, frame, ((sm_frame_object *)object)->line);
    else if (what == PyTrace_RETURN)
        (void)to->leave(thread, code, frame, sm_tracefunc_leaving(frame, code, arg));
    else if (what == PyTrace_CALL && sm_tracefunc_goes_on(frame, code))
        (void)to->resume(thread, code, frame, sm_frame_last(frame));
    return 0;
}

#endif
