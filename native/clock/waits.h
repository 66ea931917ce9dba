/* Asks the kernel what a thread waits for while it is off the CPU.
 *
 * /proc/self/task/TID/syscall has "running" for a runnable thread, or else its system call and the arguments. A thread
 * that waits for the GIL is in futex(), at an address inside the lock. Without the GIL, it waits for a lock in futex()
 * at a record on its own stack, which names the lock (compat/lock.h). A look takes some microseconds. Without this
 * support all waiting is of unknown kind, and the recording states so. */
#pragma once

#include <stdbool.h>

#include "clock/timing.h"

/* Probe the kernel once, before all other calls. */
void sm_waits_init(void);
/* Return true if no seccomp filter was installed since the probe: it may kill the process on open(2). */
bool sm_waits_may_open(void);
/* Simulate a kernel without support if false, and forget failed looks. For tests. */
void sm_waits_limit(bool wanted);
/* Return true if the kernel reports what a thread waits for. Otherwise no part of waiting is of known kind. */
bool sm_waits_looks(void);
/* Return how waiting is measured: "clock, ready, lock", without the GIL "clock, ready, lock, stop", with ", in part" at
 * its end if a look failed. */
const char *sm_waits_known(void);

/* Give the sampler's thread an empty table of file descriptors, so that the program never sees what it opens. */
void sm_waits_look_alone(void);
/* Return what a thread that is off the CPU waits for. Only the sampler's thread calls it. of_world: see sm_timing. */
sm_wait sm_waits_of(uint64_t native_id, uintptr_t of_world);
