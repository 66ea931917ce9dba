/* The sources, by name, and their interfaces to recorders.
 *
 * A source's callbacks are inline functions of a receiver, which is a constant struct of the recorder's inline
 * functions. module/wiring.c compiles each pair, so that source and recorder are independent without an indirect call
 * per event. */
#pragma once

#include "engine/engine.h"

/* The functions of a recorder of calls. Event functions that return bool return false if the place may be disabled. */
typedef struct {
    bool (*call)(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object);
    bool (*resume)(sm_thread *thread, const void *key, PyObject *object);
    bool (*leave)(sm_thread *thread, const void *key, sm_leaving how);
    void (*calls_from)(sm_thread *thread, const void *caller); /* a frame of this code is about to call */
    bool (*c_call)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    bool (*c_leave)(sm_thread *thread, const void *caller, const void *key, sm_leaving how);
    bool (*may_disable)(sm_thread *thread, const void *key, PyObject *callable);
    void (*site_off)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    void (*place)(PyObject *number); /* the offset object that the interpreter made for the event */
} sm_calls_receiver;

/* The functions of a recorder that finds callers by the interpreter's frames. Event functions that return bool
 * return false if the place may be disabled; `known` and `near` ones handle a common case, or return false without
 * any effect. */
typedef struct {
    bool (*enter_known)(sm_thread *thread, const void *code, bool resumed);
    bool (*enter_near)(sm_thread *thread, const void *code, bool resumed); /* handles the next most common case */
    bool (*c_call_known)(sm_thread *thread, const void *key);
    bool (*c_leave_known)(sm_thread *thread);
    bool (*enter)(sm_thread *thread, const void *code, bool resumed, bool thrown);
    bool (*unwind_known)(sm_thread *thread, const void *code);
    bool (*unwind)(sm_thread *thread, const void *code);
    bool (*c_call)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
    void (*c_leave)(sm_thread *thread, const void *key, sm_leaving how);
    bool (*leave)(sm_thread *thread, const void *code, sm_leaving how);
    bool (*may_disable)(sm_thread *thread, const void *key, PyObject *callable);
    void (*site_off)(sm_thread *thread, const void *caller, const void *key, PyObject *callable);
} sm_starts_receiver;

/* The functions of a recorder of lines, which distinguishes calls by their frames. */
typedef struct {
    bool (*line)(sm_thread *thread, const void *code, const void *frame, int number);
    bool (*resume)(sm_thread *thread, const void *code, const void *frame, int offset);
    bool (*leave)(sm_thread *thread, const void *code, const void *frame, sm_leaving how);
} sm_lines_receiver;

/* The callbacks of the monitoring source, in the order of its table of events. */
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
    vectorcallfunc callback[SM_MONITORING_EVENTS];    /* NULL for an event that is not needed */
    bool (*wants)(PyObject *code, PyObject *globals); /* for where= and lines: true for code to instrument */
} sm_monitoring_callbacks;

extern const sm_source sm_source_monitoring, sm_source_starts, sm_source_profilefunc, sm_source_evalframe,
    sm_source_tracefunc, sm_source_reftracer, sm_source_places, sm_source_probes;

/* Callbacks that wiring.c sets before a start. */
extern const sm_monitoring_callbacks *sm_monitoring_callbacks_in_use;
extern Py_tracefunc sm_profilefunc_in_use, sm_tracefunc_in_use;
extern bool (*sm_tracefunc_wants_in_use)(PyObject *code, PyObject *globals);

uint32_t sm_sites_room(void); /* the size of the table of call sites */
