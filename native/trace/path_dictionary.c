#include "trace/path_dictionary.h"

#include "base/alloc.h"

/* Sum up the counts of runs, each two places behind its run. Then the start of a run is one place behind it, and moves
 * to its own place, which is the next one's, as the run is filled. */
static void sum_up(uint32_t *start, size_t runs) {
    for (size_t i = 2; i < runs + 2; i++)
        start[i] += start[i - 1];
}

static size_t place_above(const sm_dictionary *d, size_t n) {
    return d->parent[n] < 0 ? d->nodes + (size_t)d->thread[n] : (size_t)d->parent[n];
}

int sm_dictionary_make(sm_dictionary *d) {
    size_t places = d->nodes + d->threads;
    d->rank_start = sm_calloc(d->threads + 2, sizeof *d->rank_start);
    d->by_rank = sm_calloc(d->nodes, sizeof *d->by_rank);
    d->child_start = sm_calloc(places + 2, sizeof *d->child_start);
    d->child = sm_calloc(d->nodes, sizeof *d->child);
    if (d->rank_start == NULL || d->by_rank == NULL || d->child_start == NULL || d->child == NULL)
        return -1;
    for (size_t n = 0; n < d->nodes; n++) {
        d->rank_start[d->thread[n] + 2]++;
        d->child_start[place_above(d, n) + 2]++;
    }
    sum_up(d->rank_start, d->threads);
    sum_up(d->child_start, places);
    for (size_t n = 0; n < d->nodes; n++) {
        d->by_rank[d->rank_start[d->thread[n] + 1]++] = (uint32_t)n;
        d->child[d->child_start[place_above(d, n) + 1]++] = (uint32_t)n;
    }
    return 0;
}

void sm_dictionary_free(sm_dictionary *d) {
    sm_free(d->rank_start);
    sm_free(d->by_rank);
    sm_free(d->child_start);
    sm_free(d->child);
    d->rank_start = d->by_rank = d->child_start = d->child = NULL;
}
