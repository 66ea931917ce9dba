/* What the probes cost in each node, by what was calibrated. No Python.h. */
#ifndef SM_ESTIMATE_OVERHEAD_H
#define SM_ESTIMATE_OVERHEAD_H

#include "estimate/estimate.h"

/* The processor foresees returns through so many frames that a C function evaluates each. */
#define SM_FORESEEN_DEPTH 5

/* What follows from a rule and not from the calibration may be off by so much of itself. */
#define SM_GUESSED 0.5

/* segments, overhead: of each node, how many segments it has, and the ns in them that are the probes'. unsure: the
 * half-width of the latter, ns, in addition to what is unsure of all that is calibrated. 0, or -1 when out of memory.
 */
int sm_overhead_count(const sm_estimate_input *in, double *segments, double *overhead, double *unsure);

#endif
