/* The state of the probes source. */
#pragma once

#include "compat/compat.h"

#if SM_HAS_EVALFRAME

#include "code/probe_points.h"
#include "compat/frame.h"
#include "recorder/coverage/places.h"

typedef struct sm_probed { /* a wanted code object; freed with it, or at the end */
    uint32_t stamp;        /* sm_probe.stamp when its probes were last placed */
    uint32_t armed_count;
    sm_cover_code *record;
    uint8_t *armed; /* by unit: 1 for a probe; NULL without points */
    sm_probe_points points;
    PyCodeObject *code; /* borrowed */
    bool traced;        /* its frames are traced, without probes */
    struct sm_probed *next, **link;
} sm_probed;

typedef struct {
    bool on;
    bool tracing; /* everything is traced, without probes */
    bool escaped; /* like `tracing`, but for good; the evaluator is removed */
    bool calm;    /* no other tool uses the slots any more: tracing may end at the next frame */
    bool steps, counts;
    uint32_t stamp;
    void *unwanted; /* marks unwanted code objects in this session; odd, so it is no pointer */
    sm_probed *codes;
    uint64_t lost; /* code objects skipped for lack of memory */
} sm_probe_state;
extern sm_probe_state sm_probe;

/* Return the code object's record, sm_probe.unwanted, or NULL if it has not been met. */
static inline void *sm_probe_found(const PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    void *found = SM_LIKELY(entry != NULL) ? entry->of[SM_CODE_PROBES] : NULL;
    return SM_UNLIKELY(((uintptr_t)found & 1) != 0 && found != sm_probe.unwanted) ? NULL : found;
}
/* Return the code object's record, or NULL if it is unwanted or has not been met. */
static inline sm_probed *sm_probe_wanted(const PyCodeObject *code) {
    void *found = sm_probe_found(code);
    return found != sm_probe.unwanted ? found : NULL;
}

/* probed_code.c: make the record, or return NULL if the code object is unwanted or memory has run out; free it when the
 * code object dies or the session ends. */
sm_probed *sm_probe_meet(PyCodeObject *code, PyObject *globals);
void sm_probe_release(sm_code_entry *entry);

/* arm.c: place probes where something is new, and remove others. */
void sm_probe_arm(sm_probed *probed);
void sm_probe_disarm(sm_probed *probed); /* removes all probes */
/* Report the hit of a probe and prepare the frame to continue. Return true if it continues by raising. */
bool sm_probe_hit(PyThreadState *tstate, sm_frame *frame, sm_probed *probed, uint32_t unit);
/* Report to the recorder of coverage, unless the code is known only as a test. -N stands for an entry or exit of the
 * code that begins at line N. */
void sm_probe_report_line(sm_cover_code *record, int line);
void sm_probe_report_step(sm_cover_code *record, int from, int to);
/* Report the step out of the code by an exception. */
void sm_probe_unwound(const sm_frame *frame, sm_probed *probed);

/* trace_function.c: the interpreter's trace function. */
int sm_probe_trace_join(void (*alongside)(bool present)); /* called when another tool begins or ends using the slots */
void sm_probe_trace_leave(void);
void sm_probe_trace_all(bool on);                         /* on every thread, or only where it is switched on */
void sm_probe_trace_here(PyThreadState *tstate, bool on); /* applies to the next frames of this thread */
bool sm_probe_is_alongside(PyThreadState *tstate);

#endif
