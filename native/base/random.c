#include "base/random.h"

uint16_t sm_gap_table[SM_GAP_QUANTILES];

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
}
