/* The sampler: a thread of seismo that finds, at random times, what each thread of the program is running.
 *
 * It takes no GIL and touches no Python object: the recorder finds what runs in its own memory. A *look* represents the
 * sampled time (timing.h) since the previous one. A runnable thread gets the CPU time that it used since then, even if
 * the sampler took its processor; the rest of the look is waiting for a processor.
 *
 * Rate: About 4,000 looks per second in the first second of a recording, then 1,000. A thread that has not run for
 * STILL looks is *idle*: it gets ten looks per second, and its next event wakes the sampler.
 *
 * Guard: `lock` protects the list of threads and what the sampler adds to the recorder's data. Threads take it at their
 * beginning and end, when a recorder moves what `current` reads, and when an idle thread wakes up. */
#pragma once

#include "clock/timing.h"

typedef struct { /* the time that a look represents, in ticks */
    uint64_t ran;
    sm_off off;
    bool certain; /* no event came since the previous look, so what runs now was waiting */
} sm_look;

typedef struct {                               /* functions of the recorder, called with `lock` */
    void *(*current)(const sm_timing *timing); /* NULL if unknown; the next look then includes this time */
    void (*add)(sm_timing *timing, void *current, const sm_look *look);
    void (*wake)(sm_timing *timing); /* makes the thread's next event take the slow path */
    /* Ticks that the thread ran since the last look, and that other threads ran meanwhile; may be NULL. */
    void (*compare)(void *current, uint64_t ran, uint64_t beside);
} sm_sampled;

bool sm_sampler_init(void); /* called once per process; returns false if out of memory */
/* Start the sampler. rate: looks per second, or 0 for the default. */
void sm_sampler_start(const sm_sampled *recorder, const sm_clock *clock, unsigned rate);
/* Wait for the sampler's thread to end. The program's threads stay in the list. */
void sm_sampler_stop(void);
void sm_sampler_forget(void); /* empties the list of threads */

void sm_sampler_add(sm_timing *timing, clockid_t cpu_clock, uint64_t native_id, uintptr_t of_world);
void sm_sampler_remove(sm_timing *timing);

void sm_sampler_lock(void);
void sm_sampler_unlock(void);

/* Observe an idle thread again, from the slow path of its next event. */
void sm_sampler_attend(sm_timing *timing, uint64_t now);
/* Return the open exact piece so far. */
sm_piece sm_sampler_so_far(const sm_timing *timing, uint64_t now);
/* Return the ticks that the thread ran in sampled time, and count its waiting, up to now. */
uint64_t sm_sampler_ran(sm_timing *timing, uint64_t now);
/* Return the ticks in which threads waited for the start of the stopped world, of all threads together. */
uint64_t sm_sampler_stopped(void);
/* Look at all threads from the caller's thread, whenever a simulated clock is moved. */
void sm_sampler_look(void);
