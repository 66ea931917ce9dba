/* What the files of the probes source share. */
#ifndef SM_SOURCE_PY311_PROBES_PROBE_STATE_H
#define SM_SOURCE_PY311_PROBES_PROBE_STATE_H

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#include "code/function.h"
#include "code/probe_points.h"
#include "compat/frame.h"
#include "source/py311/probes/probes.h"

typedef struct sm_probed { /* of a code object that is wanted; freed with it, or at the end */
    uint32_t stamp;        /* its probes stand as this one's receiver wants them */
    uint32_t armed_count;
    void *record;   /* the receiver's */
    uint8_t *armed; /* by unit: does a probe stand there? NULL: it has no points yet */
    sm_probe_points points;
    PyCodeObject *code; /* borrowed */
    bool traced;        /* no probes: its frames are traced */
    bool frames;        /* they are told of */
    struct sm_probed *next, **link;
} sm_probed;

typedef struct {
    bool on;
    bool tracing; /* everything is traced, and no probe stands */
    bool escaped; /* for good, and without the evaluator */
    bool calm;    /* no other tool uses the slots any more: tracing may end at the next frame */
    bool steps, counts;
    uint32_t stamp;
    const sm_probe_receiver *receiver;
    void *unwanted; /* what this session writes on code objects that it does not want: odd, so no pointer */
    sm_probed *codes;
    uint64_t codes_count, probes, hits, lost;
} sm_probe_state;
extern sm_probe_state sm_probe;

/* What is known of a code object: NULL, not met; sm_probe.unwanted; else it. */
static inline void *sm_probe_found(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    void *found = SM_LIKELY(entry != NULL) ? entry->of[SM_CODE_PROBES] : NULL;
    return SM_UNLIKELY(((uintptr_t)found & 1) != 0 && found != sm_probe.unwanted) ? NULL : found;
}
sm_probed *sm_probe_meet(PyCodeObject *code, PyObject *globals); /* NULL: unwanted, or no memory */

/* arm.c: puts probes where something is new, and takes those away that have nothing to tell. */
void sm_probe_arm(sm_probed *probed);
void sm_probe_disarm(sm_probed *probed); /* all */
/* The frame has left the evaluation loop at this probe. Tells, and makes the frame ready to go on. Returns whether it
 * goes on by raising the exception that is set. */
bool sm_probe_hit(PyThreadState *tstate, sm_frame *frame, sm_probed *probed, uint32_t unit);
/* A step out of the code by an exception. */
void sm_probe_unwound(const sm_frame *frame, sm_probed *probed);

/* trace_function.c: the same from the interpreter's trace function. */
int sm_probe_trace_join(void);
void sm_probe_trace_leave(void);
void sm_probe_trace_all(bool on);                         /* on every thread, or only where it is switched on */
void sm_probe_trace_here(PyThreadState *tstate, bool on); /* what the running frame calls next */
bool sm_probe_is_alongside(PyThreadState *tstate);
void sm_probe_alongside(bool present); /* probes.c: another tool uses the slots */

#endif
#endif
