/* The calls recorder's interface to the engine. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "recorder/calls/calltree.h"
#include "recorder/calls/frame_shadows.h"
#include "recorder/calls/store.h"

/* Free all that a thread's tree owns, except its nodes. */
static void free_stacks(sm_tree_thread *tree) {
    sm_free(tree->fold);
    sm_shadows_free(&tree->shadows);
    sm_map_free(&tree->parked);
    sm_map_free(&tree->awaits);
    tree->fold = NULL;
    tree->fold_count = tree->fold_size = 0;
#if SM_FREE_THREADED
    SM_CLEAR(tree->recent);
#endif
}

static void free_thread(sm_tree_thread *tree) {
    for (sm_tree_chunk *chunk = tree->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        for (uint32_t i = 0; i < chunk->used; i++)
            sm_free(chunk->rest[i].more);
        if (chunk->first) /* the oldest of its block: the others have been seen */
            free(chunk);
    }
    free_stacks(tree);
    memset(tree, 0, sizeof *tree);
}

static void forget(void) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next)
        free_thread(sm_tree_of(thread));
    sm_tree_free();
    sm_tree_bounds_free();
}

static void code_died(sm_code_entry *entry) {
    uint32_t id = entry->function->id;
    sm_tree_function *function = id < sm_tree.functions_size ? sm_tree.functions[id] : NULL;
    if (function != NULL && sm_main.running)
        sm_node_code_died(entry, function);
}

static void start(void) {
    forget();
    sm_codes_on_function_death(code_died);
    for (uint32_t i = 0; i < sm_functions_count(); i++)
        sm_function_by_id(i)->flags &= ~(uint32_t)SM_FUNCTION_SITES_OFF;
    sm_trace_start(sm_main.output.writer);
}

static sm_node *new_root(sm_tree_thread *tree) {
    sm_function *name = sm_function_synthetic("<thread>");
    sm_tree_function *function = name ? sm_tree_function_of(name) : NULL;
    return function ? sm_node_new(tree, NULL, NULL, function) : NULL;
}

static bool reserve_shadows(sm_tree_thread *tree) {
#if SM_FREE_THREADED
    if (tree->recent == NULL && (tree->recent = sm_malloc(SM_NODES_RECENT * sizeof *tree->recent)) == NULL)
        return false;
    sm_tree_forget_recent(tree->recent);
#endif
    return !sm_main.pairs[0].source->starts_only || sm_shadows_reserve(&tree->shadows, 0);
}

static bool begin_thread(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    free_stacks(tree); /* left by finalizers of the record's last thread */
    memset(tree, 0, sizeof *tree);
    tree->store = sm_tree_of(thread->home);
    tree->root = tree->store == tree ? new_root(tree) : tree->store->root;
    if (tree->root == NULL)
        return false;
    tree->node = tree->root;
    if (!sm_trace_thread(thread) || !reserve_shadows(tree))
        return false;
    tree->gate = sm_main.settings.timing != SM_TIMING_NONE;
    tree->shadows.open = sm_main.settings.timing == SM_TIMING_NONE ? tree->shadows.size : 0;
    return true;
}

static void end_thread(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_trace_thread_end(thread);
    thread->kept = sm_tree_bytes(tree);
    tree->node = tree->root;
    free_stacks(tree);
}

static bool follow_thread(sm_thread *thread, sm_thread_step step) {
    if (step == SM_THREAD_BEGINS)
        return begin_thread(thread);
    if (step == SM_THREAD_ENDS) {
        end_thread(thread);
        return true;
    }
    if (!reserve_shadows(sm_tree_of(thread)))
        return false;
    sm_tree_hold(thread, false);
    return sm_trace_thread(thread);
}

static bool resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_tree_thread *tree = sm_tree_of(thread);
    bool starts = sm_from_starts(tree);
    if (starts && tree->fold_count == 0 && thread->chunk == sm_tstate_chunk(thread->tstate))
        sm_shadows_settle(thread); /* the last entry may have ended without an event */
    bool same = sm_tree_resync(thread, frames, below, count, sm_tree_seed_frame);
    if (starts)
        sm_shadows_rebuild(thread, frames, below, count);
    return same;
}

static void settle(bool whole) {
    if (!whole)
        sm_trace_flush();
    sm_tree_settle();
}

static void end(bool forgotten) {
    if (forgotten) {
        forget();
        return;
    }
    SM_EACH_THREAD (thread)
        sm_tree_end_time(thread);
    sm_trace_stop();
    sm_node_forget_lists();
}

static void sum(double sums[2]) {
    sums[0] = sums[1] = 0.0;
    for (const sm_tree_chunk *chunk = sm_tree_of(sm_this_thread)->chunks; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->used; i++) {
            sums[0] += (double)chunk->rest[i].timed;
            sums[1] += (double)chunk->rest[i].timed_ticks;
        }
    }
}

bool sm_calltree_check(void) {
    SM_EACH_THREAD (thread) {
        if (thread->ended)
            continue;
        const sm_tree_thread *tree = sm_tree_of(thread);
        sm_shadows_settle(thread);
        if (tree->fold_count == 0) {
            const sm_node *node = tree->node;
            while (node->parent != NULL) {
                bool held =
                    node->parent->child[0] == node || node->parent->child[1] == node || sm_more(node->parent) != NULL;
                if (!held || node->key == SM_KEY_DEAD)
                    return false;
                node = node->parent;
            }
            if (node != tree->root)
                return false;
        }
        if (!sm_tree_check_nodes(tree))
            return false;
    }
    return true;
}

_Static_assert(sizeof(sm_tree_thread) <= SM_RECORDER_ROOM, "raise SM_RECORDER_ROOM");

uint64_t sm_calltree_paths(void) {
    return sm_tree.nodes;
}

uint64_t sm_calltree_bytes(void) {
    if (sm_main.pairs[0].recorder != &sm_calltree)
        return 0; /* the threads' data belongs to another recorder */
    uint64_t bytes = sm_tree.tables_count * sizeof *sm_tree.tables;
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        for (sm_tree_chunk *chunk = sm_tree_of(thread)->chunks; chunk != NULL; chunk = chunk->next)
            bytes += SM_TREE_CHUNK;
    }
    for (uint32_t i = 1; i <= sm_tree.tables_count; i++) {
        const sm_children *more = sm_tree.tables[i];
        bytes += sizeof *more + (more->mask + 1) * sizeof more->slots[0];
    }
    return bytes;
}

static const sm_setting settings[] = {
    {"max_paths", SM_NUMBER, &sm_tree_chosen.max_paths, 1000000, NULL},
    {"depth", SM_NUMBER, &sm_tree_chosen.trace_depth, 0, NULL},
    {"min_duration_ns", SM_NUMBER, &sm_tree_chosen.trace_least_ns, 0, NULL},
    {NULL, SM_FLAG, NULL, 0, NULL},
};

static const sm_thread_states threads = {follow_thread, resync, sm_shadows_follow};

const sm_recorder sm_calltree = {
    .name = "calltree",
    .without_gil = true,
    .settings = settings,
    .threads = &threads,
    .clock = &sm_tree_clocked,
    .start = start,
    .hold = sm_tree_hold,
    .wake = sm_tree_wake,
    .settle = settle,
    .save = sm_calltree_save,
    .sum = sum,
    .end = end,
};
