/* What the engine's own files need of threads*.c. */
#ifndef SM_ENGINE_THREADS_H
#define SM_ENGINE_THREADS_H

#include "engine/engine.h"

#define SM_NO_CHUNK ((sm_chunk *)1) /* equals no chunk: the next event looks */
/* Threads that have ended and keep a row and a tree of their own, and bytes of these: see thread_groups.c. */
#define SM_THREADS_APART 1000
#define SM_THREADS_KEEP (12 << 20)

/* threads.c */
void sm_threads_forked(void); /* in the child: the running one alone is there */

/* thread_records.c */
int sm_threads_init(void); /* once per process; -1 with an exception */
/* All records belong to no recording any more: each thread is met anew at its first event of the next one. */
void sm_threads_forget(void);
sm_thread *sm_thread_new_record(void);    /* zeroed but for its place in the list, and in the list. NULL: no memory */
bool sm_thread_attach(sm_thread *thread); /* the running thread of the system has this record. False: no memory */
int64_t sm_thread_cpu_ns(const sm_thread *thread); /* -1: unknown */
/* With the engine's lock: */
/* Nothing leads to this record any more. One that holds paths of its own stays with the recording. */
void sm_thread_retire(sm_thread *thread);
/* The thread, or group, becomes part of the recording, once more if it is in another group now. False: out of memory.
 */
bool sm_thread_enter(sm_thread *thread);
void sm_thread_leave(sm_thread *thread);     /* the recorder keeps no more of it */
void sm_thread_take_cpu(sm_thread *thread);  /* its cpu_ns up to now, if that can be known */
void sm_thread_take_rest(sm_thread *thread); /* its rest_ticks up to now, while it is sampled */

/* thread_names.c */
/* What threading calls the running thread, if it knows it: its name, and what began it if `entry`. code, self: of the
 * frame that is about to run, or NULL. */
void sm_thread_find_name(sm_thread *thread, bool entry, PyCodeObject *code, PyObject *self);
/* "Thread-7 (work)" to "Thread-* (work)". room: of both. */
void sm_thread_pattern(char *pattern, const char *name, size_t room);

/* thread_groups.c; with the engine's lock, but for sm_thread_folds */
bool sm_thread_folds(void); /* is a thread that begins now folded? */
/* Makes the group of the thread's name and entry its home. False: out of memory, it stays what it is. */
bool sm_thread_fold(sm_thread *thread);
void sm_thread_unfold(sm_thread *thread);
void sm_thread_add_to_group(sm_thread *thread); /* adds its times to its group, as far as they are not in them yet */
/* The number of its row; a group gets one when the first thread is folded into it. */
uint32_t sm_thread_row(sm_thread *home);
void sm_threads_sum(uint64_t now); /* the running_ fields of all groups; numbers them */
const char *sm_group_name(const sm_thread *group, char *text, size_t room);
void sm_groups_forget(void);

#endif
