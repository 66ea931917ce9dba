/* What is done when the clock is read at an event: which node the time belongs to, and what it teaches.
 *
 * This runs once in a hundred events or so, when the processor has neither its code nor its data at hand, and that is
 * most of its price. So the common case (nothing came in between, the segment is a short one) is kept apart: it looks
 * at the thread's own state only, and puts what it has read into the *batch*, which is gone through when it is full:
 * then the code and its branches are there for all of them, and the processor fetches the nodes side by side.
 *
 * Who reads times of nodes or functions settles the batch first. The one thing that comes later than it might is how
 * often a function is timed; and as the chance of a segment is known before it begins, whenever that was learnt, its
 * weight is right. A long segment is accounted for at once: it may make a function one that is timed always, or a C
 * function one that is not trivial. The batch is the process's: who touches it holds the GIL. */
#include <assert.h>
#include <math.h>

#include "compat/frame.h"
#include "recorder/calls/store.h"

#define MOST 64
#define LOOK_AFTER 256    /* events of a recording without times */
#define ODD 8.0           /* times the mean */
#define KNOWN 8           /* segments of a path: so many tell what others will be like */
#define ALWAYS_IS_WORTH 8 /* what has few segments yet is learnt sooner: see SM_PAST_EVERY */
#define WORTH_SAMPLES 2   /* of a path, before it is judged by itself */

typedef struct {     /* a segment that has ended; or, if step is 0, a stretch of untimed ones */
    sm_node *node;   /* that it was timed for; of a stretch, the node at its end */
    sm_node *looked; /* of a stretch: the node at its beginning */
    uint32_t ticks;
    int32_t step;
} sample;

static struct {
    uint32_t count, worth;
    sample all[MOST];
} batch;

/* ---- accounting ---- */

static inline int16_t step_of(const sm_node *node) {
    const sm_node_rest *rest = sm_rest(node);
    return rest->flags & SM_NODE_WORTH ? SM_SEGMENT_ALWAYS : (int16_t)rest->function->step;
}

/* A function that is short on most paths may be long on one: by a sample of few calls little would be known of that,
 * and to time them all costs next to nothing. Asked at segments that are worth it, and of nodes that have been found
 * so. What of a node's segments is timed is still decided before they begin. */
static __attribute__((noinline)) void judge(sm_node *node) {
    sm_node_rest *rest = sm_rest(node);
    const sm_young *young = rest->young != 0 ? &sm_tree.young[rest->young] : NULL;
    double count = (double)rest->sampled * SM_SAMPLE_PERIOD + (young != NULL ? young->weight : 0);
    double ticks = (double)rest->sampled_ticks * SM_SAMPLE_PERIOD + (young != NULL ? young->ticks : 0);
    uint32_t samples = rest->sampled + (young != NULL ? young->count : 0);
    double mean = ((double)rest->timed_ticks + ticks) / ((double)rest->timed + count);
    if (samples >= WORTH_SAMPLES && mean >= (double)sm_engine.threshold_ticks)
        rest->flags |= SM_NODE_WORTH;
    else
        rest->flags &= (uint16_t)~SM_NODE_WORTH;
}

/* How often its segments are timed from now on. */
static void learnt(sm_node *node, sm_tree_function *function) {
    uint64_t first = function->function->kind == SM_SYNTHETIC ? UINT64_MAX : SM_TREE_FIRST;
    function->step = sm_past_step(&function->past, first, sm_tree.ticks);
    node->step = step_of(node);
    if (function->step != SM_SEGMENT_ALWAYS)
        sm_ticker_want();
}

/* The thread was off the CPU. */
static __attribute__((noinline)) void note_off(sm_node *node, const sm_segment *ended) {
    sm_tree_function *function = sm_rest(node)->function;
    uint64_t own = sm_off_own(ended->off);
    if (!ended->guessed && ended->ticks + own > function->longest)
        function->longest = ended->ticks + own;
    sm_past_waited(&function->past, ended->off);
    learnt(node, function);
    sm_node_more *more = sm_node_has(node);
    if (more == NULL) {
        sm_engine.lost_memory++;
        return;
    }
    sm_off_add(&more->off, ended->off);
    if (ended->guessed)
        more->guessed_sq += (double)ended->off->all * (double)ended->off->all;
}

static inline void add_sample(sm_node *node, const sm_segment *ended) {
    sm_node_rest *rest = sm_rest(node);
    float most = (float)sm_sample_var(ended);
    rest->sampled_most = most > rest->sampled_most ? most : rest->sampled_most;
    if (ended->weight == SM_SAMPLE_PERIOD) {
        if (rest->sampled == UINT32_MAX / 2) /* by then the mean is known well enough */
            return;
        rest->sampled++;
        rest->sampled_ticks += ended->ticks;
        rest->sampled_sq += (double)ended->ticks * (double)ended->ticks;
        return;
    }
    sm_young *young = sm_node_young(node);
    if (young != NULL)
        sm_young_add(young, ended);
    else
        sm_engine.lost_memory++;
}

static __attribute__((noinline)) void add_long(sm_node *node, uint64_t ticks, double var) {
    sm_node_more *more = sm_node_has(node);
    if (more == NULL) {
        sm_engine.lost_memory++;
        return;
    }
    more->ticked++;
    more->ticked_ticks += ticks;
    more->ticked_var += var;
}

/* A sample is *odd* that is much longer than its function's others, and than what is known of its path. It may be of
 * the function's own kind. But mostly an interrupt has hit it, which takes as long as some hundred short segments. They
 * come some hundred times a second, whatever runs, so of a short function one sample in ten thousand meets one, and
 * makes it look as if all that the sample stands for had taken so long. So the first odd sample of a function is put
 * aside. What it took is in its stretch, and so is shared by all of the region (estimate/regions.c). With the next one,
 * both count: by then it is the function's own kind, or so much of it has been sampled that none weighs much. */
static bool is_odd(const sm_node *node, double ticks) {
    const sm_node_rest *rest = sm_rest(node);
    const sm_young *young = rest->young != 0 ? &sm_tree.young[rest->young] : NULL;
    double count = (double)rest->timed + rest->sampled, sum = (double)rest->timed_ticks + (double)rest->sampled_ticks;
    if (young != NULL && young->weight > 0)
        count += young->count, sum += young->count * young->ticks / young->weight;
    return count >= KNOWN && ticks * count > ODD * sum + (double)sm_engine.threshold_ticks * count;
}

static void add_sampled(sm_node *node, const sm_segment *ended) {
    add_sample(node, ended);
    sm_rest(node)->function->sampled++;
    sm_rest(node)->function->sampled_ticks += (double)ended->ticks;
}

/* Of a sample that is much longer than its function's others. */
static __attribute__((noinline)) bool is_believed(sm_node *node, const sm_segment *sample) {
    sm_tree_function *function = sm_rest(node)->function;
    if (!is_odd(node, (double)sample->ticks))
        return true;
    if (function->odd == NULL) {
        function->odd = node, function->odd_ticks = sample->ticks, function->odd_weight = sample->weight;
        if (sample->excess > 0) /* found by time, and no matter of weights */
            add_long(node, sample->excess, 0);
        return false;
    }
    if (function->odd_weight > 0) {
        sm_segment first = {SM_SEGMENT_SAMPLED, .ticks = function->odd_ticks, .weight = function->odd_weight};
        function->odd_weight = 0;
        add_sampled(function->odd, &first);
        sm_past_learn(&function->past, &first, &sm_tree.ticks);
    }
    return true;
}

static inline bool is_example(sm_node *node, const sm_segment *sample) {
    const sm_past *past = &sm_rest(node)->function->past;
    double most = ODD * past->ticks + (double)sm_engine.threshold_ticks * past->count;
    return SM_LIKELY((double)sample->ticks * past->count <= most) || is_believed(node, sample);
}

/* A segment of a node has ended. */
static inline void account(sm_node *node, const sm_segment *ended) {
    sm_node_rest *rest = sm_rest(node);
    sm_tree_function *function = rest->function;
    if (ended->kind == SM_SEGMENT_SAMPLED && !is_example(node, ended))
        return;
    uint64_t ticks = ended->ticks;
    if (ended->kind == SM_SEGMENT_SAMPLED) {
        add_sampled(node, ended);
        if (ended->excess > 0)
            add_long(node, ended->excess, 0);
    } else if (ended->kind == SM_SEGMENT_TIMED) {
        rest->timed++;
        rest->timed_ticks += ticks;
        rest->timed_sq += (double)ticks * (double)ticks;
    } else {
        add_long(node, ticks, ended->var);
    }
    if (ticks > function->longest)
        function->longest = ticks;
    sm_past_learn(&function->past, ended, &sm_tree.ticks);
    if (SM_UNLIKELY(ticks >= sm_engine.threshold_ticks || (rest->flags & SM_NODE_WORTH) != 0))
        judge(node);
    if (sm_past_tells(&function->past, ended))
        learnt(node, function);
    else
        node->step = step_of(node);
}

static inline void add_stretch(const sm_node *common, uint64_t ticks) {
    if (common != NULL && common->parent != NULL && sm_rest(common)->stretches != UINT32_MAX) {
        sm_rest(common)->stretches++;
        sm_rest(common)->stretch_ticks += ticks;
    }
}

/* A stretch of time ends in this node's segment (NULL: the current one's). It was spent in and below the node that the
 * stretch's ends have in common, unless the thread was somewhere else in between and came back. */
static void end_stretch(sm_thread *thread, sm_node *from, uint64_t ticks) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (ticks != 0)
        add_stretch(sm_node_common(tree->looked, from != NULL ? from : tree->node), ticks);
    tree->looked = tree->node;
}

static inline void settle_one(const sample *one) {
    if (one->step == 0) {
        add_stretch(sm_node_common(one->looked, one->node), one->ticks);
        return;
    }
    sm_segment ended = {.kind = SM_SEGMENT_TIMED, .ticks = one->ticks, .weight = 1.0};
    if (one->step != SM_SEGMENT_ALWAYS) {
        add_stretch(one->ticks != 0 ? one->node : NULL, one->ticks);
        ended.kind = SM_SEGMENT_SAMPLED;
        ended.ticks = sm_ticks_since(sm_engine.sampled_extra, one->ticks);
        ended.weight = sm_step_weight(one->step);
    }
    account(one->node, &ended);
}

static __attribute__((noinline)) void settle(void) {
    for (uint32_t i = 0; i < batch.count; i++)
        __builtin_prefetch(sm_rest(batch.all[i].node), 1);
    batch.worth = 0;
    while (batch.count > 0) { /* taken out first: a deadly signal may end the recording in the middle of it */
        sample one = batch.all[--batch.count];
        settle_one(&one);
    }
}

void sm_tree_settle(void) {
    settle();
}

void sm_tree_unsettle(void) {
    batch.count = batch.worth = 0;
}

/* ---- at an event ---- */

/* Where C functions evaluate frames, a call costs more that would not have gone through C. Which it is, is looked at
 * when a node has just been left, and taken for all calls on this path: by what the caller is at, after some calls,
 * when the interpreter has specialised its instructions. At some hundred events a second that is enough: it matters for
 * paths that hold a good part of them. */
static inline void note_caller(sm_thread *thread, const sm_node *left) {
#if SM_HAS_EVALFRAME
    const sm_node *node = sm_tree_of(thread)->node;
    const sm_frame *caller = sm_engine.source->frames_in_c ? sm_frame_running(thread->tstate) : NULL;
    if (caller == NULL || left->parent != node || sm_frame_code(caller) != node->key)
        return;
    uint16_t *flags = &sm_rest(left)->flags;
    *flags = (uint16_t)(sm_frame_calls_python(caller) ? *flags & ~SM_NODE_FROM_C : *flags | SM_NODE_FROM_C);
#else
    (void)thread, (void)left;
#endif
}

/* Whatever has come in between, and however long the segment is. */
static __attribute__((noinline)) void look_closely(sm_thread *thread, sm_node *from, uint64_t now) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_node *node = tree->node;
    int16_t taken = node->step;
    note_caller(thread, from);
    settle();
    uint64_t rest = thread->rest_ticks;
    sm_segment ended = sm_segments_end(thread, &tree->segments, taken, now);
    end_stretch(thread, from, thread->rest_ticks - rest);
    sm_node *of = ended.owner != NULL ? ended.owner : from;
    if (ended.kind != SM_SEGMENT_UNTIMED && (ended.owner != NULL || of->parent != NULL))
        account(of, &ended);
    if (SM_UNLIKELY(ended.off != NULL) && of->parent != NULL)
        note_off(of, &ended);
    if (taken != 1) /* else the smaller of both is 1 in any case, and account() sees to it once it is timed */
        node->step = step_of(node);
    (void)sm_segments_begin(thread, &tree->segments, &ended, node, taken < node->step ? taken : node->step);
}

/* The common case. Does what sm_segments_end() and sm_segments_begin() do, as far as there is anything to do. */
static inline void look(sm_thread *thread, sm_node *from, uint64_t now) {
    assert(thread == sm_this_thread && thread->session == sm_engine.session);
    assert(from != NULL && sm_tree_of(thread)->node != NULL);
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_segments *segments = &tree->segments;
    sm_node *node = tree->node, *open = segments->open;
    int32_t step = node->step, left = open != NULL ? segments->left : segments->countdown + step;
    uint64_t then = open != NULL ? segments->opened : segments->seen, ticks = now - then;
    bool common = open != NULL ? open == from && ticks < segments->brief : left != 0 && ticks < UINT32_MAX;
    if (SM_UNLIKELY(!common || now < then || !sm_segments_quiet(segments, now))) {
        look_closely(thread, from, now);
        return;
    }
    int32_t was = open != NULL ? segments->open_step : 0;
    batch.all[batch.count++] = (sample){from, tree->looked, (uint32_t)ticks, was};
    batch.worth += was == SM_SEGMENT_ALWAYS ? ALWAYS_IS_WORTH : 1;
    thread->rest_ticks += was == SM_SEGMENT_ALWAYS ? 0 : ticks;
    __atomic_store_n(&thread->visits, 0, __ATOMIC_RELAXED);
    tree->looked = node;
    if (SM_UNLIKELY(batch.worth >= MOST))
        settle();
    bool always = step == SM_SEGMENT_ALWAYS, opens = always || (left -= step) <= 0;
    segments->open = opens ? node : NULL;
    segments->open_step = step;
    segments->countdown = opens ? 0 : left;
    segments->left = opens && !always ? sm_gap(&segments->random) : left;
    /* What was done here is in no segment, and so in no cost of an event, however often the clock is read. */
    segments->opened = sm_clock_read(&sm_engine.clock);
    segments->opening = segments->opened - now;
    segments->seen = segments->opened;
}

void sm_tree_look(sm_thread *thread) {
    sm_tree_of(thread)->segments.countdown = LOOK_AFTER;
    if (sm_engine_due(sm_clock_read(&sm_engine.clock)))
        sm_engine_tick(thread);
}

void sm_tree_clock(sm_thread *thread, sm_node *from, uint64_t now) {
    if (SM_UNLIKELY(sm_engine.settings.timeless)) { /* the slow paths come by here all the same */
        sm_tree_look(thread);
        return;
    }
    if (sm_tree_of(thread)->journal.stream != NULL)
        sm_journal_mark(thread, now);
    look(thread, from, now);
}

void sm_tree_clock_stamped(sm_thread *thread, sm_node *from, uint64_t now) {
    look_closely(thread, from, now);
}

/* ---- around events ---- */

void sm_tree_poke(sm_thread *thread) {
    if (sm_engine.settings.timeless)
        return;
    sm_segments_poke(thread, &sm_tree_of(thread)->segments);
}

void sm_tree_hold(sm_thread *thread) {
    if (sm_engine.settings.timeless)
        return;
    uint64_t rest = thread->rest_ticks;
    sm_segments_hold(thread, &sm_tree_of(thread)->segments);
    if (thread->rest_ticks != rest)
        end_stretch(thread, NULL, thread->rest_ticks - rest);
}

void sm_tree_go_on(sm_thread *thread) {
    if (sm_engine.settings.timeless)
        return;
    sm_segments_go_on(&sm_tree_of(thread)->segments);
}

/* They are counted as a long segment of the node, and go by between the two parts of what they interrupt. A sample that
 * they interrupt is given up: what comes after them finds the caches full of other data. */
void sm_tree_take_out(sm_thread *thread, uint64_t began, uint64_t ticks) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_segments *segments = &tree->segments;
    if (segments->open != NULL && segments->open_step != SM_SEGMENT_ALWAYS) {
        uint64_t ran = sm_ticks_since(segments->opened, began);
        thread->rest_ticks += ran;
        end_stretch(thread, NULL, ran);
        segments->open = NULL;
        segments->seen = began;
        segments->countdown = segments->left > 0 ? segments->left : sm_gap(&segments->random);
    }
    double read = sm_engine.clock.read_ticks;
    add_long(tree->node, ticks, read * read);
    sm_rest(tree->node)->stretch_ticks += ticks;
    thread->rest_ticks += ticks;
    segments->opened += ticks;
    segments->seen += ticks;
}

void sm_tree_close(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_node *open = tree->segments.open;
    if (open == NULL || tree->segments.open_step != SM_SEGMENT_ALWAYS || open == tree->root)
        return;
    sm_segment ended = sm_segments_close(thread, &tree->segments);
    account(open, &ended);
    if (ended.off != NULL)
        note_off(open, &ended);
}
