/* A moment at which Python code may run: what a hook that may do nothing asks for. See safepoint.c. */
#ifndef SM_SAFEPOINT_H
#define SM_SAFEPOINT_H

/* Calls the function on the main thread, with the GIL, between two of its instructions: now and then, and soon after
 * each sm_safepoint_ask(). One function for the process. -1 with an exception. Idempotent. */
int sm_safepoint_start(void (*function)(void));
void sm_safepoint_stop(void);

/* From any hook and thread: no lock, no allocation, nothing of Python is touched. */
void sm_safepoint_ask(void);

void sm_safepoint_forked(void); /* in the child, from os.register_at_fork: the thread is not there any more */

#endif
