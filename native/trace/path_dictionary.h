/* The dictionary of a journal: the tree of paths, by the numbers with which tokens name nodes. No Python.h.
 *
 * A place in the tree is a node's id, or `nodes` + t for the root of thread t, which is no node. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The dictionary. Its columns are borrowed and checked by the reader: a parent comes before its children, on the same
 * thread. */
typedef struct {
    size_t nodes, threads;
    size_t sound_nodes, sound_threads; /* rows whose ids are those of the writer */
    const int64_t *parent, *thread;
    uint32_t *rank_start;  /* owned; threads + 2: start of a thread's nodes in by_rank */
    uint32_t *by_rank;     /* owned; nodes */
    uint32_t *child_start; /* owned; nodes + threads + 2: start of a place's children in child */
    uint32_t *child;       /* owned; nodes */
} sm_dictionary;

/* Fill the owned arrays. Return 0, or -1 if out of memory. The caller frees in both cases. */
int sm_dictionary_make(sm_dictionary *dictionary);
void sm_dictionary_free(sm_dictionary *dictionary);

/* Return the place with this rank in the thread, or -1 if the file lacks it. */
static inline int64_t sm_dictionary_rank(const sm_dictionary *d, size_t thread, uint64_t rank) {
    if (rank == 0)
        return (int64_t)(d->nodes + thread);
    if (rank > d->rank_start[thread + 1] - d->rank_start[thread])
        return -1;
    uint32_t node = d->by_rank[d->rank_start[thread] + rank - 1];
    return node < d->sound_nodes ? (int64_t)node : -1;
}

/* Return the number-th child of a place, or -1. */
static inline int64_t sm_dictionary_child(const sm_dictionary *d, int64_t place, unsigned number) {
    if (number >= d->child_start[place + 1] - d->child_start[place])
        return -1;
    uint32_t node = d->child[d->child_start[place] + number];
    return node < d->sound_nodes ? (int64_t)node : -1;
}
