/* Facts of the running thread, computed on request, with the GIL. All preserve the current exception. */
#pragma once

#include <Python.h>

/* Return the name that threading has for the thread, a new str, or NULL. */
PyObject *sm_fact_thread_name(void);

/* Return the name of this thread's running task, a new str, or NULL. */
PyObject *sm_fact_task_name(void);
