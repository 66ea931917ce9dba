/* The journal: when what happened, beside the tree that says what and how often.
 *
 * The tree is the dictionary. A thread's state is the node that it is at, so an event is "child number k of where we
 * are" or "return": a byte (trace/tokens.h). The clock is marked every SM_TRACE_STRIDE bytes and wherever the
 * recorder reads it anyway, so that what is long is exact, and each other event lies between two marks.
 *
 * Who owns what. A *stream* is the journal of one thread, a *block* a stretch of it that can be read by itself: it
 * begins with the node and the time. The thread appends to its open block; `at` is published with release order, so
 * that what is before it can be read by others at any time. A full block is sealed: it goes to the queue, and the
 * thread never touches it again. A worker (base/worker.h), which needs no interpreter lock, compresses what is there
 * 25 times a second, or sooner if much is queued, and puts it into the file; a flush does the same at once, and so does
 * a thread that finds the worker late. What is not in the file yet is bounded: past MOST_QUEUED bytes (trace_blocks.c)
 * events go nowhere, until there is room, and the block that then begins says that something is missing before it. The
 * program never waits.
 *
 * Locks, in this order: `disk` is held by who moves pieces to the file, `sums` by who adds up what is in it, `lists` by
 * who touches the queue and the list of streams, for some instructions. A fork holds all three.
 *
 * Invariants: at < end of the open block, with SM_TRACE_SLACK bytes of room after it; a piece ends between two
 * tokens. Without memory for a block, events go nowhere as they do when the disk is too slow. */
#ifndef SM_RECORDER_CALLS_TRACE_H
#define SM_RECORDER_CALLS_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "hooks/gc_callbacks.h"
#include "recorder/calls/tree.h"
#include "trace/tokens.h"

#define SM_TRACE_STRIDE 31 /* bytes between two marks, at most */

/* A recording begins, perhaps with a journal. writer: of its file; NULL: there is none, and events go nowhere. */
void sm_trace_start(sm_writer *writer);
/* It ends: all streams have their ends, and everything is in the file. */
void sm_trace_stop(void);
void sm_trace_flush(void);    /* what is there goes into the file, if there is one; without the engine's lock */
uint64_t sm_trace_gaps(void); /* times that events had to be left out */

/* A thread begins, or goes on after its end. False: out of memory. */
bool sm_trace_thread(sm_thread *thread);
void sm_trace_thread_end(sm_thread *thread);

/* Does what is met go into a file? What a forked child meets before its own recording begins is no part of its
 * parent's. The row of a new node then goes there, before a piece names it. */
bool sm_trace_has_file(void);

/* From here on no event of the fast path: `at` has reached `limit`, or an operand is needed. */
void sm_trace_look(sm_thread *thread);
void sm_trace_mark(sm_thread *thread, uint64_t now); /* the event that was written last happened now */
void sm_trace_enter_far(sm_thread *thread, const sm_node *node, bool resumed);
/* From slow paths, which do not know whether there is a journal. */
void sm_trace_goto(sm_thread *thread, sm_node *node); /* the path is this node's, without events */
void sm_trace_left(sm_thread *thread, sm_node *to, sm_leaving how);
void sm_trace_entered(sm_thread *thread, sm_node *node);
/* What the program says of itself. kind: SM_INSTANT_...; span: its number, for those kinds that have one. False: there
 * is no journal, or it is too long. */
bool sm_trace_instant(sm_thread *thread, unsigned kind, uint64_t span, const char *name, size_t name_size,
                      const char *json, size_t json_size);
void sm_trace_pause(sm_thread *thread, const sm_pause *pause); /* of the cycle collector; it collects on this thread */

/* Where each event has its own time, the clock is marked behind each, at once. */
extern unsigned sm_trace_unit; /* a unit of marks is so many ticks, as a power of two */
/* The same for a mark that takes more than a byte. */
void sm_trace_stamp_far(sm_thread *thread, uint8_t token, uint64_t now);
void sm_trace_stamped(sm_thread *thread, uint64_t now); /* `at` has reached `limit`, behind a mark */

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

/* The thread enters this node, or leaves the one that it is at: it is at the other one from here on, since a block may
 * begin behind the token. */
static inline void sm_trace_enter(sm_thread *thread, sm_node *node, bool resumed) {
    sm_tree_of(thread)->node = node;
    if (SM_LIKELY(node->token != 0))
        sm_trace_put(thread, resumed ? node->token | SM_TOKEN_END : node->token);
    else
        sm_trace_enter_far(thread, node, resumed);
}

static inline void sm_trace_leave(sm_thread *thread, sm_node *to, sm_leaving how) {
    sm_tree_of(thread)->node = to;
    sm_trace_put(thread, (uint8_t)how);
}

#endif
