/* Totals must not count recursion twice, so a walk over the tree counts how often each function is on the path.
 * Parents precede children in the rows, but siblings' subtrees interleave. The path is in the links (first child
 * down, parent up), so a tree of any depth needs no stack. */
#include "estimate/aggregate.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

typedef struct {
    int32_t *first, *next; /* by node: a list of children, or -1. The extra node `nodes` is the parent of the roots */
    int32_t *on_path;      /* by function */
} walk;

typedef struct {
    double square, distortion;
} bounds;

static void link_children(const sm_aggregate_input *in, const walk *w) {
    for (size_t n = 0; n <= in->nodes; n++)
        w->first[n] = -1;
    for (size_t n = in->nodes; n-- > 0;) {
        size_t parent = in->parent[n] < 0 ? in->nodes : (size_t)in->parent[n];
        w->next[n] = w->first[parent];
        w->first[parent] = (int32_t)n;
    }
}

static void add_total(const sm_aggregate_input *in, const sm_aggregates *out, bounds *of, size_t n) {
    int64_t f = in->function[n];
    out->total[f] += in->total[n];
    out->total_wait[f] += in->total_wait[n];
    out->total_error[f] += in->total_error[n]; /* a linear sum, which is an upper bound */
    of[f].square += in->total_square[n];       /* another bound, better for many nodes */
    of[f].distortion += in->total_distortion[n];
}

static void walk_totals(const sm_aggregate_input *in, const sm_aggregates *out, const walk *w, bounds *of) {
    int32_t n = w->first[in->nodes];
    while (n >= 0) {
        if (w->on_path[in->function[n]]++ == 0)
            add_total(in, out, of, (size_t)n);
        if (w->first[n] >= 0) {
            n = w->first[n];
            continue;
        }
        while (n >= 0) { /* leave nodes until one has a sibling */
            w->on_path[in->function[n]]--;
            if (w->next[n] >= 0) {
                n = w->next[n];
                break;
            }
            n = (int32_t)in->parent[n];
        }
    }
}

int sm_aggregate(const sm_aggregate_input *in, const sm_aggregates *out) {
    walk w = {
        .first = sm_malloc((in->nodes + 1) * sizeof(int32_t)),
        .next = sm_malloc((in->nodes + 1) * sizeof(int32_t)),
        .on_path = sm_calloc(in->functions, sizeof(int32_t)),
    };
    bounds *of = sm_calloc(in->functions, sizeof *of);
    int done = -1;
    if (w.first == NULL || w.next == NULL || w.on_path == NULL || of == NULL || in->nodes >= INT32_MAX)
        goto end;
    for (int s = 0; s < SM_SUMS; s++) {
        memset(out->summed[s], 0, in->functions * sizeof(int64_t));
        for (size_t n = 0; n < in->nodes; n++) {
            int64_t *sum = &out->summed[s][in->function[n]];
            *sum = sm_add_saturated(*sum, in->summed[s][n]);
        }
    }
    memset(out->node_flags, 0, in->functions * sizeof(int64_t));
    for (size_t n = 0; n < in->nodes; n++)
        out->node_flags[in->function[n]] |= in->flags[n];
    for (size_t f = 0; f < in->functions; f++)
        out->total[f] = out->total_error[f] = out->total_wait[f] = 0;
    link_children(in, &w);
    walk_totals(in, out, &w, of);
    for (size_t f = 0; f < in->functions; f++)
        out->total_error[f] = fmin(out->total_error[f], hypot(sqrt(of[f].square), of[f].distortion));
    done = 0;
end:
    sm_free(w.first);
    sm_free(w.next);
    sm_free(w.on_path);
    sm_free(of);
    return done;
}
