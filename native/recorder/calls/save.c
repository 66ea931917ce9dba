/* The calltree's rows in a recording. */
#include <stdio.h>

#include "recorder/calls/blocks.h"
#include "recorder/calls/store.h"

enum { /* as in the file */
       FLAGS_KEPT = SM_NODE_LOWER_BOUND | SM_NODE_FOLDED | SM_NODE_SEEDED | SM_NODE_RUNNING | SM_NODE_WORTH |
       SM_NODE_FROM_C
};

static double to_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

static void save_node(sm_output *output, const sm_thread *thread, const sm_node *node) {
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
    row[SM_NODES_TIMED_NS] = (int64_t)to_ns((double)rest->timed_ticks);
    row[SM_NODES_SAMPLED] = rest->sampled;
    row[SM_NODES_SAMPLED_NS] = (int64_t)to_ns((double)rest->sampled_ticks);
    reals[SM_NODES_SAMPLED_SQ] = to_ns(to_ns(rest->sampled_sq));
    reals[SM_NODES_SAMPLED_MOST] = to_ns(to_ns(rest->sampled_most));
    reals[SM_NODES_TIMED_SQ] = to_ns(to_ns(rest->timed_sq));
    row[SM_NODES_STRETCHES] = rest->stretches;
    row[SM_NODES_STRETCH_NS] = (int64_t)to_ns((double)rest->stretch_ticks);
    row[SM_NODES_FLAGS] = rest->flags & FLAGS_KEPT;
    if (rest->more != 0) {
        const sm_node_more *more = &sm_tree.more[rest->more];
        row[SM_NODES_CALLS] += (int64_t)((uint64_t)more->calls_high << 32);
        row[SM_NODES_RESUMES] += (int64_t)((uint64_t)more->resumes_high << 32);
        row[SM_NODES_TICKED] = more->ticked;
        row[SM_NODES_TICKED_NS] = (int64_t)to_ns((double)more->ticked_ticks);
        reals[SM_NODES_TICKED_VAR] = to_ns(to_ns(more->ticked_var));
        row[SM_NODES_AWAITS] = more->awaits;
        row[SM_NODES_AWAIT_NS] = (int64_t)to_ns((double)more->await_ticks);
        row[SM_NODES_WAIT_NS] = (int64_t)to_ns((double)more->off.all);
        row[SM_NODES_READY_NS] = (int64_t)to_ns((double)more->off.ready);
        row[SM_NODES_LOCK_NS] = (int64_t)to_ns((double)more->off.lock);
        reals[SM_NODES_WAIT_SQ] = to_ns(to_ns(more->guessed_sq));
    }
    if (rest->young != 0)
        sm_young_save(&sm_tree.young[rest->young], row, reals, SM_NODES_YOUNG);
    sm_writer_row(output->writer, SM_NODES, row, reals);
}

void sm_calltree_announce(sm_output *output, const sm_thread *thread, const sm_node *node) {
    save_node(output, thread->home, node);
}

int64_t sm_calltree_number(const sm_node *node) {
    const sm_node_rest *rest = sm_rest(node);
    return (rest->flags & SM_NODE_ROOT) == 0 ? (int64_t)rest->id : -1;
}

/* What a node's counters add up to: it grows with every change, so an equal sum means an unchanged node. */
static uint32_t changes(const sm_node *node, const sm_node_rest *rest) {
    const sm_node_more *more = rest->more != 0 ? &sm_tree.more[rest->more] : NULL;
    uint32_t seldom = more != NULL ? (uint32_t)more->off.all + more->awaits + more->ticked : 0;
    uint32_t young = rest->young != 0 ? sm_tree.young[rest->young].count : 0;
    return node->calls + node->resumes + rest->exceptions + (uint32_t)rest->timed + rest->sampled + rest->stretches +
           seldom + young + ((rest->flags & ~(uint32_t)SM_NODE_OPEN) << 24) + 1;
}

/* The node whose segment is being timed gets what that has so far, or gives it back. Threads may share nodes. */
static void credit_open(sm_thread *thread, uint64_t now, bool on) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (on)
        tree->credit = sm_segments_so_far(thread, &tree->segments, now);
    sm_node_more *wait = tree->credit.off.all != 0 ? sm_node_has(tree->segments.open) : NULL;
    if (wait == NULL)
        tree->credit.off = (sm_off){0}; /* or there was no memory for it */
    if (tree->credit.ticks + tree->credit.off.all == 0)
        return;
    sm_node_rest *rest = sm_rest(tree->segments.open);
    if (on) {
        rest->flags |= SM_NODE_OPEN;
        rest->timed_ticks += tree->credit.ticks;
    } else {
        rest->flags &= ~(uint32_t)SM_NODE_OPEN;
        rest->timed_ticks -= tree->credit.ticks;
    }
    if (wait != NULL && on)
        sm_off_add(&wait->off, &tree->credit.off);
    else if (wait != NULL)
        sm_off_take(&wait->off, &tree->credit.off);
    if (!on)
        tree->credit = (sm_so_far){0};
}

static void mark_all(uint64_t now, bool on) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session != sm_engine.session)
            continue;
        sm_tree_mark_running(thread, on);
        credit_open(thread, now, on);
    }
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
            if (sm_output_all(output) || (rest->flags & SM_NODE_OPEN) || sum != rest->saved) {
                save_node(output, thread, node);
                if (!output->whole)
                    rest->saved = sum;
            }
        }
    }
}

void sm_calltree_save(sm_output *output) {
    sm_tree_settle();
    if (output->writer == sm_engine.output.writer)
        sm_blocks_flush();
    uint64_t now = sm_clock_read(&sm_engine.clock);
    mark_all(now, true);
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session)
            save_thread(output, thread);
    }
    mark_all(now, false);
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
