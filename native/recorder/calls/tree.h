/* A node of the call tree, and what a thread has of it. calltree.h tells the story. */
#ifndef SM_RECORDER_CALLS_TREE_H
#define SM_RECORDER_CALLS_TREE_H

#include "recorder/awaits.h"
#include "recorder/segments.h"

#define SM_TREE_FIRST 64
#define SM_TREE_DEPTH 32767 /* below, nodes' depths are not told apart */

typedef struct sm_node sm_node;

struct sm_node { /* one cache line: all that an event touches */
    const void *key;
    uint32_t calls, resumes; /* modulo 2^32: the rest is in sm_node_rest */
    const void *child_key[2];
    sm_node *child[2];
    sm_node *parent;    /* NULL: a thread's root */
    uint32_t more : 24; /* number of the table of all children, once there are more than two; 0: none */
    uint32_t token : 8; /* what the journal calls it, from its parent: journal/tokens.h. 0: it takes an operand */
    int16_t step;
    uint16_t awaits : 1; /* a coroutine or asynchronous generator: its suspensions are timed */
    uint16_t depth : 15; /* in the tree; no deeper than SM_TREE_DEPTH */
};

typedef struct {    /* where the journal of a thread goes on: journal.h. All NULL: there is none */
    uint8_t *at;    /* atomic: written with release order */
    uint8_t *limit; /* from here on the slow path is taken: it is time for a mark, or for another block */
    struct sm_stream *stream;
} sm_journal_end;

typedef struct sm_tree_thread { /* of the current thread only, but read by a flush */
    sm_node *node;
    sm_journal_end journal;
    sm_segments segments;
    sm_node *root, *folded;
    sm_node *looked;              /* where it was when the clock was read last */
    struct sm_tree_thread *store; /* where its paths are made: its own, or those of the group it is folded into */
    sm_so_far credit;             /* while it is saved: of the open segment, added to its node */
    struct sm_tree_chunk *chunks;
    unsigned char *block; /* what is left of the newest block of chunks */
    uint32_t block_left;
    struct sm_fold *fold; /* while folded: the frames since */
    uint32_t fold_count, fold_size;
    sm_awaits awaits; /* suspended coroutines, of their codes */
    sm_map parked;    /* where the thread was on its other stacks: see stacks.c */
} sm_tree_thread;

static inline sm_tree_thread *sm_tree_of(sm_thread *thread) {
    return (sm_tree_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

#endif
