/* Sums over the nodes of each function. No Python.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    SM_SUM_CALLS,
    SM_SUM_RESUMES,
    SM_SUM_EXCEPTIONS,
    SM_SUM_AWAITS,
    SM_SUM_AWAIT_NS,
    SM_SUM_WAIT_NS,
    SM_SUM_READY_NS,
    SM_SUM_LOCK_NS,
    SM_SUMS
};

/* Input columns, borrowed and checked like those of estimate.h. */
typedef struct {
    size_t nodes, functions;
    const int64_t *parent, *function, *flags;
    const int64_t *summed[SM_SUMS]; /* node columns */
    const double *total, *total_error, *total_wait;
    const double *total_square, *total_distortion; /* see sm_estimates */
} sm_aggregate_input;

/* Results, in arrays of `functions` values that the caller has allocated. */
typedef struct {
    int64_t *summed[SM_SUMS];
    int64_t *node_flags; /* union of the flags of its nodes */
    double *total, *total_error, *total_wait;
} sm_aggregates;

/* Sum the nodes of each function; its total is that of its outermost nodes. Return 0, or -1 if out of memory. */
int sm_aggregate(const sm_aggregate_input *in, const sm_aggregates *out);

/* Return a + b, or the largest int64 on overflow, which damaged files can cause. */
static inline int64_t sm_add_saturated(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
