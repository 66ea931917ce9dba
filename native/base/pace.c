#include "base/pace.h"

#include <stdbool.h>

#define EARLY_NS                                                                                                       \
    2e6 /* between the first so many notes, each of which stands for so much of a recording, and later:                \
         */
#define EARLY 25
#define LATER 5    /* times as long */
#define READINGS 3 /* the shortest counts: the first fetches the code, and any may be interrupted */
#define ROUNDS 12
#define LEAST 0.5 /* a recording that is said to be faster than this, or slower than that, was not understood */
#define MOST 4.0
#define DOUBT 0.25 /* of what costs are changed by, which other code is by a little more or less */

static struct {
    uint64_t first;        /* ticks: the calibration's first reading; 0: not known */
    uint64_t sum, weight;  /* of the recording's, ticks, by what they stand for; atomic: of all its threads */
    uint64_t due;          /* ticks; atomic: when the next is to be noted */
    uint64_t simulated[2]; /* tests: while calibrating, while recording */
} pace;

#if defined(__x86_64__) || defined(__aarch64__)

/* Blocks of a few instructions and 16 bytes, each of which jumps to the one 37 further on, around and around. They lie
 * across the borders of what is fetched at once, as most code does: aligned ones (1.2) do not feel what the interpreter
 * feels. */
static __attribute__((noinline)) void jump(void) {
    uint64_t rounds = ROUNDS, x = 0, y = 0;
#if defined(__x86_64__)
#define STEP "add $1, %1\n lea 3(%2), %2\n mov %1, %%rax\n jmp"
#define LAST "dec %0\n jz .Lend%=\n jmp"
#define FILL "nop\n nop\n"
#define SKIP ".skip 8, 0x90\n"
#define BY "rax", "cc"
#else
#define STEP "add %1, %1, #1\n add %2, %2, #3\n eor %1, %1, %2\n b"
#define LAST "subs %0, %0, #1\n b.eq .Lend%=\n b"
#define FILL "nop\n"
#define SKIP "nop\n nop\n"
#define BY "cc"
#endif
    __asm__ volatile(".p2align 6\n" SKIP ".Lblocks%=:\n.set .Lnumber%=, 0\n.rept 128\n"
                     ".if .Lnumber%= == 91\n" LAST " .Lblocks%=\n" FILL ".else\n" STEP
                     " .Lblocks%= + 16 * ((.Lnumber%= + 37) & 127)\n.endif\n"
                     ".set .Lnumber%=, .Lnumber%= + 1\n.endr\n.Lend%=:"
                     : "+r"(rounds), "+r"(x), "+r"(y)
                     :
                     : BY);
}

static uint64_t read_pace(const sm_clock *clock) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = sm_clock_read(clock);
        jump();
        uint64_t took = sm_ticks_since(before, sm_clock_read(clock));
        least = took < least ? took : least;
    }
    return least;
}

#else

static uint64_t read_pace(const sm_clock *clock) {
    (void)clock;
    return 0;
}

#endif

static uint64_t read_now(const sm_clock *clock, bool recording) {
    uint64_t simulated = pace.simulated[recording];
    return simulated != 0 ? simulated : read_pace(clock);
}

void sm_pace_forget(void) {
    pace.first = 0;
}

double sm_pace_scale(const sm_clock *clock) {
    uint64_t now = read_now(clock, false);
    if (pace.first == 0)
        pace.first = now;
    return now > 0 ? (double)pace.first / (double)now : 1.0;
}

void sm_pace_begin(void) {
    pace.sum = pace.weight = pace.due = 0;
}

void sm_pace_note(const sm_clock *clock, uint64_t now) {
    if (now < __atomic_load_n(&pace.due, __ATOMIC_RELAXED))
        return;
    uint64_t weight = __atomic_load_n(&pace.weight, __ATOMIC_RELAXED) < EARLY ? 1 : LATER;
    uint64_t until = (uint64_t)((double)weight * EARLY_NS / clock->ns_per_tick);
    __atomic_store_n(&pace.due, now + until, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pace.sum, weight * read_now(clock, true), __ATOMIC_RELAXED);
    __atomic_fetch_add(&pace.weight, weight, __ATOMIC_RELAXED);
}

double sm_pace_factor(void) {
    uint64_t sum = __atomic_load_n(&pace.sum, __ATOMIC_RELAXED);
    uint64_t weight = __atomic_load_n(&pace.weight, __ATOMIC_RELAXED);
    if (pace.first == 0 || weight == 0)
        return 1.0;
    double factor = (double)sum / (double)weight / (double)pace.first;
    return factor < LEAST ? LEAST : factor > MOST ? MOST : factor;
}

double sm_pace_error(void) {
    double factor = sm_pace_factor();
    return DOUBT * (factor > 1 ? factor - 1 : 1 - factor);
}

uint64_t sm_pace_calibrated(void) {
    return pace.first;
}

void sm_pace_recall(uint64_t calibrated) {
    pace.first = calibrated;
}

void sm_pace_simulate(uint64_t calibrating, uint64_t recording) {
    pace.simulated[0] = calibrating;
    pace.simulated[1] = recording;
}
