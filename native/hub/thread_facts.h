/* Facts of the running thread, computed on request, with the GIL. All preserve the current exception. */
#pragma once

#include <Python.h>
#include <stdint.h>

/* Return the number of Python frames on the running thread's stack. */
int64_t sm_fact_depth(void);

/* Return the name that threading has for the thread, a new str, or NULL. */
PyObject *sm_fact_thread_name(void);

/* Return the name of this thread's running task, a new str, or NULL. */
PyObject *sm_fact_task_name(void);
