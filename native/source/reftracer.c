/* The reftracer source: a tool on the shared slot of the reference tracer. */
#include "source/reftracer.h"

#include "compat/exception.h"
#include "engine/ticker.h"

const sm_reftracer_functions *sm_reftracer_in_use = NULL;

static sm_reference_tool tool;

static void begin_again(void) {
    sm_ticker_start(sm_reftracer_in_use->tick);
}

static int start(const sm_settings *Py_UNUSED(settings)) {
    if (tool.active)
        return 0;
    if (tool.leaving) { /* it was stopped inside an event, so SM_REFERENCE_REMOVED will follow */
        return SM_FAIL(PyExc_RuntimeError, "the last recording has not ended yet");
    }
    tool = (sm_reference_tool){.call = sm_reftracer_in_use->call,
                               .direct = sm_reftracer_in_use->direct,
                               .poked = sm_reftracer_in_use->poked,
                               .stays = true}; /* objects that die during finalization are part of the recording */
    if (sm_reference_add(&tool) < 0)
        return -1;
    begin_again();
    return 0;
}

static void stop(void) {
    if (tool.active)
        sm_reference_poll();
    sm_reference_remove(&tool);
}

const sm_source sm_source_reftracer = {
    "reftracer", sm_reference_objection, start, stop, NULL, begin_again, false, false, false, NULL};
