/* The coverage recorder's source on 3.11: a receiver for the probes. */
#include "recorder/coverage/places.h"
#include "source/py311/probes/probes.h"

#if SM_HAS_EVALFRAME

static void *meet(PyCodeObject *code, PyObject *globals, bool *frames) {
    sm_cover_code *record = sm_cover_meet(code, globals);
    if (record == NULL || record == sm_cover_unwanted)
        return NULL;
    *frames = record->test;
    return record;
}

/* Return true on a skipped thread. With such threads the trace function reports: a hit probe is gone for all
 * threads. */
static bool is_apart(void) {
    return sm_cover.apart.last != 0 && sm_is_apart(&sm_cover.apart, PyThreadState_Get());
}

static void line(void *record, int number) {
    if (((sm_cover_code *)record)->of != NULL && !is_apart()) /* otherwise the code is known only as a test */
        (void)sm_cover_line(record, number);
}

static void step(void *record, int from, int to) {
    if (((sm_cover_code *)record)->of != NULL && !is_apart())
        (void)sm_cover_arc(record, from, to);
}

static bool line_is_new(void *record, int number) {
    const sm_cover_code *code = record;
    return code->of != NULL && !sm_cover_line_seen(code, number);
}

static bool step_is_new(void *record, int from, int to) {
    const sm_cover_code *code = record;
    return code->of != NULL && !sm_cover_arc_seen(code, from, to);
}

static void enter(void *record, const void *frame) {
    sm_cover_enter(record, frame);
}

static void leave(void *record, const void *frame) {
    sm_cover_leave(record, frame);
}

static const sm_probe_receiver receiver = {meet, line, step, line_is_new, step_is_new, enter, leave};

static const char *objection(void) {
    return NULL;
}

static int start(void) {
    sm_probe_wish wish = {.steps = sm_cover.branch, .every = sm_cover.counts || sm_cover.apart.last != 0};
    return sm_probes_start(&receiver, &wish);
}

static void stop(void) {
    sm_probe_facts facts = sm_probes_facts();
    sm_cover.lost_memory += facts.lost;
    sm_probes_stop();
}

static void contexts(void) {} /* The stamp alone makes everything new. */

static void died(sm_cover_code *Py_UNUSED(record)) {} /* its probes are freed with the code object */

static int tool_id(void) {
    return -1;
}

const sm_cover_source sm_cover_source_trace = {.name = "probes",
                                               .objection = objection,
                                               .start = start,
                                               .stop = stop,
                                               .contexts = contexts,
                                               .switched = sm_probes_again,
                                               .died = died,
                                               .holds = sm_probes_hold,
                                               .tool_id = tool_id};

#endif
