/* seismo._core: the extension module of the engine, the sources, the recorders and the file. */
#include "module/module.h"

static int (*const parts[])(PyObject *module) = {
    sm_module_add_engine,   sm_module_add_reader,    sm_module_add_estimate,    sm_module_add_arrow,
    sm_module_add_filter,   sm_module_add_hooks,     sm_module_add_slots_taken, sm_module_add_reference_tracer,
    sm_module_add_capi,     sm_module_add_callstats, sm_module_add_watch,       sm_module_add_coverage,
    sm_module_add_exit,     sm_module_add_processes, sm_module_add_objects,     sm_module_add_keeping,
    sm_module_add_timeline, sm_module_add_journal,   sm_module_add_compiling,   sm_module_add_referrers,
#ifdef SM_TESTING
    sm_module_add_jumps,
#endif
};

static int module_exec(PyObject *module) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i](module) < 0)
            return -1;
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_multiple_interpreters
    /* Recording is refused in subinterpreters; those with a GIL of their own are not supported. */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_SUPPORTED},
#endif
#ifdef Py_mod_gil
    /* Reading a recording needs no GIL, so this import must not enable it. Recording is refused without it. */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "seismo._core",
    .m_doc = "The native core of seismo: the interpreter's events, the recorders and their recordings.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&module_def);
}
