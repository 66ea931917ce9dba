/* The pieces of the extension module: each file of this folder adds its own functions and types. */
#ifndef SM_MODULE_MODULE_H
#define SM_MODULE_MODULE_H

#include <Python.h>
#include <stdbool.h>

/* Each returns 0, or -1 with a Python exception set. */
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
int sm_module_add_jumps(PyObject *module);            /* code_branches (jumps.c) */
int sm_module_add_timeline(PyObject *module);         /* Journal (trace_reader.c) */
int sm_module_add_journal(PyObject *module);          /* journaling, instant (trace_marks.c) */

/* The filter of a `where` expression (a str) for a profile or a trace tool: seismo.hooks._filter compiles it. A new
 * _core.Filter, or NULL with an exception. */
PyObject *sm_compile_where(PyObject *where, bool trace);

/* module.register(function), or module.register(keyword=function) if there is one. -1 with an exception. */
int sm_register_call(const char *module, const char *registrar, const char *keyword, PyMethodDef *function);

/* Around what must not be cut short: signals that have a handler in Python do not run it (exit_status.c). False: that
 * is so already. deliver: those that have come run theirs now. With the GIL and no exception set. */
bool sm_signals_hold(void);
void sm_signals_release(bool deliver);

/* Before the first sm_reference_add: what has to be done at exit and in a forked child. -1 with an exception. */
int sm_reftracer_prepare(void);

#endif
