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

/* Divides what a piece was off the CPU as the looks at it have seen. */
static sm_off divide(const uint32_t looks[SM_WAITS], uint64_t off) {
    double all = 0;
    for (int i = 0; i < SM_WAITS; i++)
        all += looks[i];
    if (all == 0)
        return (sm_off){off, 0, 0};
    return (sm_off){off, (uint64_t)((double)off * looks[SM_WAIT_READY] / all),
                    (uint64_t)((double)off * looks[SM_WAIT_LOCK] / all)};
}

/* Of a piece of so many ticks, those off the CPU: by its clock, less what both clocks may differ by. */
static uint64_t ticks_off(uint64_t ticks, uint64_t wall, int64_t cpu_ns) {
    double per_ns = 1.0 / sm_timing_clock->ns_per_tick, off = (double)wall - (double)cpu_ns * per_ns;
    if (off < LEAST_NS * per_ns)
        return 0;
    return off < (double)ticks ? (uint64_t)off : ticks;
}

/* Reads the thread's CPU clock, of which the last reading is old enough. Returns the ticks of a piece, which ends now,
 * that were off the CPU. */
uint64_t sm_timing_off(sm_timing *timing, uint64_t ticks, uint64_t now, sm_off *off) {
    int64_t cpu_ns = own_cpu_ns(), cpu_before = timing->cpu_ns;
    uint64_t wall = sm_ticks_since(timing->cpu_ticks, now);
    timing->cpu_ns = cpu_ns;
    timing->cpu_ticks = now;
    *off = (sm_off){0, 0, 0};
    if (cpu_ns < 0 || cpu_before < 0)
        return 0;
    uint64_t all = ticks_off(ticks, wall, cpu_ns - cpu_before);
    if (all == 0)
        return 0;
    uint32_t looks[SM_WAITS];
    for (int i = 0; i < SM_WAITS; i++)
        looks[i] = __atomic_exchange_n(&timing->looks[i], 0, __ATOMIC_RELAXED);
    *off = divide(looks, all);
    return all;
}

sm_piece sm_timing_so_far(const sm_timing *timing, int64_t cpu_ns) {
    uint64_t now = sm_clock_read(sm_timing_clock);
    for (int i = 0; i < 4; i++) {
        uint32_t sequence = __atomic_load_n(&timing->sequence, __ATOMIC_ACQUIRE), looks[SM_WAITS];
        sm_time_state state = __atomic_load_n(&timing->state, __ATOMIC_RELAXED);
        void *open = __atomic_load_n(&timing->open, __ATOMIC_ACQUIRE); /* before `since`, which is no older */
        uint64_t ticks = sm_ticks_since(__atomic_load_n(&timing->since, __ATOMIC_RELAXED), now);
        uint64_t wall = sm_ticks_since(__atomic_load_n(&timing->cpu_ticks, __ATOMIC_RELAXED), now);
        int64_t cpu_before = __atomic_load_n(&timing->cpu_ns, __ATOMIC_RELAXED);
        for (int j = 0; j < SM_WAITS; j++)
            looks[j] = __atomic_load_n(&timing->looks[j], __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((sequence & 1) != 0 || __atomic_load_n(&timing->sequence, __ATOMIC_RELAXED) != sequence)
            continue;
        if (state != SM_TIME_EXACT)
            break;
        bool known = cpu_ns >= 0 && cpu_before >= 0 && wall >= sm_timing_long;
        sm_off off = divide(looks, known ? ticks_off(ticks, wall, cpu_ns - cpu_before) : 0);
        return (sm_piece){open, ticks - off.all, off};
    }
    return (sm_piece){NULL, 0, {0, 0, 0}};
}

uint64_t sm_timing_sampled(const sm_timing *timing, uint64_t now) {
    return timing->sampled + (timing->state == SM_TIME_SAMPLED ? sm_ticks_since(timing->since, now) : 0);
}
