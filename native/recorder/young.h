/* By which chance a segment is timed, and what its sample then stands for. What is known of a function or a line
 * decides that, for both recorders.
 *
 * In the long run the chance is 1 in SM_SAMPLE_PERIOD: what has had a million segments is known well by 8,000 of them.
 * What is *young* is timed more often, the more often the fewer segments it has had and the more they differ: the
 * samples are then as good as a fixed number of them, whatever the count. Whoever runs for a third of a second has
 * little else. A sample's weight is what its chance was 1 in. That follows from what was known before the segment
 * began, so sums of weighted samples are unbiased however the rule chooses (young.c has the rule). */
#ifndef SM_RECORDER_YOUNG_H
#define SM_RECORDER_YOUNG_H

#include "recorder/segments.h"

typedef struct { /* samples of what was young, each with its weight; `var` is of weight * (weight - 1) */
    uint32_t count;
    double weight, ticks;          /* sums of the weights; of the ticks by their weights */
    double var, var_ticks, var_sq; /* sums of var; of the ticks, and of their squares, times it */
} sm_young;

typedef struct {           /* what has been measured of a function or a line: all that the rule knows */
    uint64_t seen;         /* segments */
    double count, ticks;   /* by their weights */
    double squares;        /* of the ticks, by their weights */
    double long_n, long_t; /* those that are not the samples' to find: long ones; of the ticks also what it waited */
} sm_past;

/* The step of what has this past, from now on. first: so many are all timed, a multiple of SM_PAST_EVERY. all: ticks of
 * all functions, or lines, as far as they have been learnt. */
int32_t sm_past_step(const sm_past *past, uint64_t first, double all);

void sm_past_learn(sm_past *past, const sm_segment *ended, double *all);

/* May the step be another after this segment? A few more of the kind change little, and working it out takes longer
 * than the rest. */
#define SM_PAST_EVERY 8
static inline bool sm_past_tells(const sm_past *past, const sm_segment *ended) {
    return past->seen % SM_PAST_EVERY == 0 || ended->ticks + ended->excess >= sm_engine.threshold_ticks;
}

static inline void sm_past_waited(sm_past *past, const sm_off *off) {
    past->long_t += (double)sm_off_own(off);
}

static inline double sm_past_mean(const sm_past *past) {
    return (past->ticks + past->long_t) / (past->count + past->long_n);
}

/* What a sample adds to the variance, by its square: the largest such term is kept. */
static inline double sm_sample_var(const sm_segment *sample) {
    return sample->weight * (sample->weight - 1.0) * (double)sample->ticks * (double)sample->ticks;
}

static inline void sm_young_add(sm_young *young, const sm_segment *sample) {
    double ticks = (double)sample->ticks, weight = sample->weight, var = weight * (weight - 1.0);
    young->count++;
    young->weight += weight;
    young->ticks += weight * ticks;
    young->var += var;
    young->var_ticks += var * ticks;
    young->var_sq += var * ticks * ticks;
}

/* The six columns of a row, from `first` on. */
void sm_young_save(const sm_young *young, int64_t *row, double *reals, int first);

#endif
