#include "clock/timing.h"

#include <math.h>
#include <string.h>

#include "base/time.h"

#define LEAST_NS 1000 /* least time off the CPU: the clocks, which are read in turn, may differ by less */

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

/* Change the state under the seqlock, which only the thread itself writes. */
void sm_timing_change(sm_timing *timing, sm_time_state state, uint64_t since, uint64_t sampled, uint64_t ran) {
    uint32_t sequence = timing->sequence;
    __atomic_store_n(&timing->sequence, sequence + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->state, state, __ATOMIC_RELEASE);
    __atomic_store_n(&timing->since, since, __ATOMIC_RELEASE);
    __atomic_store_n(&timing->sampled, sampled, __ATOMIC_RELEASE);
    __atomic_store_n(&timing->ran, ran, __ATOMIC_RELEASE);
    __atomic_store_n(&timing->sequence, sequence + 2, __ATOMIC_RELEASE);
}

sm_off sm_timing_divide(const uint32_t looks[SM_WAITS], uint64_t off) {
    double all = 0;
    for (int i = 0; i < SM_WAITS; i++)
        all += SM_PEEK(looks[i]);
    if (all == 0)
        return (sm_off){off, 0, 0};
    return (sm_off){off, (uint64_t)((double)off * SM_PEEK(looks[SM_WAIT_READY]) / all),
                    (uint64_t)((double)off * (SM_PEEK(looks[SM_WAIT_LOCK]) + SM_PEEK(looks[SM_WAIT_STOP])) / all)};
}

/* Read the thread's CPU clock. Return the ticks of a piece, which ends now, that were off the CPU. */
uint64_t sm_timing_off(sm_timing *timing, uint64_t ticks, uint64_t now, sm_off *off) {
    int64_t cpu_ns = own_cpu_ns();
    double per_ns = 1.0 / SM_PEEK(sm_timing_clock->ns_per_tick);
    double ran = (double)(cpu_ns - timing->cpu_ns) * per_ns, wall = (double)sm_ticks_since(timing->cpu_ticks, now);
    bool known = cpu_ns >= 0 && timing->cpu_ns >= 0;
    uint32_t looks[SM_WAITS];
    __atomic_store_n(&timing->cpu_ns, cpu_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&timing->cpu_ticks, now, __ATOMIC_RELAXED);
    for (int i = 0; i < SM_WAITS; i++)
        looks[i] = __atomic_exchange_n(&timing->looks[i], 0, __ATOMIC_RELAXED);
    *off = (sm_off){0, 0, 0};
    if (known && wall - ran >= LEAST_NS * per_ns)
        *off = sm_timing_divide(looks, (uint64_t)fmin(wall - ran, (double)ticks));
    return off->all;
}
