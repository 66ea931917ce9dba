/* What the engine's own files need of threads.c. */
#ifndef SM_THREADS_H
#define SM_THREADS_H

#include "event/engine.h"

int64_t sm_thread_cpu_ns(const sm_thread *thread); /* -1: unknown */
void sm_threads_forget(void);

#endif
