/* Safe points: moments at which Python code may run, for the work of hooks that may not run any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum { SM_SAFE_REFERENCES, SM_SAFE_WATCHES, SM_SAFE_USERS } sm_safe_user;

/* Call the function on the main thread between two instructions, at times and soon after sm_safepoint_ask(). If it
 * returns -1, its exception is raised in the program. Idempotent. Return -1 with an exception set. */
int sm_safepoint_start(sm_safe_user who, int (*function)(void));
void sm_safepoint_stop(sm_safe_user who);

/* Delay the function's next call by so many ns. With the GIL. */
void sm_safepoint_wait(sm_safe_user who, uint64_t ns);
/* Return true if the function is due. From any thread. */
bool sm_safepoint_due(sm_safe_user who);

/* Request a call soon. From any hook and thread: takes no lock and allocates nothing. */
void sm_safepoint_ask(void);

void sm_safepoint_forked(void); /* in the child, from os.register_at_fork: restarts the thread */
