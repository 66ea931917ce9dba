/* What seismo._core.Journal has from other files of this folder. */
#ifndef SM_MODULE_TRACE_READER_H
#define SM_MODULE_TRACE_READER_H

#include <Python.h>

#include "trace/call.h"

/* The method `cut` of seismo._core.Journal (trace_excerpt.c). */
PyObject *sm_trace_cut(const sm_trace *journal, PyObject *arguments);

/* The method `batches` (trace_batches.c); object: the Journal that all of this belongs to. */
PyObject *sm_trace_batches(PyObject *object, const sm_trace *journal, const int64_t *function, PyObject *arguments);
/* What was wrong as a new dict; dropped: pieces that are in no block. NULL with an exception set. */
PyObject *sm_trace_wrong(const sm_wrong *wrong, size_t dropped);

#endif
