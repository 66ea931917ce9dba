/* The durations of matched calls: sums and a histogram. */
#include "base/alloc.h"
#include "hub/watch.h"

static const double steps[3] = {1, 2, 5};

double sm_watch_bucket(int bucket) {
    if (bucket <= 0)
        return 0;
    double low = 100;
    for (int decade = (bucket - 1) / 3; decade > 0; decade--)
        low *= 10;
    return low * steps[(bucket - 1) % 3];
}

void sm_watch_time(sm_watch *watch, sm_watched *of, double ns, double own_ns) {
    of->min_ns = of->timed == 0 || ns < of->min_ns ? ns : of->min_ns;
    of->max_ns = ns > of->max_ns ? ns : of->max_ns;
    of->sum_ns += ns;
    of->own_ns += own_ns;
    of->timed++;
    if (of->buckets == NULL)
        of->buckets = sm_calloc(SM_WATCH_BUCKETS, sizeof *of->buckets);
    if (of->buckets == NULL) {
        watch->lost++;
        return;
    }
    int bucket = 0;
    while (bucket + 1 < SM_WATCH_BUCKETS && ns >= sm_watch_bucket(bucket + 1))
        bucket++;
    of->buckets[bucket]++;
}
