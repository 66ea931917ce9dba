#include "clock/timing.h"

#include <string.h>

#include "base/time.h"

#define LEAST_NS 1000 /* off the CPU: what both clocks may differ by when they are read one after the other */

uint64_t sm_timing_long;
const sm_clock *sm_timing_clock;

static int64_t own_cpu_ns(void) {
    return sm_timing_clock->kind == SM_CLOCK_SIMULATED ? -1 : sm_time_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sm_timing_start(sm_timing *timing) {
    memset(timing, 0, sizeof *timing);
    timing->cpu_ns = own_cpu_ns();
    timing->cpu_ticks = timing->since = sm_clock_read(sm_timing_clock);
}

/* A seqlock's writer: the thread itself, so there is only one. */
void sm_timing_change(sm_timing *timing, sm_time_state state, uint64_t since, uint64_t sampled, uint64_t ran) {
    uint32_t sequence = timing->sequence;
    __atomic_store_n(&timing->sequence, sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&timing->state, state, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->since, since, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->sampled, sampled, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->ran, ran, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* Divides what a piece was off the CPU as the looks at it have seen, and forgets these. */
static void divide(sm_timing *timing, uint64_t off, sm_off *to) {
    uint32_t looks[SM_WAITS], all = 0;
    for (int i = 0; i < SM_WAITS; i++)
        all += looks[i] = __atomic_exchange_n(&timing->looks[i], 0, __ATOMIC_RELAXED);
    to->all = off;
    if (all == 0)
        return;
    to->ready = (uint64_t)((double)off * looks[SM_WAIT_READY] / all);
    to->lock = (uint64_t)((double)off * looks[SM_WAIT_LOCK] / all);
}

/* Reads the thread's CPU clock, of which the last reading is old enough. Returns the ticks of a piece, which ends now,
 * that were off the CPU. */
uint64_t sm_timing_off(sm_timing *timing, uint64_t ticks, uint64_t now, sm_off *off) {
    int64_t cpu_ns = own_cpu_ns();
    double per_ns = 1.0 / sm_timing_clock->ns_per_tick;
    double ran = (double)(cpu_ns - timing->cpu_ns) * per_ns, wall = (double)sm_ticks_since(timing->cpu_ticks, now);
    bool known = cpu_ns >= 0 && timing->cpu_ns >= 0;
    timing->cpu_ns = cpu_ns;
    timing->cpu_ticks = now;
    *off = (sm_off){0, 0, 0};
    if (!known || wall - ran < LEAST_NS * per_ns)
        return 0;
    uint64_t all = (uint64_t)(wall - ran);
    divide(timing, all < ticks ? all : ticks, off);
    return off->all;
}

sm_piece sm_timing_so_far(const sm_timing *timing, uint64_t now) {
    sm_piece piece = {NULL, 0, {0, 0, 0}};
    if (timing->state != SM_TIME_EXACT)
        return piece;
    piece.of = timing->open;
    piece.ran = sm_ticks_since(timing->since, now);
    return piece;
}

uint64_t sm_timing_sampled(const sm_timing *timing, uint64_t now) {
    return timing->sampled + (timing->state == SM_TIME_SAMPLED ? sm_ticks_since(timing->since, now) : 0);
}
