/* From what was counted and timed to times with errors.
 *
 * What is known. Time is measured in segments: from one event of a thread to the next, it belongs to the node that was
 * current. A node has as many segments as it was entered (calls, resumes) plus as often as one of its children was
 * left. The first segments of a function are all timed, and for a function whose segments are long all of them are:
 * `timed`, `timed_ns`. Of the rest, about one in 128 is timed, after gaps that are drawn at random, so that each has
 * the same chance whatever the program's rhythm: `sampled`, `sampled_ns`, `sampled_sq`. A periodic program cannot fool
 * such a sample; it can fool any fixed stride. While a function is young more of them are timed, each with a chance of
 * 1 in w that was fixed before (native/recorder/segments.h): `young` and its sums.
 *
 * A function's own time. In one process a function's rest, N segments, is one population and its samples are a random
 * sample of it (a "pool"), each of which stands for w segments, its weight: rest = N * sum(w * ns) / sum(w), however
 * unevenly the samples fall on the nodes. The variance of that is N^2 / sum(w)^2 * sum(w * (w - 1) * (ns - mean)^2): as
 * if k = sum(w)^2 / sum(w^2) had been drawn evenly, of a spread in which those that stand for many count most. Its
 * error is not the textbook's t * N * sd / sqrt(k) * sqrt(1 - k / N), for that holds the truth in only 60 to 85 % of
 * the cases that matter here: times are skewed, and where a sample happens to miss the long segments, mean and sd are
 * both too small. Five things mend it, each found necessary by simulation (tests/native/estimate; lognormal, bimodal,
 * periodic and drifting segments):
 *  - a weak prior: PRIOR more observations that deviate as much as the first, exact segments did, or by the mean itself
 *    where that is not known. Without it, five equal samples would claim no error.
 *  - what the sample of the largest deviation stands for is added in quadrature (`sampled_most`), for one like it may
 *    have been missed: where tails are light that is nothing, where they are heavy it is much.
 *  - the head as a witness: if the first, exact segments are slower than the sample, the excess may be that of a few
 *    long segments whose like is in the rest unseen; it is taken for four, and the head's observations counted in. But
 *    mostly the first calls are just slow, all of them or the very first. Where the sum of the head's squares is known
 *    (`timed_sq`) and smaller, the excess was spread out, and that sum is taken instead. The witness only ever widens,
 *    and vanishes as samples come that would have met what it has seen.
 *  - an interval on the logarithm: N * mean * (exp(t * sd / mean / sqrt(k)) - 1), the upper, longer arm of it. For
 *    small relative errors it is the usual one.
 *  - under two samples there is nothing to go by: the error is 100 %.
 * Together they hold the truth in 95 % and more of all functions from 80 to 30,000 segments of all those shapes taken
 * together. What they cannot do is to know of segments that are neither in the head nor in the sample: where one
 * segment in 200 is fifty times longer than the others, and some thousand were made, they hold it in half of the
 * cases; such a function is understated until a long segment is sampled, and overstated then, within its error. What
 * is known of its region (below) gives that away.
 *
 * Long segments of short functions are found by time instead, by ticks about 2 ms apart (native/engine/ticker.c):
 * `ticked`, `ticked_ns`. They are in addition to the rest, which leaves them out. One that is longer than the distance
 * of ticks is found for certain and measured to some microseconds; a shorter one with the chance of its share of it,
 * and stands for a whole distance: `ticked_var` has the variance, which what is known of a region takes away like that
 * of samples. (Recordings without it: one distance for each.)
 *
 * Off the CPU. What a thread waited is known exactly (native/recorder/segments.h), is in none of the above, and is
 * added to own and total times. Only whose it was may be doubtful: `wait_sq` sums the squares of what was given to a
 * node because it was the next to be looked at, and a standard deviation of that is taken for granted.
 *
 * A node's share. Few samples fall on a small node, so its mean is drawn towards its function's: (k * own mean +
 * SHRINK * mean) / (k + SHRINK). Eight samples' weight is where, for the spread of real functions (about their mean),
 * the error of a node's own mean falls below a third of it. The nodes are then scaled so that they sum up to the
 * function exactly.
 *
 * What is known. The time that was not sampled but went by is known without an estimate, from one reading of the clock
 * to the next, and by parts of the tree: estimate/regions.h brings the nodes into line with it. (Of lines, and in
 * recordings made before that was kept, only the sum of a process is known: it is one region.)
 *
 * The probes' cost is in each segment and is no time of the program. It is calibrated per process: so many ns in the
 * callee's own segments and so many in the caller's, for a call of a Python function, of a C function, and a resume. A
 * node's overhead is taken off, not below 0; and so that this clamping does not add time, a function's nodes are
 * scaled again to what the function as a whole has left.
 *
 * A node's error has a part that it shares with all nodes of its function in its region (what the region leaves of
 * the pool's) and one of its own, which vanishes when the node is the whole function. Shared parts must not be added as
 * if independent: of a node with a share s of its function's variance V, it is s V that is added upwards, so that all
 * nodes together have V, though its own error is s sqrt(V). The plain sum of errors is an upper bound too, and what is
 * known of the sum of a region is another: the smallest is given. So the total of main(), and of what it calls once, is
 * measured and has no error by chance.
 *
 * Distortion. What probes cost is calibrated in loops that the processor foresees; in the code of real programs an
 * event costs more, since it is code that is in the way of other code, by what nobody has found a way to measure. So
 * what the times may be off by, and that all of a process have in common, is PROBES of what the probes cost or MOST of
 * the time, whichever is less, and at least what the calibration's readings differed by; and QUIET of the time, for the
 * same program is not equally fast twice and slower while events are enabled. Beside others that want the processor
 * too, a program is slower by what these leave in its caches, now more and now less: by up to BUSY of the time, as the
 * part of its time that it stood without a processor. These were found with benchmarks/truth.py, as what makes 19 of 20
 * stated errors hold, and held against other seeds by benchmarks/errors.py. Since it is one for all, it is added
 * linearly over nodes; it is independent of chance. What is subtracted by a rule, and not as it was calibrated, may be
 * off by more (estimate/overhead.c), and that is added. Between two recordings of one program it is mostly the same:
 * diffs take it as that.
 */
#include "estimate/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "estimate/overhead.h"
#include "estimate/regions.h"

static const double PROBES = 0.15, MOST = 0.08, QUIET = 0.06, BUSY = 0.06; /* see "Distortion" */
static const double MOST_UNFORESEEN = 0.5;                                 /* of what a node has left without it */
static const double SHRINK = 8; /* samples' worth of weight of the function's mean in a node's */
static const double PRIOR = 4;  /* observations that the prior is worth */
static const double PRIOR_LEAST = 0.5;
static const double HEAD_LONG = 4;    /* how many long segments the head's excess is taken for */
static const double TICK = 2e6;       /* ns between ticks: SM_TICK_NS */
static const double HEAD_MOST = 64;   /* of them; more would dwarf the sample */
static const double HEAD_FADES = 128; /* samples; e times fewer, and they may well have missed what the head has seen */
static const int64_t WORTH = 16;      /* a node's flag: its segments are timed always, its function's are not */
static const double PERIOD = 128;     /* the weight of a sample of what is not young: SM_SAMPLE_PERIOD */

/* The sums of a sample: of the weights w, of w * ns, and of v = w * (w - 1), v * ns, v * ns squared. */
typedef struct {
    double count, weight, ns, var, var_ns, var_sq, most;
} sample;

/* A pool is what is taken for one population: the segments of one function in one process. */
typedef struct {
    int64_t process, function;
    double rest; /* segments not timed because all were: the sampled population */
    sample sample;
    double timed, timed_ns;               /* the exact part */
    double head, head_ns, head_sq;        /* of it, what was timed because the function was, and not a path of it */
    double ticked, ticked_ns, ticked_var; /* long segments */
    double wait_ns, wait_sq;              /* off the CPU, in addition to the others */
    double mean, deviation;               /* of a segment of the rest */
    double error;                         /* 95 % half-width of rest * mean, in ns; then of time */
    double weight;                        /* sum over nodes of rest * shrunk mean: what the scaling is taken from */
    double time, variance;                /* of the rest, in line with what is known */
    double own, positive;                 /* own time of all its nodes; sum of the nodes' positive ones */
    double overhead, unsure;
} pool;

typedef struct {
    double ran, ready; /* ns; without a processor */
    double unrest;     /* see "Distortion" */
} process;

typedef struct {
    const sm_estimate_input *in;
    const sm_estimates *out;
    pool *pools; /* owned */
    size_t count;
    uint32_t *pool_of; /* owned; of each node */
    double *rest;      /* owned; of each node: first its segments, then those of the sampled population */
    double *overhead;  /* owned; of each node: what the probes cost in its segments, ns */
    double *unsure;    /* owned; of each node: half-width of that, beyond the calibration's */
    double *time;      /* owned; of each node: what it spent in the rest, ns */
    double *variance;  /* owned; of each node: of that and of what was ticked, by sampling, and the node's */
    double *share;     /* part of its function's, owned */
    double *doubt;     /* owned; of each node: variance of the sum of that with all below; INFINITY: not known better */
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
    w->pools = sm_calloc(most, sizeof *w->pools);
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

/* What was drawn of a node's segments. */
static sample sample_of(const sm_estimate_input *in, size_t n) {
    double k = (double)in->sampled[n], ns = (double)in->sampled_ns[n], var = PERIOD * (PERIOD - 1);
    return (sample){
        .count = k + (double)in->young[n],
        .weight = k * PERIOD + in->young_weight[n],
        .ns = ns * PERIOD + in->young_ns[n],
        .var = k * var + in->young_var[n],
        .var_ns = ns * var + in->young_var_ns[n],
        .var_sq = in->sampled_sq[n] * var + in->young_var_sq[n],
        .most = in->sampled_most[n],
    };
}

static void add_sample(sample *to, const sample *more) {
    to->count += more->count;
    to->weight += more->weight;
    to->ns += more->ns;
    to->var += more->var;
    to->var_ns += more->var_ns;
    to->var_sq += more->var_sq;
    to->most = fmax(to->most, more->most);
}

/* As many segments, drawn evenly, would tell as much. */
static double effective(const sample *s) {
    return s->weight > 0 ? fmin(s->count, s->weight * s->weight / fmax(s->weight, s->var + s->weight)) : 0;
}

static void fill_pools(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t n = 0; n < in->nodes; n++) {
        pool *p = &w->pools[w->pool_of[n]];
        sample drawn = sample_of(in, n);
        w->rest[n] = fmax(w->rest[n] - (double)in->timed[n], drawn.count);
        p->rest += w->rest[n];
        add_sample(&p->sample, &drawn);
        p->timed += (double)in->timed[n];
        p->timed_ns += (double)in->timed_ns[n];
        if ((in->node_flags[n] & WORTH) == 0) {
            p->head += (double)in->timed[n];
            p->head_ns += (double)in->timed_ns[n];
            p->head_sq += in->timed_sq[n];
        }
        p->ticked += (double)in->ticked[n];
        p->ticked_ns += (double)in->ticked_ns[n];
        p->ticked_var += in->ticked_var[n];
        p->wait_ns += (double)in->wait_ns[n];
        p->wait_sq += in->wait_sq[n];
        p->overhead += w->overhead[n];
        p->unsure += w->unsure[n];
    }
}

/* The factor of the 95 % interval with `freedom` degrees of freedom (Student's t, two-sided). */
static double quantile(double freedom) {
    static const double table[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    if (freedom < 1) {
        return table[0];
    }
    if (freedom <= 10) {
        return table[(int)freedom - 1];
    }
    return 1.960 + 2.4 / freedom + 2.8 / (freedom * freedom); /* within 0.5 % from 11 on */
}

/* What `head` of the timed segments add to the sum of squared deviations, if they are slower than the sample. */
static double head_squares(const pool *p, double head, double k) {
    double excess = p->head > 0 ? head * (p->head_ns / p->head - p->mean) : 0;
    if (excess <= 0) {
        return 0;
    }
    double guess = excess * excess / HEAD_LONG * exp(-k / HEAD_FADES);
    if (p->head_sq <= 0) {
        return guess;
    }
    double known = p->head_sq - p->mean * (2 * p->head_ns - p->head * p->mean);
    return fmin(guess, fmax(0, known) * head / p->head);
}

/* How much segments differ, relatively, by what those did that were timed because all were. */
static double prior_deviation(const pool *p) {
    if (p->head < HEAD_MOST || p->head_sq <= 0 || p->head_ns <= 0) {
        return 1;
    }
    return fmax(PRIOR_LEAST, sqrt(fmax(0, p->head * p->head_sq / (p->head_ns * p->head_ns) - 1)));
}

static void judge_pool(pool *p) {
    const sample *s = &p->sample;
    double k = effective(s), before = p->head > 0 ? p->head_ns / p->head : 0;
    if (p->rest <= 0) {
        return;
    }
    p->mean = s->weight > 0 ? s->ns / s->weight : before;
    double spread = fmax(p->mean, before);
    if (s->count < 2 || s->weight <= 0) {
        p->deviation = spread;
        p->error = p->rest * spread;
        return;
    }
    double deviations = s->var > 0 ? (s->var_sq - 2 * p->mean * s->var_ns) / s->var + p->mean * p->mean : 0;
    double prior = spread * prior_deviation(p);
    double largest = s->var > 0 ? fmax(0, sqrt(s->most * s->count / s->var) - p->mean) : 0;
    deviations = fmax(0, deviations);
    double inside = k * deviations + PRIOR * prior * prior; /* squared deviations */
    double head = fmin(p->head, HEAD_MOST);
    double alone = inside / (k - 1 + PRIOR), with_head = (inside + head_squares(p, head, k)) / (k - 1 + PRIOR + head);
    p->deviation = sqrt(fmax(alone, with_head)); /* the head may raise a doubt, not lay one */
    double relative = p->mean > 0 ? p->deviation / p->mean * sqrt(fmax(0, 1 / k - 1 / p->rest)) : 0;
    p->error = p->rest * p->mean * (exp(fmin(quantile(k - 1 + PRIOR) * relative, 3)) - 1);
    double missed = p->rest * largest * sqrt(s->var / s->count) / s->weight * fmax(0, 1 - k / p->rest);
    p->error = hypot(p->error, missed);
}

/* ---- nodes ---- */

/* The mean of a node's sampled segments, drawn towards its function's: less so the surer it is another one. */
static double shrunk_mean(const work *w, size_t n) {
    const pool *p = &w->pools[w->pool_of[n]];
    sample drawn = sample_of(w->in, n);
    double k = effective(&drawn), mean = drawn.weight > 0 ? drawn.ns / drawn.weight : 0, weight = SHRINK;
    if (k > 1) {
        double spread = drawn.var > 0 ? (drawn.var_sq - 2 * mean * drawn.var_ns) / drawn.var + mean * mean : 0;
        double prior = fmax(mean, p->mean), away = mean - p->mean;
        double square = (k * fmax(0, spread) + PRIOR * prior * prior) / (k - 1 + PRIOR);
        weight = square > 0 ? SHRINK / fmax(1, k * away * away / square) : SHRINK;
    }
    return (k * mean + weight * p->mean) / (k + weight);
}

/* What the probes cost where the processor does not foresee them, as far as a node's time allows. */
static void add_unforeseen(work *w, const double *unforeseen) {
    for (size_t n = 0; n < w->in->nodes; n++) {
        double more = fmin(unforeseen[n], MOST_UNFORESEEN * fmax(0, w->time[n] - w->overhead[n]));
        w->overhead[n] += more;
        w->unsure[n] += SM_GUESSED * more;
        w->pools[w->pool_of[n]].overhead += more;
        w->pools[w->pool_of[n]].unsure += SM_GUESSED * more;
    }
}

/* The 95 % error of so many long segments. var: 0 of recordings that did not keep it. */
static double tick_error(double ticked, double ticked_ns, double var) {
    if (var > 0) {
        return 2 * sqrt(var);
    }
    return ticked > 0 ? 2 * sqrt(ticked) * fmin(TICK, ticked_ns / ticked) : 0;
}

/* What nodes spent in segments that were not timed always: by their samples, and then in line with what is known. */
static int estimate_rest(work *w) {
    const sm_estimate_input *in = w->in;
    double *known = sm_calloc(in->processes + 1, sizeof *known);
    double *unforeseen = sm_calloc(in->nodes + 1, sizeof *unforeseen);
    int done = -1;
    if (known != NULL && unforeseen != NULL) {
        for (size_t t = 0; t < in->threads; t++)
            known[in->thread_process[t]] += (double)in->thread_rest[t];
        for (size_t n = 0; n < in->nodes; n++)
            w->pools[w->pool_of[n]].weight += w->time[n] = w->rest[n] * shrunk_mean(w, n);
        for (size_t n = 0; n < in->nodes; n++) {
            pool *p = &w->pools[w->pool_of[n]];
            double part = p->weight > 0 ? w->time[n] / p->weight : 0;
            double ticks = tick_error((double)in->ticked[n], (double)in->ticked_ns[n], in->ticked_var[n]) / 2;
            w->time[n] = part * p->rest * p->mean;
            p->variance += w->variance[n] = part * p->error * p->error / 4 + ticks * ticks;
        }
        for (size_t n = 0; n < in->nodes; n++) {
            const pool *p = &w->pools[w->pool_of[n]];
            w->share[n] = p->variance > 0 ? w->variance[n] / p->variance : 0;
        }
        for (size_t i = 0; i < w->count; i++)
            w->pools[i].variance = 0;
        sm_region_estimates of = {w->time, w->variance, unforeseen, w->doubt, w->share};
        done = sm_regions_reconcile(in, w->rest, known, &of);
        add_unforeseen(w, unforeseen);
    }
    for (size_t n = 0; n < in->nodes && done == 0; n++) {
        pool *p = &w->pools[w->pool_of[n]];
        p->time += w->time[n];
        p->variance += w->variance[n];
    }
    sm_free(known);
    sm_free(unforeseen);
    return done;
}

/* Own times: exact part, estimated part, less the probes' cost; clamped at 0 node by node, then scaled so that a
 * function's nodes sum up to what the function as a whole has left. */
static void estimate_own(work *w) {
    const sm_estimate_input *in = w->in;
    double *own = w->out->own;
    for (size_t n = 0; n < in->nodes; n++) {
        own[n] = fmax(0, (double)in->timed_ns[n] + (double)in->ticked_ns[n] + w->time[n] - w->overhead[n]);
        w->pools[w->pool_of[n]].positive += own[n];
    }
    for (size_t i = 0; i < w->count; i++) {
        pool *p = &w->pools[i];
        p->own = fmax(0, p->timed_ns + p->ticked_ns + p->time - p->overhead);
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = &w->pools[w->pool_of[n]];
        own[n] = (p->positive > 0 ? own[n] * (p->own / p->positive) : 0) + (double)in->wait_ns[n];
    }
}

/* What an own time of running may be off by together with all others. before: what it was with what the probes cost,
 * `overhead`. If there was less than that, too much was taken out by the difference, for certain. */
static double distortion(const work *w, size_t of, double overhead, double unsure, double before, double own) {
    double calibrated = w->in->costs.cost_error[of];
    if (calibrated > 0)
        unsure += fmax(0, overhead - before);
    if (!w->in->distorted || calibrated <= 0)
        return calibrated * overhead + unsure;
    double by_probes = fmax(calibrated * overhead, fmin(PROBES * overhead, MOST * own));
    return by_probes + unsure + w->processes[of].unrest * own;
}

/* What another run of the same program would differ by, as a part of its times: more where others had the processor. */
static void find_unrest(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t i = 0; i < w->count; i++)
        w->processes[w->pools[i].process].ran += w->pools[i].own;
    for (size_t n = 0; n < in->nodes; n++)
        w->processes[process_of(in, n)].ready += (double)in->ready_ns[n];
    for (size_t p = 0; p < in->processes; p++) {
        process *of = &w->processes[p];
        of->unrest = QUIET + (of->ready > 0 ? BUSY * of->ready / (of->ready + of->ran) : 0);
    }
}

static void estimate_errors(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_costs *cost = &in->costs;
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = &w->pools[w->pool_of[n]];
        size_t process = (size_t)p->process;
        sample drawn = sample_of(in, n);
        double rest = w->rest[n], k = effective(&drawn);
        double alone = 0;
        if (rest > 0 && p->rest > 0) {
            double among = rest * rest / fmax(k, 1) + (k > 0 ? 0 : rest);
            double z = quantile(effective(&p->sample) + PRIOR - 1) * p->deviation;
            alone = z * z * among * fmax(0, 1 - rest / p->rest) * fmax(0, 1 - k / rest);
        }
        double reading = cost->clock_ns[process] * sqrt((double)in->timed[n]);
        double own = w->out->own[n] - (double)in->wait_ns[n],
               before = (double)in->timed_ns[n] + (double)in->ticked_ns[n] + w->time[n],
               common = distortion(w, process, w->overhead[n], w->unsure[n], before, own);
        double measured = reading * reading + 4 * in->wait_sq[n], independent = alone + measured;
        w->out->own_error[n] = sqrt(4 * w->variance[n] * w->share[n] + independent + common * common);
        w->out->total_square[n] = independent + 4 * w->variance[n];
        w->overhead[n] = measured; /* from here on */
        w->out->total_distortion[n] = common;
    }
}

/* Children are added to their parents from the last row to the first. Two upper bounds of a total's error are kept: the
 * quadratic one, and the plain sum of the own errors below. */
static int estimate_totals(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_estimates *out = w->out;
    double *linear = sm_malloc(in->nodes * sizeof *linear);
    if (linear == NULL) {
        return -1;
    }
    memcpy(linear, out->own_error, in->nodes * sizeof *linear);
    memcpy(out->total, out->own, in->nodes * sizeof *linear);
    for (size_t n = 0; n < in->nodes; n++)
        out->total_wait[n] = (double)in->wait_ns[n];
    for (size_t n = in->nodes; n-- > 0;) {
        int64_t parent = in->parent[n];
        /* What is known of a region is known of its total. */
        out->total_square[n] = fmin(out->total_square[n], w->overhead[n] + 4 * w->doubt[n]);
        if (parent >= 0) {
            w->overhead[parent] += w->overhead[n];
            out->total[parent] += out->total[n];
            out->total_wait[parent] += out->total_wait[n];
            out->total_square[parent] += out->total_square[n];
            out->total_distortion[parent] += out->total_distortion[n];
            linear[parent] += linear[n];
        }
    }
    for (size_t n = 0; n < in->nodes; n++) {
        int64_t parent = in->parent[n];
        out->depth[n] = parent < 0 ? 0 : out->depth[parent] + 1;
        out->total_error[n] = fmin(hypot(sqrt(out->total_square[n]), out->total_distortion[n]), linear[n]);
    }
    sm_free(linear);
    return 0;
}

static void estimate_functions(work *w) {
    const sm_costs *cost = &w->in->costs;
    const sm_estimates *out = w->out;
    for (size_t f = 0; f < w->in->functions; f++) {
        out->function_own[f] = out->function_own_error[f] = out->function_distortion[f] = 0;
    }
    for (size_t i = 0; i < w->count; i++) {
        const pool *p = &w->pools[i];
        double reading = cost->clock_ns[p->process] * sqrt(p->timed);
        double sampling = 4 * p->variance + reading * reading + 4 * p->wait_sq;
        out->function_own_error[p->function] += sampling; /* so far squared */
        out->function_distortion[p->function] +=
            distortion(w, (size_t)p->process, p->overhead, p->unsure, p->timed_ns + p->ticked_ns + p->time, p->own);
        out->function_own[p->function] += p->own + p->wait_ns;
    }
    for (size_t f = 0; f < w->in->functions; f++) {
        double common = out->function_distortion[f];
        out->function_own_error[f] = sqrt(out->function_own_error[f] + common * common);
    }
}

int sm_estimate(const sm_estimate_input *in, const sm_estimates *out) {
    work w = {
        .in = in,
        .out = out,
        .pool_of = sm_malloc(in->nodes * sizeof(uint32_t)),
        .rest = sm_malloc(in->nodes * sizeof(double)),
        .overhead = sm_malloc(in->nodes * sizeof(double)),
        .unsure = sm_malloc(in->nodes * sizeof(double)),
        .time = sm_malloc(in->nodes * sizeof(double)),
        .variance = sm_malloc(in->nodes * sizeof(double)),
        .share = sm_malloc(in->nodes * sizeof(double)),
        .doubt = sm_malloc(in->nodes * sizeof(double)),
        .processes = sm_calloc(in->processes + 1, sizeof(process)),
    };
    int done = -1;
    if (w.processes != NULL && w.doubt != NULL && w.variance != NULL && w.share != NULL && w.pool_of != NULL &&
        w.rest != NULL && w.overhead != NULL && w.unsure != NULL && w.time != NULL && in->nodes < UINT32_MAX &&
        assign_pools(&w) == 0 && sm_overhead_count(in, w.rest, w.overhead, w.unsure) == 0) {
        fill_pools(&w);
        for (size_t i = 0; i < w.count; i++) {
            judge_pool(&w.pools[i]);
        }
        done = estimate_rest(&w);
    }
    if (done == 0) {
        estimate_own(&w);
        find_unrest(&w);
        estimate_errors(&w);
        done = estimate_totals(&w);
        estimate_functions(&w);
    }
    sm_free(w.pools);
    sm_free(w.pool_of);
    sm_free(w.rest);
    sm_free(w.overhead);
    sm_free(w.unsure);
    sm_free(w.time);
    sm_free(w.variance);
    sm_free(w.share);
    sm_free(w.doubt);
    sm_free(w.processes);
    return done;
}
