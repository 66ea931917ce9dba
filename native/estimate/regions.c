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
 * visits, N / (L + v). So a region's part f = 2 v / (L + v) is in the region around it. Where all segments of the
 * caller were timed, though, so was every entry and every leaving: no stretch crosses a border (f = 0), however short
 * the visit is, and what went by between the two is known to a read of the clock. So it is with main(), which is called
 * once, and with what it calls some dozen times.
 *
 * How. What a region's estimates miss its known time by has two causes: something that they have in common, as above,
 * and chance. It is divided between these by how much of it each is good for: COMMON of the whole, and the variance of
 * the samples. The common part changes all nodes in proportion, the other each in proportion to its variance, which is
 * the least squares' answer: sure ones stay, doubtful ones take the correction.
 *
 * What is doubtful then. A function's share of the common part and its own chance, less what the known sum tells of
 * both (a function that is all of its region has no doubt left). And what a region misses says that its samples are no
 * example of its segments; whether each function's are too long by the same part, it does not say. So OWN of it is each
 * function's own, and HIDDEN of each segment, since a measured one holds some nanoseconds of the clock itself. The sum
 * of a region is not doubted, but for its borders and for what is taken out of its stretches: `doubt` has the variance
 * of that, with all regions inside.
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

static const double COMMON = 0.1;     /* relative deviation that the samples of a region have in common */
static const double UNSURE = 0.02;    /* relative deviation of estimates and stretches for other reasons than these */
static const double OWN = 0.25;       /* of what a region misses, the deviation that each function has of its own */
static const double HIDDEN = 0.5;     /* ns: deviation of a function's mean by what the processor hides of the clock */
static const double LONG = 1000;      /* segments a visit */
static const double LOOKS = 30;       /* fewer tell too little */
static const double INSIDE = 0.75;    /* a region that is more of the one around it adds nothing */
static const double LEAST = 0.25;     /* of what is beyond chance of its estimate a node keeps so much */
static const double UNFORESEEN = 0.3; /* of what a sampled segment is too long by: what a probe costs more, a segment */
static const double VARIED = 2;

typedef struct {
    double segments, looks, visits; /* with all that is below */
    double known, ticked, time, variance;
    double outside;                 /* part of its time that stretches count for the region around it */
    double own_looks, own_segments; /* without inner regions */
    double target;                  /* what the time should be; then by how much all of it changes */
    double by_chance;               /* ns, in proportion to variance */
    double common;                  /* variance of that, ns squared */
    double missing;                 /* relative: what the estimates missed the known time by */
    double doubt;                   /* variance of what its time should be, ns squared; with that of inner regions */
    double own_doubt;               /* without them */
    double unforeseen;              /* ns a segment */
    size_t first;                   /* of its nodes; the others are linked */
    size_t around;                  /* region */
    uint8_t is_region;              /* of the node with this number */
} region;

typedef struct { /* a function's nodes in the region at hand */
    double time, variance, segments;
    double doubt; /* of these, variance: with what the region misses */
} member;

typedef struct {
    const sm_estimate_input *in;
    const double *segments;
    region *regions; /* owned; of each node, then of each process */
    size_t *of;      /* owned; the region of each node */
    size_t *next;    /* owned; the next node of the same region, in->nodes: none */
} work;

static size_t process_of(const sm_estimate_input *in, size_t n) {
    return (size_t)in->thread_process[in->thread[n]];
}

/* Was every entry of this node timed, and every leaving? */
static bool has_known_borders(const work *w, size_t n) {
    return w->in->parent[n] < 0 || w->segments[w->in->parent[n]] <= 0;
}

static bool is_region(const work *w, size_t n, const region *around, bool whole) {
    const region *r = &w->regions[n];
    if (r->visits <= 0 || r->looks <= 0)
        return false;
    if (has_known_borders(w, n))
        return true;
    return r->looks >= LOOKS && r->segments >= LONG * r->visits && (r->segments < INSIDE * around->segments || whole);
}

/* Which nodes are regions, and of which each node is. Those of processes stand behind the nodes'. */
static void find(work *w) {
    const sm_estimate_input *in = w->in;
    region *regions = w->regions;
    for (size_t n = 0; n < in->nodes; n++)
        regions[n] = (region){.segments = w->segments[n],
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
        size_t around = in->parent[n] >= 0 ? w->of[in->parent[n]] : in->nodes + process_of(in, n);
        r->around = around;
        r->is_region = is_region(w, n, &regions[around], around >= in->nodes);
        if (r->is_region && !has_known_borders(w, n))
            r->outside = fmin(0.5, 2 * r->visits / (r->looks + r->visits));
        w->of[n] = r->is_region ? n : around;
    }
    for (size_t i = 0; i < in->nodes + in->processes; i++)
        regions[i].first = in->nodes;
    for (size_t n = in->nodes; n-- > 0;) {
        w->next[n] = regions[w->of[n]].first;
        regions[w->of[n]].first = n;
    }
}

static void sum(const work *w, const double *known, const double *time, const double *variance) {
    const sm_estimate_input *in = w->in;
    for (size_t p = 0; p < in->processes; p++)
        w->regions[in->nodes + p].known = known[p];
    for (size_t n = 0; n < in->nodes; n++) {
        region *r = &w->regions[w->of[n]];
        double spent = (double)in->stretch_ns[n];
        r->known += spent;
        w->regions[in->nodes + process_of(in, n)].known -= spent;
        r->ticked += (double)in->ticked_ns[n];
        r->own_looks += (double)in->stretches[n];
        r->own_segments += w->segments[n];
        r->time += time[n];
        r->variance += variance[n];
    }
}

/* What is too long of the measured segments is in the known time, too: so many of the region's. Its estimates are too
 * long by that of all segments; as far as this is not chance. */
static double too_long(region *r, double should) {
    double others = r->own_segments - r->own_looks, deviation = COMMON * fmin(r->time, fmax(0, should));
    if (others <= 0 || deviation <= 0)
        return 0;
    double all = others * others / r->own_segments / r->own_segments * deviation * deviation,
           looks = r->own_looks / others;
    double part = all / (all + r->variance + UNSURE * r->time * UNSURE * r->time);
    r->own_doubt = looks * looks * all * (1 - part);
    return fmax(0, r->time - should) * looks * part;
}

/* From the innermost region to the outermost: what it should have, and how its nodes get there. */
static void reconcile(region *r, region *around) {
    double should =
        (r->known - r->ticked - r->target) / (1 - r->outside); /* target: so far what the inner ones leave */
    should -= too_long(r, should);
    double missing = should - r->time, least = LEAST * fmax(0, r->time - 2 * sqrt(r->variance));
    double common = COMMON * fmin(r->time, fmax(0, should)); /* what is far too long is so by chance */
    common *= common;
    if (missing < 0 && r->own_looks >= LOOKS && r->own_segments > 0) /* as far as that is not chance */
        r->unforeseen = UNFORESEEN * -missing / r->own_segments * missing * missing / (missing * missing + r->variance);
    r->target = 1, r->by_chance = 0;
    if (r->time > 0 && common + r->variance > 0) {
        if (should < least)
            missing = least - r->time, r->doubt = INFINITY;
        r->common = common;
        r->missing = fmin(1, fabs(missing) / r->time);
        r->target = 1 + missing * common / (common + r->variance) / r->time;
        r->by_chance = missing * r->variance / (common + r->variance);
    } else if (r->known > 0) {
        r->doubt = INFINITY;
    }
    double border = r->outside * fmax(0, should);
    around->target += r != around ? border : 0;
    around->doubt += r != around ? r->doubt + r->own_doubt : 0; /* what is across a border is within the one around */
    r->own_doubt += r->outside > 0 ? border * border / (2 * r->visits) : 0;
    r->doubt += r->own_doubt;
}

/* The nodes of a region get what they should have, and their variance what is left of it. members: of each function,
 * noughts. */
static void move(const work *w, const region *r, member *members, const sm_region_estimates *to) {
    double all = r->common;
    for (size_t n = r->first; n < w->in->nodes; n = w->next[n]) {
        member *m = &members[w->in->function[n]];
        m->time += to->time[n];
        m->variance += to->variance[n];
        m->segments += w->segments[n];
    }
    for (size_t n = r->first; n < w->in->nodes; n = w->next[n]) {
        member *m = &members[w->in->function[n]];
        if (m->doubt == 0) {
            double own = OWN * r->missing * m->time, hidden = HIDDEN * m->segments;
            m->doubt = m->variance + own * own + hidden * hidden;
            all += m->doubt;
        }
    }
    for (size_t n = r->first; n < w->in->nodes; n = w->next[n]) {
        const member *m = &members[w->in->function[n]];
        double part = r->time > 0 ? m->time / r->time : 0, shared = m->doubt + r->common * part;
        double left = m->doubt + r->common * part * part - (all > 0 ? shared * shared / all : 0);
        left = fmax(0, left) + part * part * r->own_doubt;
        double by_chance = r->variance > 0 ? r->by_chance * to->variance[n] / r->variance : 0;
        double least = LEAST * fmax(0, to->time[n] - 2 * sqrt(to->variance[n]));
        to->share[n] = m->variance > 0 ? to->variance[n] / m->variance : m->time > 0 ? to->time[n] / m->time : 0;
        to->variance[n] = to->share[n] * left;
        to->time[n] = fmax(least, to->time[n] * r->target + by_chance);
    }
    for (size_t n = r->first; n < w->in->nodes; n = w->next[n])
        members[w->in->function[n]] = (member){0};
}

/* Of a region, 0 to 1: how varied the functions are that its events are of. children: of each node, how many; events:
 * noughts, as many as functions. */
static double varied(const work *w, const region *r, const uint32_t *children, double *events) {
    const sm_estimate_input *in = w->in;
    double all = 0, entropy = 0;
    for (size_t n = r->first; n < in->nodes; n = w->next[n]) {
        double entered = (double)in->calls[n] + (double)in->resumes[n];
        if (in->parent[n] < 0 || children[in->parent[n]] > 1)
            events[in->function[n]] += entered, all += entered;
    }
    for (size_t n = r->first; n < in->nodes; n = w->next[n]) {
        double *of = &events[in->function[n]];
        if (*of > 0)
            entropy -= *of / all * log(*of / all);
        *of = 0;
    }
    return fmin(1, entropy / VARIED);
}

static int find_unforeseen(const work *w, double *unforeseen) {
    const sm_estimate_input *in = w->in;
    double *events = sm_calloc(in->functions + 1, sizeof *events);
    uint32_t *children = sm_calloc(in->nodes + 1, sizeof *children);
    int done = events != NULL && children != NULL ? 0 : -1;
    for (size_t n = 0; n < in->nodes && done == 0; n++) {
        if (in->parent[n] >= 0)
            children[in->parent[n]]++;
    }
    for (size_t i = 0; i < in->nodes + in->processes && done == 0; i++) {
        if (w->regions[i].unforeseen > 0)
            w->regions[i].unforeseen *= varied(w, &w->regions[i], children, events);
    }
    for (size_t n = 0; n < in->nodes && done == 0; n++) {
        bool calibrated = in->costs.cost_error[process_of(in, n)] > 0;
        unforeseen[n] = calibrated ? w->regions[w->of[n]].unforeseen * w->segments[n] : 0;
    }
    sm_free(events);
    sm_free(children);
    return done;
}

static int reconcile_all(work *w, const double *known, const sm_region_estimates *to) {
    size_t nodes = w->in->nodes;
    member *members = sm_calloc(w->in->functions + 1, sizeof *members);
    if (members == NULL)
        return -1;
    find(w);
    sum(w, known, to->time, to->variance);
    for (size_t i = nodes; i-- > 0;) {
        if (w->regions[i].is_region)
            reconcile(&w->regions[i], &w->regions[w->regions[i].around]);
    }
    for (size_t i = nodes; i < nodes + w->in->processes; i++) {
        if (known[i - nodes] > 0) /* 0: a recording that does not know */
            reconcile(&w->regions[i], &w->regions[i]);
    }
    for (size_t i = 0; i < nodes + w->in->processes; i++) {
        if (w->regions[i].is_region && (i < nodes || known[i - nodes] > 0))
            move(w, &w->regions[i], members, to);
    }
    sm_free(members);
    return 0;
}

int sm_regions_reconcile(const sm_estimate_input *in, const double *segments, const double *known,
                         const sm_region_estimates *to) {
    size_t count = in->nodes + in->processes;
    work w = {
        .in = in,
        .segments = segments,
        .regions = sm_calloc(count + 1, sizeof(region)),
        .of = sm_malloc((in->nodes + 1) * sizeof(size_t)),
        .next = sm_malloc((in->nodes + 1) * sizeof(size_t)),
    };
    int done = -1;
    if (w.regions != NULL && w.of != NULL && w.next != NULL)
        done = reconcile_all(&w, known, to);
    if (done == 0)
        done = find_unforeseen(&w, to->unforeseen);
    for (size_t n = 0; n < in->nodes && done == 0; n++)
        to->doubt[n] = w.regions[n].is_region ? w.regions[n].doubt : INFINITY;
    sm_free(w.regions);
    sm_free(w.of);
    sm_free(w.next);
    return done;
}
