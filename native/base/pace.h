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

#include <stdint.h>

#include "base/clock.h"

/* While calibrating: what was just measured is so much of what it would be at the pace of the calibration's first
 * reading. sm_pace_forget comes before that one. */
void sm_pace_forget(void);
double sm_pace_scale(const sm_clock *clock);

/* A recorded thread comes by `now`, in ticks, and notes the pace if nobody has for a while: a microsecond in two
 * milliseconds at first, so that a short recording has some readings, in ten later. sm_pace_begin: a recording begins.
 */
void sm_pace_begin(void);
void sm_pace_note(const sm_clock *clock, uint64_t now);

/* How much more than was calibrated the probes cost in this recording, as a factor; 1: not known. Its doubt is relative
 * to the costs. */
double sm_pace_factor(void);
double sm_pace_error(void);

/* What was calibrated, for a recording that reuses it. */
uint64_t sm_pace_calibrated(void);
void sm_pace_recall(uint64_t calibrated);

/* For tests: the readings to come, in ticks; 0: as they are. */
void sm_pace_simulate(uint64_t calibrating, uint64_t recording);

#endif
