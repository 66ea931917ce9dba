/* The reftracer source: a tool of the reference tracer's shared slot. An event gives no moment for work that takes long
 * or touches Python objects, so flushes are made at the slot's safe points, on the main thread. */
#include "source/reftracer.h"

#include "engine/ticker.h"

const sm_reftracer_functions *sm_reftracer_in_use = NULL;

static sm_reference_tool tool;

static void at_safe_point(sm_reference_tool *Py_UNUSED(self)) {
    if (!sm_engine.running)
        return;
    sm_ticker_want(); /* at the start, and again after a fork */
    if (sm_engine_due(sm_clock_read(&sm_engine.clock)))
        sm_engine_tick(sm_this_thread);
}

static const char *objection(const sm_settings *Py_UNUSED(settings)) {
    return sm_reference_objection();
}

static int start(const sm_settings *Py_UNUSED(settings)) {
    if (tool.active)
        return 0;
    if (tool.leaving) { /* stopped inside an event, and `removed` is still to come */
        PyErr_SetString(PyExc_RuntimeError, "the last recording has not ended yet");
        return -1;
    }
    tool = (sm_reference_tool){.call = sm_reftracer_in_use->call,
                               .direct = sm_reftracer_in_use->direct,
                               .poked = sm_reftracer_in_use->poked,
                               .safe = at_safe_point,
                               .stays = true}; /* what dies while the program ends belongs to the recording */
    if (sm_reference_add(&tool) < 0)
        return -1;
    sm_ticker_want();
    return 0;
}

static void stop(void) {
    if (tool.active)
        sm_reference_poll(); /* so that a slot that was taken meanwhile is told */
    sm_reference_remove(&tool);
}

const sm_source sm_source_reftracer = {"reftracer", objection, start, stop, NULL, NULL, false, false, false};
