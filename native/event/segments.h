/* Segments: which stretches of a thread's time are measured. Shared by the recorders that keep times.
 *
 * A *segment* is the time between two consecutive events of a thread. It belongs to what was current: a node of the
 * call tree, a line. Whether it is timed is decided when it begins: always, while little is known of what it belongs to
 * or while its mean segment is worth a hundred reads of the clock; otherwise with probability 1 in SM_SAMPLE_PERIOD
 * (base/random.h). The mean is over the recording's life with samples weighted by the period, so what has rare long
 * segments that make up its time is timed always as soon as one of them is seen, and the clock's price stays below 2 %
 * of the time it measures.
 *
 * Long segments. One that is longer than SM_LONG_NS in something that is not timed always is found by the ticker
 * (event/ticker.h), which sets the countdown to 0 from outside now and then; the event that ends the segment then sees
 * that the tick was long ago.
 *
 * The countdown. Both decisions are one subtraction on the way of an event: each node or line carries the *step* that
 * entering one of its segments takes from the thread's countdown: 1 for a short one, SM_SEGMENT_ALWAYS for one that is
 * always timed. At 0 or below, the recorder's slow path calls sm_segments_end(), accounts for what has ended, and calls
 * sm_segments_begin(). While a timed segment is open the countdown is 0, so that the event that ends it takes the slow
 * path too.
 *
 * Invariant: countdown <= 0 while a segment is open, else >= 0, and 0 only from the ticker's visit to the next step.
 *
 * All of it belongs to its thread; a flush by another thread reads it with the GIL held; the ticker writes the
 * countdown. */
#ifndef SM_SEGMENTS_H
#define SM_SEGMENTS_H

#include "base/random.h"
#include "event/engine.h"
#include "event/ticker.h"

#define SM_SEGMENT_ALWAYS 16384 /* a step that is more than any gap */

typedef struct {
    int32_t countdown;
    int32_t left;     /* segments to the next sampled one, while a segment is open */
    void *open;       /* what the segment that is being timed belongs to (borrowed), or NULL */
    uint64_t opened;  /* ticks */
    uint64_t seen;    /* ticks: when the clock was read last */
    uint64_t paused;  /* ticks, while pauses > 0 */
    uint32_t pauses;  /* they nest */
    bool open_always; /* timed as all of its owner's, not as a sample */
    uint64_t random;
} sm_segments;

typedef enum {
    SM_SEGMENT_UNTIMED,
    SM_SEGMENT_TIMED,   /* as all of its owner's are */
    SM_SEGMENT_SAMPLED, /* stands for SM_SAMPLE_PERIOD; the price of reading the clock is taken off */
    SM_SEGMENT_LONG,    /* of an owner that is not timed always: found by the ticker, or by chance as a sample */
} sm_segment_kind;

typedef struct { /* what ended at an event */
    sm_segment_kind kind;
    void *owner; /* that it was opened for; NULL: nothing was open, and it is the owner of the time at hand */
    uint64_t ticks;
} sm_segment;

/* A thread begins. seed: another one for each thread. */
static inline void sm_segments_start(sm_segments *segments, uint64_t seed) {
    segments->random = seed;
    segments->countdown = sm_gap(&segments->random);
    segments->seen = sm_clock_read(&sm_engine.clock);
}

/* The seed for the gaps of a recording's first thread; others follow at SM_SEED_STEP. */
#define SM_SEED_STEP 0x9E3779B97F4A7C15u
uint64_t sm_segments_seed(void);

/* The step of what has had so many segments of so many ticks: samples weighted by the period in both. few: too little
 * is known of it. */
int32_t sm_segments_step(bool few, double ticks, double count);

/* The clock ticks from which on a segment is long. There is no ticker beside a simulated clock. */
static inline uint64_t sm_long_ticks(void) {
    if (sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        return UINT64_MAX;
    return (uint64_t)(SM_LONG_NS / sm_engine.clock.ns_per_tick);
}

/* The counter of another processor may lag by a few ticks: never let a segment become huge. */
static inline uint64_t sm_ticks_since(uint64_t then, uint64_t now) {
    return now > then ? now - then : 0;
}

/* From a recorder's slow path. step: what was taken from the countdown for the segment that begins. */
sm_segment sm_segments_end(sm_thread *thread, sm_segments *segments, int32_t step, uint64_t now);

/* After it: is the segment of this owner timed? step: the owner's, brought up to date. */
bool sm_segments_begin(sm_thread *thread, sm_segments *segments, const sm_segment *ended, void *owner, int32_t step);

/* Ends the open segment without an event, while the thread is held. */
sm_segment sm_segments_close(sm_thread *thread, sm_segments *segments);

/* The time since the clock was read last, of a segment that is timed always and still open; else 0. */
static inline uint64_t sm_segments_so_far(const sm_segments *segments, uint64_t now) {
    if (segments->open == NULL || !segments->open_always)
        return 0;
    return sm_ticks_since(segments->opened, segments->pauses ? segments->paused : now);
}

void sm_segments_hold(sm_thread *thread, sm_segments *segments);
void sm_segments_go_on(sm_segments *segments);

static inline void sm_segments_poke(sm_segments *segments) { /* from the ticker's thread, without the GIL */
    __atomic_store_n(&segments->countdown, 0, __ATOMIC_RELAXED);
}

#endif
