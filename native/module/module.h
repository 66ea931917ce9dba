/* The parts of the extension module seismo._core, and functions that its files share. */
#pragma once

#include <Python.h>
#include <stdbool.h>

#include "compat/exception.h"

/* The functions and types of _core, by the file that defines them. Files with more to do have a function, which returns
 * -1 with an exception set if it fails. */
extern PyMethodDef sm_methods_arrow[], sm_methods_compile_program[], sm_methods_coverage[], sm_methods_estimate[],
    sm_methods_exit_status[], sm_methods_hooks[], sm_methods_jumps[], sm_methods_keep_files[], sm_methods_objects[],
    sm_methods_processes[], sm_methods_reader[], sm_methods_reference_tracer[], sm_methods_referrers[],
    sm_methods_trace_marks[], sm_methods_watch[];
extern PyType_Spec sm_type_column, sm_type_journal, sm_type_profiler, sm_type_reference_tracer, sm_type_watch,
    sm_type_writer;
int sm_module_add_callstats(PyObject *module);
int sm_module_add_capi(PyObject *module);
int sm_module_add_engine(PyObject *module);
int sm_module_add_exit_status(PyObject *module);
int sm_module_add_filter(PyObject *module);
int sm_module_add_hooks(PyObject *module);

/* The flags and the address of a method that takes keywords. */
#define SM_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

/* Return None, or NULL for a failure, with its exception set. */
static inline PyObject *sm_none(int done) {
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* Free an instance of a heap type, at the end of its deallocator. */
static inline void sm_object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

struct sm_filter;

/* Return a new _core.Filter for a `where` expression (a str), or NULL with an exception set. */
PyObject *sm_compile_where(PyObject *where, bool trace);
/* Return the filter of a _core.Filter, borrowed from it, or NULL with a TypeError set. */
struct sm_filter *sm_filter_from(PyObject *filter);

/* Return facts about the coverage recorder as a new dict, or NULL with an exception set. */
PyObject *sm_module_coverage_status(void);

/* The objects recorder's part of start, stop, after_fork and status. The first checks a filter for spans (may be NULL),
 * before any recording. The second starts the spans of a recording that has just started. Return -1 with an exception
 * set. */
int sm_module_objects_prepare(const struct sm_filter *span);
int sm_module_objects_spans_start(struct sm_filter *filter);
PyObject *sm_module_objects_status(void); /* a new dict of facts about the present or last recording, or NULL */
void sm_module_objects_spans_stop(void);  /* no effect without spans */
void sm_module_objects_spans_forked(void);

struct ArrowArrayStream;

/* Return a capsule of the Arrow PyCapsule interface that owns the stream (from sm_alloc). Return NULL with an exception
 * set and the stream released if it fails. */
PyObject *sm_arrow_capsule(struct ArrowArrayStream *stream);

/* Call module.register(function), with the keyword if there is one. Return -1 with an exception set. */
int sm_register_call(const char *module, const char *registrar, const char *keyword, PyMethodDef *function);

/* Delay the Python handlers of signals until sm_signals_release, which runs them if `deliver` is true. Return false if
 * they are delayed already. With the GIL and no exception set. */
bool sm_signals_hold(void);
void sm_signals_release(bool deliver);

/* Register functions for exit and forks, before the first sm_reference_add. Return -1 with an exception set. */
int sm_reftracer_prepare(void);
