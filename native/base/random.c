#include "base/random.h"

uint16_t sm_gap_table[SM_GAP_QUANTILES];
static double weights[9]; /* of steps, by their logarithm */

_Static_assert(1 << (sizeof weights / sizeof *weights - 1) == SM_STEP_MOST, "a weight for each step");

double sm_step_weight(int32_t step) {
    return weights[__builtin_ctz((unsigned)step)];
}

void sm_gap_table_init(void) {
    /* Quantile q of the geometric distribution: the smallest n with 1 - (1 - p)^n >= q. */
    const double miss = 1.0 - 1.0 / SM_SAMPLE_PERIOD;
    double survive = miss; /* (1 - p)^n */
    unsigned n = 1;
    for (int i = 0; i < SM_GAP_QUANTILES; i++) {
        double quantile = ((double)i + 0.5) / SM_GAP_QUANTILES;
        while (1.0 - survive < quantile) {
            survive *= miss;
            n++;
        }
        sm_gap_table[i] = (uint16_t)n;
    }
    double missed = miss; /* by all of a step's chances */
    for (int i = 0; 1 << i <= SM_STEP_MOST; i++, missed *= missed)
        weights[i] = 1.0 / (1.0 - missed);
}
