#include <stdio.h>

#include "recorder/calls/calltree.h"
#include "recorder/calls/store.h"

/* Return the flags. The node's thread may change what is read here, but counters only grow. */
static uint32_t flags_of(const sm_node *node, const sm_node_rest *rest) {
    uint32_t flags = SM_READ(rest->flags) & (SM_NODE_LOWER_BOUND | SM_NODE_FOLDED | SM_NODE_SEEDED);
    return flags | (rest->running ? SM_NODE_RUNNING : 0) | (sm_tree_is_bound(node) ? SM_NODE_LOWER_BOUND : 0);
}

static double to_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

typedef struct { /* times of a node's exact pieces and of its waiting */
    uint64_t ticks;
    sm_off off;
} sums;

static sums sums_of(const sm_node_rest *rest) {
    const sm_node_more *more = __atomic_load_n(&rest->more, __ATOMIC_ACQUIRE);
    sums of = {__atomic_load_n(&rest->timed_ticks, __ATOMIC_ACQUIRE), {0, 0, 0}};
    if (more != NULL) {
        sm_off_add(&of.off, &more->off);
        sm_off_add(&of.off, &more->seen);
    }
    return of;
}

static void save_node(sm_output *output, const sm_thread *thread, const sm_node *node, sums of) {
    const sm_node_rest *rest = sm_rest(node);
    const sm_node_rest *above = node->parent->parent ? sm_rest(node->parent) : NULL;
    uint32_t number = sm_output_function_number(output, rest->function->function);
    if (number == UINT32_MAX)
        return;
    int64_t row[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    row[SM_NODES_ID] = rest->id;
    row[SM_NODES_PARENT] = above ? (int64_t)above->id : -1;
    row[SM_NODES_THREAD] = thread->id;
    row[SM_NODES_FUNCTION] = number;
    row[SM_NODES_CALLS] = SM_READ(node->calls);
    row[SM_NODES_RESUMES] = SM_READ(node->resumes);
    row[SM_NODES_EXCEPTIONS] = SM_READ(rest->exceptions);
    row[SM_NODES_TIMED] = (int64_t)SM_READ(rest->timed);
    row[SM_NODES_TIMED_NS] = (int64_t)to_ns((double)of.ticks);
    row[SM_NODES_ENTERED] = SM_READ(rest->entered);
    row[SM_NODES_SAMPLED] = SM_READ(rest->sampled);
    row[SM_NODES_SAMPLED_NS] = (int64_t)to_ns((double)SM_READ(rest->sampled_ticks));
    reals[SM_NODES_SAMPLED_SQ] = to_ns(to_ns(SM_READ(rest->sampled_sq)));
    row[SM_NODES_FLAGS] = flags_of(node, rest);
    const sm_node_more *more = __atomic_load_n(&rest->more, __ATOMIC_ACQUIRE);
    if (more != NULL) {
        row[SM_NODES_CALLS] += (int64_t)((uint64_t)SM_READ(more->calls_high) << 32);
        row[SM_NODES_RESUMES] += (int64_t)((uint64_t)SM_READ(more->resumes_high) << 32);
        row[SM_NODES_AWAITS] = SM_READ(more->awaits);
        row[SM_NODES_AWAIT_NS] = (int64_t)to_ns((double)SM_READ(more->await_ticks));
        row[SM_NODES_COMPARED_NS] = (int64_t)to_ns((double)SM_READ(more->compared));
        row[SM_NODES_BESIDE_NS] = (int64_t)to_ns((double)SM_READ(more->beside));
        reals[SM_NODES_WAIT_SQ] = to_ns(to_ns(SM_READ(more->seen_sq)));
    }
    row[SM_NODES_WAIT_NS] = (int64_t)to_ns((double)of.off.all);
    row[SM_NODES_READY_NS] = (int64_t)to_ns((double)of.off.ready);
    row[SM_NODES_LOCK_NS] = (int64_t)to_ns((double)of.off.lock);
    sm_writer_row(output->writer, SM_NODES, row, reals);
}

void sm_calltree_announce(const sm_thread *thread, const sm_node *node) {
    sm_engine_lock();
    save_node(&sm_main.output, thread->home, node, sums_of(sm_rest(node)));
    sm_engine_unlock();
}

int64_t sm_calltree_number(const sm_node *node) {
    const sm_node_rest *rest = sm_rest(node);
    return (rest->flags & SM_NODE_ROOT) == 0 ? (int64_t)rest->id : -1;
}

/* Return a sum that grows with every change of the node's counters. */
static uint32_t changes(const sm_node *node, const sm_node_rest *rest) {
    const sm_node_more *more = __atomic_load_n(&rest->more, __ATOMIC_ACQUIRE);
    uint32_t seldom = 0;
    if (more != NULL)
        seldom = (uint32_t)(SM_READ(more->off.all) + SM_READ(more->seen.all)) + SM_READ(more->awaits);
    return SM_READ(node->calls) + SM_READ(node->resumes) + SM_READ(rest->exceptions) + (uint32_t)SM_READ(rest->timed) +
           SM_READ(rest->sampled) + seldom + (flags_of(node, rest) << 24) + 1;
}

static void mark_all(bool gil, bool on) {
    sm_sampler_lock(); /* shadows are moved only with this lock */
    SM_EACH_THREAD (thread)
        sm_tree_mark_running(thread, gil, on);
    sm_sampler_unlock();
}

/* Write again the row of a node with an open exact piece, including that piece. */
static void save_open(sm_output *output, sm_thread *thread, uint32_t nodes, uint64_t now) {
    const sm_timing *timing = &thread->timing;
    sm_node *node = thread->ended ? NULL : sm_sampler_so_far(timing, now).of;
    if (node == NULL || sm_rest(node)->id >= nodes || sm_rest(node)->id < output->since)
        return;
    sums of = sums_of(sm_rest(node));
    sm_piece open = sm_sampler_so_far(timing, now); /* read after the row, so that nothing is counted twice */
    if (open.of != node)
        return;
    of.ticks += open.ran;
    sm_off_add(&of.off, &open.off);
    save_node(output, thread->home, node, of);
    sm_rest(node)->saved--;
}

static void save_changed(sm_output *output, const sm_thread *thread, const sm_node *node) {
    sm_node_rest *rest = sm_rest(node);
    uint32_t sum = changes(node, rest);
    if (!sm_output_all(output) && sum == rest->saved)
        return;
    save_node(output, thread, node, sums_of(rest));
    if (!output->whole)
        rest->saved = sum;
}

/* Write the changed paths of a thread, the newest chunk first. With output->since, this stops at the first older path:
 * a thread's numbers increase. Then the paths above are written too, unless they have been. */
static void save_thread(sm_output *output, sm_thread *thread, uint32_t nodes) {
    sm_tree_chunk *chunk = __atomic_load_n(&sm_tree_of(thread)->chunks, __ATOMIC_ACQUIRE);
    uint32_t since = sm_output_all(output) ? 0 : output->since;
    for (; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE); i-- > 0;) {
            const sm_node *node = &chunk->nodes[i];
            if (node->parent == NULL || chunk->rest[i].id >= nodes)
                continue;
            if (chunk->rest[i].id < since)
                return;
            save_changed(output, thread, node);
            for (const sm_node *above = node->parent; since > 0 && above->parent != NULL && sm_rest(above)->saved == 0;
                 above = above->parent)
                save_changed(output, thread, above);
        }
    }
}

void sm_calltree_save(sm_output *output) {
    uint32_t nodes = __atomic_load_n(&sm_tree.nodes, __ATOMIC_ACQUIRE);
    mark_all(output->gil, true);
    SM_EACH_THREAD (thread)
        save_thread(output, thread, nodes);
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (sm_main.settings.timing != SM_TIMING_NONE) {
        SM_EACH_THREAD (thread)
            save_open(output, thread, nodes, now);
    }
    mark_all(output->gil, false);
    char detail[160];
    snprintf(detail, sizeof detail, "calls on paths past the limit of %llu, counted flat under <folded paths>",
             (unsigned long long)sm_tree_chosen.max_paths);
    sm_output_loss(output, "paths-folded", sm_tree.folded, -1, detail);
    sm_output_loss(output, "journal-gaps", sm_trace_gaps(), -1,
                   "stretches of threads that are missing from the journal: the disk or the memory did not suffice");
    sm_output_loss(output, "sites-off", SM_READ(sm_engine.sites_off), -1,
                   "call sites that had called the same function many times and no longer report C functions; counts "
                   "marked >= are lower bounds");
}
