/* The dictionary of a journal: the tree of paths, by the numbers that its tokens name nodes with. No Python.h.
 *
 * A place in the tree is a node's id, or, for the root of thread t, which is no node, `nodes` + t. */
#ifndef SM_TRACE_PATH_DICTIONARY_H
#define SM_TRACE_PATH_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

/* The columns are borrowed, and sound as the reader leaves them: parents come before children, on the same thread. */
typedef struct {
    size_t nodes, threads;
    size_t sound_nodes, sound_threads; /* rows whose ids are those that the writer gave */
    const int64_t *parent, *thread;    /* of nodes */
    uint32_t *rank_start;              /* owned; threads + 1: where a thread's nodes begin in by_rank */
    uint32_t *by_rank;                 /* owned; nodes */
    uint32_t *child_start;             /* owned; nodes + threads + 1: where a place's children begin in child */
    uint32_t *child;                   /* owned; nodes */
} sm_dictionary;

/* Fills the owned parts from the others; sm_dictionary_free whatever comes of it. 0, or -1 when out of memory. */
int sm_dictionary_make(sm_dictionary *dictionary);
void sm_dictionary_free(sm_dictionary *dictionary);

/* The place that has this rank in the thread, or -1: it is not in the file. */
static inline int64_t sm_dictionary_rank(const sm_dictionary *d, size_t thread, uint64_t rank) {
    if (rank == 0) {
        return (int64_t)(d->nodes + thread);
    }
    if (rank > d->rank_start[thread + 1] - d->rank_start[thread]) {
        return -1;
    }
    uint32_t node = d->by_rank[d->rank_start[thread] + rank - 1];
    return node < d->sound_nodes ? (int64_t)node : -1;
}

/* The number-th child of a place, or -1. */
static inline int64_t sm_dictionary_child(const sm_dictionary *d, int64_t place, unsigned number) {
    if (number >= d->child_start[place + 1] - d->child_start[place]) {
        return -1;
    }
    uint32_t node = d->child[d->child_start[place] + number];
    return node < d->sound_nodes ? (int64_t)node : -1;
}

#endif
