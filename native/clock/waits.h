/* What a thread waits for while it is off the CPU, as the kernel says.
 *
 * /proc/self/task/TID/syscall says "running" of a thread that could run, else the system call that it is in and its
 * arguments. A thread that waits for the GIL is in futex(), at an address inside of the lock. A look takes some
 * microseconds. Where the kernel does not say, all waiting is of unknown kind, and the recording says so. */
#ifndef SM_CLOCK_WAITS_H
#define SM_CLOCK_WAITS_H

#include <stdbool.h>

#include "clock/timing.h"

/* Once, before any of the rest: what can be known here? */
void sm_waits_init(void);
/* May this thread open a file? A program may install a seccomp filter that kills it at open(2). */
bool sm_waits_may_open(void);
/* For tests: as if nothing could be known (false), or as it is; forgets what was missed. */
void sm_waits_limit(bool wanted);
/* For the recording: how waiting is told from running, and what of it is kept apart: "clock, ready, lock"; with "in
 * part" at its end if a thread could not be looked at: the program has forbidden itself to open files, say. */
const char *sm_waits_known(void);

/* For the sampler's thread, when it begins: it gets a table of file descriptors of its own, an empty one, so that what
 * it opens is never among the program's. */
void sm_waits_look_alone(void);
/* From the sampler's thread, of a thread that is off the CPU. */
sm_wait sm_waits_of(uint64_t native_id);

#endif
