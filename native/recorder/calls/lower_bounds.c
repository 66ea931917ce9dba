/* Decide which counts are lower bounds.
 *
 * A place that is switched off (source/monitoring/call_sites.c) reports no C function any more. So calls may be missing
 * from a *pair*: the function that contains the place, and the C function that it called. A node is a lower bound if
 * its parent's function and its own are a pair, and its parent may have run since: it was running then, or was entered
 * later. So the caller's nodes note their number of entries when the place is switched off. Later pairs of the caller
 * keep the first note, which marks too many nodes rather than too few.
 *
 * If where= leaves the caller out, all nodes of the C function are marked, like its buckets under <folded paths>. */
#include "base/map.h"
#include "recorder/calls/store.h"

#define ANY UINT32_MAX

/* The set of pairs. Guard: the engine's lock, also for what nodes note. */
static struct {
    sm_map pairs; /* uint64_t: caller's id << 32 | callee's id, plus 1 */
    bool everything;
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
    SM_EACH_THREAD (thread) {
        sm_tree_mark_parked(thread, running); /* parked stacks resume without an entry */
        sm_tree_mark_running(thread, true, running);
    }
}

/* Note the entries of nodes that do not run now: they are complete until they are entered again. */
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
        sm_main.lost_memory++;
        bounds.everything = true;
        return;
    }
    if (!known->sites_off)
        note_entries(known);
    known->sites_off = true;
}

bool sm_tree_note_site(const void *code, const void *key, PyObject *callable) {
    sm_function *callee = sm_function_of_c(key, callable);
    if (callee != NULL && callee->left_out)
        return false;
    sm_function *caller = sm_function_of_code((PyCodeObject *)(uintptr_t)code, NULL);
    sm_world_stop(); /* no node is entered between a look at what runs and a note of its entries */
    sm_tree_settle();
    sm_engine_lock();
    note_site(caller, callee);
    sm_engine_unlock();
    sm_world_start();
    return true;
}

static bool is_callee(uint32_t callee) { /* rarely called: only for buckets */
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
