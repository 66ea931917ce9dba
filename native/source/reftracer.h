/* The reftracer source: objects created and destroyed, from the shared reference tracer to a receiver. */
#pragma once

#include "hooks/reference_tracer.h"
#include "source/sources.h"

typedef struct {
    PyRefTracer direct;
    int (*call)(sm_reference_tool *tool, PyObject *object, sm_reference_event event);
    void (*poked)(sm_reference_tool *tool);
    void (*tick)(void); /* called by the ticker */
} sm_reftracer_functions;

extern const sm_reftracer_functions *sm_reftracer_in_use; /* set by wiring.c before a start */

/* The functions of a recorder of objects. All events but common births and deaths go to rare, which handles quiet
 * threads and collections. None makes an object, touches an exception or takes a lock. */
typedef struct {
    void (*born)(PyObject *object);
    void (*died)(PyObject *object);
    void (*rare)(PyObject *object, sm_reference_event event);
    void (*blind)(void); /* called if events may be missed from now on */
} sm_objects_receiver;

SM_INLINE int sm_reftracer_direct(const sm_objects_receiver *to, PyObject *object, PyRefTracerEvent event, void *data) {
    if (sm_reference_is_rare())
        return sm_reference_shared(object, event, data);
    if (event == PyRefTracer_CREATE)
        to->born(object);
    else if (SM_LIKELY(event == PyRefTracer_DESTROY))
        to->died(object);
    else
        return sm_reference_shared(object, event, data);
    return 0;
}

/* Pass an event on from the slow path. */
SM_INLINE int sm_reftracer_call(const sm_objects_receiver *to, PyObject *object, sm_reference_event event) {
    if (SM_UNLIKELY(event == SM_REFERENCE_REMOVED))
        to->blind();
    else
        to->rare(object, event);
    return 0;
}
