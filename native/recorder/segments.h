/* Segments: which stretches of a thread's time are measured. Shared by the recorders that keep times.
 *
 * A *segment* is the time between two consecutive events of a thread. It belongs to what was current: a node of the
 * call tree, a line. Whether it is timed is decided when it begins: always, while little is known of what it belongs to
 * or while its mean segment is worth a hundred reads of the clock; otherwise by chance (base/random.h), of
 * which recorder/young.h has the rule. The mean is over the recording's life with samples by their weights, so what has
 * rare long segments that make up its time is timed always as soon as one of them is seen, and the clock's price stays
 * below 2 % of the time it measures.
 *
 * Long segments. One that is longer than SM_LONG_NS in something that is not timed always is found by the ticker
 * (engine/ticker.h), which sets the countdown to 0 from outside now and then; the event that ends the segment then sees
 * that the tick was long ago.
 *
 * The countdown. All decisions are one subtraction on the way of an event: each node or line carries the *step* that
 * entering one of its segments takes from the thread's countdown: 1 in the long run, more for a young one,
 * SM_SEGMENT_ALWAYS for one that is always timed. At 0 or below, the recorder's slow path calls sm_segments_end(),
 * accounts for what has ended, and calls sm_segments_begin(). While a timed segment is open the countdown is 0, so that
 * the event that ends it takes the slow path too.
 *
 * Off the CPU. A thread that waits for a lock, a disk, the interpreter, or was preempted, does not run, and what it was
 * in the middle of took no time of the processor. Whether a stretch was undisturbed the kernel tells for nothing
 * (base/offcpu.h). Where it was disturbed, the thread's CPU clock is read: the wall's time less the CPU's since it was
 * read last is the time off the CPU, and it lies in this stretch, since all before was undisturbed. So the ticks of a
 * segment are those it *ran*, and `off` has the others; a thread's sum of the latter is its wall time less its CPU
 * time, whatever was sampled. Where the stretch is one segment, which it is wherever a wait is long (what waits is
 * timed always, or the ticker came by), that is exact; otherwise the segment that ends is as good as any of the hundred
 * of the stretch (`guessed`).
 *
 * Invariant: countdown <= 0 while a segment is open, else >= 0, and 0 only from the ticker's visit to the next step.
 *
 * All of it belongs to its thread; a flush by another thread reads it with the GIL held; the ticker writes the
 * countdown. */
#ifndef SM_RECORDER_SEGMENTS_H
#define SM_RECORDER_SEGMENTS_H

#include "base/offcpu.h"
#include "base/random.h"
#include "engine/engine.h"
#include "engine/threads.h"
#include "engine/ticker.h"

#define SM_SEGMENT_ALWAYS 16384 /* a step that is more than any gap */

#include "clock/timing.h"

typedef struct { /* what is read whenever the clock is comes first, and fills two cache lines */
    int32_t countdown;
    int32_t left;    /* steps to the next sampled one, while a segment is open */
    void *open;      /* what the segment that is being timed belongs to (borrowed), or NULL */
    uint64_t opened; /* ticks */
    uint64_t seen;   /* ticks: when the clock was read last */
    uint64_t random;
    int32_t open_step;  /* the step by which it came to be timed; SM_SEGMENT_ALWAYS: as all of its owner's */
    bool disturbed;     /* something came in between, be it for an instant: in what has just ended */
    uint64_t opening;   /* ticks that went by before the segment was opened, since the one before was told */
    uint64_t brief;     /* ticks: a segment that is shorter is like many others, and teaches nothing urgent */
    uint64_t calm;      /* ticks: until then the kernel's word is enough to know that nothing came in between */
    uint64_t cold;      /* ticks: until when samples are of no use */
    uint64_t cpu_ticks; /* when the thread's CPU clock was read last, and */
    int64_t cpu_ns;     /* what it said; -1: it cannot be read */
    sm_off off, told;   /* not told yet; told last */
    uint64_t poked;     /* ticks: when the ticker set the countdown to 0; the ticker's */
    uint64_t paused;    /* ticks, while pauses > 0 */
    uint32_t pauses;    /* they nest */
    int64_t ready_ns;   /* see sm_waits_ready_ns: what it was last */
} sm_segments;

typedef enum {
    SM_SEGMENT_UNTIMED, /* or a sample that was disturbed */
    SM_SEGMENT_TIMED,   /* as all of its owner's are */
    SM_SEGMENT_SAMPLED, /* stands for `weight` of them; the price of reading the clock is taken off */
    SM_SEGMENT_LONG,    /* of an owner that is not timed always: what the ticker found, or looked away from */
} sm_segment_kind;

typedef struct { /* what ended at an event */
    sm_segment_kind kind;
    void *owner;       /* that it was opened for; NULL: nothing was open, and it is the owner of the time at hand */
    uint64_t ticks;    /* that it ran */
    uint64_t excess;   /* of a sample, in addition: what makes it a long one */
    double weight;     /* of a sample: SM_SAMPLE_PERIOD, or less of what was young; else 1 */
    double var;        /* of a long one: the variance of its ticks, in ticks squared */
    const sm_off *off; /* the thread's, until its next segment ends; NULL: none */
    bool guessed;      /* off may be another segment's */
} sm_segment;

typedef struct { /* of a segment that is open */
    uint64_t ticks;
    sm_off off;
} sm_so_far;

/* A thread begins: the running one. seed: another one for each. */
void sm_segments_start(sm_thread *thread, sm_segments *segments, uint64_t seed);

/* The seed for the gaps of a recording's first thread; others follow at SM_SEED_STEP. */
#define SM_SEED_STEP 0x9E3779B97F4A7C15u
uint64_t sm_segments_seed(void);

/* Ends the open segment without an event, while the thread is held. */
sm_segment sm_segments_close(sm_thread *thread, sm_segments *segments);

/* Of that: waited for something of the program's own, and not for a processor or the interpreter. Only this counts when
 * it is decided whether something is worth the clock: what waits is timed always, what was in the way is not. */
static inline uint64_t sm_off_own(const sm_off *off) {
    return sm_ticks_since(off->ready + off->lock, off->all);
}

/* What a segment that is timed always and still open has got so far; else nothing. Of any thread. */
sm_so_far sm_segments_so_far(const sm_thread *thread, const sm_segments *segments, uint64_t now);

static inline void sm_off_add(sm_off *to, const sm_off *more) {
    to->all += more->all;
    to->ready += more->ready;
    to->lock += more->lock;
}

static inline void sm_off_take(sm_off *from, const sm_off *less) {
    from->all -= less->all;
    from->ready -= less->ready;
    from->lock -= less->lock;
}

void sm_segments_hold(sm_thread *thread, sm_segments *segments);
void sm_segments_go_on(sm_segments *segments);

/* ---- what the recorders' slow paths do: inline, as much of it as is done where nothing has disturbed the thread. This
 * code runs once in a hundred events, so the processor has neither it nor its branches at hand: each line costs. ----
 */

/* The rare rest of what follows. */
void sm_segments_calm(sm_segments *segments, uint64_t now); /* what is known of the thread has changed: sets `calm` */
uint64_t sm_segments_look_closely(sm_thread *thread, sm_segments *segments, uint64_t ran, uint64_t *now);
void sm_segments_end_visit(const sm_thread *thread, sm_segments *segments, sm_segment *ended, uint64_t ticks,
                           uint64_t event);
void sm_segments_spare(sm_segment *ended);
void sm_segments_due(sm_thread *thread, sm_segments *segments);

/* Has nothing come in between, need the clocks not be held against each other, and is nothing left to be told? */
static inline bool sm_segments_quiet(const sm_segments *segments, uint64_t now) {
    return now < segments->calm && (SM_LIKELY(sm_offcpu_undisturbed()) || segments->cpu_ns < 0);
}

/* Returns how much of the time from `then` to *now the thread ran. What it was off the CPU, in this function too, is
 * added to segments->off, and *now moves to when that was done. */
static inline uint64_t sm_segments_look_back(sm_thread *thread, sm_segments *segments, uint64_t then, uint64_t *now) {
    uint64_t ran = sm_ticks_since(then, *now);
    __atomic_store_n(&thread->visits, 0, __ATOMIC_RELAXED);
    segments->disturbed = false;
    if (SM_LIKELY(sm_segments_quiet(segments, *now)))
        return ran;
    uint64_t moved = *now;
    ran = sm_segments_look_closely(thread, segments, ran, &moved);
    *now = moved;
    return ran;
}

/* A stretch is told, with what is not told yet. It ran so long; the next begins now. */
static inline sm_segment sm_segments_tell(sm_segments *segments, uint64_t ran, uint64_t now) {
    sm_segment ended = {.kind = SM_SEGMENT_UNTIMED, .ticks = ran, .weight = 1.0};
    segments->seen = now;
    segments->opening = 0;
    if (SM_UNLIKELY(segments->off.all != 0)) {
        segments->told = segments->off;
        segments->off = (sm_off){0};
        ended.off = &segments->told;
        sm_segments_calm(segments, now);
    }
    return ended;
}

/* The open segment ends. */
static inline sm_segment sm_segments_end_open(sm_thread *thread, sm_segments *segments, uint64_t ran, uint64_t now) {
    sm_segment ended = sm_segments_tell(segments, ran, now);
    ended.owner = segments->open;
    segments->open = NULL;
    if (segments->open_step == SM_SEGMENT_ALWAYS) {
        ended.kind = SM_SEGMENT_TIMED;
        return ended;
    }
    thread->rest_ticks += ended.ticks;
    if (segments->disturbed || ended.off != NULL || now < segments->cold) { /* what ran is no example of the others */
        if (SM_UNLIKELY(ended.ticks > sm_engine.long_ticks))
            sm_segments_spare(&ended);
        return ended;
    }
    ended.kind = SM_SEGMENT_SAMPLED;
    ended.ticks = sm_ticks_since(sm_engine.sampled_extra, ended.ticks);
    ended.weight = sm_step_weight(segments->open_step);
    if (SM_UNLIKELY(ended.ticks > sm_engine.long_ticks)) { /* what it has more is the ticker's, which looks away */
        ended.excess = ended.ticks - sm_engine.long_ticks;
        ended.ticks = sm_engine.long_ticks;
    }
    return ended;
}

/* From a recorder's slow path. step: what was taken from the countdown for the segment that begins. */
static inline sm_segment sm_segments_end(sm_thread *thread, sm_segments *segments, int32_t step, uint64_t now) {
    uint64_t then = segments->open != NULL ? segments->opened : segments->seen;
    uint64_t event = now, ran = sm_segments_look_back(thread, segments, then, &now);
    if (segments->open != NULL)
        return sm_segments_end_open(thread, segments, ran, now);
    sm_segment ended = sm_segments_tell(segments, ran, now);
    ended.guessed = true;
    thread->rest_ticks += ended.ticks;
    segments->left = segments->countdown + step; /* before this event */
    if (SM_UNLIKELY(segments->left == 0)) {
        sm_segment visited = ended;
        sm_segments_end_visit(thread, segments, &visited, sm_ticks_since(then, event), event);
        ended = visited;
    }
    return ended;
}

/* After it: is the segment of this owner timed? step: the owner's; if it was another when it was taken from the
 * countdown, the smaller of both. */
static inline bool sm_segments_begin(sm_thread *thread, sm_segments *segments, const sm_segment *ended, void *owner,
                                     int32_t step) {
    if (ended->owner != NULL && sm_engine_due(segments->seen))
        sm_segments_due(thread, segments);
    bool always = step == SM_SEGMENT_ALWAYS, open = always || (segments->left -= step) <= 0;
    if (!open) {
        segments->countdown = segments->left;
    } else {
        segments->left = always ? segments->left : sm_gap(&segments->random);
        segments->countdown = 0;
        segments->open_step = step;
        segments->open = owner;
    }
    /* What was done here is in no segment, and so in no cost of an event, however often the clock is read. */
    segments->opened = sm_clock_read(&sm_engine.clock);
    segments->opening = sm_ticks_since(segments->seen, segments->opened);
    segments->seen = segments->opened;
    return open;
}

/* From the ticker's thread, without the GIL. Where the last visit has not been seen yet, that one counts. */
static inline void sm_segments_poke(sm_thread *thread, sm_segments *segments) {
    if (__atomic_load_n(&segments->countdown, __ATOMIC_RELAXED) <= 0)
        return;
    __atomic_store_n(&thread->visited_ns, sm_thread_cpu_ns(thread), __ATOMIC_RELAXED);
    __atomic_store_n(&segments->poked, sm_clock_read(&sm_engine.clock), __ATOMIC_RELAXED);
    __atomic_store_n(&segments->countdown, 0, __ATOMIC_RELEASE);
}

#endif
