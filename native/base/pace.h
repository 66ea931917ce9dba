/* How fast the processor runs code just now.
 *
 * What the probes cost is measured in some milliseconds at the start, and holds for as long as the processor is as
 * fast. It is not always: a core that two hardware threads share runs each of them at half to two thirds of its speed
 * while the other has work, which on a virtual machine may be somebody else's, and nothing tells (no time is stolen);
 * its frequency changes with heat and load. Such spells last from some milliseconds to seconds. A calibration that
 * falls into one is self-consistent, and wrong for the rest of the run by as much: now and then one was 1.8 times what
 * it should be.
 *
 * So the processor's *pace* is read, by a piece of work that is always the same, while calibrating and from time to
 * time while recording, and costs are written as they are at the recording's mean pace. The work is a chain of jumps:
 * like the interpreter, it takes what the processor needs to fetch code, and where the interpreter took 1.66, 1.77
 * and 1.84 times as long, so did the jumps (1.72, 1.77, 1.83), but additions, multiplications and a small interpreter
 * of C that fits into the caches did not (1.05 to 1.4). On machines other than those of x86-64 and ARM64 the pace is
 * not known, and costs are as they were measured. */
#ifndef SM_BASE_PACE_H
#define SM_BASE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* While calibrating: readings are taken all along a measurement, the shorter half of whose runs counts. What these took
 * is so much of what it would be at the pace of the calibration's first measurement; sm_pace_forget comes before that
 * one. A single reading may be 1.4 times off by what came in between; of several, the shorter half counts, too. */
#define SM_PACE_READINGS 16 /* at most; those beyond are not taken */

typedef struct {
    uint64_t ticks[SM_PACE_READINGS];
    int count;
} sm_pace_readings;

void sm_pace_forget(void);
void sm_pace_gather(sm_pace_readings *readings, const sm_clock *clock);
double sm_pace_scale(const sm_pace_readings *readings);

/* A recorded thread comes by `now`, in ticks, and notes the pace if nobody has for a while: a microsecond in two
 * milliseconds at first, so that a short recording has some readings, in ten later. disturbed: it has just been
 * interrupted. Then the caches hold what others do, for a moment, which is no sign of the pace: it is noted the next
 * time, unless there has been no better one for long. While there are few readings, one that is much longer than the
 * others counts only if the next one is, too, or if there is none but it. sm_pace_begin: a recording begins. */
void sm_pace_begin(void);
void sm_pace_note(const sm_clock *clock, uint64_t now, bool disturbed);

/* How much more than was calibrated the probes cost in this recording, as a factor; 1: not known. Its doubt is relative
 * to the costs. */
double sm_pace_factor(void);
double sm_pace_error(void);

/* The recording's mean pace: what the work takes, in ticks; 0: not known. */
double sm_pace_mean(void);

/* What was calibrated, for a recording that reuses it. */
double sm_pace_calibrated(void);
void sm_pace_recall(double calibrated);

/* For tests: the readings to come, in ticks; 0: as they are. */
void sm_pace_simulate(uint64_t calibrating, uint64_t recording);

#endif
