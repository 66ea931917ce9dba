/* The clock for measured times.
 *
 * *tsc* is the processor's counter, read without a serialising instruction, if its rate is constant, the kernel uses it
 * and a read is cheap. It is named cntvct on arm64, where a tick may take tens of ns. *monotonic* is CLOCK_MONOTONIC;
 * *simulated* is for tests. Ticks are scaled to ns by anchors, pairs (ticks, CLOCK_MONOTONIC), so the scale is the mean
 * rate of the recording. An interval in which both diverged (a suspended machine, a changed counter) is excluded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/time.h"

typedef enum { SM_CLOCK_TSC, SM_CLOCK_MONOTONIC, SM_CLOCK_SIMULATED } sm_clock_kind;

typedef struct {
    sm_clock_kind kind;
    uint64_t last_ticks; /* the newest anchor */
    int64_t last_ns;
    double kept_ticks, kept_ns; /* sums over intervals in which both clocks agreed */
    double rate;                /* ns a tick in the last excluded interval, or 0 */
    double ns_per_tick;
    double read_ticks; /* cost of one read, in ticks */
    double step_ticks; /* the smallest difference between two reads that differ */
    unsigned drifts;   /* anchors with a rate that changed by more than 1 in 1000 */
    char reason[160];  /* why this kind was chosen */
} sm_clock;

extern uint64_t sm_simulated_ticks;

static inline uint64_t sm_tsc(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc(); /* __rdtsc's header takes longer to compile than the rest of a file */
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

uint64_t sm_clock_read_other(const sm_clock *clock); /* reads a clock that is not the TSC */

static inline uint64_t sm_clock_read(const sm_clock *clock) {
    if (__builtin_expect(clock->kind == SM_CLOCK_TSC, 1))
        return sm_tsc();
    return sm_clock_read_other(clock);
}

/* Return "tsc" (on arm64 "cntvct"), "monotonic" or "simulated". */
const char *sm_clock_name(const sm_clock *clock);

/* Choose the clock: "auto", "tsc", "monotonic" or "simulated". Return false, with the reason, if it is unavailable. */
bool sm_clock_choose(sm_clock *clock, const char *wanted);

/* Take a new anchor and update the scale. */
void sm_clock_anchor(sm_clock *clock);
/* Update the scale by an anchor. */
void sm_clock_learn(sm_clock *clock, uint64_t ticks, int64_t ns);

/* Return 0 if the counter went back: another processor's may lag by a few ticks, and one that was set by many. */
static inline uint64_t sm_ticks_since(uint64_t then, uint64_t now) {
    return now > then ? now - then : 0;
}

static inline double sm_clock_ns(const sm_clock *clock, double ticks) {
    return ticks * SM_PEEK(clock->ns_per_tick);
}
