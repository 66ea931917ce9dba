/* The objects recorder's part of start, stop, after_fork and status (engine.c). */
#ifndef SM_MODULE_OBJECTS_H
#define SM_MODULE_OBJECTS_H

#include <Python.h>

#include "filter/filter.h"

/* Check a filter for spans (may be NULL), before any recording. Return -1 with an exception set. */
int sm_module_objects_prepare(const sm_filter *span);

/* Start the spans of a recording that has just started. Return -1 with an exception set. */
int sm_module_objects_spans_start(sm_filter *filter);
void sm_module_objects_spans_stop(void); /* no effect without spans */
void sm_module_objects_spans_forked(void);

/* Add facts about the present or last recording. Return -1 with an exception set. */
int sm_module_objects_status(PyObject *status);

#endif
