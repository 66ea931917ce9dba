/* Which counts are lower bounds.
 *
 * A place that is switched off (source/monitoring/call_sites.c) tells of no C function any more. What can be missing is
 * then a call of the C function that it has called for long, from the function that it stands in: a *pair*. A node is a
 * lower bound if its function and its parent's are a pair, and if its parent can have run since: it was running when
 * the place was switched off, or has been entered after that. So each node of the caller notes at that time how often
 * it had been entered; for later pairs of the same caller the first one's time counts, which marks too many rather than
 * too few.
 *
 * Where the caller has no node, since where= leaves it out, its calls count for whoever is above: then all nodes of the
 * C function are marked, as are its buckets under <folded paths>.
 *
 * The table of pairs is a set, keyed by the ids of both functions. If there is no memory for a pair,
 * all C functions are marked. It is touched with the engine's lock, as is what nodes note. */
#include "base/map.h"
#include "recorder/calls/store.h"

#define ANY UINT32_MAX /* caller: whoever is above */

static struct {      /* guard: the GIL, and to change it the engine's lock as well */
    sm_map pairs;    /* uint64_t: caller's id << 32 | callee's id, plus 1 */
    bool everything; /* out of memory */
} bounds;

static uint64_t pair_of(uint32_t caller, uint32_t callee) {
    return ((uint64_t)caller << 32 | callee) + 1;
}

static bool holds(uint32_t caller, uint32_t callee) {
    return sm_map_find(&bounds.pairs, pair_of(caller, callee), sizeof(uint64_t)) != NULL;
}

static bool add(uint32_t caller, uint32_t callee) {
    return sm_map_make(&bounds.pairs, pair_of(caller, callee), sizeof(uint64_t), 256) != NULL;
}

static void mark_all_running(bool running) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session != sm_engine.session)
            continue;
        sm_tree_mark_parked(thread, running); /* those go on without being entered again, too */
        sm_tree_mark_running(thread, true, running);
    }
}

/* Its nodes that do not run now are whole as long as they are not entered again. */
static void note_entries(sm_tree_function *caller) {
    mark_all_running(true);
    for (sm_node *node = caller->nodes; node != NULL; node = sm_rest(node)->same) {
        sm_node_rest *rest = sm_rest(node);
        if (rest->running)
            continue;
        rest->before = node->calls + node->resumes;
        rest->flags |= SM_NODE_BEFORE;
    }
    mark_all_running(false);
}

static void note_site(sm_function *caller, sm_function *callee) {
    sm_engine.sites_off++;
    sm_tree_function *known = caller != NULL ? sm_tree_function_of(caller) : NULL;
    if (callee == NULL || known == NULL || !add(caller->left_out ? ANY : caller->id, callee->id)) {
        sm_engine.lost_memory++;
        bounds.everything = true;
        return;
    }
    if (!known->sites_off)
        note_entries(known);
    known->sites_off = true;
}

void sm_tree_note_site(sm_function *caller, sm_function *callee) {
    sm_tree_settle();
    sm_engine_lock();
    note_site(caller, callee);
    sm_engine_unlock();
}

static bool is_callee(uint32_t callee) { /* rare: asked of buckets only */
    for (const uint64_t *pair = NULL; (pair = sm_map_next(&bounds.pairs, pair, sizeof *pair)) != NULL;) {
        if ((uint32_t)(*pair - 1) == callee)
            return true;
    }
    return false;
}

bool sm_tree_is_bound(const sm_node *node) {
    const sm_node_rest *rest = sm_rest(node), *above = sm_rest(node->parent);
    uint32_t callee = rest->function->function->id;
    if (bounds.pairs.count == 0 || rest->function->function->kind != SM_C)
        return bounds.everything && rest->function->function->kind == SM_C;
    if (bounds.everything || (rest->flags & SM_NODE_FOLDED))
        return bounds.everything || is_callee(callee);
    if (holds(ANY, callee))
        return true;
    if (!above->function->sites_off || !holds(above->function->function->id, callee))
        return false;
    return (above->flags & SM_NODE_BEFORE) == 0 || above->before != node->parent->calls + node->parent->resumes;
}

void sm_tree_bounds_free(void) {
    sm_map_free(&bounds.pairs);
    bounds.everything = false;
}
