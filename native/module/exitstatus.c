/* seismo._core.exit_with: the status of a process whose program ended well and whose recording is found wanting.
 *
 * That is known only when the last of the program's own handlers has run, from an atexit handler, whose result nobody
 * asks for. So the status is kept until the interpreter is finalized: the last thing it does is to call functions like
 * ours, when all files are flushed and nothing of Python is left; what libraries registered with the C library's atexit
 * still runs. os._exit there instead would skip what the interpreter does in between. */
#include <stdlib.h>

#include "hub/bottom.h"
#include "module/module.h"

static int status; /* under the GIL; read when there is none any more */

static void leave(void) {
    if (status != 0)
        exit(status);
}

static PyObject *exit_with(PyObject *Py_UNUSED(module), PyObject *value) {
    static bool registered;
    long wanted = PyLong_AsLong(value);
    if (wanted == -1 && PyErr_Occurred())
        return NULL;
    if (wanted < 0 || wanted > 255)
        return PyErr_Format(PyExc_ValueError, "%ld is not an exit status", wanted);
    if (!registered && Py_AtExit(leave) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter has no room for another function to call at exit");
        return NULL;
    }
    registered = true;
    status = (int)wanted;
    Py_RETURN_NONE;
}

static PyObject *run_at_bottom(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *what, *with; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "OO:run_at_bottom", &what, &with))
        return NULL;
    if (PyCode_Check(what) ? !PyDict_Check(with) : !PyTuple_Check(with))
        return PyErr_Format(PyExc_TypeError, "run_at_bottom() needs code and a dict, or a function and a tuple");
    return sm_bottom_run(what, with);
}

static PyMethodDef functions[] = {
    {"run_at_bottom", run_at_bottom, METH_VARARGS,
     "Run code in a dict, or call a function with a tuple, as if nothing were below it on the stack."},
    {"exit_with", exit_with, METH_O,
     "Let the process end with this status (0: its own) when the interpreter has finished."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_exit(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
