/* Times with errors from counts, exact times and samples. No Python.h, no globals. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SM_DEEP_LEVELS 6

/* Costs of our probes by process, in ns (table `processes`). Each points to `processes` values. */
typedef struct {
    const double *python_inside, *python_outside; /* cost of a counted entry, in the callee's and the caller's time */
    const double *c_inside, *c_outside;
    const double *resume_inside, *resume_outside;
    const double *piece;      /* cost in each exact piece */
    const double *deep;       /* more for a counted entry, in the caller's time, with deep calls below it */
    const double *cost_error; /* relative half-width of all these; 0 if the costs were not measured */
} sm_costs;

/* Input columns, borrowed. The caller has checked that references are in range, that parents precede their children,
 * and that nothing is negative. */
typedef struct {
    size_t nodes, functions, threads, processes;
    const int64_t *parent, *thread, *function, *calls, *resumes;
    const int64_t *timed, *timed_ns, *entered; /* number and ns of exact pieces; entries at which one began */
    const int64_t *sampled, *sampled_ns;       /* number of looks, and their ns */
    const double *sampled_sq;                  /* squares of each look's time, ns squared */
    const int64_t *wait_ns;                    /* time off the CPU, in addition to the others */
    const double *wait_sq;                     /* squares of looks that found it waiting, ns squared */
    const int64_t *ready_ns;                   /* part of wait_ns, ready but without a processor */
    const double *own_sq, *shared_ns;          /* errors of exact times that are sums of estimates: see the results */
    const int64_t *function_kind;
    const int64_t *thread_process, *thread_rest; /* rest: running ns outside of exact pieces; 0 for the looks' time */
    sm_costs costs;
    int distorted; /* errors include the probes' effect on the surrounding code */
} sm_estimate_input;

/* Results in ns, in arrays of `nodes` or `functions` values that the caller has allocated. Errors are 95 % half-widths.
 */
typedef struct {
    double *own, *own_error, *total, *total_error; /* parts of the wall time */
    double *total_wait;                            /* time off the CPU, which is part of total */
    /* For sums of totals of disjoint subtrees: both add up, and sqrt(square + distortion squared) bounds the error. */
    double *total_square, *total_distortion;
    double *own_sq, *shared_ns; /* running time: its part of its function's variance, and the error shared by nodes */
    int64_t *depth;
    double *function_own, *function_own_error, *function_distortion; /* the distortion is a part of the error */
} sm_estimates;

/* Estimate all times. Return 0, or -1 if out of memory. */
int sm_estimate(const sm_estimate_input *in, const sm_estimates *out);
