/* Times with errors from counts, exact times and samples.
 *
 * Given. A thread's running time consists of exact pieces, each of one node, and a sampled rest: each look of the
 * sampler attributes the time since the previous look to one node. The rest's length is known (`thread_rest`).
 *
 * Dividing the rest. A function in one process (a "pool" of nodes) has two estimates. Its looks add up to S, which is k
 * = S / look looks of `look` ns on average. Its exact pieces predict M: the number of its other pieces (one per entry
 * and per child that was left) times their mean length, plus the cost of counting. The prediction is worth a looks,
 * fewer if there are few exact pieces. If a time has a gamma distribution with mean M and shape a, then after k looks
 * its mean is (a + k) / (a / M + 1 / look). So T = (a + k) / (a / M + rate), with the rate for which all T of a process
 * add up to its rest (divide()). A pool's time is divided among its nodes in the same way, and then each thread's nodes
 * are scaled to its rest.
 *
 * The probes' cost. A counted entry costs what calibration found, in the callee's and the caller's rest. On 3.11 each
 * recorded frame is evaluated by C calls, whose returns a processor only predicts for the last dozens of calls. So an
 * entry costs more if calls went SM_DEEP_LEVELS below it, at most once per such call. A node's overhead is subtracted
 * down to LEAST_LEFT. So that this clamping adds no time, the remainders are scaled to those of its function, and of
 * all functions of the process.
 *
 * Errors. Random ones add in quadrature: T has the variance T^2 / (a + T / look), so have all others together, and
 * as their sum is known, the error is the harmonic sum of both. If looks and prediction disagree, their difference
 * is added. The nodes of a function share its error, so sums of nodes get a part of that. Systematic errors add
 * linearly: the probes' cost by `cost_error` and by what was clamped, and QUIET of the time, because a program's
 * speed varies, plus up to BUSY if others use the processor. The exact times of a sum of recordings are estimates of
 * their parts, and have the errors of these. */
#include "estimate/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

static const double QUIET = 0.04, BUSY = 0.06;
static const double WORTH = 2;         /* looks; the worth of a prediction from many exact pieces */
static const double FEW = 8;           /* exact pieces; a prediction from as many is worth half of that */
static const double LEAST_WORTH = 0.1; /* in exact pieces; the worth of a function without any */
static const double LEAST_PIECE = 1;   /* in ns; the shortest time of a piece after subtracting its cost */
static const double LEAST_LEFT = 0.05; /* smallest part of a time that remains without the probes' cost */
static const double LEAST = 1e-6;      /* ns; the least divisor, since looks made of exact times have no squares */
static const double MOST_OFF = 4;      /* limit on a prediction below what looks found */
static const int PASSES = 10;

typedef struct { /* a part of a group's time */
    uint32_t group;
    double worth;     /* looks */
    double sampled;   /* ns */
    double predicted; /* ns, with the probes' cost, like T */
    double time;      /* ns; T */
} share;

typedef struct {
    double time, look; /* ns */
    double scale, rate, sum, slope;
} group;

typedef struct { /* a population: the nodes of one function in one process */
    int64_t process, function;
    double pieces, piece_ns, piece_cost; /* exact pieces: number, time without the probes' cost, and that cost */
    double exact;                        /* ns; their time as in the nodes, at least 0 */
    double overhead, positive;           /* ns; of probes in the rest; the nodes' rest without them */
    double left;                         /* ns; its own rest without probes */
    double wait_ns, wait_sq, own_sq, shared_ns;
    double chance; /* see chance() */
} pool;

typedef struct {
    double rest, sampled, time; /* ns; as known, by looks, and as divided */
    bool has_nodes;
} thread;

typedef struct {
    double square, overhead, positive; /* squares of its looks, ns squared; the others are as in a pool */
    double ran, ready;                 /* ns; without a processor */
    double unrest;                     /* see QUIET */
} process;

typedef struct {
    const sm_estimate_input *in;
    const sm_estimates *out;
    size_t count; /* number of pools */
    /* All owned. Pools have shares of their process's rest, nodes of their pool's. */
    pool *pools;
    share *of_pool, *of_node;
    group *by_process, *by_pool;
    process *processes;
    thread *threads;
    double *overhead; /* by node: ns of probes in the rest */
    double *below;    /* number of its pieces, later ns of the rest in its subtree */
    double *doubt;    /* parts of the pools' `chance` that belong to its subtree, which add up */
} work;

static size_t process_of(const sm_estimate_input *in, size_t n) {
    return (size_t)in->thread_process[in->thread[n]];
}

/* ---- dividing ---- */

/* Divide the time of each group. Newton's method finds the rate on 1 / sum, which is concave and nearly linear. */
static void divide(share *shares, size_t count, group *groups, size_t group_count) {
    for (size_t i = 0; i < count; i++)
        groups[shares[i].group].sum += shares[i].predicted;
    for (size_t i = 0; i < group_count; i++)
        groups[i].scale = groups[i].time / fmax(LEAST, groups[i].sum);
    for (size_t i = 0; i < count; i++) {
        share *s = &shares[i];
        s->predicted = fmax(s->predicted * groups[s->group].scale, s->sampled / MOST_OFF);
    }
    for (int pass = 0; pass < PASSES; pass++) {
        for (size_t i = 0; i < group_count; i++)
            groups[i].sum = groups[i].slope = 0;
        for (size_t i = 0; i < count; i++) {
            share *s = &shares[i];
            group *g = &groups[s->group];
            double rate = s->predicted > 0 ? s->worth / s->predicted + g->rate : INFINITY;
            s->time = (s->worth + s->sampled / g->look) / rate;
            g->sum += s->time;
            g->slope += s->time / rate;
        }
        for (size_t i = 0; i < group_count; i++) {
            group *g = &groups[i];
            if (g->sum > 0 && g->time > 0)
                g->rate = fmax(0, g->rate + (g->sum - g->time) / g->time * (g->sum / g->slope));
        }
    }
    for (size_t i = 0; i < count; i++) { /* what the last pass left over */
        const group *g = &groups[shares[i].group];
        shares[i].time *= g->sum > 0 ? g->time / g->sum : 0;
    }
}

/* Return the squared 95 % error of a part of all, from looks of `look` ns and a prediction worth so many looks. */
static double chance(double part, double all, double look, double worth) {
    double others = all - part;
    if (!(part > 0 && others > 0))
        return 0;
    return 4 / ((worth + part / look) / (part * part) + (worth + others / look) / (others * others));
}

/* Return the squared error of a share, which includes the difference of looks and prediction. */
static double chance_of(const share *s, double all, double look) {
    double off = s->time - s->sampled;
    return chance(s->time, all, look, s->worth) + off * off;
}

/* ---- pools ---- */

static int assign_pools(work *w) {
    const sm_estimate_input *in = w->in;
    size_t most = in->functions * in->processes;
    most = most < in->nodes ? most : in->nodes;
    struct numbered {
        uint64_t key; /* process, function + 1; 32 bits each */
        uint32_t pool;
    } *known = NULL;
    sm_map numbers = {0};
    w->pools = sm_calloc(most + 1, sizeof *w->pools);
    w->of_pool = sm_calloc(most + 1, sizeof *w->of_pool);
    w->by_pool = sm_calloc(most + 1, sizeof *w->by_pool);
    bool done = w->pools != NULL && w->of_pool != NULL && w->by_pool != NULL;
    for (size_t n = 0; done && n < in->nodes; n++) {
        int64_t process = (int64_t)process_of(in, n), function = in->function[n];
        known = sm_map_make(&numbers, (uint64_t)process << 32 | (uint64_t)(function + 1), sizeof *known, 256);
        done = known != NULL;
        if (done && numbers.count > w->count) { /* a new key */
            w->pools[w->count] = (pool){.process = process, .function = function};
            w->of_pool[w->count].group = (uint32_t)process;
            known->pool = (uint32_t)w->count++;
        }
        w->of_node[n].group = done ? known->pool : 0;
    }
    sm_map_free(&numbers);
    return done ? 0 : -1;
}

static pool *pool_of(const work *w, size_t n) {
    return &w->pools[w->of_node[n].group];
}

/* Set `doubt`, temporarily, to the calls SM_DEEP_LEVELS below each node. */
static void count_deep_calls(work *w) {
    const sm_estimate_input *in = w->in;
    memset(w->doubt, 0, in->nodes * sizeof *w->doubt);
    for (size_t n = 0; n < in->nodes; n++) {
        if (in->costs.deep[process_of(in, n)] <= 0)
            continue;
        int64_t above = (int64_t)n;
        for (int level = 0; level < SM_DEEP_LEVELS && above >= 0; level++)
            above = in->parent[above];
        if (above >= 0)
            w->doubt[above] += (double)in->calls[n];
    }
}

/* Set `below` to each node's number of pieces, and `overhead` to the cost of counted entries in it. */
static void count_pieces(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_costs *c = &in->costs;
    count_deep_calls(w);
    for (size_t n = 0; n < in->nodes; n++) {
        size_t p = process_of(in, n);
        double calls = (double)in->calls[n], resumes = (double)in->resumes[n], entries = calls + resumes;
        double counted = entries > 0 ? fmax(0, 1 - (double)in->entered[n] / entries) : 0;
        bool is_c = in->function_kind[in->function[n]] == 1;
        double inside = is_c ? calls * c->c_inside[p] : calls * c->python_inside[p] + resumes * c->resume_inside[p];
        double outside = is_c ? calls * c->c_outside[p] : calls * c->python_outside[p] + resumes * c->resume_outside[p];
        outside += is_c ? 0 : c->deep[p] * fmin(calls, w->doubt[n]);
        w->below[n] += entries;
        w->overhead[n] += counted * inside;
        if (in->parent[n] >= 0) {
            w->below[in->parent[n]] += entries;
            w->overhead[in->parent[n]] += counted * outside;
        }
    }
}

/* Return the ns that a node ran in exact pieces. */
static double exact_of(const sm_estimate_input *in, size_t n) {
    return fmax(0, (double)in->timed_ns[n] - (double)in->timed[n] * in->costs.piece[process_of(in, n)]);
}

static void fill_pools(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t n = 0; n < in->nodes; n++) {
        pool *p = pool_of(w, n);
        double cost = (double)in->timed[n] * in->costs.piece[p->process];
        p->pieces += (double)in->timed[n];
        p->piece_ns += (double)in->timed_ns[n] - cost;
        p->piece_cost += cost;
        p->exact += exact_of(in, n);
        p->overhead += w->overhead[n];
        p->wait_ns += (double)in->wait_ns[n];
        p->wait_sq += in->wait_sq[n];
        p->own_sq += in->own_sq[n];
        p->shared_ns += in->shared_ns[n];
        w->processes[p->process].ready += (double)in->ready_ns[n];
        w->processes[p->process].square += in->sampled_sq[n];
        w->processes[p->process].overhead += w->overhead[n];
        w->threads[in->thread[n]].sampled += (double)in->sampled_ns[n];
        w->threads[in->thread[n]].has_nodes = true;
    }
}

/* ---- the rest ---- */

static void predict(work *w) {
    const sm_estimate_input *in = w->in;
    for (size_t n = 0; n < in->nodes; n++) {
        share *s = &w->of_node[n], *whole = &w->of_pool[s->group];
        const pool *p = &w->pools[s->group];
        double timed = (double)in->timed[n], exact = (double)in->timed_ns[n] - timed * in->costs.piece[p->process];
        double usual = p->pieces > 0 ? p->piece_ns / p->pieces : 0;
        double piece = (exact + FEW * usual) / (timed + FEW); /* a node's own pieces decide if there are many */
        s->worth = WORTH;
        s->sampled = (double)in->sampled_ns[n];
        s->predicted = fmax(0, w->below[n] - timed) * fmax(LEAST_PIECE, piece) + w->overhead[n];
        whole->worth = WORTH * (p->pieces + LEAST_WORTH) / (p->pieces + FEW);
        whole->sampled += s->sampled;
        whole->predicted += s->predicted;
    }
}

static void estimate_rest(work *w) {
    const sm_estimate_input *in = w->in;
    predict(w);
    for (size_t i = 0; i < in->processes; i++)
        w->by_process[i].look = INFINITY;
    for (size_t i = 0; i < in->threads; i++) {
        thread *t = &w->threads[i];
        group *g = &w->by_process[in->thread_process[i]];
        t->rest = in->thread_rest[i] > 0 ? (double)in->thread_rest[i] : t->sampled;
        g->time += t->has_nodes ? t->rest : 0;
        g->sum += t->sampled;
    }
    for (size_t i = 0; i < in->processes; i++) {
        group *g = &w->by_process[i];
        g->scale = g->sum > 0 ? g->time / g->sum : 0; /* scales each look's time */
        g->look = g->sum > 0 ? fmax(LEAST, w->processes[i].square / g->sum * g->scale) : INFINITY;
        g->sum = 0;
    }
    for (size_t n = 0; n < in->nodes; n++)
        w->of_node[n].sampled *= w->by_process[process_of(in, n)].scale;
    for (size_t i = 0; i < w->count; i++)
        w->of_pool[i].sampled *= w->by_process[w->pools[i].process].scale;
    divide(w->of_pool, w->count, w->by_process, in->processes);
    for (size_t i = 0; i < w->count; i++)
        w->by_pool[i] = (group){.time = w->of_pool[i].time, .look = w->by_process[w->pools[i].process].look};
    divide(w->of_node, in->nodes, w->by_pool, w->count);
    for (size_t n = 0; n < in->nodes; n++)
        w->threads[in->thread[n]].time += w->of_node[n].time;
    for (size_t i = 0; i < w->count; i++)
        w->of_pool[i].time = 0;
    for (size_t n = 0; n < in->nodes; n++) {
        const thread *t = &w->threads[in->thread[n]];
        w->of_node[n].time *= t->rest / fmax(LEAST, t->time);
        w->of_pool[w->of_node[n].group].time += w->of_node[n].time;
    }
}

/* ---- own times ---- */

static double scaled(double value, double to, double from) {
    return from > 0 ? value * (to / from) : 0;
}

/* Return a time without the probes' cost, but not 0, because a look found the program there. */
static double left_of(double time, double overhead) {
    return fmax(LEAST_LEFT * time, time - overhead);
}

static void estimate_own(work *w) {
    const sm_estimate_input *in = w->in;
    double *own = w->out->own;
    for (size_t n = 0; n < in->nodes; n++)
        pool_of(w, n)->positive += own[n] = left_of(w->of_node[n].time, w->overhead[n]);
    for (size_t i = 0; i < w->count; i++) {
        pool *p = &w->pools[i];
        p->left = left_of(w->of_pool[i].time, p->overhead);
        w->processes[p->process].positive += p->left;
    }
    for (size_t i = 0; i < w->count; i++) {
        pool *p = &w->pools[i];
        process *of = &w->processes[p->process];
        p->left = scaled(p->left, left_of(w->by_process[p->process].time, of->overhead), of->positive);
        of->ran += p->left + p->exact;
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const pool *p = pool_of(w, n);
        own[n] = scaled(own[n], p->left, p->positive) + exact_of(in, n) + (double)in->wait_ns[n];
    }
    for (size_t i = 0; i < in->processes; i++) {
        process *p = &w->processes[i];
        p->unrest = QUIET + (p->ready > 0 ? BUSY * p->ready / (p->ready + p->ran) : 0);
    }
}

/* ---- errors ---- */

/* Return the common error of a running time, from the probes' cost and the part of it that exceeds the rest. */
static double distortion(const work *w, int64_t process, double overhead, double rest, double pieces, double ran) {
    double relative = w->in->costs.cost_error[process];
    if (relative <= 0)
        return 0; /* the costs were not measured */
    double by_probes = relative * (overhead + pieces) + fmax(0, overhead - rest);
    return by_probes + (w->in->distorted ? w->processes[process].unrest * ran : 0);
}

static void estimate_errors(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_estimates *out = w->out;
    for (size_t i = 0; i < w->count; i++) {
        const group *g = &w->by_process[w->pools[i].process];
        w->pools[i].chance = chance_of(&w->of_pool[i], g->time, g->look);
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const share *s = &w->of_node[n], *whole = &w->of_pool[s->group];
        const pool *p = &w->pools[s->group];
        double pieces = (double)in->timed[n] * in->costs.piece[p->process], waited = 4 * in->wait_sq[n];
        double ran = out->own[n] - (double)in->wait_ns[n];
        double common = distortion(w, p->process, w->overhead[n], s->time, pieces, ran) + in->shared_ns[n];
        waited += 4 * in->own_sq[n]; /* what others have estimated is not divided here */
        double by_chance = chance_of(s, w->threads[in->thread[n]].rest, w->by_process[p->process].look);
        out->own_error[n] = hypot(sqrt(by_chance + waited), common);
        out->total_distortion[n] = out->shared_ns[n] = common;
        out->total_square[n] = waited;
        out->total_wait[n] = (double)in->wait_ns[n];
        out->total[n] = out->own[n];
        w->below[n] = s->time;
        w->doubt[n] = scaled(p->chance, s->time, whole->time);
        out->own_sq[n] = w->doubt[n] / 4 + in->own_sq[n];
    }
}

/* Add children to their parents, from the last row to the first. */
static void estimate_totals(work *w) {
    const sm_estimate_input *in = w->in;
    const sm_estimates *out = w->out;
    for (size_t n = in->nodes; n-- > 0;) {
        int64_t parent = in->parent[n];
        if (parent >= 0) {
            w->below[parent] += w->below[n];
            w->doubt[parent] += w->doubt[n];
            out->total[parent] += out->total[n];
            out->total_wait[parent] += out->total_wait[n];
            out->total_square[parent] += out->total_square[n];
            out->total_distortion[parent] += out->total_distortion[n];
        }
    }
    for (size_t n = 0; n < in->nodes; n++) {
        double look = w->by_process[process_of(in, n)].look;
        double by_chance = chance(w->below[n], w->threads[in->thread[n]].rest, look, WORTH);
        out->total_error[n] = hypot(sqrt(out->total_square[n] + by_chance), out->total_distortion[n]);
        out->total_square[n] += w->doubt[n];
        out->depth[n] = in->parent[n] < 0 ? 0 : out->depth[in->parent[n]] + 1;
    }
}

static void estimate_functions(work *w) {
    const sm_estimates *out = w->out;
    for (size_t f = 0; f < w->in->functions; f++)
        out->function_own[f] = out->function_own_error[f] = out->function_distortion[f] = 0;
    for (size_t i = 0; i < w->count; i++) {
        const pool *p = &w->pools[i];
        double ran = p->exact + p->left, time = w->of_pool[i].time;
        out->function_own[p->function] += ran + p->wait_ns;
        out->function_distortion[p->function] += distortion(w, p->process, p->overhead, time, p->piece_cost, ran);
        out->function_distortion[p->function] += p->shared_ns;
        out->function_own_error[p->function] += p->chance + 4 * (p->wait_sq + p->own_sq);
    }
    for (size_t f = 0; f < w->in->functions; f++) /* these were squares until now */
        out->function_own_error[f] = hypot(sqrt(out->function_own_error[f]), out->function_distortion[f]);
}

int sm_estimate(const sm_estimate_input *in, const sm_estimates *out) {
    work w = {
        .in = in,
        .out = out,
        .of_node = sm_calloc(in->nodes + 1, sizeof *w.of_node),
        .by_process = sm_calloc(in->processes + 1, sizeof *w.by_process),
        .processes = sm_calloc(in->processes + 1, sizeof *w.processes),
        .threads = sm_calloc(in->threads + 1, sizeof *w.threads),
        .overhead = sm_calloc(in->nodes + 1, sizeof *w.overhead),
        .below = sm_calloc(in->nodes + 1, sizeof *w.below),
        .doubt = sm_malloc((in->nodes + 1) * sizeof *w.doubt),
    };
    int done = -1;
    if (w.of_node != NULL && w.by_process != NULL && w.processes != NULL && w.threads != NULL && w.overhead != NULL &&
        w.below != NULL && w.doubt != NULL && in->nodes < INT32_MAX && in->processes < UINT32_MAX &&
        assign_pools(&w) == 0) {
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
    sm_free(w.of_pool);
    sm_free(w.of_node);
    sm_free(w.by_process);
    sm_free(w.by_pool);
    sm_free(w.processes);
    sm_free(w.threads);
    sm_free(w.overhead);
    sm_free(w.below);
    sm_free(w.doubt);
    return done;
}
