#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

uint64_t sm_simulated_ticks = 0;

#define QUICK_CLOCK_NS 60
#define READS 64
#define SOON_NS 200000   /* a shorter interval adds no information */
#define SURE_NS 10000000 /* long enough to distinguish a drift of 1 in 1,000 from noise */
#define DRIFT 0.001
#define JUMP 0.01          /* a larger difference is neither drift nor noise */
#define READ_LIMIT_NS 40.0 /* a more expensive read is trapped by the hypervisor */

#if defined(__aarch64__)
#define COUNTER "cntvct"
#define COUNTER_SOURCE "arch_sys_counter"
#else
#define COUNTER "tsc"
#define COUNTER_SOURCE "tsc"
#endif

const char *sm_clock_name(const sm_clock *clock) {
    static const char *const names[] = {COUNTER, "monotonic", "simulated"};
    return names[clock->kind];
}

/* Return why the kernel does not seem to use the processor's counter, or NULL. */
static const char *kernel_objection(void) {
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    char source[32] = "";
    char *line = file != NULL ? fgets(source, sizeof source, file) : NULL;
    if (file != NULL)
        fclose(file);
    if (line != NULL)
        return strncmp(source, COUNTER_SOURCE, sizeof COUNTER_SOURCE - 1) == 0
                   ? NULL
                   : "the kernel does not keep time with the processor's counter";
    /* Without sysfs (a chroot, a small container), a fast clock_gettime indicates a counter, not a device. */
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t first = sm_monotonic_ns();
        for (int j = 0; j < 15; j++)
            (void)sm_monotonic_ns();
        uint64_t cost = (sm_monotonic_ns() - first) / 16;
        best = cost < best ? cost : best;
    }
    if (best > QUICK_CLOCK_NS)
        return "the kernel's clock source is unknown, and reading its clock is slow";
    return NULL;
}

/* Return why the processor's counter cannot be used, or NULL. */
static const char *counter_objection(void) {
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
        return "the processor does not promise an invariant TSC";
    return kernel_objection();
#elif defined(__aarch64__) /* whose counter has a constant rate */
    return kernel_objection();
#else
    return "no counter of this processor is supported";
#endif
}

uint64_t sm_clock_read_other(const sm_clock *clock) {
    return clock->kind == SM_CLOCK_MONOTONIC ? sm_monotonic_ns() : sm_simulated_ticks;
}

/* Measure the cost of a read, the least of several rounds, and the smallest step. */
static void measure_reads(sm_clock *clock) {
    clock->read_ticks = 10.0; /* a simulated one is like a real one, so that short functions are sampled */
    clock->step_ticks = 1.0;
    if (clock->kind == SM_CLOCK_SIMULATED)
        return;
    uint64_t least = UINT64_MAX, step = UINT64_MAX;
    for (int round = 0; round < 8; round++) {
        uint64_t reads[READS + 1];
        for (int i = 0; i <= READS; i++)
            reads[i] = sm_clock_read(clock);
        for (int i = 0; i < READS; i++) {
            uint64_t passed = sm_ticks_since(reads[i], reads[i + 1]);
            step = passed != 0 && passed < step ? passed : step;
        }
        uint64_t passed = sm_ticks_since(reads[0], reads[READS]);
        least = passed < least ? passed : least;
    }
    clock->read_ticks = (double)least / READS;
    clock->step_ticks = step != UINT64_MAX ? (double)step : 0;
}

/* Read both clocks as closely together as possible, in several tries. */
static void take_anchor(const sm_clock *clock, uint64_t *ticks, int64_t *ns) {
    if (clock->kind != SM_CLOCK_TSC) {
        *ticks = sm_clock_read(clock);
        *ns = (int64_t)*ticks; /* both clocks count in ns */
        return;
    }
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = sm_tsc();
        uint64_t now = sm_monotonic_ns();
        uint64_t after = sm_tsc();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = (int64_t)now;
        }
    }
}

/* Set a first scale, exact to about 1 in 10,000 within 0.2 ms; the anchors improve it. */
static void first_scale(sm_clock *clock) {
    uint64_t ticks;
    int64_t ns;
    do {
        take_anchor(clock, &ticks, &ns);
    } while (ns - clock->last_ns < SOON_NS);
    clock->ns_per_tick = (double)(ns - clock->last_ns) / (double)(ticks - clock->last_ticks);
}

bool sm_clock_choose(sm_clock *clock, const char *wanted) {
    memset(clock, 0, sizeof *clock);
    clock->ns_per_tick = 1.0;
    if (strcmp(wanted, "simulated") == 0) {
        clock->kind = SM_CLOCK_SIMULATED;
        snprintf(clock->reason, sizeof clock->reason, "asked for");
    } else if (strcmp(wanted, "monotonic") == 0) {
        clock->kind = SM_CLOCK_MONOTONIC;
        snprintf(clock->reason, sizeof clock->reason, "asked for");
    } else {
        const char *objection = counter_objection();
        clock->kind = objection ? SM_CLOCK_MONOTONIC : SM_CLOCK_TSC;
        if (objection)
            snprintf(clock->reason, sizeof clock->reason, "%s", objection);
        else
            snprintf(clock->reason, sizeof clock->reason, "of a constant rate, and the kernel's own clock source");
    }
    take_anchor(clock, &clock->last_ticks, &clock->last_ns);
    if (clock->kind == SM_CLOCK_TSC) {
        first_scale(clock);
        measure_reads(clock);
        double ns = clock->read_ticks * clock->ns_per_tick;
        if (!(ns <= READ_LIMIT_NS)) { /* or a counter that stands still */
            clock->kind = SM_CLOCK_MONOTONIC;
            clock->ns_per_tick = 1.0;
            snprintf(clock->reason, sizeof clock->reason,
                     "a read of " COUNTER " takes %.0f ns here: it seems to be trapped", ns);
            take_anchor(clock, &clock->last_ticks, &clock->last_ns);
        }
    }
    measure_reads(clock);
    return strcmp(wanted, "tsc") != 0 || clock->kind == SM_CLOCK_TSC;
}

void sm_clock_learn(sm_clock *clock, uint64_t ticks, int64_t ns) {
    double passed = (double)(ns - clock->last_ns), counted = (double)sm_ticks_since(clock->last_ticks, ticks);
    if (passed < SOON_NS)
        return;
    clock->last_ticks = ticks;
    clock->last_ns = ns;
    double apart = fabs(counted * clock->ns_per_tick - passed) / passed;
    if (apart > (passed > SURE_NS ? DRIFT : JUMP))
        clock->drifts++;
    if (apart > JUMP) {
        double rate = counted > 0 ? passed / counted : 0, before = clock->rate;
        clock->rate = rate;
        if (rate == 0 || fabs(rate - before) > DRIFT * rate)
            return;
        clock->kept_ticks = clock->kept_ns = 0; /* the same rate twice means that the scale was wrong */
    }
    clock->kept_ticks += counted;
    clock->kept_ns += passed;
    SM_WRITE(clock->ns_per_tick, clock->kept_ns / clock->kept_ticks);
}

void sm_clock_anchor(sm_clock *clock) {
    if (clock->kind != SM_CLOCK_TSC)
        return;
    uint64_t ticks = 0;
    int64_t ns = 0;
    take_anchor(clock, &ticks, &ns);
    sm_clock_learn(clock, ticks, ns);
}
