/* Random gaps between timed segments.
 *
 * Each segment that is not timed anyway is timed with probability 1 in SM_SAMPLE_PERIOD, independently of all others:
 * the number of segments to the next timed one is then geometrically distributed. The gaps are drawn, not fixed, so
 * that a program that does the same thing every 32 events cannot hide from the clock. A gap costs one xorshift step and
 * one look into a table of the distribution's inverse (1,024 quantiles).
 *
 * A segment may also take a *step* of more than one of the gap's units. Gaps have no memory, so it is timed with the
 * probability that one of so many chances comes, whatever came before; and it stands for as many segments as that
 * probability is 1 in: its *weight*. Steps are powers of two. */
#ifndef SM_BASE_RANDOM_H
#define SM_BASE_RANDOM_H

#include <stdint.h>

#define SM_SAMPLE_PERIOD 128
#define SM_GAP_QUANTILES 1024
#define SM_STEP_MOST_LOG 8
#define SM_STEP_MOST (1 << SM_STEP_MOST_LOG) /* a larger one is timed as good as always */

extern uint16_t sm_gap_table[SM_GAP_QUANTILES];
void sm_gap_table_init(void); /* once, before the first sm_gap */

extern double sm_step_weights[SM_STEP_MOST_LOG + 1];

static inline double sm_step_weight(int32_t step) { /* 1 to SM_STEP_MOST, a power of two */
    return sm_step_weights[__builtin_ctz((unsigned)step)];
}

/* A state for sm_random_next: seeds that are alike lead to states that are not. */
static inline uint64_t sm_random_state(uint64_t seed) {
    seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9u;
    seed = (seed ^ seed >> 27) * 0x94D049BB133111EBu;
    return (seed ^ seed >> 31) | 1;
}

static inline uint64_t sm_random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* The number of segments up to and with the next timed one: at least 1, mean SM_SAMPLE_PERIOD. */
static inline int32_t sm_gap(uint64_t *state) {
    return sm_gap_table[sm_random_next(state) >> 54];
}

#endif
