/* Each call, return, resume and yield has a probe, a part of whose cost falls into the segment that ends and a part
 * into the one that begins: into the callee's and into the caller's (native/engine/calibrate.c).
 *
 * Far events. sys.monitoring tells where in its code an event is, as an int. Those up to 256 exist already; beyond that
 * byte, the interpreter makes one for each event and throws it away. Which events are beyond is not counted, for it
 * would cost each of them; of a function's places, the part beyond byte 256 of its code is taken. A function begins
 * before it. Where the memory for it is not in the caches, as it is while calibrating, it costs COLD times as much.
 *
 * Deep calls (3.11). Where more than SM_FORESEEN_DEPTH calls are below one when it returns, its return is not foreseen.
 * How many are below a call, on average, follows from the counts of the nodes below; a node that is entered less often
 * than its parent is below as many of its calls.
 *
 * Unsure. What is known by such rules only may be off by SM_GUESSED of itself, or DEEP. And where a C function
 * evaluates each frame, the calibration's call, of a Python function by another, is dearer than one by C code, which is
 * no inlined call without us either, and cheaper than that of a coroutine, which enters that function twice, or one
 * that ends by an exception: nobody counts which call is which, so FROM_C and RAISED of it are stated. Found with
 * benchmarks/truth.py. */
#include "estimate/overhead.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const double NEAR = 256;    /* bytes */
static const double COLD = 2;      /* by benchmarks/truth.py, on 3.12 to 3.14 */
static const double DEEP = 0.2;    /* of what deep calls cost more may be off: how many they are is not counted */
static const double FROM_C = 0.03; /* of a deep call's cost, by which others differ where frames go through C */
static const double RAISED = 1.5;  /* of a call's cost, by which one that raises differs there */

typedef struct {
    double inside, outside;
    double unsure; /* half-width of either, beyond what the calibration's is */
} cost;

/* The part of a function's places that is far into its code. */
static double far_part(const sm_estimate_input *in, size_t n) {
    double bytes = (double)in->code_bytes[in->function[n]];
    return bytes > NEAR ? 1 - NEAR / bytes : 0;
}

static cost cost_of(const sm_estimate_input *in, size_t n, size_t process) {
    const sm_costs *c = &in->costs;
    double calls = (double)in->calls[n], resumes = (double)in->resumes[n], far = COLD * c->far_ns[process] / 2;
    if (in->function_kind[in->function[n]] == 1) {
        double of_caller = in->parent[n] >= 0 ? 2 * far * far_part(in, (size_t)in->parent[n]) : 0;
        return (cost){calls * (c->c_inside[process] + of_caller), calls * (c->c_outside[process] + of_caller),
                      SM_GUESSED * calls * of_caller};
    }
    far *= (calls + 2 * resumes) * far_part(in, n);
    double unsure = SM_GUESSED * far;
    if (c->deep_ns[process] > 0)
        unsure += (calls + resumes) * FROM_C * c->deep_ns[process] +
                  (double)in->exceptions[n] * RAISED * (c->python_inside[process] + c->python_outside[process]);
    return (cost){calls * c->python_inside[process] + resumes * c->resume_inside[process] + far,
                  calls * c->python_outside[process] + resumes * c->resume_outside[process] + far, unsure};
}

/* below: of each node, how many calls lie below one of its own, on average, where they are most. */
static void find_depths(const sm_estimate_input *in, double *below) {
    memset(below, 0, in->nodes * sizeof *below);
    for (size_t n = in->nodes; n-- > 0;) { /* children stand behind their parents */
        if (in->parent[n] < 0 || in->function_kind[in->function[n]] == 1)
            continue;
        size_t parent = (size_t)in->parent[n];
        double calls = (double)in->calls[n] + (double)in->resumes[n];
        double above = fmax(1, (double)in->calls[parent] + (double)in->resumes[parent]);
        below[parent] = fmax(below[parent], fmin(1, calls / above) * (1 + below[n]));
    }
}

int sm_overhead_count(const sm_estimate_input *in, double *segments, double *overhead, double *unsure) {
    double *below = sm_malloc((in->nodes + 1) * sizeof *below);
    if (below == NULL)
        return -1;
    find_depths(in, below);
    memset(segments, 0, in->nodes * sizeof *segments);
    memset(overhead, 0, in->nodes * sizeof *overhead);
    memset(unsure, 0, in->nodes * sizeof *unsure);
    for (size_t n = 0; n < in->nodes; n++) {
        size_t process = (size_t)in->thread_process[in->thread[n]];
        cost of = cost_of(in, n, process);
        double entered = (double)in->calls[n] + (double)in->resumes[n];
        segments[n] += entered;
        overhead[n] += of.inside;
        unsure[n] += of.unsure;
        if (in->parent[n] >= 0) {
            double deep = fmin(1, fmax(0, below[n] - SM_FORESEEN_DEPTH)) * in->costs.deep_ns[process];
            segments[in->parent[n]] += entered;
            overhead[in->parent[n]] += of.outside + (double)in->calls[n] * deep;
            unsure[in->parent[n]] += of.unsure + DEEP * (double)in->calls[n] * deep;
        }
    }
    sm_free(below);
    return 0;
}
