/* Instantiates the sources' callbacks for the recorders' receivers: the only file that knows both. */
#include "module/wiring.h"

#include "recorder/calls/calltree.h"
#include "recorder/calls/start_receiver.h"
#include "recorder/coverage/coverage.h"
#include "recorder/lines/lines.h"
#include "recorder/objects/events.h"
#include "recorder/objects/span_births.h"
#include "source/monitoring/start_events.h"
#include "source/profilefunc.h"
#include "source/py311/evalframe.h"
#include "source/py311/tracefunc.h"
#include "source/reftracer.h"

/* ---- calls ---- */

static inline bool may_disable(sm_thread *thread, const void *key, PyObject *callable) {
    sm_node *child = sm_tree_known(thread, key);
    if (child != NULL)
        return sm_tree_is_trivial(child);
    const sm_function *function = sm_function_of_c(key, callable);
    return function != NULL && function->left_out;
}

static inline void calls_from(sm_thread *thread, const void *caller) {
    if (SM_UNLIKELY(sm_tree_of(thread)->node->key != caller))
        (void)sm_tree_calls_from(thread, caller);
}

static inline void any_place(PyObject *Py_UNUSED(number)) {}

/* Each way to handle the events of calls (sm_tree_way) has a receiver, generated at compile time. */
#define EACH_WAY(OF)                                                                                                   \
    OF(calls, SM_WAY_COUNT)                                                                                            \
    OF(trace, SM_WAY_JOURNAL)                                                                                          \
    OF(every, SM_WAY_EVERY)                                                                                            \
    OF(stamps, SM_WAY_EVERY | SM_WAY_JOURNAL)                                                                          \
    OF(counts, SM_WAY_BARE)

#define RECEIVER(name)                                                                                                 \
    .call = name##_called, .resume = name##_resumed, .leave = name##_left, .calls_from = calls_from,                   \
    .c_call = name##_c_called, .c_leave = name##_c_left, .may_disable = may_disable, .site_off = sm_tree_site_off

#define RECEIVER_OF(name, way)                                                                                         \
    SM_INLINE bool name##_called(sm_thread *thread, const void *key, sm_function_kind kind, PyObject *object) {        \
        return sm_tree_call(thread, key, kind, object, way);                                                           \
    }                                                                                                                  \
    SM_INLINE bool name##_resumed(sm_thread *thread, const void *key, PyObject *object) {                              \
        return sm_tree_resume(thread, key, object, way);                                                               \
    }                                                                                                                  \
    SM_INLINE bool name##_left(sm_thread *thread, const void *key, sm_leaving how) {                                   \
        return sm_tree_leave(thread, key, how, way);                                                                   \
    }                                                                                                                  \
    SM_INLINE bool name##_c_called(sm_thread *thread, const void *caller, const void *key, PyObject *callable) {       \
        return sm_tree_c_call(thread, caller, key, callable, way);                                                     \
    }                                                                                                                  \
    SM_INLINE bool name##_c_left(sm_thread *thread, const void *caller, const void *key, sm_leaving how) {             \
        return sm_tree_c_leave(thread, caller, key, how, way);                                                         \
    }                                                                                                                  \
    static const sm_calls_receiver name = {RECEIVER(name), .place = any_place};
EACH_WAY(RECEIVER_OF)

#define PROFILEFUNC_OF(name, way)                                                                                      \
    static int name##_profilefunc(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *arg) {          \
        return sm_profilefunc_event(&name, frame, what, arg);                                                          \
    }
EACH_WAY(PROFILEFUNC_OF)
#define PROFILEFUNC(name, way) [way] = name##_profilefunc,
static const Py_tracefunc profilefuncs[] = {EACH_WAY(PROFILEFUNC)};

#if SM_HAS_EVALFRAME
#define EVALFRAME_OF(name, way)                                                                                        \
    static PyObject *name##_suspending(PyThreadState *tstate, sm_frame *frame, int throwing) {                         \
        return sm_evalframe_suspending(&name, tstate, frame, throwing);                                                \
    }                                                                                                                  \
    static PyObject *name##_evalframe(PyThreadState *tstate, sm_frame *frame, int throwing) {                          \
        return sm_evalframe_run(&name, name##_suspending, tstate, frame, throwing);                                    \
    }
EACH_WAY(EVALFRAME_OF)
#define EVALFRAME(name, way) [way] = name##_evalframe,
static const _PyFrameEvalFunction evalframes[] = {EACH_WAY(EVALFRAME)};
#endif

#if SM_HAS_MONITORING
static inline void unborn_place(PyObject *number) {
    sm_objects_unborn(number);
}

/* If objects are recorded too, the int that the interpreter made for an event's offset must not count. */
static const sm_calls_receiver paths = {RECEIVER(calls), .place = unborn_place};

/* A look at a call site takes the core's lock. */
SM_INLINE PyObject *sm_guarded_call(const sm_calls_receiver *to, PyObject *const *args) {
    if (SM_FREE_THREADED && SM_UNLIKELY(sm_sites_on && sm_sites_to_go == 1)) {
        SM_CORE_GUARD;
        return sm_monitoring_call(to, args);
    }
    return sm_monitoring_call(to, args);
}

#define CALLS_OF(receiver, way)                                                                                        \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, start)                                                             \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, resume)                                                            \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, throw)                                                             \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, return)                                                            \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, yield)                                                             \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, unwind)                                                            \
    SM_MONITORING_CALLBACK(sm_guarded, receiver, call)                                                                 \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, c_return)                                                          \
    SM_MONITORING_CALLBACK(sm_monitoring, receiver, c_raise)                                                           \
    static const sm_monitoring_callbacks receiver##_callbacks = {                                                      \
        {receiver##_start, receiver##_resume, receiver##_throw, receiver##_return, receiver##_yield,                   \
         receiver##_unwind, receiver##_call, receiver##_c_return, receiver##_c_raise, NULL, NULL},                     \
        NULL};
EACH_WAY(CALLS_OF)
CALLS_OF(paths, SM_WAY_COUNT)
#define CALLS(name, way) [way] = &name##_callbacks,
static const sm_monitoring_callbacks *const callbacks[] = {EACH_WAY(CALLS)};
#endif

/* ---- calls, by their starts ---- */

#if SM_HAS_MONITORING
static const sm_starts_receiver starts = {
    .enter_known = sm_starts_enter_known,
    .enter_near = sm_starts_enter_near,
    .c_call_known = sm_starts_c_call_known,
    .c_leave_known = sm_starts_c_leave_known,
    .enter = sm_starts_enter,
    .unwind_known = sm_starts_unwind_known,
    .unwind = sm_starts_unwind,
    .c_call = sm_starts_c_call,
    .c_leave = sm_starts_c_leave,
    .leave = sm_starts_leave,
    .may_disable = sm_starts_may_disable,
    .site_off = sm_starts_site_off,
};
SM_STARTING_ENTER(starts, start, false)
SM_STARTING_ENTER(starts, resume, true)
SM_MONITORING_CALLBACK(sm_starting, starts, throw)
SM_MONITORING_CALLBACK(sm_starting, starts, unwind)
SM_MONITORING_CALLBACK(sm_starting, starts, return)
SM_MONITORING_CALLBACK(sm_starting, starts, yield)
SM_STARTING_CALLBACK(starts, call)
SM_STARTING_CALLBACK(starts, c_return)
SM_MONITORING_CALLBACK(sm_starting, starts, c_raise)
static const sm_monitoring_callbacks starts_callbacks = {{starts_start, starts_resume, starts_throw, starts_return,
                                                          starts_yield, starts_unwind, starts_call, starts_c_return,
                                                          starts_c_raise, NULL, NULL},
                                                         NULL};
#endif

/* ---- lines ---- */

SM_INLINE bool line_by_ends(sm_thread *thread, const void *code, const void *frame, int number) {
    return sm_lines_line(thread, code, frame, number, SM_LINES_BY_ENDS);
}

#define LINES_RECEIVER .resume = sm_lines_resume, .leave = sm_lines_leave
static const sm_lines_receiver lines_by_ends = {.line = line_by_ends, LINES_RECEIVER};

#if SM_HAS_MONITORING
SM_INLINE bool line_by_depth(sm_thread *thread, const void *code, const void *frame, int number) {
    return sm_lines_line(thread, code, frame, number, SM_LINES_BY_DEPTH);
}

static const sm_lines_receiver lines_by_depth = {.line = line_by_depth, LINES_RECEIVER};

#define LINES_OF(receiver)                                                                                             \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, start)                                                       \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, resume)                                                      \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, throw)                                                       \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, yield)                                                       \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, line)                                                        \
    SM_MONITORING_CALLBACK(sm_monitoring_lines, receiver, right)
LINES_OF(lines_by_ends)
SM_MONITORING_CALLBACK(sm_monitoring_lines, lines_by_ends, return)
SM_MONITORING_CALLBACK(sm_monitoring_lines, lines_by_ends, unwind)
LINES_OF(lines_by_depth)
static const sm_monitoring_callbacks lines_by_ends_callbacks = {
    {lines_by_ends_start, lines_by_ends_resume, lines_by_ends_throw, lines_by_ends_return, lines_by_ends_yield,
     lines_by_ends_unwind, NULL, NULL, NULL, lines_by_ends_line, lines_by_ends_right},
    sm_lines_wants};
static const sm_monitoring_callbacks lines_by_depth_callbacks = {
    {lines_by_depth_start, lines_by_depth_resume, lines_by_depth_throw, NULL, lines_by_depth_yield, NULL, NULL, NULL,
     NULL, lines_by_depth_line, lines_by_depth_right},
    sm_lines_wants};
#else
static int lines_tracefunc(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what, PyObject *arg) {
    return sm_tracefunc_event(&lines_by_ends, frame, what, arg);
}
#endif

/* ---- objects: by type; by line; by line and call path, with the call tree alongside ---- */

/* On the direct path only the main interpreter runs, so the holder of its GIL is running: a load instead of a call. */
static inline PyThreadState *direct_tstate(void) {
    return SM_FREE_THREADED ? sm_tstate_unchecked() : *sm_reference_direct.places.holder;
}

/* Begin an event on the direct path. */
#if SM_FREE_THREADED
#define OBJECTS_EVENT                                                                                                  \
    sm_objects_here.collects = false;                                                                                  \
    SM_OBJECTS_GUARD
#else
#define OBJECTS_EVENT SM_OBJECTS_GUARD
#endif

static inline void born_by_type(PyObject *object) {
    OBJECTS_EVENT;
    sm_objects_born_by_type(object, direct_tstate());
}

static inline void died_by_type(PyObject *object) {
    OBJECTS_EVENT;
    sm_objects_died_by_type(object);
}

static inline void died_by_line(PyObject *object) {
    OBJECTS_EVENT;
    sm_objects_died_by_line(object);
}

static inline void born_by_line(PyObject *object) {
    OBJECTS_EVENT;
    sm_objects_born_by_line(object, direct_tstate(), NULL);
}

/* Return the thread's node, or NULL if it was not met yet or its stack was exchanged since. */
static inline const void *path_here(const PyThreadState *tstate) {
    sm_thread *thread = sm_this_thread;
    bool known = thread->tstate == tstate && thread->session == sm_engine.session &&
                 thread->chunk == sm_tstate_chunk(thread->tstate);
    return SM_LIKELY(known) ? sm_tree_of(thread)->node : NULL;
}

static inline void born_on_path(PyObject *object) {
    OBJECTS_EVENT;
    PyThreadState *tstate = direct_tstate();
    sm_objects_born_by_line(object, tstate, path_here(tstate));
}

static inline void rare(PyObject *object, sm_reference_event event) {
    SM_OBJECTS_GUARD;
    sm_objects_rare(object, event, sm_tstate_unchecked(), NULL);
}

static inline void rare_on_path(PyObject *object, sm_reference_event event) {
    SM_OBJECTS_GUARD;
    PyThreadState *tstate = sm_tstate_unchecked();
    sm_objects_rare(object, event, tstate, path_here(tstate));
}

static void blind(void) {
    SM_OBJECTS_GUARD;
    sm_objects_blind();
}

static const sm_objects_receiver objects_by_type = {born_by_type, died_by_type, rare, blind};
static const sm_objects_receiver objects_by_line = {born_by_line, died_by_line, rare, blind};
static const sm_objects_receiver objects_by_path = {born_on_path, died_by_line, rare_on_path, blind};

#define OBJECTS_OF(receiver)                                                                                           \
    static int receiver##_direct(PyObject *object, PyRefTracerEvent event, void *data) {                               \
        return sm_reftracer_direct(&receiver, object, event, data);                                                    \
    }                                                                                                                  \
    static int receiver##_call(sm_reference_tool *Py_UNUSED(tool), PyObject *object, sm_reference_event event) {       \
        return sm_reftracer_call(&receiver, object, event);                                                            \
    }                                                                                                                  \
    static const sm_reftracer_functions receiver##_functions = {receiver##_direct, receiver##_call, sm_objects_poked,  \
                                                                sm_objects_poke}
OBJECTS_OF(objects_by_type);
OBJECTS_OF(objects_by_line);
OBJECTS_OF(objects_by_path);

/* ---- recorders and their sources ---- */

static const sm_source *const calltree_sources[] = {&sm_source_starts, &sm_source_monitoring, &sm_source_evalframe,
                                                    &sm_source_profilefunc, NULL};
static const sm_source *const linetimes_sources[] = {&sm_source_monitoring, &sm_source_tracefunc, NULL};
static const sm_source *const objects_sources[] = {&sm_source_reftracer, NULL};
#if SM_HAS_MONITORING
static const sm_source *const coverage_sources[] = {&sm_source_places, NULL};
#else
static const sm_source *const coverage_sources[] = {&sm_source_probes, NULL};
#endif

const sm_known_recorder sm_recorders[] = {{&sm_calltree, calltree_sources, sm_calltree_check},
                                          {&sm_lines_recorder, linetimes_sources, sm_lines_check},
                                          {&sm_objects_recorder, objects_sources, sm_objects_check},
                                          {&sm_cover_recorder, coverage_sources, sm_cover_check},
                                          {NULL, NULL, NULL}};

const sm_span_receiver sm_objects_span_receiver = {sm_objects_span_open, sm_objects_span_close, sm_objects_span_run,
                                                   sm_objects_quiet, sm_objects_unborn};

void sm_wire(const sm_pair *pairs, uint32_t count, const sm_settings *settings) {
    bool paths = count > 1; /* objects are recorded with the call tree, which is first */
    sm_reftracer_in_use = paths                                        ? &objects_by_path_functions
                          : sm_objects_chosen.by == SM_OBJECTS_BY_LINE ? &objects_by_line_functions
                                                                       : &objects_by_type_functions;
    sm_tree_way way = settings->timing == SM_TIMING_NONE ? SM_WAY_BARE
                                                         : (settings->journal ? SM_WAY_JOURNAL : 0) |
                                                               (settings->timing == SM_TIMING_EVERY ? SM_WAY_EVERY : 0);
    /* All are set, because evalframe may switch to profilefunc. */
#if SM_HAS_MONITORING
    sm_monitoring_callbacks_in_use = pairs[0].recorder == &sm_lines_recorder
                                         ? (settings->narrow ? &lines_by_ends_callbacks : &lines_by_depth_callbacks)
                                     : pairs[0].source->starts_only ? &starts_callbacks
                                     : paths                        ? &paths_callbacks
                                                                    : callbacks[way];
#else
    (void)pairs;
    sm_tracefunc_in_use = lines_tracefunc;
    sm_tracefunc_wants_in_use = sm_lines_wants;
#endif
    sm_profilefunc_in_use = profilefuncs[way];
#if SM_HAS_EVALFRAME
    sm_evalframe_in_use = evalframes[way];
#endif
}
