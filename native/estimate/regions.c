/* What is known of whole regions of the call tree, and how estimates are brought into line with it.
 *
 * Why. A segment that is timed at random is not quite like its neighbours. The branch that leads to the clock is taken
 * once in a hundred times, so the processor does not foresee it, and what it has learnt of the code that follows is of
 * no use for a while: a sampled segment of varied code takes up to half as long again, while in a small loop it may
 * seem shorter than it is. No calibration tells, for it depends on the program's code. But the time from one reading
 * of a thread's clock to the next is known, whatever ran in it. Such a *stretch* of about a hundred segments holds one
 * measured one, so that stretches are next to undisturbed.
 *
 * Where. The recorder adds a stretch to the node that its ends have in common (`stretch_ns`). The thread may have been
 * elsewhere in between; but not where visits are long. So a *region* is a node that is stayed in and below for many
 * segments whenever it is entered, with all that is below it and in no region of its own; the rest of a process is one
 * more. What its stretches add up to is known, and the estimates of its nodes must add up to that.
 *
 * Young functions are measured more often. What the measured segments of a region are too long by, which is known once
 * they are held against its stretches, is in those stretches as often as there is one, and taken out of them as well.
 *
 * Borders. A stretch in which a region is entered or left counts for the one around it. Random gaps have no memory, so
 * on both sides of a border lies, on average, as much as from one look to the next: of N segments with L looks in v
 * visits, N / (L + v). So a region's part f = 2 v / (L + v) is in the region around it.
 *
 * How. What a region's estimates miss its known time by has two causes: something that they have in common, as above,
 * and chance. It is divided between these by how much of it each is good for: COMMON of the whole, and the variance of
 * the samples. The common part changes all nodes in proportion, the other each in proportion to its variance, which is
 * the least squares' answer: sure ones stay, doubtful ones take the correction.
 *
 * Unforeseen probes. What a probe costs is calibrated in a loop, which the processor foresees. In varied code it costs
 * up to twice as much, for the same reason for which sampled segments are too long there; and by how much these are, in
 * a region, has just been found. So it tells by how much its probes cost more. It tells nothing where they always come
 * in the same order, however varied the code between them is: that is, where few functions take part, or each calls the
 * same other one. VARIED nats of entropy over the functions that a region's events are of, those left out that are all
 * that their caller calls, and more, are taken for varied code, less for a part of it.
 * UNFORESEEN was found with the programs of benchmarks/truth.py, of all versions together. */
#include "estimate/regions.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

static const double COMMON = 0.1;  /* relative deviation that the samples of a region have in common */
static const double LONG = 1000;   /* segments a visit */
static const double LOOKS = 30;    /* fewer tell too little */
static const double INSIDE = 0.75; /* a region that is more of the one around it adds nothing */
static const double LEAST = 0.25;  /* a node keeps so much of its estimate */
static const double UNFORESEEN =
    0.45; /* of what a sampled segment is too long by: what a probe costs more, a segment */
static const double VARIED = 2;

typedef struct {
    double segments, looks, visits; /* with all that is below */
    double known, ticked, time, variance;
    double outside;                 /* part of its time that stretches count for the region around it */
    double own_looks, own_segments; /* without inner regions */
    double target;                  /* what the time should be; then by how much all of it changes */
    double by_chance;               /* ns, in proportion to variance */
    double unforeseen;              /* ns a segment */
    size_t first;                   /* of its nodes; the others: see varied() */
    size_t around;                  /* region */
    uint8_t is_region;              /* of the node with this number */
} region;

static size_t process_of(const sm_estimate_input *in, size_t n) {
    return (size_t)in->thread_process[in->thread[n]];
}

/* Which nodes are regions; `of`: the region of each node. Those of processes stand behind the nodes'. */
static void find(const sm_estimate_input *in, const double *segments, region *regions, size_t *of) {
    for (size_t n = 0; n < in->nodes; n++)
        regions[n] = (region){.segments = segments[n],
                              .looks = (double)in->stretches[n],
                              .visits = (double)in->calls[n] + (double)in->resumes[n]};
    for (size_t p = 0; p < in->processes; p++)
        regions[in->nodes + p] = (region){.is_region = 1, .around = in->nodes + p};
    for (size_t n = in->nodes; n-- > 0;) {
        region *above = &regions[in->parent[n] >= 0 ? (size_t)in->parent[n] : in->nodes + process_of(in, n)];
        above->segments += regions[n].segments;
        above->looks += regions[n].looks;
    }
    for (size_t n = 0; n < in->nodes; n++) {
        region *r = &regions[n];
        size_t around = in->parent[n] >= 0 ? of[in->parent[n]] : in->nodes + process_of(in, n);
        r->around = around;
        r->is_region = r->visits > 0 && r->looks >= LOOKS && r->segments >= LONG * r->visits &&
                       (r->segments < INSIDE * regions[around].segments || around >= in->nodes);
        if (r->is_region)
            r->outside = fmin(0.5, 2 * r->visits / (r->looks + r->visits));
        of[n] = r->is_region ? n : around;
    }
}

static void sum(const sm_estimate_input *in, const double *segments, const double *known, const double *time,
                const double *variance, region *regions, const size_t *of) {
    for (size_t p = 0; p < in->processes; p++)
        regions[in->nodes + p].known = known[p];
    for (size_t n = 0; n < in->nodes; n++) {
        region *r = &regions[of[n]];
        double spent = (double)in->stretch_ns[n];
        r->known += spent;
        regions[in->nodes + process_of(in, n)].known -= spent;
        r->ticked += (double)in->ticked_ns[n];
        r->own_looks += (double)in->stretches[n];
        r->own_segments += segments[n];
        r->time += time[n];
        r->variance += variance[n];
    }
}

/* From the innermost region to the outermost: what it should have, and how its nodes get there. */
static void reconcile(region *r, region *around) {
    double should =
        (r->known - r->ticked - r->target) / (1 - r->outside); /* target: so far what the inner ones leave */
    if (r->own_segments > r->own_looks) /* what is too long of the measured segments is in the known time, too */
        should -= fmax(0, r->time - should) * r->own_looks / (r->own_segments - r->own_looks);
    double missing = should - r->time, common = COMMON * r->time * COMMON * r->time;
    if (missing < 0 && r->own_looks >= LOOKS && r->own_segments > 0) /* as far as that is not chance */
        r->unforeseen = UNFORESEEN * -missing / r->own_segments * missing * missing / (missing * missing + r->variance);
    r->target = 1, r->by_chance = 0;
    if (r->time > 0 && common + r->variance > 0) {
        missing = fmax(missing, (LEAST - 1) * r->time);
        r->target = 1 + missing * common / (common + r->variance) / r->time;
        r->by_chance = missing * r->variance / (common + r->variance);
    }
    if (r != around)
        around->target += r->outside * fmax(0, should);
}

/* Of a region, 0 to 1: how varied the functions are that its events are of. next: of each node, the next one of its
 * region; children: of each node, how many; events: noughts, as many as functions. */
static double varied(const sm_estimate_input *in, const region *r, const size_t *next, const uint32_t *children,
                     double *events) {
    double all = 0, entropy = 0;
    for (size_t n = r->first; n < in->nodes; n = next[n]) {
        double entered = (double)in->calls[n] + (double)in->resumes[n];
        if (in->parent[n] < 0 || children[in->parent[n]] > 1)
            events[in->function[n]] += entered, all += entered;
    }
    for (size_t n = r->first; n < in->nodes; n = next[n]) {
        double *of = &events[in->function[n]];
        if (*of > 0)
            entropy -= *of / all * log(*of / all);
        *of = 0;
    }
    return fmin(1, entropy / VARIED);
}

static int find_unforeseen(const sm_estimate_input *in, const double *segments, region *regions, const size_t *of,
                           double *unforeseen) {
    size_t *next = sm_malloc((in->nodes + 1) * sizeof *next);
    double *events = sm_calloc(in->functions + 1, sizeof *events);
    uint32_t *children = sm_calloc(in->nodes + 1, sizeof *children);
    int done = next != NULL && events != NULL && children != NULL ? 0 : -1;
    for (size_t i = 0; i < in->nodes + in->processes; i++)
        regions[i].first = in->nodes;
    for (size_t n = in->nodes; n-- > 0 && done == 0;) {
        next[n] = regions[of[n]].first;
        regions[of[n]].first = n;
        if (in->parent[n] >= 0)
            children[in->parent[n]]++;
    }
    for (size_t i = 0; i < in->nodes + in->processes && done == 0; i++) {
        if (regions[i].unforeseen > 0)
            regions[i].unforeseen *= varied(in, &regions[i], next, children, events);
    }
    for (size_t n = 0; n < in->nodes && done == 0; n++) {
        bool calibrated = in->costs.cost_error[process_of(in, n)] > 0;
        unforeseen[n] = calibrated ? regions[of[n]].unforeseen * segments[n] : 0;
    }
    sm_free(next);
    sm_free(events);
    sm_free(children);
    return done;
}

int sm_regions_reconcile(const sm_estimate_input *in, const double *segments, const double *known, double *time,
                         double *variance, double *unforeseen) {
    size_t count = in->nodes + in->processes;
    region *regions = sm_calloc(count + 1, sizeof *regions);
    size_t *of = sm_malloc((in->nodes + 1) * sizeof *of);
    if (regions == NULL || of == NULL) {
        sm_free(regions);
        sm_free(of);
        return -1;
    }
    find(in, segments, regions, of);
    sum(in, segments, known, time, variance, regions, of);
    for (size_t i = in->nodes; i-- > 0;) {
        if (regions[i].is_region)
            reconcile(&regions[i], &regions[regions[i].around]);
    }
    for (size_t p = 0; p < in->processes; p++) {
        region *r = &regions[in->nodes + p];
        if (known[p] > 0) /* 0: a recording that does not know */
            reconcile(r, r);
        else
            r->target = 1;
    }
    for (size_t n = 0; n < in->nodes; n++) {
        const region *r = &regions[of[n]];
        double by_chance = r->variance > 0 ? r->by_chance * variance[n] / r->variance : 0;
        double common = COMMON * r->time * COMMON * r->time;
        time[n] = fmax(LEAST * time[n], time[n] * r->target + by_chance);
        if (r->target != 1 || by_chance != 0) /* what is known as a whole is doubted less in its parts */
            variance[n] *= fmax(0, 1 - variance[n] / (r->variance + common));
    }
    int done = find_unforeseen(in, segments, regions, of, unforeseen);
    sm_free(regions);
    sm_free(of);
    return done;
}
