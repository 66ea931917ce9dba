/* The time of one thread, in exact pieces and samples.
 *
 * A recorder counts every start of a call. Where the end is reported as well, the clock is read at both: the time in
 * between is an *exact piece* of what ran. That is so while a function is young, and for functions whose pieces are
 * long. All other time is *sampled*: no clock is read at events, and the sampler (clock/sampler.h) looks now and then
 * what runs. Each look stands for the sampled time since the look before, so that looks and exact pieces together make
 * up the thread's time, and no time is counted twice.
 *
 * The thread is in one of three states: an exact piece is open; time is sampled; or it is *paused*, because seismo
 * itself is at work. Only the thread changes its state, at rare events, with the GIL. The sampler reads the state
 * without the GIL: `sequence` is odd while it changes.
 *
 * Waiting. A sampled stretch may include waiting: the sampler sees that. An exact piece includes it, too, so where a
 * piece is long the thread's CPU clock is read: wall time less CPU time since its last reading is the time off the CPU,
 * and belongs to the piece that is long. Pieces shorter than SM_PIECE_LONG_NS count as running.
 *
 * Idle threads. The sampler stops looking at a thread that does not run. The thread's next event then has to wake it:
 * `gate` is not 0, and the recorder takes its slow path, which calls sm_sampler_attend(). */
#ifndef SM_CLOCK_TIMING_H
#define SM_CLOCK_TIMING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"

#define SM_PIECE_LONG_NS 30000 /* a piece this long is worth a read of the CPU clock, which takes 200 ns */

typedef struct { /* ticks off the CPU, and of these, as far as it is known (engine/waits.h), */
    uint64_t all, ready, lock;
} sm_off;

typedef enum { SM_TIME_PAUSED, SM_TIME_SAMPLED, SM_TIME_EXACT } sm_time_state;

/* What a thread waits for, as a look sees it. */
typedef enum { SM_WAIT_READY, SM_WAIT_LOCK, SM_WAIT_OTHER, SM_WAITS } sm_wait;

typedef struct sm_timing {
    /* The thread's, and read by the sampler and by whoever saves. */
    uint32_t sequence;
    sm_time_state state;
    uint64_t since;     /* ticks: when the state began */
    uint64_t sampled;   /* ticks of earlier sampled stretches */
    uint64_t ran;       /* ticks of CPU in earlier exact pieces and pauses */
    void *open;         /* what the exact piece belongs to; borrowed. Written after `since` */
    uint64_t cpu_ticks; /* when its CPU clock was read last, and */
    int64_t cpu_ns;     /* what it said; -1: it cannot be read */
    /* Atomic: the sampler sets `idle` and counts looks, the thread resets both. */
    bool idle;
    uint32_t looks[SM_WAITS]; /* at the open piece, while it was off the CPU */
    /* The sampler's, with its lock. */
    struct sm_timing *next, *previous;
    bool listed;
    clockid_t cpu_clock;
    uint64_t native_id;
    void *last;                   /* what the last look found; borrowed */
    uint64_t seen;                /* sampled ticks up to the last look */
    uint64_t attributed;          /* of these, ticks that ran */
    int64_t cpu_start_ns, cpu_at; /* its CPU clock at the beginning and at the last look */
    uint32_t still;               /* looks since it ran */
} sm_timing;

typedef struct {  /* an exact piece that has ended */
    void *of;     /* NULL: none was open */
    uint64_t ran; /* ticks */
    sm_off off;
} sm_piece;

/* These two with the GIL, while no thread is in the sampler's list and its thread is not there. */
extern uint64_t sm_timing_long; /* SM_PIECE_LONG_NS in ticks */
extern const sm_clock *sm_timing_clock;

/* The running thread begins, paused. */
void sm_timing_start(sm_timing *timing);

/* Divides what was off the CPU by what the looks at the open piece have seen it wait for. */
sm_off sm_timing_divide(const uint32_t looks[SM_WAITS], uint64_t off);
void sm_timing_change(sm_timing *timing, sm_time_state state, uint64_t since, uint64_t sampled, uint64_t ran);
uint64_t sm_timing_off(sm_timing *timing, uint64_t ticks, uint64_t now, sm_off *off);

/* Ends the piece or stretch at hand; the thread is paused from now on. */
static inline sm_piece sm_timing_end(sm_timing *timing, uint64_t now) {
    uint64_t ticks = sm_ticks_since(timing->since, now), off = 0;
    sm_piece ended = {NULL, ticks, {0, 0, 0}};
    bool sampled = timing->state == SM_TIME_SAMPLED;
    if (sampled) /* before the system is asked: a look during the call would find what has only begun */
        sm_timing_change(timing, SM_TIME_PAUSED, now, timing->sampled + ticks, timing->ran);
    else if (timing->state == SM_TIME_EXACT)
        ended.of = timing->open;
    if (now - timing->cpu_ticks >= sm_timing_long && timing->cpu_ns >= 0)
        off = sm_timing_off(timing, ticks, now, &ended.off);
    ended.ran -= off;
    if (!sampled)
        sm_timing_change(timing, SM_TIME_PAUSED, now, timing->sampled, timing->ran + ended.ran);
    return ended;
}

/* What begins after it, at a new reading of the clock: what was done in between is in no piece. */
static inline void sm_timing_begin(sm_timing *timing, sm_time_state state, void *open) {
    uint64_t now = sm_clock_read(sm_timing_clock), ticks = sm_ticks_since(timing->since, now);
    if (SM_UNLIKELY(ticks >= sm_timing_long) && timing->cpu_ns >= 0) {
        sm_off off;
        ticks -= sm_timing_off(timing, ticks, now, &off);
    }
    __atomic_store_n(&timing->open, open, __ATOMIC_RELAXED); /* of a piece that is paused, nothing is open */
    sm_timing_change(timing, state, now, timing->sampled, timing->ran + ticks);
}

#endif
