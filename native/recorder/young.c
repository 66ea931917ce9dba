/* The rule. With a chance of GOOD / n for the n-th segment, the weighted samples are as good as 2 * GOOD segments drawn
 * evenly, from a few times GOOD on for ever, and there are GOOD * ln(n / GOOD) of them; segments that differ more need
 * more, and those that differ less fewer, as the square of their relative deviation (ALIKE to DIFFER squared). DEAR
 * bounds what that costs: a mean segment of DEAR reads of the clock, times sm_engine.threshold_ticks, may be timed
 * always, a shorter one in proportion, and more where they differ. So it takes some per cent of the function's own time
 * at most, and that only until n is larger than GOOD. What differs more than by DIFFER is mostly of two kinds of
 * segments, short ones and rare long ones that are most of its time, and it takes thousands of samples to know how many
 * of the latter there are. So up to DIFFER_WIDELY is allowed while all that was sampled of a function has taken less
 * than a part SPARE of all the time: functions that differ so much are few. What has less than a share FEW of all the
 * time that has been measured so far is of interest to nobody, however young: its chance falls in proportion. Programs
 * of hundreds of functions have most of their functions there; those that hold 90 % of the time hold about FEW or more
 * each. Such programs pay most for it: of a run of 0.3 s of "library" in benchmarks/phases.py 1.3 % with an ALIKE of
 * 0.25, and 2.8 % with one of 1; SPARE adds some 0.4 %. */
#include "recorder/young.h"

#include <math.h>

#define GOOD 256.0
#define DEAR 2.0
#define DIFFER 3.0
#define DIFFER_WIDELY 10.0
#define SPARE 0.0005
#define LOOK 0.04 /* what it costs to time a segment, times sm_engine.threshold_ticks */
#define ALIKE 0.5
#define FEW 0.0005

int32_t sm_past_step(const sm_past *past, uint64_t first, double all) {
    double worth = (double)sm_engine.threshold_ticks;
    if (past->seen < first || sm_engine.settings.time_every || sm_past_mean(past) >= worth)
        return SM_SEGMENT_ALWAYS;
    double mean = past->ticks / past->count, square = past->squares / past->count;
    bool spare = (double)past->seen * LOOK * worth < SPARE * all;
    double most = spare ? DIFFER_WIDELY : DIFFER;
    double differ = fmin(fmax(square / (mean * mean) - 1.0, ALIKE), most * most);
    double chance = fmin(GOOD * differ / past->count, mean * sqrt(differ) / (DEAR * worth));
    chance *= fmin(1.0, (past->ticks + past->long_t) / (FEW * all)); /* 1 with NaN */
    int32_t step = 1;
    while (step < SM_STEP_MOST && step * 2 <= chance * SM_SAMPLE_PERIOD) /* not with NaN: a clock that stands */
        step *= 2;
    return step;
}

void sm_past_learn(sm_past *past, const sm_segment *ended, double *all) {
    double ticks = (double)ended->ticks;
    past->seen++;
    *all += ended->weight * ticks + (double)ended->excess;
    if (ended->kind == SM_SEGMENT_LONG || (ended->kind == SM_SEGMENT_TIMED && ended->ticks >= sm_engine.long_ticks)) {
        past->long_n++;
        past->long_t += ticks;
        return;
    }
    past->count += ended->weight;
    past->ticks += ended->weight * ticks;
    past->squares += ended->weight * ticks * ticks;
    past->long_t += (double)ended->excess;
}

void sm_young_save(const sm_young *young, int64_t *row, double *reals, int first) {
    double ns = sm_clock_ns(&sm_engine.clock, 1.0);
    row[first] = young->count;
    reals[first + 1] = young->weight;
    reals[first + 2] = young->ticks * ns;
    reals[first + 3] = young->var;
    reals[first + 4] = young->var_ticks * ns;
    reals[first + 5] = young->var_sq * ns * ns;
}
