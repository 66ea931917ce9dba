/* Methods of seismo._core.Journal in other files of this folder. */
#pragma once

#include <Python.h>

#include "trace/call.h"

/* The method `cut` (trace_excerpt.c). */
PyObject *sm_trace_cut(const sm_trace *journal, PyObject *arguments);

/* The method `batches` (trace_batches.c). object: the Journal that owns all arguments. */
PyObject *sm_trace_batches(PyObject *object, const sm_trace *journal, const int64_t *function, PyObject *arguments);
/* Return the problems as a new dict, or NULL with an exception set. dropped: pieces without a block. */
PyObject *sm_trace_wrong(const sm_wrong *wrong, size_t dropped);
