/* The sources, by name, and what they tell a recorder.
 *
 * A source's callbacks are inline functions over a receiver, a constant struct of the recorder's inline functions.
 * module/wiring.c makes a callback of each for a receiver: there the compiler sees through the pointers and leaves one
 * straight piece of code. So source and recorder do not know each other, and no indirect call stands on the way of an
 * event. */
#ifndef SM_SOURCE_SOURCES_H
#define SM_SOURCE_SOURCES_H

#include "engine/engine.h"

/* A recorder of calls. Functions that answer say whether the place need tell again. */
typedef struct {
    bool (*call)(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object);
    bool (*resume)(sm_thread *thread, const void *key, PyObject *object);
    bool (*leave)(sm_thread *thread, const void *key, sm_leaving how);
    void (*calls_from)(sm_thread *thread, const void *caller); /* a frame of this code is about to call */
    bool (*c_call)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    bool (*c_leave)(sm_thread *thread, const void *caller, const void *key, sm_leaving how);
    bool (*may_disable)(sm_thread *thread, const void *key, PyObject *callable);
    void (*site_off)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    void (*place)(PyObject *number); /* which the interpreter made to say where the event is */
} sm_calls_receiver;

/* A recorder of calls that finds callers by the interpreter's frames. Functions that answer say whether the place need
 * tell again; those that are `known` do the common case of an event, without a call, and say whether it was one. */
typedef struct {
    bool (*enter_known)(sm_thread *thread, const void *code, bool resumed);
    bool (*enter_near)(sm_thread *thread, const void *code, bool resumed); /* the next most common one */
    bool (*c_call_known)(sm_thread *thread, const void *key);
    bool (*c_leave_known)(sm_thread *thread);
    bool (*enter)(sm_thread *thread, const void *code, bool resumed, bool thrown);
    bool (*unwind)(sm_thread *thread, const void *code);
    bool (*c_call)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    void (*c_leave)(sm_thread *thread, const void *key, sm_leaving how);
    bool (*leave)(sm_thread *thread, const void *code, sm_leaving how); /* false: no more of this place */
    bool (*may_disable)(sm_thread *thread, const void *key, PyObject *callable);
    void (*site_off)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
} sm_starts_receiver;

/* A recorder of lines: calls need no event, it tells frames apart. */
typedef struct {
    bool (*line)(sm_thread *thread, const void *code, const void *frame, int number);
    bool (*resume)(sm_thread *thread, const void *code, const void *frame, int offset);
    bool (*leave)(sm_thread *thread, const void *code, const void *frame, sm_leaving how);
} sm_lines_receiver;

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
    SM_BRANCH_RIGHT,
    SM_MONITORING_EVENTS
} sm_monitoring_event;

typedef struct {
    vectorcallfunc callback[SM_MONITORING_EVENTS];    /* NULL: that event is not wanted */
    bool (*wants)(PyObject *code, PyObject *globals); /* of a recorder of lines: with where=, whose events to ask for */
} sm_monitoring_callbacks;

extern const sm_source sm_source_monitoring, sm_source_starts, sm_source_profilefunc, sm_source_evalframe,
    sm_source_tracefunc, sm_source_reftracer;

/* Set by wiring.c before a start. */
extern const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use;
extern Py_tracefunc sm_profilefunc_in_use, sm_tracefunc_in_use;
extern bool (*sm_tracefunc_wants_in_use)(PyObject *code, PyObject *globals);

/* For doctor and status. */
int sm_monitoring_tool_id(void); /* -1: none held */
uint32_t sm_sites_room(void);    /* in its table of the places that may be switched off */

#endif
