/* Who is told of a fork, and in which order; and when it is over.
 *
 * Before a fork all are told in the order of this list, after it in the reverse, whoever forks: a thread of C may do it
 * without the GIL. In the child only the forking thread is there. */
#ifndef SM_COMPAT_FORKS_H
#define SM_COMPAT_FORKS_H

#include <stdbool.h>

typedef enum {
    SM_FORK_ENDING,
    SM_FORK_SAFEPOINT,
    SM_FORK_FLUSH, /* its lock is taken before those that follow */
    SM_FORK_TICKER,
    SM_FORK_SAMPLER,
    SM_FORK_JOURNAL,  /* as coverage */
    SM_FORK_COVERAGE, /* it holds locks that events take, so it comes late */
    SM_FORK_ENGINE,
    SM_FORK_HUB,
    SM_FORK_USERS
} sm_fork_user;

typedef struct { /* any may be NULL */
    void (*before)(void);
    bool (*parent)(void); /* is `over` wanted? */
    void (*child)(void);
    void (*over)(void); /* with the GIL: on the main thread, once the frame that called fork goes on; where another
                           thread of Python has forked, on that, at once */
} sm_fork_calls;

/* From now on, for good; with the GIL. calls is static. False: out of memory. */
bool sm_forks_register(sm_fork_user who, const sm_fork_calls *calls);

#endif
