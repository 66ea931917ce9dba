/* From what was counted, timed and sampled to times with errors. No Python.h, no globals. */
#ifndef SM_ESTIMATE_ESTIMATE_H
#define SM_ESTIMATE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#define SM_DEEP_LEVELS 6

/* Costs of our probes in one process, ns; see the table `processes`. Each points to `processes` values. */
typedef struct {
    const double *python_inside, *python_outside; /* an entry that is counted, in the callee's and the caller's time */
    const double *c_inside, *c_outside;
    const double *resume_inside, *resume_outside;
    const double *piece;      /* in each exact piece */
    const double *deep;       /* of an entry that is counted, more in the caller's time if calls below it went deep */
    const double *cost_error; /* relative half-width of all of these; 0: what the probes cost was not measured */
} sm_costs;

/* All borrowed. Sound as the reader leaves them: references in range, parents before children, nothing negative. */
typedef struct {
    size_t nodes, functions, threads, processes;
    const int64_t *parent, *thread, *function, *calls, *resumes;
    const int64_t *timed, *timed_ns, *entered; /* exact pieces; entries at which one began */
    const int64_t *sampled, *sampled_ns;       /* looks, and the time that they stand for */
    const double *sampled_sq;                  /* of each look's time, ns squared */
    const int64_t *wait_ns;                    /* off the CPU, in addition to the others */
    const double *wait_sq;                     /* of looks that found it waiting, ns squared */
    const int64_t *ready_ns;                   /* of wait_ns: without a processor */
    const int64_t *function_kind;
    const int64_t *thread_process, *thread_rest; /* rest: ns that ran outside of exact pieces; 0: what looks found */
    sm_costs costs;
    int distorted; /* whether errors are to contain what probes do to the code around them */
} sm_estimate_input;

/* `nodes` or `functions` values each, allocated by the caller. ns; errors are 95 % half-widths. */
typedef struct {
    double *own, *own_error, *total, *total_error; /* of the wall */
    double *total_wait;                            /* of total: off the CPU */
    /* For sums of totals, of nodes none of which lies below another: both add up, and sqrt(square + distortion
     * squared) is a bound of the sum's error. The plain sum of the totals' errors is another. */
    double *total_square, *total_distortion;
    int64_t *depth;
    double *function_own, *function_own_error, *function_distortion; /* the latter is in the error */
} sm_estimates;

/* 0, or -1 when out of memory. */
int sm_estimate(const sm_estimate_input *in, const sm_estimates *out);

#endif
