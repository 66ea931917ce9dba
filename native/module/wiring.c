/* Instantiates the sources' callbacks with the recorders' inline functions: the only file that knows both. Another
 * recorder, or several at once, is another instantiation here. */
#include "module/wiring.h"

#include "recorder/calltree.h"
#include "recorder/linetimes.h"
#include "source/evalframe.h"
#include "source/monitoring.h"
#include "source/profilefunc.h"
#include "source/tracefunc.h"

#define calltree_call sm_tree_call
#define calltree_resume sm_tree_resume
#define calltree_leave sm_tree_leave
#define calltree_c_call sm_tree_c_call
#define calltree_c_leave sm_tree_c_leave
#define calltree_count_only sm_tree_count_only

static inline bool calltree_may_disable(sm_thread *thread, const void *key, PyObject *callable) {
    sm_node *child = sm_tree_known(thread, key);
    if (child != NULL)
        return sm_tree_is_trivial(child);
    const sm_function *function = sm_function_of_c(key, callable);
    return function != NULL && function->left_out;
}

SM_MONITORING_SOURCE(calltree_monitoring, calltree);
SM_PROFILEFUNC_SOURCE(calltree_profilefunc, calltree)

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

const sm_recorder *const sm_recorders[] = {&sm_calltree, &sm_linetimes, NULL};

static const sm_source *const calltree_sources[] = {&sm_source_monitoring, &sm_source_evalframe, &sm_source_profilefunc,
                                                    NULL};
static const sm_source *const linetimes_sources[] = {&sm_source_monitoring, &sm_source_tracefunc, NULL};

const sm_source *const *sm_sources_of(const sm_recorder *recorder) {
    return recorder == &sm_linetimes ? linetimes_sources : calltree_sources;
}

void sm_wire(const sm_recorder *recorder) {
    /* evalframe may have to fall back on profilefunc, so all are made ready */
    sm_monitoring_callbacks_in_use = &calltree_monitoring_callbacks;
#if SM_HAS_MONITORING
    if (recorder == &sm_linetimes)
        sm_monitoring_callbacks_in_use = &linetimes_monitoring_callbacks;
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
