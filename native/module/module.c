/* seismo._core: the extension module of the engine, the sources, the recorders and the file. */
#include "module/module.h"
#include "recorder/objects/objects.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static PyMethodDef *const functions[] = {
    sm_methods_arrow,       sm_methods_compile_program, sm_methods_coverage,         sm_methods_estimate,
    sm_methods_exit_status, sm_methods_hooks,           sm_methods_keep_files,       sm_methods_objects,
    sm_methods_processes,   sm_methods_reader,          sm_methods_reference_tracer, sm_methods_referrers,
    sm_methods_trace_marks, sm_methods_watch,
#ifdef SM_TESTING
    sm_methods_jumps,
#endif
};
static PyType_Spec *const types[] = {
    &sm_type_column, &sm_type_journal, &sm_type_profiler, &sm_type_reference_tracer, &sm_type_watch, &sm_type_writer,
};
static int (*const parts[])(PyObject *module) = {
    sm_module_add_callstats,   sm_module_add_capi,   sm_module_add_engine,
    sm_module_add_exit_status, sm_module_add_filter, sm_module_add_hooks,
};

static int module_exec(PyObject *module) {
    int done = 0;
    for (size_t i = 0; done == 0 && i < COUNT(functions); i++)
        done = PyModule_AddFunctions(module, functions[i]);
    for (size_t i = 0; done == 0 && i < COUNT(types); i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, types[i], NULL); /* owned */
        done = type != NULL ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
        Py_XDECREF(type);
    }
    for (size_t i = 0; done == 0 && i < COUNT(parts); i++)
        done = parts[i](module);
#if SM_FREE_THREADED
    sm_objects_collector_asks(module);
#endif
    return done;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    /* Recording is refused in subinterpreters; those with a GIL of their own are not supported. */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_SUPPORTED},
#endif
#ifdef Py_mod_gil
    /* It needs no GIL, so this import must not enable it. */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

#if SM_FREE_THREADED
static int module_traverse(PyObject *module, visitproc Py_UNUSED(visit), void *Py_UNUSED(context)) {
    sm_objects_collector_asks(module);
    return 0;
}
#else
#define module_traverse NULL
#endif

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_traverse = module_traverse,
    .m_name = "seismo._core",
    .m_doc = "The native core of seismo: the interpreter's events, the recorders and their recordings.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&module_def);
}
