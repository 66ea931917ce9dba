/* The reftracer source: objects made and destroyed, from the interpreter's one reference tracer
 * (slots/reference_tracer.h).
 *
 * As with the other sources, its functions are a template over a recorder's inline functions, instantiated in
 * module/wiring.c. A recorder has RECORDER_born(object) and RECORDER_died(object) for the direct path;
 * RECORDER_rare(object, event), which is given whatever came the long way and knows quiet threads and collections; and
 * RECORDER_poked(), RECORDER_blind(). None of them makes an object, touches an exception or takes a lock. */
#ifndef SM_SOURCE_REFTRACER_H
#define SM_SOURCE_REFTRACER_H

#include "slots/reference_tracer.h"
#include "source/sources.h"

typedef struct {
    PyRefTracer direct;
    int (*call)(sm_reference_tool *tool, PyObject *object, sm_reference_event event);
    void (*poked)(sm_reference_tool *tool);
} sm_reftracer_functions;

extern const sm_reftracer_functions *sm_reftracer_in_use; /* set by wiring.c before a start */

#define SM_REFTRACER_SOURCE(name, RECORDER)                                                                            \
    static int name##_direct(PyObject *object, PyRefTracerEvent event, void *data) {                                   \
        if (sm_reference_is_rare())                                                                                    \
            return sm_reference_shared(object, event, data);                                                           \
        if (event == PyRefTracer_CREATE)                                                                               \
            RECORDER##_born(object);                                                                                   \
        else if (SM_LIKELY(event == PyRefTracer_DESTROY))                                                              \
            RECORDER##_died(object);                                                                                   \
        else                                                                                                           \
            return sm_reference_shared(object, event, data);                                                           \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static int name##_call(sm_reference_tool *Py_UNUSED(tool), PyObject *object, sm_reference_event event) {           \
        if (SM_UNLIKELY(event == SM_REFERENCE_REMOVED))                                                                \
            RECORDER##_blind();                                                                                        \
        else                                                                                                           \
            RECORDER##_rare(object, event);                                                                            \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static void name##_poked(sm_reference_tool *Py_UNUSED(tool)) {                                                     \
        RECORDER##_poked();                                                                                            \
    }                                                                                                                  \
    static const sm_reftracer_functions name##_functions = {name##_direct, name##_call, name##_poked}

#endif
