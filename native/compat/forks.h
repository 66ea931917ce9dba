/* Notifies its users of forks, by C threads too: before a fork in the order of this list, after it in reverse. */
#pragma once

#include <stdbool.h>

#include "base/worker.h"

typedef enum {
    SM_FORK_ENDING,
    SM_FORK_SAFEPOINT,
    SM_FORK_FLUSH, /* its lock is taken before the following ones */
    SM_FORK_TICKER,
    SM_FORK_SAMPLER,
    SM_FORK_JOURNAL, /* late, because it holds locks that events take */
    SM_FORK_HUB,
    SM_FORK_USERS
} sm_fork_user;

typedef struct {       /* any may be NULL */
    sm_worker *worker; /* stopped before the fork */
    void (*before)(void);
    void (*parent)(void);
    void (*child)(void);
    bool (*wanted)(void); /* after `parent`: returns true to request `over` */
    /* Called with the GIL, once fork's caller continues; see forks.c. NULL: starts the worker if it is still wanted. */
    void (*over)(void);
} sm_fork_calls;

/* Register these static functions for good. With the GIL. Return false if out of memory. */
bool sm_forks_register(sm_fork_user who, const sm_fork_calls *calls);
