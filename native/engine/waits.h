/* What a thread waits for while it is off the CPU.
 *
 * How long it was off the CPU the clocks tell exactly (recorder/segments.h); not why. Three reasons are kept apart:
 *
 *  - *ready*: it could have run, and had no processor. The kernel keeps that sum for each thread (the second number of
 *    /proc/thread-self/schedstat), so it is read where a wait ends that was long enough to be worth the price.
 *  - *lock*: it waited for the interpreter's lock. No clock says so. The ticker looks at threads that have had no event
 *    since its last visit: /proc/self/task/TID/syscall has the system call that a thread is in, and its arguments, and
 *    who waits for the lock is in futex(), at an address inside of the lock. The looks divide what is not *ready*
 * between the lock and
 *  - *other*: a device, another lock, a sleep, a child process.
 *
 * A look costs some microseconds, so the ticker takes a few threads at each visit, in turn. A wait that no look has met
 * (it was shorter than the distance of ticks) is *other*, and its length is added to what may be wrong. Where /proc
 * does not say, the waits stay undivided, and the recording says so (sm_waits_known). */
#ifndef SM_ENGINE_WAITS_H
#define SM_ENGINE_WAITS_H

#include "engine/engine.h"

/* Once, before any of the rest: what can be measured here? */
void sm_waits_init(void);
/* For tests: as if nothing could be measured (false), or as it is; forgets what was missed. */
void sm_waits_limit(bool wanted);
/* For the recording: who tells that a thread is off the CPU ("rseq"; "clock"; "rseq and clock" where rseq is silent of
 * system calls), and what of that is kept apart: "rseq, ready, lock"; with "in part" at its end if that was not to be
 * had at times: the program had no file descriptor left, or has forbidden itself to open files. "": nothing is
 * measured, with a simulated clock. */
const char *sm_waits_known(void);

/* ns that the running thread could have run and did not, since it began; -1: not known. */
int64_t sm_waits_ready_ns(void);

/* For the ticker's thread, when it begins: may it look? It gets a table of file descriptors of its own, an empty one,
 * so that what it opens is never among the program's. */
bool sm_waits_look_alone(void);

/* From the ticker's thread, without the interpreter's lock: a look at a thread that has had no event since the last
 * tick. errno is the thread's own. */
void sm_waits_look(sm_thread *thread);

#endif
