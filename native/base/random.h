/* Random gaps between timed segments.
 *
 * Each segment that is not timed anyway is timed with probability 1 in SM_SAMPLE_PERIOD, independently of all others:
 * the number of segments to the next timed one is then geometrically distributed. The gaps are drawn, not fixed, so
 * that a program that does the same thing every 32 events cannot hide from the clock. A gap costs one xorshift step and
 * one look into a table of the distribution's inverse (1,024 quantiles). */
#ifndef SM_RANDOM_H
#define SM_RANDOM_H

#include <stdint.h>

#define SM_SAMPLE_PERIOD 128
#define SM_GAP_QUANTILES 1024

extern uint16_t sm_gap_table[SM_GAP_QUANTILES];
void sm_gap_table_init(void); /* once, before the first sm_gap */

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
