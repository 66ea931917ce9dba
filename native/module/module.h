/* The parts of the extension module: each file of this folder adds its functions and types. */
#ifndef SM_MODULE_MODULE_H
#define SM_MODULE_MODULE_H

#include <Python.h>
#include <stdbool.h>

/* Each returns 0, or -1 with an exception set. */
int sm_module_add_engine(PyObject *module);           /* start, stop, snapshot, status ... (engine.c) */
int sm_module_add_reader(PyObject *module);           /* read, Writer (reader.c) */
int sm_module_add_estimate(PyObject *module);         /* estimate, aggregate, combine (estimate.c) */
int sm_module_add_arrow(PyObject *module);            /* arrow_stream (arrow.c) */
int sm_module_add_filter(PyObject *module);           /* Filter (filter.c) */
int sm_module_add_hooks(PyObject *module);            /* set_profile, set_trace, stand-ins (hooks.c) */
int sm_module_add_slots_taken(PyObject *module);      /* slots_taken (hook_slots.c) */
int sm_module_add_reference_tracer(PyObject *module); /* RefTracer (reference_tracer.c) */
int sm_module_add_capi(PyObject *module);             /* _C_API (capi.c) */
int sm_module_add_callstats(PyObject *module);        /* Profiler (callstats.c) */
int sm_module_add_coverage(PyObject *module);         /* cover_start, cover_stop, cover_snapshot ... (coverage.c) */
int sm_module_add_objects(PyObject *module);          /* objects_quiet, objects_mark, objects_alive ... (objects.c) */
int sm_module_add_referrers(PyObject *module);        /* objects_referrers, objects_untracked (referrers.c) */
int sm_module_add_watch(PyObject *module);            /* Watch, frame_locals ... (watch.c) */
int sm_module_add_keeping(PyObject *module);          /* keep (keep_files.c) */
int sm_module_add_exit(PyObject *module);             /* at_end, exit_with (exit_status.c) */
int sm_module_add_compiling(PyObject *module);        /* compile_program (compile_program.c) */
int sm_module_add_processes(PyObject *module);        /* set_process_receiver (processes.c) */
int sm_module_add_jumps(PyObject *module);            /* code_branches (jumps.c); only with SM_TESTING */
int sm_module_add_timeline(PyObject *module);         /* Journal (trace_reader.c) */
int sm_module_add_journal(PyObject *module);          /* journaling, instant (trace_marks.c) */

/* Return a new _core.Filter for a `where` expression (a str), or NULL with an exception set. */
PyObject *sm_compile_where(PyObject *where, bool trace);

/* Call module.register(function), with the keyword if there is one. Return -1 with an exception set. */
int sm_register_call(const char *module, const char *registrar, const char *keyword, PyMethodDef *function);

/* Delay the Python handlers of signals, and run them on a release with `deliver`. Return false if they are delayed
 * already. With the GIL and no exception set. */
bool sm_signals_hold(void);
void sm_signals_release(bool deliver);

/* Register functions for exit and forks, before the first sm_reference_add. Return -1 with an exception set. */
int sm_reftracer_prepare(void);

#endif
