/* The clock that times are measured with.
 *
 * Three kinds. *tsc*: the processor's counter, read without a serialising instruction (half the price of
 * clock_gettime); taken only where it is invariant, the kernel itself keeps time with it, and a read proves cheap.
 * *monotonic*: clock_gettime(CLOCK_MONOTONIC). *simulated*: moved by hand, for tests. Ticks are turned into nanoseconds
 * by a scale that anchors give, pairs (ticks, CLOCK_MONOTONIC), one at the start and others since: so it is the true
 * mean rate over the whole recording. Each anchor also checks the counter against the monotonic clock. Where the two
 * went apart in between, because the machine was suspended or the counter was set, that stretch is left out of the
 * scale: all other times would be wrong by it. */
#ifndef SM_BASE_CLOCK_H
#define SM_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

typedef enum { SM_CLOCK_TSC, SM_CLOCK_MONOTONIC, SM_CLOCK_SIMULATED } sm_clock_kind;

typedef struct {
    sm_clock_kind kind;
    uint64_t last_ticks; /* the newest anchor; first that at the start */
    int64_t last_ns;
    double kept_ticks, kept_ns; /* from anchor to anchor, where both clocks went on together */
    double rate;                /* ns a tick in the last stretch that was left out; 0: none was */
    double ns_per_tick;
    double read_ticks; /* cost of one read, in ticks */
    unsigned drifts;   /* anchors at which the rate had changed by more than 1 in 1000 */
    char reason[160];  /* why this kind */
} sm_clock;

extern uint64_t sm_simulated_ticks;

static inline uint64_t sm_tsc(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc(); /* __rdtsc's header takes longer to compile than the rest of a file */
#else
    return 0;
#endif
}

uint64_t sm_clock_read_other(const sm_clock *clock); /* of another kind than the TSC */

static inline uint64_t sm_clock_read(const sm_clock *clock) {
    if (__builtin_expect(clock->kind == SM_CLOCK_TSC, 1))
        return sm_tsc();
    return sm_clock_read_other(clock);
}

/* wanted: "auto", "tsc", "monotonic", "simulated". False (with the reason filled in) when what is wanted is not to be
 * had. */
bool sm_clock_choose(sm_clock *clock, const char *wanted);

/* Takes a new anchor and brings the scale up to date. */
void sm_clock_anchor(sm_clock *clock);
/* What an anchor of this counter and this time teaches. */
void sm_clock_learn(sm_clock *clock, uint64_t ticks, int64_t ns);

/* The counter of another processor may lag by a few ticks, and one that was set may be far behind: never let a stretch
 * become huge. */
static inline uint64_t sm_ticks_since(uint64_t then, uint64_t now) {
    return now > then ? now - then : 0;
}

static inline double sm_clock_ns(const sm_clock *clock, double ticks) {
    return ticks * clock->ns_per_tick;
}

#endif
