/* The time of one thread, in exact pieces and samples.
 *
 * Where start and end of a call are reported, the clock is read at both, and the time in between is an *exact piece* of
 * what ran. Young functions and functions with long pieces are timed in this way. All other time is *sampled*: events
 * read no clock, and a look of the sampler (sampler.h) represents the sampled time since the previous one. So looks and
 * exact pieces add up to the thread's time.
 *
 * The thread is in an exact piece, in sampled time, or *paused* while seismo works. Only the thread changes its state,
 * at rare events, with the GIL. The sampler reads it without the GIL: `sequence` is odd during a change.
 *
 * Waiting in a long exact piece is the wall time since the last reading of the thread's CPU clock, less its CPU time.
 *
 * The sampler stops looking at an idle thread, whose next event finds its gate closed and calls sm_sampler_attend(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "base/compiler.h"

#define SM_PIECE_LONG_NS 30000 /* a piece this long is worth a read of the CPU clock, which takes 200 ns */

typedef struct { /* ticks off the CPU; of these, ready to run and waiting for a lock of the interpreter (waits.h) */
    uint64_t all, ready, lock;
} sm_off;

/* Add to what others may read meanwhile. */
static inline void sm_off_add(sm_off *to, const sm_off *off) {
    SM_ADD(to->all, SM_READ(off->all));
    SM_ADD(to->ready, SM_READ(off->ready));
    SM_ADD(to->lock, SM_READ(off->lock));
}

typedef enum { SM_TIME_PAUSED, SM_TIME_SAMPLED, SM_TIME_EXACT } sm_time_state;

/* SM_WAIT_STOP is a SM_WAIT_LOCK while the world is stopped, as for a collection. */
typedef enum { SM_WAIT_READY, SM_WAIT_LOCK, SM_WAIT_STOP, SM_WAIT_OTHER, SM_WAITS } sm_wait;

typedef struct sm_timing {
    /* Written by the thread; read by the sampler and by saves, under the seqlock. */
    uint32_t sequence;
    sm_time_state state;
    uint64_t since;     /* ticks: start of the state */
    uint64_t sampled;   /* ticks of earlier sampled stretches */
    uint64_t ran;       /* ticks of CPU in earlier exact pieces and pauses */
    void *open;         /* owner of the exact piece; borrowed; written after `since` */
    uint64_t cpu_ticks; /* last reading of its CPU clock */
    int64_t cpu_ns;     /* time of its CPU clock then, or -1 if it cannot be read */
    /* Atomic: the sampler sets `idle` and counts looks, the thread resets both. */
    bool idle;
    uint32_t looks[SM_WAITS]; /* at the open piece, while it was off the CPU */
    /* The sampler's, guarded by its lock. */
    struct sm_timing *next, *previous;
    bool listed;
    clockid_t cpu_clock;
    uint64_t native_id;
    uintptr_t of_world;           /* address on which it waits for the start of the stopped world (compat/lock.h) */
    void *last;                   /* result of the last look; borrowed */
    uint64_t seen;                /* sampled ticks up to the last look */
    uint64_t attributed;          /* the part of these ticks that ran */
    int64_t cpu_start_ns, cpu_at; /* time of its CPU clock at the start, and at the last look */
    uint64_t looked;              /* ticks: the last look */
    double share;                 /* of the time between the last two looks in which it ran */
    uint32_t still;
} sm_timing;

typedef struct { /* a finished exact piece */
    void *of;    /* the owner of the piece, or NULL if none was open */
    uint64_t ran;
    sm_off off;
} sm_piece;

/* Both are written with the GIL, while the sampler's list is empty and its thread does not run. */
extern uint64_t sm_timing_long; /* SM_PIECE_LONG_NS in ticks */
extern const sm_clock *sm_timing_clock;

/* Start the timing of the running thread, paused. */
void sm_timing_start(sm_timing *timing);

/* Divide time off the CPU into kinds of waiting, in proportion to the looks at the open piece. */
sm_off sm_timing_divide(const uint32_t looks[SM_WAITS], uint64_t off);
void sm_timing_change(sm_timing *timing, sm_time_state state, uint64_t since, uint64_t sampled, uint64_t ran);
uint64_t sm_timing_off(sm_timing *timing, uint64_t ticks, uint64_t now, sm_off *off);

/* End the current piece or stretch, and pause the thread. */
static inline sm_piece sm_timing_end(sm_timing *timing, uint64_t now) {
    uint64_t ticks = sm_ticks_since(timing->since, now), off = 0;
    sm_piece ended = {NULL, ticks, {0, 0, 0}};
    bool sampled = timing->state == SM_TIME_SAMPLED;
    if (sampled) /* before the system call, during which a look would find the function that begins now */
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

/* Begin a piece or stretch at a new reading of the clock. The time since the end is in no piece. */
static inline void sm_timing_begin(sm_timing *timing, sm_time_state state, void *open) {
    uint64_t now = sm_clock_read(sm_timing_clock), ticks = sm_ticks_since(timing->since, now);
    if (SM_UNLIKELY(ticks >= sm_timing_long) && timing->cpu_ns >= 0) {
        sm_off off;
        ticks -= sm_timing_off(timing, ticks, now, &off);
    }
    __atomic_store_n(&timing->open, open, __ATOMIC_RELAXED); /* ignored while paused */
    sm_timing_change(timing, state, now, timing->sampled, timing->ran + ticks);
}
