/* The threads that a recording leaves out: those that already ran at its beginning, except the one that began it.
 * Numbers of threads increase, so two numbers identify them, and the end of a thread needs no action. */
#pragma once

#include "compat/compat.h"

/* Of one recording; all zero: no thread is left out. Guard: the GIL, and set only by a start. */
typedef struct {
    uint64_t last;     /* number of the newest thread that ran at the start; no thread has number 0 */
    uint64_t beginner; /* number of the one that began it */
} sm_skipped_threads;

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
    return number <= apart->last && number != apart->beginner &&
           sm_tstate_interpreter(tstate) == PyInterpreterState_Main(); /* others number their own */
}
