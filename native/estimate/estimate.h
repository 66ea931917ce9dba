/* From what was counted and timed to times with errors. No Python.h, no globals. */
#ifndef SM_ESTIMATE_ESTIMATE_H
#define SM_ESTIMATE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

/* Costs of our probes in one process, ns; see the table `processes`. Each points to `processes` values. */
typedef struct {
    const double *python_inside, *python_outside;
    const double *c_inside, *c_outside;
    const double *resume_inside, *resume_outside;
    const double *clock_ns, *cost_error; /* 0: what the probes cost was not measured */
    const double *far_ns;                /* that an event beyond byte 256 of its code costs more */
    const double *deep_ns;               /* that a call costs more which has deep ones below it */
    /* That it costs more to catch what a call has raised, and to call a coroutine; and less, a call that C code makes.
     */
    const double *catch_ns, *coroutine_ns, *from_c_ns;
} sm_costs;

/* All borrowed. Sound as the reader leaves them: references in range, parents before children. */
typedef struct {
    size_t nodes, functions, threads, processes;
    const int64_t *parent, *thread, *function, *calls, *resumes, *timed, *timed_ns, *sampled, *sampled_ns;
    const int64_t *exceptions; /* calls that one has ended */
    const int64_t *node_flags;
    const int64_t *ticked, *ticked_ns, *stretches, *stretch_ns;
    const double *ticked_var; /* of ticked_ns; 0: not known */
    const double *sampled_sq, *timed_sq;
    /* Samples of weights w of their own: their number; sums of w, w * ns, and of v = w * (w - 1), v * ns, v * ns
     * squared. And the largest v * ns squared of all samples. */
    const int64_t *young;
    const double *young_weight, *young_ns, *young_var, *young_var_ns, *young_var_sq, *sampled_most;
    const int64_t *wait_ns; /* off the CPU, in addition to the others */
    const double *wait_sq;
    const int64_t *ready_ns; /* of the former: without a processor */
    const int64_t *function_kind, *function_flags, *code_bytes;
    const int64_t *thread_process, *thread_rest;
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
