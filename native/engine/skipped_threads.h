/* Threads that are left out of a recording: those that run already when it begins, but for the one that begins it. A
 * notebook's kernel has some, and so have its earlier cells.
 *
 * A thread's number is larger than those of all that were made before it, so two numbers tell them from the others,
 * and nothing has to be done when one of them ends. */
#ifndef SM_ENGINE_SKIPPED_THREADS_H
#define SM_ENGINE_SKIPPED_THREADS_H

#include "compat/compat.h"

/* Of one recording; all zero: no thread is left out. Guard: the GIL, and set only by a start. */
typedef struct {
    uint64_t last;     /* number of the newest thread that ran at the start; no thread has number 0 */
    uint64_t beginner; /* number of the one that began it */
} sm_skipped_threads;

/* With the GIL, on the thread that begins. */
static inline sm_skipped_threads sm_skipped_threads_now(void) {
    const PyThreadState *tstate = PyThreadState_Get();
    sm_skipped_threads apart = {0, sm_tstate_id(tstate)};
    PyThreadState *each = PyInterpreterState_ThreadHead(sm_tstate_interpreter(tstate));
    for (; each != NULL; each = PyThreadState_Next(each))
        apart.last = sm_tstate_id(each) > apart.last ? sm_tstate_id(each) : apart.last;
    return apart;
}

static inline bool sm_is_apart(const sm_skipped_threads *apart, const PyThreadState *tstate) {
    uint64_t number = sm_tstate_id(tstate);
    return number <= apart->last && number != apart->beginner;
}

#endif
