/* The functions of threads*.c for the engine's files. */
#pragma once

#include "engine/engine.h"

#define SM_NO_CHUNK ((sm_chunk *)1) /* equals no chunk, so the next event looks */
/* Threads that have ended with a row and a tree of their own, and bytes of these, before folding (thread_groups.c). */
#define SM_THREADS_APART 1000
#define SM_THREADS_KEEP (12 << 20)

void sm_threads_forked(void); /* in the child, which has only the running thread */

int sm_threads_init(void); /* once per process; -1 with an exception */
/* Detach all records from the recording. Each thread is met again at its first event of the next one. */
void sm_threads_forget(void);
sm_thread *sm_thread_new_record(void);    /* zeroed, and in the list; NULL if out of memory */
bool sm_thread_attach(sm_thread *thread); /* of the running OS thread; false if out of memory */
int64_t sm_thread_cpu_ns(const sm_thread *thread);
/* Release a record to which nothing leads any more; one with paths stays. This and the next three need the engine's
 * lock. */
void sm_thread_retire(sm_thread *thread);
/* Make the thread or group part of the recording, again if its group changes. Return false if out of memory. */
bool sm_thread_enter(sm_thread *thread);
void sm_thread_leave(sm_thread *thread);     /* the recorder keeps no more of it */
void sm_thread_take_cpu(sm_thread *thread);  /* its cpu_ns up to now, if that can be known */
void sm_thread_take_rest(sm_thread *thread); /* its rest_ticks up to now, while it is sampled */

/* Look up the running thread's name in threading, and with `entry` what began it. code, self: of the next frame, or
 * NULL. */
void sm_thread_find_name(sm_thread *thread, bool entry, PyCodeObject *code, PyObject *self);
/* Turn "Thread-7 (work)" into "Thread-* (work)". room: of both. */
void sm_thread_pattern(char *pattern, const char *name, size_t room);

/* The functions below are called with the engine's lock, except the first. */
bool sm_thread_folds(void); /* true if a thread that begins now is folded */
/* Make the group of the thread's name and entry its home. Return false if out of memory. */
bool sm_thread_fold(sm_thread *thread);
void sm_thread_add_to_group(sm_thread *thread); /* adds the times that are not in it yet */
/* Return the number of its row. A group gets one when a thread is folded into it. */
uint32_t sm_thread_row(sm_thread *home);
void sm_threads_sum(uint64_t now); /* the running_ fields of all groups; numbers them */
const char *sm_group_name(const sm_thread *group, char *text, size_t room);
void sm_groups_forget(void);
