/* What stands in for the GIL on free-threaded builds, and on ordinary ones once there is a second interpreter.
 *
 * One lock guards all that is rare: registration of code and threads, walks of stacks, accounts, flushes. An event that
 * meets only what it knows takes no lock, and any other takes it for each part that needs it: a recording ends only
 * after the events that have begun (sm_core_drain). Another thread's records are read while the world is stopped.
 *
 * The lock is a PyMutex, so a thread that waits for it is detached, and nobody who stops the world waits for it. It
 * nests. Events of other interpreters take it before anything else. Events of the reference tracer, in which a thread
 * must stay attached, never wait for it (recorder/objects/objects.h). Lock order: this lock, the stopped world, `disk`
 * (engine/flush.c), the engine's lock, the sampler's lock. It is never taken while the world is stopped. While the
 * interpreter ends, only one thread runs, and the others may have been stopped for good with the lock, so it is not
 * taken any more.
 *
 * With the GIL: Interpreters may have GILs of their own. Once the program makes the first, the lock is shared: each
 * event takes it before anything else (hooks/monitoring_tool.c). Until then it costs rare paths a check, and common
 * ones nothing. What looks at another interpreter, or sets its events, does so without the lock: that takes a lock of
 * the interpreter which a forking thread holds. */
#pragma once

#include "compat/compat.h"

#include "base/compiler.h"

#if SM_HAS_CORE_LOCK

#if SM_SHARES_LOCK_LATER
extern bool sm_core_is_shared; /* set once, with the GIL of the main interpreter */
#else
#define sm_core_is_shared true
#endif
void sm_core_take(void);
void sm_core_give(void);
static inline void sm_core_enter(void) {
    if (SM_UNLIKELY(sm_core_is_shared))
        sm_core_take();
}
static inline void sm_core_leave(void) {
    if (SM_UNLIKELY(sm_core_is_shared))
        sm_core_give();
}
static inline void sm_core_leave_at(const int *Py_UNUSED(scope)) {
    sm_core_leave();
}
/* Take the lock until the end of the scope. */
#define SM_CORE_GUARD                                                                                                  \
    __attribute__((cleanup(sm_core_leave_at), unused)) const int sm_core_scope = 0;                                    \
    sm_core_enter()

/* Give the lock up while code of the program runs, as a thread gives up the GIL, and take it again as it was. */
uint32_t sm_core_suspend(void);
void sm_core_resume(uint32_t taken);
/* Run a statement without the lock. */
#define SM_CORE_AWAY(statement)                                                                                        \
    do {                                                                                                               \
        uint32_t sm_core_taken = sm_core_is_shared ? sm_core_suspend() : 0;                                            \
        statement;                                                                                                     \
        if (sm_core_taken > 0)                                                                                         \
            sm_core_resume(sm_core_taken);                                                                             \
    } while (0)

void sm_core_forked(void); /* in the child, where the holder of the lock does not exist */

#else

#define SM_CORE_GUARD ((void)0)
#define SM_CORE_AWAY(statement) statement
static inline void sm_core_enter(void) {}
static inline void sm_core_leave(void) {}
static inline void sm_core_forked(void) {}

#endif

#if SM_FREE_THREADED

/* SM_CORE_GUARD in what events call, and in what is called with the lock otherwise. With the GIL, the event has it. */
#define SM_EVENT_GUARD SM_CORE_GUARD

/* Stop all other threads of the main interpreter between two events, or where they wait for the lock. Those of other
 * interpreters have it at each event. Run no Python code until the start. */
void sm_world_stop(void); /* nests; with the lock */
void sm_world_start(void);
bool sm_world_is_stopped(void);
/* With the lock, once no more events are reported: let the threads that are in the middle of one finish it. */
void sm_core_drain(void);
/* Return true if the interpreter may stop the world to disable the place of this event: as soon as the events that this
 * thread spent on enabled places have cost as much as that does of late. It is asked once for an event. */
bool sm_world_stop_pays(void);
/* Return true if the main thread is the only one. */
bool sm_is_only_thread(void);

/* One per thread where a thread changes it at events, or else one that the GIL guards. */
#define SM_OWN_TLS SM_FAST_TLS
/* Add one to a word that only this thread changes, or that the GIL guards, while others read it. */
#define SM_OWN_COUNT(word) __atomic_store_n(&(word), (word) + 1, __ATOMIC_RELAXED)
/* Add one to a word that threads share at events, or that the GIL guards. */
#define SM_COUNT(word) ((void)__atomic_fetch_add(&(word), 1, __ATOMIC_RELAXED))
#define SM_COUNT_BACK(word) ((void)__atomic_fetch_sub(&(word), 1, __ATOMIC_RELAXED))

#else

#define SM_EVENT_GUARD ((void)0)
static inline void sm_world_stop(void) {}
static inline void sm_world_start(void) {}
static inline bool sm_world_is_stopped(void) {
    return false;
}
static inline void sm_core_drain(void) {}
static inline bool sm_world_stop_pays(void) {
    return true;
}
static inline bool sm_is_only_thread(void) {
    return true; /* with the GIL, no other thread is in the middle of an event */
}
#define SM_OWN_TLS
#define SM_OWN_COUNT(word) ((void)(word)++)
#define SM_COUNT(word) ((void)(word)++)
#define SM_COUNT_BACK(word) ((void)(word)--)

#endif
