/* The objects recorder's side of start, stop, after_fork and status (engine.c). */
#ifndef SM_MODULE_OBJECTS_H
#define SM_MODULE_OBJECTS_H

#include <Python.h>

#include "filter/filter.h"

/* Before a recording of anything: may this be the filter of its spans (NULL: none)? -1 with an exception. */
int sm_module_objects_prepare(const sm_filter *span);

/* Begins with the spans of a recording that has just started. -1 with an exception. */
int sm_module_objects_spans_start(sm_filter *filter);
void sm_module_objects_spans_stop(void); /* no effect when there are none */
void sm_module_objects_spans_forked(void);

/* Adds what is known of the recording that runs, or ran last. -1 with an exception. */
int sm_module_objects_status(PyObject *status);

#endif
