/* Instantiates the sources' callbacks with the recorders' inline functions: the only file that knows both. Another
 * recorder, or several at once, is another instantiation here. */
#include "module/wiring.h"

#include "recorder/calls/calltree.h"
#include "recorder/lines/linetimes.h"
#include "recorder/objects/events.h"
#include "recorder/objects/span_births.h"
#include "source/evalframe.h"
#include "source/monitoring/monitoring.h"
#include "source/profilefunc.h"
#include "source/reftracer.h"
#include "source/tracefunc.h"

#define calltree_call sm_tree_call
#define calltree_resume sm_tree_resume
#define calltree_leave sm_tree_leave
#define calltree_c_call sm_tree_c_call
#define calltree_c_leave sm_tree_c_leave
#define calltree_site_off sm_tree_site_off

static inline bool calltree_may_disable(sm_thread *thread, const void *key, PyObject *callable) {
    sm_node *child = sm_tree_known(thread, key);
    if (child != NULL)
        return sm_tree_is_trivial(child);
    const sm_function *function = sm_function_of_c(key, callable);
    return function != NULL && function->left_out;
}

SM_MONITORING_SOURCE(calltree_monitoring, calltree);
SM_PROFILEFUNC_SOURCE(calltree_profilefunc, calltree)

#if SM_HAS_MONITORING
/* The same with objects alongside: an int that the interpreter made to say where the event is was not the program's. */
#define WITHOUT_PLACE(event)                                                                                           \
    static PyObject *paths_##event(PyObject *self, PyObject *const *args, size_t count, PyObject *names) {             \
        sm_objects_unborn(args[1]);                                                                                    \
        return calltree_monitoring_##event(self, args, count, names);                                                  \
    }
WITHOUT_PLACE(start)
WITHOUT_PLACE(resume)
WITHOUT_PLACE(throw)
WITHOUT_PLACE(return)
WITHOUT_PLACE(yield)
WITHOUT_PLACE(unwind)
WITHOUT_PLACE(call)
WITHOUT_PLACE(c_return)
WITHOUT_PLACE(c_raise)
static const sm_monitoring_callbacks paths_monitoring_callbacks = {{paths_start, paths_resume, paths_throw,
                                                                    paths_return, paths_yield, paths_unwind, paths_call,
                                                                    paths_c_return, paths_c_raise, NULL, NULL},
                                                                   NULL};
#endif

static inline void calltree_calls_from(sm_thread *thread, const void *caller) {
    if (SM_UNLIKELY(sm_tree_of(thread)->node->key != caller))
        (void)sm_tree_calls_from(thread, caller);
}

#if SM_HAS_EVALFRAME
SM_EVALFRAME_SOURCE(calltree_evalframe, calltree)
#endif

#define linetimes_wants sm_lines_wants
#define linetimes_line sm_lines_line
#define linetimes_resume sm_lines_resume
#define linetimes_leave sm_lines_leave
#define linetimes_instruction sm_lines_instruction

#if SM_HAS_MONITORING
SM_MONITORING_LINES(linetimes_monitoring, linetimes);
#else
SM_TRACEFUNC_SOURCE(linetimes_tracefunc, linetimes)
#endif

/* Births and deaths: by type; by line; by line and call path, with the call tree alongside. */

/* On the direct path there is the main interpreter alone, so what runs is what holds its lock: a load instead of a
 * call. */
static inline PyThreadState *direct_tstate(void) {
    return *sm_reference_direct.places.holder;
}

#define types_born(object) sm_objects_born_by_type(object, direct_tstate())
#define types_died(object) sm_objects_died_by_type(object)
#define types_rare(object, event) sm_objects_rare(object, event, sm_tstate_unchecked(), NULL)
#define types_poked sm_objects_poked
#define types_blind sm_objects_blind

#define lines_born(object) sm_objects_born_by_line(object, direct_tstate(), NULL)
#define lines_died(object) sm_objects_died_by_line(object)
#define lines_rare(object, event) sm_objects_rare(object, event, sm_tstate_unchecked(), NULL)
#define lines_poked sm_objects_poked
#define lines_blind sm_objects_blind

/* The node that the thread is at; NULL: it was not met yet, or its stack was exchanged since. */
static inline const void *path_here(const PyThreadState *tstate) {
    sm_thread *thread = sm_this_thread;
    bool known = thread->tstate == tstate && thread->session == sm_engine.session &&
                 thread->chunk == sm_tstate_chunk(thread->tstate);
    return SM_LIKELY(known) ? sm_tree_of(thread)->node : NULL;
}

static inline void paths_born(PyObject *object) {
    PyThreadState *tstate = direct_tstate();
    sm_objects_born_by_line(object, tstate, path_here(tstate));
}
#define paths_died(object) sm_objects_died_by_line(object)
static inline void paths_rare(PyObject *object, sm_reference_event event) {
    PyThreadState *tstate = sm_tstate_unchecked();
    sm_objects_rare(object, event, tstate, path_here(tstate));
}
#define paths_poked sm_objects_poked
#define paths_blind sm_objects_blind

SM_REFTRACER_SOURCE(objects_types, types);
SM_REFTRACER_SOURCE(objects_lines, lines);
SM_REFTRACER_SOURCE(objects_paths, paths);

const sm_recorder *const sm_recorders[] = {&sm_calltree, &sm_linetimes, &sm_objects_recorder, NULL};

static const sm_source *const calltree_sources[] = {&sm_source_monitoring, &sm_source_evalframe, &sm_source_profilefunc,
                                                    NULL};
static const sm_source *const linetimes_sources[] = {&sm_source_monitoring, &sm_source_tracefunc, NULL};

static const sm_source *const objects_sources[] = {&sm_source_reftracer, NULL};

const sm_span_receiver sm_objects_span_receiver = {sm_objects_span_open, sm_objects_span_close, sm_objects_span_run,
                                                   sm_objects_quiet, sm_objects_unborn};

const sm_source *const *sm_sources_of(const sm_recorder *recorder) {
    if (recorder == &sm_objects_recorder)
        return objects_sources;
    return recorder == &sm_linetimes ? linetimes_sources : calltree_sources;
}

void sm_wire(const sm_recorder *recorder, const sm_recorder *alongside, const sm_settings *settings) {
    sm_reftracer_in_use = alongside == &sm_objects_recorder ? &objects_paths_functions
                          : settings->lines                 ? &objects_lines_functions
                                                            : &objects_types_functions;
    /* evalframe may have to fall back on profilefunc, so all are made ready */
    sm_monitoring_callbacks_in_use = &calltree_monitoring_callbacks;
#if SM_HAS_MONITORING
    if (recorder == &sm_linetimes)
        sm_monitoring_callbacks_in_use = &linetimes_monitoring_callbacks;
    else if (alongside == &sm_objects_recorder)
        sm_monitoring_callbacks_in_use = &paths_monitoring_callbacks;
#else
    (void)recorder;
    sm_tracefunc_in_use = linetimes_tracefunc_hook;
    sm_tracefunc_wants_in_use = linetimes_wants;
#endif
    sm_profilefunc_in_use = calltree_profilefunc_hook;
#if SM_HAS_EVALFRAME
    sm_evalframe_in_use = calltree_evalframe_eval;
#endif
}
