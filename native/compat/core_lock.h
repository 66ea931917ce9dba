/* What stands in for the GIL on free-threaded builds; nothing on ordinary ones.
 *
 * One lock guards all that is rare: registration of code and threads, walks of stacks, accounts, flushes. An event that
 * meets only what it knows takes no lock, and any other takes it for each part that needs it: a recording ends only
 * after the events that have begun (sm_core_drain). Another thread's records are read while the world is stopped.
 *
 * The lock is a PyMutex, so a thread that waits for it is detached, and nobody who stops the world waits for it. It
 * nests. Lock order: this lock, the stopped world, `disk` (engine/flush.c), the engine's lock, the sampler's lock. It
 * is never taken while the world is stopped. While the interpreter ends, only one thread runs, and the others may have
 * been stopped for good with the lock, so it is not taken any more. */
#pragma once

#include "compat/compat.h"

#include "base/compiler.h"

#if SM_FREE_THREADED

void sm_core_enter(void);
void sm_core_leave(void);
static inline void sm_core_leave_at(const int *Py_UNUSED(scope)) {
    sm_core_leave();
}
/* Take the lock until the end of the scope. */
#define SM_CORE_GUARD                                                                                                  \
    __attribute__((cleanup(sm_core_leave_at), unused)) const int sm_core_scope = 0;                                    \
    sm_core_enter()

/* Stop all other threads between two events, or where they wait for the lock. Run no Python code until the start. */
void sm_world_stop(void); /* nests; with the lock */
void sm_world_start(void);
bool sm_world_is_stopped(void);
/* With the lock, once no more events are reported: let the threads that are in the middle of one finish it. */
void sm_core_drain(void);
void sm_core_forked(void); /* in the child, where the holder of the lock does not exist */

/* One per thread where a thread changes it at events, or else one that the GIL guards. */
#define SM_OWN_TLS SM_FAST_TLS

#else

#define SM_CORE_GUARD ((void)0)
static inline void sm_core_enter(void) {}
static inline void sm_core_leave(void) {}
static inline void sm_world_stop(void) {}
static inline void sm_world_start(void) {}
static inline bool sm_world_is_stopped(void) {
    return false;
}
static inline void sm_core_drain(void) {}
static inline void sm_core_forked(void) {}
#define SM_OWN_TLS

#endif
