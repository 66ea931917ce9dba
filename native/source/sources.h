/* The sources, by name. A source is instantiated with a recorder's inline functions: source/monitoring/monitoring.h and
 * profilefunc.h hold its callbacks as templates, module/wiring.c names the recorder. So neither knows the other, and no
 * indirect call stands on the way of an event. */
#ifndef SM_SOURCE_SOURCES_H
#define SM_SOURCE_SOURCES_H

#include "engine/engine.h"

/* The callbacks that an instantiation gives to the monitoring source: one per event, in the order of its table. */
typedef enum {
    SM_PY_START,
    SM_PY_RESUME,
    SM_PY_THROW,
    SM_PY_RETURN,
    SM_PY_YIELD,
    SM_PY_UNWIND,
    SM_CALL,
    SM_C_RETURN,
    SM_C_RAISE,
    SM_LINE,
    SM_INSTRUCTION,
    SM_MONITORING_EVENTS
} sm_monitoring_event;

typedef struct {
    vectorcallfunc callback[SM_MONITORING_EVENTS];    /* NULL: that event is not wanted */
    bool (*wants)(PyObject *code, PyObject *globals); /* of a recorder of lines: with where=, whose events to ask for */
} sm_monitoring_callbacks;

extern const sm_source sm_source_monitoring, sm_source_profilefunc, sm_source_evalframe, sm_source_tracefunc,
    sm_source_reftracer;

/* Set by wiring.c before a start. */
extern const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use;
extern Py_tracefunc sm_profilefunc_in_use, sm_tracefunc_in_use;
extern bool (*sm_tracefunc_wants_in_use)(PyObject *code, PyObject *globals);

/* For doctor and status. */
int sm_monitoring_tool_id(void); /* -1: none held */
uint32_t sm_sites_room(void);    /* in its table of the places that may be switched off */

#endif
