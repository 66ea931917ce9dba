/* seismo._core.slots_taken: for doctor, which says who holds the interpreter's hooks. */
#include "compat/taken.h"
#include "module/module.h"

static PyObject *slots_taken(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    PyObject *taken = Py_BuildValue("{sOsO}", "profile", sm_profile_slot_taken() ? Py_True : Py_False, "trace",
                                    sm_trace_slot_taken() ? Py_True : Py_False);
    int references = sm_reference_slot_taken();
    if (taken != NULL && references >= 0 &&
        PyDict_SetItemString(taken, "references", references ? Py_True : Py_False) < 0)
        Py_CLEAR(taken);
    return taken;
}

static PyMethodDef functions[] = {
    {"slots_taken", slots_taken, METH_NOARGS,
     "{slot: whether somebody has it}: profile and trace of this thread, references (3.13 and later) of the process."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_slots_taken(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
