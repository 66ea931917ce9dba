/* The coverage recorder's source on 3.11: a receiver for the probes. */
#include "recorder/coverage/places.h"
#include "source/py311/probes/probes.h"
#include "source/sources.h"

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
    return sm_beside.apart.last != 0 && sm_is_apart(&sm_beside.apart, PyThreadState_Get());
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

/* A new context makes everything new by its stamp, and probes are freed with the code object. */
static const sm_cover_source asked_of = {.switched = sm_probes_again};

static int start(const sm_settings *Py_UNUSED(settings)) {
    sm_probe_wish wish = {.steps = sm_cover.branch, .every = sm_cover.counts || sm_beside.apart.last != 0};
    sm_cover.source = &asked_of;
    return sm_probes_start(&receiver, &wish);
}

static void poll(void) {
    sm_beside.hook_lost += sm_beside.hook_lost == 0 && !sm_probes_hold();
}

static void stop(void) {
    poll();
    sm_beside.lost_memory += sm_probes_facts().lost;
    sm_probes_stop();
}

const sm_source sm_source_probes = {
    .name = "probes", .start = start, .stop = stop, .poll = poll, .begin_again = sm_cover_rearm};

#endif
