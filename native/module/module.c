/* seismo._core: composes the engine, the sources, the recorders and the file into one extension module. */
#include "module/module.h"

static int module_exec(PyObject *module) {
    if (sm_module_add_engine(module) < 0 || sm_module_add_reader(module) < 0 || sm_module_add_model(module) < 0 ||
        sm_module_add_arrow(module) < 0 || sm_module_add_filter(module) < 0 ||
        sm_module_add_watch(module) < 0) {
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "seismo._core",
    .m_doc = "seismo's native core: the interpreter's events, recorders, recordings.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    return PyModuleDef_Init(&module_def);
}
