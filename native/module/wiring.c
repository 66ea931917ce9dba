/* Instantiates the sources' callbacks with the recorders' inline functions: the only file that knows both. Another
 * recorder, or several at once, is another instantiation here. */
#include "module/wiring.h"

#include "recorder/calltree.h"
#include "source/evalframe.h"
#include "source/monitoring.h"
#include "source/profilefunc.h"

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

const sm_source *const sm_sources[] = {&sm_source_monitoring, &sm_source_evalframe, &sm_source_profilefunc, NULL};

void sm_wire(const sm_source *source) {
    (void)source; /* evalframe may have to fall back on profilefunc, so all are made ready */
    sm_monitoring_callbacks_in_use = &calltree_monitoring_callbacks;
    sm_profilefunc_in_use = calltree_profilefunc_hook;
#if SM_HAS_EVALFRAME
    sm_evalframe_in_use = calltree_evalframe_eval;
#endif
}
