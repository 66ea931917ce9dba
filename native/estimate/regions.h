/* What is known of whole regions of the call tree, and how estimates are brought into line with it. */
#ifndef SM_ESTIMATE_REGIONS_H
#define SM_ESTIMATE_REGIONS_H

#include "estimate/estimate.h"

typedef struct {        /* of each node */
    double *time;       /* ns in its sampled population: estimated, then in line with what is known */
    double *variance;   /* of that and of what was ticked; nodes of one function and region share it */
    double *unforeseen; /* set to what the probes cost in these segments beyond what was calibrated, ns */
    double *doubt;      /* set to the variance of the sum of `time` from this node on; INFINITY: its nodes' */
    double *share;      /* changed to the node's part of the variance of its function in its region, if that is known */
} sm_region_estimates;

/* segments: of each node, the sampled population. known: of each process, ns spent in all of these, or 0: unknown.
 * 0, or -1 when out of memory. */
int sm_regions_reconcile(const sm_estimate_input *in, const double *segments, const double *known,
                         const sm_region_estimates *to);

#endif
