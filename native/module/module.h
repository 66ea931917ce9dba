/* The parts of the extension module seismo._core, and functions that its files share. */
#pragma once

#include <Python.h>
#include <stdbool.h>

/* The functions and types of _core, by the file that defines them. Files with more to do have a function, which returns
 * -1 with an exception set if it fails. */
extern PyMethodDef sm_methods_arrow[], sm_methods_compile_program[], sm_methods_estimate[], sm_methods_exit_status[],
    sm_methods_hooks[], sm_methods_jumps[], sm_methods_keep_files[], sm_methods_objects[], sm_methods_processes[],
    sm_methods_reader[], sm_methods_reference_tracer[], sm_methods_referrers[], sm_methods_trace_marks[],
    sm_methods_watch[];
extern PyType_Spec sm_type_column, sm_type_journal, sm_type_profiler, sm_type_reference_tracer, sm_type_watch,
    sm_type_writer;
int sm_module_add_callstats(PyObject *module);
int sm_module_add_capi(PyObject *module);
int sm_module_add_coverage(PyObject *module);
int sm_module_add_engine(PyObject *module);
int sm_module_add_exit_status(PyObject *module);
int sm_module_add_filter(PyObject *module);
int sm_module_add_hooks(PyObject *module);

/* Return a new _core.Filter for a `where` expression (a str), or NULL with an exception set. */
PyObject *sm_compile_where(PyObject *where, bool trace);

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
