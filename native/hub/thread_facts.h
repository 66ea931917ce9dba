/* Facts of the running thread that only a question about them pays for: how deep its stack is, what it and its asyncio
 * task are called. With the GIL, in an event's callback or outside of one; none leaves or loses an exception. */
#ifndef SM_HUB_THREAD_FACTS_H
#define SM_HUB_THREAD_FACTS_H

#include <Python.h>
#include <stdint.h>

/* Python frames on the running thread's stack; 1: the outermost only. */
int64_t sm_fact_depth(void);

/* A new str; NULL: there is none, or no memory. The thread's name as threading knows it, once it is imported. */
PyObject *sm_fact_thread_name(void);

/* A new str; NULL: no task is running on this thread. */
PyObject *sm_fact_task_name(void);

#endif
