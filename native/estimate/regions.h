/* What is known of whole regions of the call tree, and how estimates are brought into line with it. */
#ifndef SM_ESTIMATE_REGIONS_H
#define SM_ESTIMATE_REGIONS_H

#include "estimate/estimate.h"

/* segments: of each node, the sampled population. known: of each process, ns spent in all of these, or 0: unknown.
 * time, variance: of each node, the estimate for them in ns and its variance by sampling; both are changed. unforeseen:
 * of each node, set to what the probes cost in its segments beyond what was calibrated, ns. 0, or -1 when out of
 * memory.
 */
int sm_regions_reconcile(const sm_estimate_input *in, const double *segments, const double *known, double *time,
                         double *variance, double *unforeseen);

#endif
