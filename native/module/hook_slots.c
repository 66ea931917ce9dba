/* seismo._core.slots_taken: the interpreter's used slots, for `seismo doctor`. */
#include "compat/hook_slots.h"
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

PyMethodDef sm_methods_hook_slots[] = {
    {"slots_taken", slots_taken, METH_NOARGS,
     "Return {slot: whether it is taken} for the profile and trace slots of this thread and the slot of the reference"
     " tracer (3.13 and later), which is the process's."},
    {NULL, NULL, 0, NULL},
};
