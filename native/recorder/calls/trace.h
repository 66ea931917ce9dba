/* The journal: when events happened, beside the tree that counts them.
 *
 * The tree is the dictionary. A thread's state is its current node, so an event is one byte: "child number k" or
 * "return" (trace/tokens.h). The clock is marked every SM_TRACE_STRIDE bytes, and wherever the recorder reads it
 * anyway. So long calls are exact, and each other event lies between two marks.
 *
 * Ownership: A *stream* is the journal of one thread. A *block* is a stretch of it that can be read by itself, since it
 * begins with a node and a time. The thread appends to its open block, and publishes `at` with release order, so others
 * may read what is before. A full block is queued, and the thread never touches it again. A worker without the GIL
 * compresses and writes blocks 25 times per second, or sooner if much is queued. A flush does so at once, like a thread
 * that finds the worker late.
 *
 * Beyond MOST_QUEUED bytes in the queue, or without memory, events are dropped, and the next block states that some are
 * missing. The program never waits.
 *
 * Locks, in this order: `disk` while pieces move to the file, `sums` while its content is summed up, and `lists`, for
 * some instructions, while the queue or the list of streams changes. A fork holds all three. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "recorder/calls/tree.h"
#include "trace/tokens.h"

#define SM_TRACE_STRIDE 31 /* most bytes between two marks */

/* Start a recording. writer: of its file, or NULL to drop events. */
void sm_trace_start(sm_writer *writer);
/* End all streams, and write everything. */
void sm_trace_stop(void);
void sm_trace_flush(void);
uint64_t sm_trace_gaps(void); /* number of times that events were dropped */

/* Begin a thread, or resume it after its end. Return false if out of memory. */
bool sm_trace_thread(sm_thread *thread);
void sm_trace_thread_end(sm_thread *thread);

/* Return true if events go into a file. Those of a forked child do not before its own recording starts. */
bool sm_trace_has_file(void);

void sm_trace_look(sm_thread *thread);
void sm_trace_mark(sm_thread *thread, uint64_t now); /* gives the last event a time */
void sm_trace_enter_far(sm_thread *thread, const sm_node *node, bool resumed);
void sm_trace_goto(sm_thread *thread, sm_node *node); /* changes the path without events */
void sm_trace_left(sm_thread *thread, sm_node *to, sm_leaving how);
void sm_trace_entered(sm_thread *thread, sm_node *node);
/* Write an instant of the program. kind: SM_INSTANT_...; span: its number, or 0. Return false if it is too long or
 * unwanted. */
bool sm_trace_instant(sm_thread *thread, unsigned kind, uint64_t span, const char *name, size_t name_size,
                      const char *json, size_t json_size);

/* With a clock reading for each event, each token is followed by a mark. */
extern unsigned sm_trace_unit; /* log2 of the ticks in a unit of marks */
void sm_trace_stamp_far(sm_thread *thread, uint8_t token, uint64_t now);
void sm_trace_stamped(sm_thread *thread, uint64_t now); /* called when `at` has reached `limit`, after a mark */

static inline void sm_trace_stamp(sm_thread *thread, uint8_t token, uint64_t now) {
    sm_trace_end *end = &sm_tree_of(thread)->journal;
    uint64_t units = now >> sm_trace_unit, since = units - end->mark;
    if (SM_UNLIKELY(since >= 0x80)) {
        sm_trace_stamp_far(thread, token, now);
        return;
    }
    uint8_t *at = end->at;
    end->mark = units;
    at[0] = token;
    at[1] = SM_TOKEN_MARK;
    at[2] = (uint8_t)since;
    at += 3;
    __atomic_store_n(&end->at, at, __ATOMIC_RELEASE);
    if (SM_UNLIKELY(at >= end->limit))
        sm_trace_stamped(thread, now);
}

static inline void sm_trace_put(sm_thread *thread, uint8_t token) {
    sm_tree_thread *tree = sm_tree_of(thread);
    uint8_t *at = tree->journal.at;
    *at++ = token;
    __atomic_store_n(&tree->journal.at, at, __ATOMIC_RELEASE);
    if (SM_UNLIKELY(at >= tree->journal.limit))
        sm_trace_look(thread);
}

/* Enter this node, or leave the current one. The thread moves first, as a block may begin after the token. */
static inline void sm_trace_enter(sm_thread *thread, sm_node *node, bool resumed) {
    SM_WRITE(sm_tree_of(thread)->node, node);
    if (SM_LIKELY(node->token != 0))
        sm_trace_put(thread, resumed ? node->token | SM_TOKEN_END : node->token);
    else
        sm_trace_enter_far(thread, node, resumed);
}

static inline void sm_trace_leave(sm_thread *thread, sm_node *to, sm_leaving how) {
    SM_WRITE(sm_tree_of(thread)->node, to);
    sm_trace_put(thread, (uint8_t)how);
}
