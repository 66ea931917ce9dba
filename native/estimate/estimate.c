/* From what was counted, timed and sampled to times with errors.
 *
 * What is known. A thread's time consists of exact pieces, each of which belongs to a node, and of the rest, which was
 * sampled: each look gives the time since the look before to one node (native/clock/timing.h). The sum of the rest is
 * known exactly, too (`thread_rest`); what no look has been given yet is a part of it.
 *
 * The rest of a function. In one process a function (a "pool" of nodes) has two estimates of its part of the rest. One
 * is what its looks add up to, S, with variance w S, if a look stands for w ns. The other is a prediction, M: it has
 * as many pieces as it was entered plus as often as one of its children was left, and those that were exact say how
 * long one is, give or take PRIOR of it. Both are weighed by their variances. So a function with many looks has
 * the time of its looks, and one with few, in a block of a millisecond, has what its exact pieces predict. All
 * together are then made to add up to the known rest; who is least sure changes most.
 *
 * A node's part of its function's is found in the same way, from its looks and its prediction.
 *
 * The probes' cost. An entry that was only counted costs what calibration found, in the callee's time and the caller's;
 * an exact piece has a smaller cost of its own. A node's overhead is taken off, not below 0; and so that this clamping
 * does not add time, a function's nodes are scaled to what the function as a whole has left.
 *
 * Errors. Of chance, in quadrature: a subtree with the part p of the rest has the variance of its own time if it were
 * all alone, times 1 - p, since what it lacks the others have. Systematic, and so added linearly over nodes: the
 * probes' cost, which differs from one shape of a call to another by `cost_error`; and QUIET of the time, for the same
 * program is not equally fast twice, by up to BUSY more where others have the processor. */
#include "estimate/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

static const double QUIET = 0.04, BUSY = 0.06;
static const double PRIOR = 0.5;      /* relative deviation of a prediction from many pieces */
static const double FEW = 2;          /* pieces; with as many, it is 1 more */
static const double LEAST_PIECE = 1;  /* ns; of a piece less what it costs */
static const double NODE_PRIOR = 0.7; /* the same of a node's part of its function */
static const double LOOKS = 6;        /* that the prediction of a node's part is worth */

typedef struct { /* what is taken for one population: the nodes of one function in one process */
    int64_t process, function;
    double pieces, exact_ns;       /* exact pieces, and their time */
    double looks, sampled, square; /* their number, time and time squared */
    double predicted;              /* rest, by its pieces; with the probes' cost */
    double time, variance;         /* rest */
    double overhead, piece_cost;   /* the probes', in the rest and in exact pieces */
    double own, positive;          /* of all its nodes; sum of the nodes' positive ones */
    double wait_ns, wait_sq;
} pool;

typedef struct {
    double rest, sampled, square, predicted;
    double look;       /* ns that a look stands for */
    double scale;      /* of predictions, so that they add up to the rest */
    double ran, ready; /* ns; without a processor */
    double unrest;     /* see QUIET */
} process;

typedef struct {
    const sm_estimate_input *in;
    const sm_estimates *out;
    pool *pools; /* owned */
    size_t count;
    uint32_t *pool_of;  /* owned; of each node, as all that follow */
    double *pieces;     /* in the rest */
    double *overhead;   /* ns of probes in the rest */
    double *predicted;  /* ns in the rest */
    double *time;       /* the same, as estimated */
    double *below;      /* with all nodes below */
    process *processes; /* owned */
} work;

static size_t process_of(const sm_estimate_input *in, size_t n) {
    return (size_t)in->thread_process[in->thread[n]];
}

/* ---- pools ---- */

static int assign_pools(work *w) {
    const sm_estimate_input *in = w->in;
    size_t places = 16, most = in->functions * in->processes;
    most = most < in->nodes ? most : in->nodes;
    while (places < most * 2) {
        places *= 2;
    }
    uint32_t *pool_at = sm_calloc(places, sizeof *pool_at); /* pool + 1 */
    w->pools = sm_calloc(most + 1, sizeof *w->pools);
    if (pool_at == NULL || w->pools == NULL) {
        sm_free(pool_at);
        return -1;
    }
    for (size_t n = 0; n < in->nodes; n++) {
        int64_t process = (int64_t)process_of(in, n), function = in->function[n];
        uint64_t h = (uint64_t)function * 0x9E3779B97F4A7C15u ^ (uint64_t)process * 0xC2B2AE3D27D4EB4Fu;
        size_t place = (h ^ h >> 32) & (places - 1);
        while (pool_at[place] &&
               (w->pools[pool_at[place] - 1].function != function || w->pools[pool_at[place] - 1].process != process)) {
            place = (place + 1) & (places - 1);
        }
        if (pool_at[place] == 0) {
            w->pools[w->count] = (pool){.process = process, .function = function};
            pool_at[place] = (uint32_t)++w->count;
        }
        w->pool_of[n] = pool_at[place] - 1;
    }
    sm_free(pool_at);
    return 0;
}

/* Of each node: the pieces of its rest, and what counting entries costs in it. */
static void count_pieces(work *w) {
    const sm_estimate_input *in = w->in;
    memset(w->pieces, 0, in->nodes * sizeof *w->pieces);
    memset(w->overhead, 0, in->nodes * sizeof *w->overhead);
    for (size_t n = 0; n < in->nodes; n++) {
        const sm_costs *c = &in->costs;
        size_t p = process_of(in, n);
        double calls = (double)in->calls[n], resumes = (double)in->resumes[n], entries = calls + resumes;
        double counted = entries > 0 ? fmax(0, 1 - (double)in->entered[n] / entries) : 0;
        bool is_c = in->function_kind[in->function[n]] == 1;
        double inside = is_c ? calls * c->c_inside[p] : calls * c->python_inside[p] + resumes * c->resume_inside[p];
        double outside = is_c ? calls * c->c_outside[p] : calls * c->python_outside[p] + resumes * c->resume_outside[p];
        w->pieces[n] += entries;
        w->overhead[n] += counted * inside;
        if (in->parent[n] >= 0) {
            w->pieces[in->parent[n]] += entries;
            w->overhead[in->parent[n]] += counted * outside;
        }
    }
    for (size_t n = 0; n < in->nodes; n++)
        w->pieces[n] = fmax(0, w->pieces[n] - (double)in->timed[n]);
}

static void fill_pools(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t n = 0; n < in->nodes; n++) {
        pool *p = &w->pools[w->pool_of[n]];
        p->pieces += (double)in->timed[n];
        p->exact_ns += (double)in->timed_ns[n];
        p->looks += (double)in->sampled[n];
        p->sampled += (double)in->sampled_ns[n];
        p->square += in->sampled_sq[n];
        p->overhead += w->overhead[n];
        p->piece_cost += (double)in->timed[n] * in->costs.piece[p->process];
        p->wait_ns += (double)in->wait_ns[n];
        p->wait_sq += in->wait_sq[n];
        w->processes[p->process].ready += (double)in->ready_ns[n];
    }
    for (size_t n = 0; n < in->nodes; n++) {
        pool *p = &w->pools[w->pool_of[n]];
        double piece = p->pieces > 0 ? (p->exact_ns - p->piece_cost) / p->pieces : 0;
        w->predicted[n] = w->pieces[n] * fmax(LEAST_PIECE, piece) + w->overhead[n];
        p->predicted += w->predicted[n];
    }
}

/* ---- the rest ---- */

static void judge_processes(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t t = 0; t < in->threads; t++)
        w->processes[in->thread_process[t]].rest += (double)in->thread_rest[t];
    for (size_t i = 0; i < w->count; i++) {
        process *p = &w->processes[w->pools[i].process];
        p->sampled += w->pools[i].sampled;
        p->square += w->pools[i].square;
        p->predicted += w->pools[i].predicted;
    }
    for (size_t i = 0; i < in->processes; i++) {
        process *p = &w->processes[i];
        p->look = p->sampled > 0 ? p->square / p->sampled : INFINITY;
        p->scale = p->predicted > 0 ? p->rest / p->predicted : 0;
    }
}

/* Variance of a time in the rest that looks of so many ns have found, or a prediction that is off by so much of it. */
static double variance_of(double time, double look, double relative) {
    double by_looks = look * time, by_prediction = relative * relative * time * time;
    return by_looks < INFINITY ? by_looks * by_prediction / fmax(1, by_looks + by_prediction) : by_prediction;
}

static void estimate_pool(const work *w, pool *p) {
    const process *of = &w->processes[p->process];
    double predicted = p->predicted * of->scale;
    double off = PRIOR + (p->pieces > 0 ? FEW / p->pieces : FEW);
    double by_prediction = off * off * predicted * predicted, by_looks = of->look * fmax(p->sampled, predicted);
    if (of->sampled <= 0) {
        p->time = predicted;
        p->variance = by_prediction;
    } else if (by_looks + by_prediction > 0) {
        p->time = (p->sampled * by_prediction + predicted * by_looks) / (by_looks + by_prediction);
        p->variance = by_looks * by_prediction / (by_looks + by_prediction);
    }
}

/* Makes all add up to the rest of their process. */
static void reconcile(work *w) {
    double *missing = sm_calloc(2 * w->in->processes + 1, sizeof *missing);
    double *variance = missing + w->in->processes;
    if (missing == NULL)
        return;
    for (size_t i = 0; i < w->in->processes; i++)
        missing[i] = w->processes[i].rest;
    for (size_t i = 0; i < w->count; i++) {
        missing[w->pools[i].process] -= w->pools[i].time;
        variance[w->pools[i].process] += w->pools[i].variance;
    }
    for (size_t i = 0; i < w->count; i++) {
        pool *p = &w->pools[i];
        double all = variance[p->process], part = all > 0 ? p->variance / all : 0;
        p->time = fmax(p->time / 4, p->time + part * missing[p->process]);
        p->variance *= 1 - part;
    }
    sm_free(missing);
}

static void estimate_rest(work *w) {
    const sm_estimate_input *in = w->in;
    judge_processes(w);
    for (size_t i = 0; i < w->count; i++)
        estimate_pool(w, &w->pools[i]);
    reconcile(w);
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = &w->pools[w->pool_of[n]];
        double look = w->processes[p->process].look, part = p->predicted > 0 ? w->predicted[n] / p->predicted : 0;
        if (look < INFINITY)
            part = ((double)in->sampled_ns[n] + LOOKS * look * part) / (p->sampled + LOOKS * look);
        w->time[n] = p->time * part;
    }
}

/* ---- own times ---- */

static void estimate_own(work *w) {
    const sm_estimate_input *in = w->in;
    double *own = w->out->own;
    for (size_t n = 0; n < in->nodes; n++) {
        pool *p = &w->pools[w->pool_of[n]];
        double exact = (double)in->timed_ns[n] - (double)in->timed[n] * in->costs.piece[p->process];
        own[n] = fmax(0, exact + w->time[n] - w->overhead[n]);
        p->positive += own[n];
    }
    for (size_t i = 0; i < w->count; i++) {
        pool *p = &w->pools[i];
        p->own = fmax(0, p->exact_ns - p->piece_cost + p->time - p->overhead);
        w->processes[p->process].ran += p->own;
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = &w->pools[w->pool_of[n]];
        own[n] = (p->positive > 0 ? own[n] * (p->own / p->positive) : 0) + (double)in->wait_ns[n];
    }
    for (size_t i = 0; i < in->processes; i++) {
        process *p = &w->processes[i];
        p->unrest = QUIET + (p->ready > 0 ? BUSY * p->ready / (p->ready + p->ran) : 0);
    }
}

/* What an own time of running may be off by together with all others. before: with what the probes cost. If there was
 * less than that, too much was taken out by the difference, for certain. */
static double distortion(const work *w, int64_t process, double cost, double before, double own) {
    double relative = w->in->costs.cost_error[process];
    double by_probes = relative * cost + (relative > 0 ? fmax(0, cost - before) : 0);
    return by_probes + (w->in->distorted ? w->processes[process].unrest * own : 0);
}

/* ---- errors ---- */

static void estimate_errors(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = &w->pools[w->pool_of[n]];
        const process *of = &w->processes[p->process];
        double pieces = (double)in->timed[n] * in->costs.piece[p->process];
        double before = (double)in->timed_ns[n] + w->time[n], own = w->out->own[n] - (double)in->wait_ns[n];
        double common = distortion(w, p->process, w->overhead[n] + pieces, before, own);
        double part = of->rest > 0 ? fmin(1, w->time[n] / of->rest) : 0;
        double chance = 4 * (1 - part) * variance_of(w->time[n], of->look, NODE_PRIOR) + 4 * in->wait_sq[n];
        w->out->own_error[n] = hypot(sqrt(chance), common);
        w->out->total_distortion[n] = common;
        w->out->total_square[n] = 4 * in->wait_sq[n];
        w->out->total_wait[n] = (double)in->wait_ns[n];
        w->out->total[n] = w->out->own[n];
        w->below[n] = w->time[n];
    }
}

/* Children are added to their parents from the last row to the first. */
static void estimate_totals(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_estimates *out = w->out;
    for (size_t n = in->nodes; n-- > 0;) {
        int64_t parent = in->parent[n];
        if (parent >= 0) {
            w->below[parent] += w->below[n];
            out->total[parent] += out->total[n];
            out->total_wait[parent] += out->total_wait[n];
            out->total_square[parent] += out->total_square[n];
            out->total_distortion[parent] += out->total_distortion[n];
        }
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const process *of = &w->processes[process_of(in, n)];
        double part = of->rest > 0 ? fmin(1, w->below[n] / of->rest) : 0;
        out->total_square[n] += 4 * (1 - part) * variance_of(w->below[n], of->look, NODE_PRIOR);
        out->depth[n] = in->parent[n] < 0 ? 0 : out->depth[in->parent[n]] + 1;
        out->total_error[n] = hypot(sqrt(out->total_square[n]), out->total_distortion[n]);
    }
}

static void estimate_functions(work *w) {
    const sm_estimates *out = w->out;
    for (size_t f = 0; f < w->in->functions; f++) {
        out->function_own[f] = out->function_own_error[f] = out->function_distortion[f] = 0;
    }
    for (size_t i = 0; i < w->count; i++) {
        const pool *p = &w->pools[i];
        out->function_own_error[p->function] += 4 * p->variance + 4 * p->wait_sq; /* so far squared */
        out->function_distortion[p->function] +=
            distortion(w, p->process, p->overhead + p->piece_cost, p->exact_ns + p->time, p->own);
        out->function_own[p->function] += p->own + p->wait_ns;
    }
    for (size_t f = 0; f < w->in->functions; f++) {
        double common = out->function_distortion[f];
        out->function_own_error[f] = sqrt(out->function_own_error[f] + common * common);
    }
}

int sm_estimate(const sm_estimate_input *in, const sm_estimates *out) {
    size_t size = (in->nodes + 1) * sizeof(double);
    double *room = sm_malloc(5 * size);
    work w = {
        .in = in,
        .out = out,
        .pool_of = sm_malloc((in->nodes + 1) * sizeof(uint32_t)),
        .pieces = room,
        .overhead = room + (in->nodes + 1),
        .predicted = room + 2 * (in->nodes + 1),
        .time = room + 3 * (in->nodes + 1),
        .below = room + 4 * (in->nodes + 1),
        .processes = sm_calloc(in->processes + 1, sizeof(process)),
    };
    int done = -1;
    if (room != NULL && w.pool_of != NULL && w.processes != NULL && in->nodes < UINT32_MAX && assign_pools(&w) == 0) {
        count_pieces(&w);
        fill_pools(&w);
        estimate_rest(&w);
        estimate_own(&w);
        estimate_errors(&w);
        estimate_totals(&w);
        estimate_functions(&w);
        done = 0;
    }
    sm_free(w.pools);
    sm_free(w.pool_of);
    sm_free(w.processes);
    sm_free(room);
    return done;
}
