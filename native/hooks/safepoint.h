/* A moment at which Python code may run: what a hook that may do nothing asks for. See safepoint.c. */
#ifndef SM_HOOKS_SAFEPOINT_H
#define SM_HOOKS_SAFEPOINT_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { SM_SAFE_REFERENCES, SM_SAFE_WATCHES, SM_SAFE_USERS } sm_safe_user;

/* Calls the function on the main thread, with the GIL, between two of its instructions: now and then, and soon after
 * each sm_safepoint_ask(). It returns 0, or -1 with an exception, which is then the program's. -1 with an exception.
 * Idempotent. */
int sm_safepoint_start(sm_safe_user who, int (*function)(void));
void sm_safepoint_stop(sm_safe_user who);

/* The function is called only when it is due: from here on, after so many ns. With the GIL. */
void sm_safepoint_wait(sm_safe_user who, uint64_t ns);
/* Whether it is due; from any thread. */
bool sm_safepoint_due(sm_safe_user who);

/* From any hook and thread: no lock, no allocation, nothing of Python is touched. */
void sm_safepoint_ask(void);

void sm_safepoint_forked(void); /* in the child, from os.register_at_fork: the thread is not there any more */

#endif
