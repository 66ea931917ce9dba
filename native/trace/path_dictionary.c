#include "trace/path_dictionary.h"

#include "base/alloc.h"

/* Replace the count of each run in start[] by the index at which the run begins. */
static void sum_up(uint32_t *start, size_t runs) {
    uint32_t sum = 0;
    for (size_t i = 0; i <= runs; i++) {
        uint32_t count = start[i];
        start[i] = sum;
        sum += count;
    }
}

/* Restore the starts after filling, which has moved each one to the beginning of the next run. */
static void shift_back(uint32_t *start, size_t runs) {
    for (size_t i = runs; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
}

int sm_dictionary_make(sm_dictionary *d) {
    size_t places = d->nodes + d->threads;
    d->rank_start = sm_calloc(d->threads + 1, sizeof *d->rank_start);
    d->by_rank = sm_calloc(d->nodes, sizeof *d->by_rank);
    d->child_start = sm_calloc(places + 1, sizeof *d->child_start);
    d->child = sm_calloc(d->nodes, sizeof *d->child);
    if (d->rank_start == NULL || d->by_rank == NULL || d->child_start == NULL || d->child == NULL)
        return -1;
    for (size_t n = 0; n < d->nodes; n++) {
        d->rank_start[d->thread[n]]++;
        d->child_start[d->parent[n] < 0 ? d->nodes + (size_t)d->thread[n] : (size_t)d->parent[n]]++;
    }
    sum_up(d->rank_start, d->threads);
    sum_up(d->child_start, places);
    for (size_t n = 0; n < d->nodes; n++) {
        d->by_rank[d->rank_start[d->thread[n]]++] = (uint32_t)n;
        size_t parent = d->parent[n] < 0 ? d->nodes + (size_t)d->thread[n] : (size_t)d->parent[n];
        d->child[d->child_start[parent]++] = (uint32_t)n;
    }
    shift_back(d->rank_start, d->threads);
    shift_back(d->child_start, places);
    return 0;
}

void sm_dictionary_free(sm_dictionary *d) {
    sm_free(d->rank_start);
    sm_free(d->by_rank);
    sm_free(d->child_start);
    sm_free(d->child);
    d->rank_start = d->by_rank = d->child_start = d->child = NULL;
}
