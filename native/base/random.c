#include "base/random.h"

uint16_t sm_gap_table[SM_GAP_QUANTILES];
double sm_step_weights[SM_STEP_MOST_LOG + 1]; /* of steps, by their logarithm */

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
        sm_step_weights[i] = 1.0 / (1.0 - missed);
}
