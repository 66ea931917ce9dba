/* The sampler: a thread of ours that looks, at random times, what each thread of the program runs.
 *
 * It takes no GIL and touches no Python object. What runs is a question for the recorder (`current`), which answers
 * from its own memory. A look stands for the sampled time (clock/timing.h) since the look before.
 *
 * Running or waiting. A thread whose CPU clock stands still between two readings is off the CPU; what it waits for the
 * system tells (`waits`). A thread that could run is given the CPU time that it really used since it was last seen, so
 * that it does no harm if the sampler itself has taken its processor; the rest of the look is waiting for a processor.
 *
 * Rate. About 4,000 looks a second in the first second of a recording, 1,000 later. A thread that has not run for
 * STILL looks is *idle*: it is looked at a few times a second, and its next event wakes the sampler. If all threads are
 * idle, it does nothing else.
 *
 * Guard. `lock` protects the list of threads and what the sampler adds to the recorder's data. Threads take it at their
 * beginning and end, when a recorder moves what `current` reads, and when an idle thread wakes up. */
#ifndef SM_CLOCK_SAMPLER_H
#define SM_CLOCK_SAMPLER_H

#include "clock/timing.h"

typedef struct { /* what a look stands for, in ticks */
    uint64_t ran;
    sm_off off;
    bool certain; /* the thread had no event since the look before, so what waited is what runs now */
} sm_look;

typedef struct {                               /* all are called with the lock */
    void *(*current)(const sm_timing *timing); /* NULL: not known; the time is added to the next look's */
    void (*add)(sm_timing *timing, void *current, const sm_look *look);
    void (*wake)(sm_timing *timing); /* the thread's next event has to take the slow path */
} sm_sampled;

bool sm_sampler_init(void); /* once per process. False: out of memory */
/* A recording begins. rate: looks a second; 0: as above. */
void sm_sampler_start(const sm_sampled *recorder, const sm_clock *clock, unsigned rate);
/* Waits for the sampler's thread to end. The program's threads stay in the list. */
void sm_sampler_stop(void);
void sm_sampler_forget(void); /* and no thread is in the list */

void sm_sampler_add(sm_timing *timing, clockid_t cpu_clock, uint64_t native_id);
void sm_sampler_remove(sm_timing *timing);

void sm_sampler_lock(void);
void sm_sampler_unlock(void);

/* From a slow path of an idle thread's event: it is looked at again. */
void sm_sampler_attend(sm_timing *timing, uint64_t now);
/* What the exact piece that is open has so far. */
sm_piece sm_sampler_so_far(const sm_timing *timing, uint64_t now);
/* Ticks that the thread ran in sampled time, up to now. What it waited until now is accounted for. */
uint64_t sm_sampler_ran(sm_timing *timing, uint64_t now);
/* Looks at all threads now, in the caller's thread: a simulated clock does so whenever it is moved. */
void sm_sampler_look(void);

#endif
