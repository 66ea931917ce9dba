#include "base/pace.h"

#include <math.h>
#include <stdlib.h>

#define EARLY_NS                                                                                                       \
    2e6 /* between the first so many notes, each of which stands for so much of a recording, and later:                \
         */
#define EARLY 25
#define LATER 5    /* times as long */
#define LATE 3     /* so much later than due, a note is taken in any case */
#define ODD 1.2    /* times the mean: a single reading of those may be off by what came in between */
#define READINGS 3 /* the shortest counts: the first fetches the code, and any may be interrupted */
#define ROUNDS 12
#define LEAST 0.5 /* a recording that is said to be faster than this, or slower than that, was not understood */
#define MOST 4.0
#define DOUBT 0.25 /* of what costs are changed by, which other code is by a little more or less */

static struct {
    double first;          /* ticks: of the calibration's first measurement; 0: not known */
    uint64_t sum, weight;  /* of the recording's, ticks, by what they stand for; atomic: of all its threads */
    uint64_t due;          /* ticks; atomic: when the next is to be noted */
    uint64_t odd;          /* ticks; atomic: a reading that the next one is to confirm; 0: none */
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

void sm_pace_gather(sm_pace_readings *readings, const sm_clock *clock) {
    if (readings->count < SM_PACE_READINGS)
        readings->ticks[readings->count++] = read_now(clock, false);
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

double sm_pace_scale(const sm_pace_readings *readings) {
    sm_pace_readings sorted = *readings;
    int half = (sorted.count + 1) / 2;
    double sum = 0;
    qsort(sorted.ticks, (size_t)sorted.count, sizeof *sorted.ticks, by_size);
    for (int i = 0; i < half; i++)
        sum += (double)sorted.ticks[i];
    double now = half > 0 ? sum / half : 0;
    if (pace.first == 0)
        pace.first = now;
    return now > 0 ? pace.first / now : 1.0;
}

void sm_pace_begin(void) {
    pace.sum = pace.weight = pace.due = pace.odd = 0;
}

double sm_pace_mean(void) {
    uint64_t sum = __atomic_load_n(&pace.sum, __ATOMIC_RELAXED);
    uint64_t weight = __atomic_load_n(&pace.weight, __ATOMIC_RELAXED);
    return weight > 0 ? (double)sum / (double)weight : (double)__atomic_load_n(&pace.odd, __ATOMIC_RELAXED);
}

static double usual_so_far(void) {
    double mean = sm_pace_mean();
    return mean > 0 ? mean : pace.first > 0 ? pace.first : INFINITY;
}

void sm_pace_note(const sm_clock *clock, uint64_t now, bool disturbed) {
    uint64_t due = __atomic_load_n(&pace.due, __ATOMIC_RELAXED);
    uint64_t weight = __atomic_load_n(&pace.weight, __ATOMIC_RELAXED) < EARLY ? 1 : LATER;
    uint64_t period = (uint64_t)((double)weight * EARLY_NS / clock->ns_per_tick);
    if (now < due || (disturbed && now - due < LATE * period))
        return;
    __atomic_store_n(&pace.due, now + period, __ATOMIC_RELAXED);
    uint64_t reading = read_now(clock, true), odd = __atomic_exchange_n(&pace.odd, 0, __ATOMIC_RELAXED);
    bool strange = weight == 1 && (double)reading > ODD * usual_so_far();
    if (strange && odd == 0) {
        __atomic_store_n(&pace.odd, reading, __ATOMIC_RELAXED);
        return;
    }
    uint64_t before = odd == 0 ? 0 : strange ? odd : reading;
    __atomic_fetch_add(&pace.sum, weight * reading + before, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pace.weight, weight + (odd != 0), __ATOMIC_RELAXED);
}

double sm_pace_factor(void) {
    double mean = sm_pace_mean();
    if (pace.first == 0 || mean == 0)
        return 1.0;
    double factor = mean / pace.first;
    return factor < LEAST ? LEAST : factor > MOST ? MOST : factor;
}

double sm_pace_error(void) {
    double factor = sm_pace_factor();
    return DOUBT * (factor > 1 ? factor - 1 : 1 - factor);
}

double sm_pace_calibrated(void) {
    return pace.first;
}

void sm_pace_recall(double calibrated) {
    pace.first = calibrated;
}

void sm_pace_simulate(uint64_t calibrating, uint64_t recording) {
    pace.simulated[0] = calibrating;
    pace.simulated[1] = recording;
}
