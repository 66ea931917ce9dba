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
 * Exceptions. One that goes through many calls costs about as much more as one that goes through one: it costs where it
 * is caught, below the caller. That is not counted; so many are caught in a node as its callees are left by more of
 * them than it is left by itself.
 *
 * Coroutines, and calls from C. A call of a coroutine costs more. Where a C function evaluates each frame (3.11), a
 * call that C code makes costs less, for it goes through C without us, too: which are such is a property of the path,
 * as the recorder saw it when it read the clock.
 *
 * Several functions in turn. In the loops of the calibration one function is called again and again. Where a function
 * calls several, the code of the interpreter and of the probes that an event needs is another one each time, and each
 * of their probes costs more: AMONG_OTHERS of it, where what a node's calls are of has an entropy of MIXED nats or
 * more, and less in proportion. By benchmarks/truth.py it is a fifth to a half of it on 3.12 to 3.14, and little where
 * the same few functions come in the same order; the least of that is taken.
 *
 * Unsure. What is known by such rules only may be off by SM_GUESSED of itself, or ROUGHLY; and where a C function
 * evaluates each frame, THROUGH_C of what a call by another Python function costs, for the way through C is not always
 * foreseen as it was while calibrating; that much of it in the caller, and as much in the callee. Found with
 * benchmarks/truth.py. */
#include "estimate/overhead.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const double NEAR = 256;        /* bytes */
static const double COLD = 2;          /* by benchmarks/truth.py, on 3.12 to 3.14 */
static const double ROUGHLY = 0.2;     /* of what is calibrated may be off, where how often it holds is not counted */
static const double THROUGH_C = 0.075; /* of what a call costs that goes through C only while it is recorded */
static const double AMONG_OTHERS = 0.2, MIXED = 1;
static const int64_t FROM_C = 32;   /* a node's flag */
static const int64_t COROUTINE = 2; /* a function's flag */
static const int64_t SUSPENDS = 7;  /* that and those of generators */

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
    double by_call = c->python_outside[process], unsure = SM_GUESSED * far;
    int64_t flags = in->function_flags[in->function[n]];
    if ((flags & COROUTINE) != 0)
        by_call += c->coroutine_ns[process], unsure += ROUGHLY * calls * c->coroutine_ns[process];
    else if ((in->node_flags[n] & FROM_C) != 0 && (flags & SUSPENDS) == 0)
        by_call = fmax(0, by_call - c->from_c_ns[process]);
    else if (c->deep_ns[process] > 0)
        unsure += THROUGH_C * calls * (c->python_inside[process] + by_call);
    return (cost){calls * c->python_inside[process] + resumes * c->resume_inside[process] + far,
                  calls * by_call + resumes * c->resume_outside[process] + far, unsure};
}

/* caught: of each node, how many exceptions of calls below it were caught in it. */
static void find_caught(const sm_estimate_input *in, double *caught) {
    memset(caught, 0, in->nodes * sizeof *caught);
    for (size_t n = in->nodes; n-- > 0;) { /* children stand behind their parents */
        caught[n] = fmax(0, caught[n] - (double)in->exceptions[n]);
        if (in->parent[n] >= 0 && in->function_kind[in->function[n]] != 1)
            caught[in->parent[n]] += (double)in->exceptions[n];
    }
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

/* mixed: of each node, 0 to 1, how different the functions are that it calls. sum: room for as many. */
static void find_mixed(const sm_estimate_input *in, double *sum, double *mixed) {
    memset(sum, 0, in->nodes * sizeof *sum);
    memset(mixed, 0, in->nodes * sizeof *mixed);
    for (size_t n = 0; n < in->nodes; n++) {
        double entered = (double)in->calls[n] + (double)in->resumes[n];
        if (in->parent[n] >= 0 && entered > 0) {
            sum[in->parent[n]] += entered;
            mixed[in->parent[n]] += entered * log(entered);
        }
    }
    for (size_t n = 0; n < in->nodes; n++) {
        double entropy = sum[n] > 0 ? log(sum[n]) - mixed[n] / sum[n] : 0;
        mixed[n] = fmin(1, fmax(0, entropy / MIXED));
    }
}

int sm_overhead_count(const sm_estimate_input *in, double *segments, double *overhead, double *unsure) {
    double *below = sm_malloc((in->nodes + 1) * sizeof *below), *caught = sm_malloc((in->nodes + 1) * sizeof *caught);
    double *mixed = sm_malloc((in->nodes + 1) * sizeof *mixed);
    if (below == NULL || caught == NULL || mixed == NULL) {
        sm_free(below);
        sm_free(caught);
        sm_free(mixed);
        return -1;
    }
    find_mixed(in, below, mixed);
    find_depths(in, below);
    find_caught(in, caught);
    memset(segments, 0, in->nodes * sizeof *segments);
    memset(overhead, 0, in->nodes * sizeof *overhead);
    memset(unsure, 0, in->nodes * sizeof *unsure);
    for (size_t n = 0; n < in->nodes; n++) {
        size_t process = (size_t)in->thread_process[in->thread[n]];
        cost of = cost_of(in, n, process);
        double more = in->parent[n] >= 0 ? AMONG_OTHERS * mixed[in->parent[n]] : 0;
        double entered = (double)in->calls[n] + (double)in->resumes[n];
        double catching = caught[n] * in->costs.catch_ns[process];
        segments[n] += entered;
        overhead[n] += (1 + more) * of.inside + catching;
        unsure[n] += of.unsure + SM_GUESSED * more * of.inside + ROUGHLY * catching;
        if (in->parent[n] >= 0) {
            double deep = fmin(1, fmax(0, below[n] - SM_FORESEEN_DEPTH)) * in->costs.deep_ns[process];
            segments[in->parent[n]] += entered;
            overhead[in->parent[n]] += (1 + more) * of.outside + (double)in->calls[n] * deep;
            unsure[in->parent[n]] += of.unsure + SM_GUESSED * more * of.outside + ROUGHLY * (double)in->calls[n] * deep;
        }
    }
    sm_free(below);
    sm_free(caught);
    sm_free(mixed);
    return 0;
}
