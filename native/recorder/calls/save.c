/* The calltree's rows in a recording. */
#include <stdio.h>

#include "clock/sampler.h"
#include "recorder/calls/blocks.h"
#include "recorder/calls/store.h"

enum { /* as in the file */
       FLAGS_KEPT = SM_NODE_LOWER_BOUND | SM_NODE_FOLDED | SM_NODE_SEEDED | SM_NODE_RUNNING
};

static double to_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

/* open: what is to be added, of a piece that has not ended. */
static void save_node(sm_output *output, const sm_thread *thread, const sm_node *node, const sm_piece *open) {
    const sm_node_rest *rest = sm_rest(node);
    const sm_function *function = rest->function->function;
    const sm_node_rest *above = node->parent->parent ? sm_rest(node->parent) : NULL;
    uint32_t number = sm_output_function_number(output, function);
    if (number == UINT32_MAX)
        return;
    int64_t row[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    row[SM_NODES_ID] = rest->id;
    row[SM_NODES_PARENT] = above ? (int64_t)above->id : -1;
    row[SM_NODES_THREAD] = thread->id;
    row[SM_NODES_FUNCTION] = number;
    row[SM_NODES_CALLS] = node->calls;
    row[SM_NODES_RESUMES] = node->resumes;
    row[SM_NODES_EXCEPTIONS] = rest->exceptions;
    row[SM_NODES_TIMED] = (int64_t)rest->timed;
    row[SM_NODES_TIMED_NS] = (int64_t)to_ns((double)(rest->timed_ticks + open->ran));
    row[SM_NODES_ENTERED] = rest->entered;
    row[SM_NODES_SAMPLED] = rest->sampled;
    row[SM_NODES_SAMPLED_NS] = (int64_t)to_ns((double)rest->sampled_ticks);
    reals[SM_NODES_SAMPLED_SQ] = to_ns(to_ns(rest->sampled_sq));
    row[SM_NODES_FLAGS] = rest->flags & FLAGS_KEPT;
    sm_off off = open->off;
    const sm_node_more *more = rest->more;
    if (more != NULL) {
        row[SM_NODES_CALLS] += (int64_t)((uint64_t)more->calls_high << 32);
        row[SM_NODES_RESUMES] += (int64_t)((uint64_t)more->resumes_high << 32);
        row[SM_NODES_AWAITS] = more->awaits;
        row[SM_NODES_AWAIT_NS] = (int64_t)to_ns((double)more->await_ticks);
        reals[SM_NODES_WAIT_SQ] = to_ns(to_ns(more->seen_sq));
        off.all += more->off.all + more->seen.all;
        off.ready += more->off.ready + more->seen.ready;
        off.lock += more->off.lock + more->seen.lock;
    }
    row[SM_NODES_WAIT_NS] = (int64_t)to_ns((double)off.all);
    row[SM_NODES_READY_NS] = (int64_t)to_ns((double)off.ready);
    row[SM_NODES_LOCK_NS] = (int64_t)to_ns((double)off.lock);
    sm_writer_row(output->writer, SM_NODES, row, reals);
}

void sm_calltree_announce(sm_output *output, const sm_thread *thread, const sm_node *node) {
    save_node(output, thread->home, node, &(sm_piece){NULL, 0, {0, 0, 0}});
}

int64_t sm_calltree_number(const sm_node *node) {
    const sm_node_rest *rest = sm_rest(node);
    return (rest->flags & SM_NODE_ROOT) == 0 ? (int64_t)rest->id : -1;
}

/* What a node's counters add up to: it grows with every change, so an equal sum means an unchanged node. */
static uint32_t changes(const sm_node *node, const sm_node_rest *rest) {
    const sm_node_more *more = rest->more;
    uint32_t seldom = more != NULL ? (uint32_t)(more->off.all + more->seen.all) + more->awaits : 0;
    return node->calls + node->resumes + rest->exceptions + (uint32_t)rest->timed + rest->sampled + seldom +
           ((uint32_t)rest->flags << 24) + 1;
}

static void mark_all(bool on) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session)
            sm_tree_mark_running(thread, on);
    }
}

/* The rows of nodes with an exact piece that is open, once more: with what that has so far. */
static void save_open(sm_output *output, sm_thread *thread, uint64_t now) {
    sm_piece open = sm_sampler_so_far(&sm_tree_of(thread)->timing, now);
    if (open.of == NULL)
        return;
    save_node(output, thread->home, open.of, &open);
    sm_rest(open.of)->saved--; /* it has to be written again */
}

static void save_thread(sm_output *output, sm_thread *thread) {
    for (sm_tree_chunk *chunk = sm_tree_of(thread)->chunks; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->used; i++) {
            sm_node *node = &chunk->nodes[i];
            sm_node_rest *rest = &chunk->rest[i];
            if (rest->flags & SM_NODE_ROOT)
                continue;
            if (sm_tree_is_bound(node)) /* and stays one */
                rest->flags |= SM_NODE_LOWER_BOUND;
            uint32_t sum = changes(node, rest);
            if (sm_output_all(output) || sum != rest->saved) {
                save_node(output, thread, node, &(sm_piece){NULL, 0, {0, 0, 0}});
                if (!output->whole)
                    rest->saved = sum;
            }
        }
    }
}

void sm_calltree_save(sm_output *output) {
    if (output->writer == sm_engine.output.writer)
        sm_blocks_flush();
    uint64_t now = sm_clock_read(&sm_engine.clock);
    mark_all(true);
    sm_sampler_lock();
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session)
            save_thread(output, thread);
    }
    sm_sampler_unlock();
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session)
            save_open(output, thread, now);
    }
    mark_all(false);
    char detail[160];
    snprintf(detail, sizeof detail, "calls on paths past the limit of %llu, counted flat under <folded paths>",
             (unsigned long long)sm_engine.settings.max_paths);
    sm_output_loss(output, "paths-folded", sm_tree.folded, -1, detail);
    sm_output_loss(output, "journal-gaps", sm_journal_gaps(), -1,
                   "stretches of threads that are missing from the journal: the disk or the memory did not suffice");
    sm_output_loss(output, "sites-off", sm_engine.sites_off, -1,
                   "call sites that had called the same function many times and no longer report C functions; counts "
                   "marked >= are lower bounds");
}
