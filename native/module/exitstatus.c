/* seismo._core.exit_with: the status of a process whose program ended well and whose recording is found wanting.
 *
 * That is known only when the last of the program's own handlers has run, from an atexit handler, whose result nobody
 * asks for. So the status is kept until the interpreter is finalized: the last thing it does is to call functions like
 * ours, when all files are flushed and nothing of Python is left; what libraries registered with the C library's atexit
 * still runs. os._exit there instead would skip what the interpreter does in between. */
#include <stdlib.h>

#include "hub/depth.h"
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

static PyObject *forget_depth(PyObject *Py_UNUSED(module), PyObject *through_c) {
    int through = PyObject_IsTrue(through_c);
    if (through < 0)
        return NULL;
    sm_depth_forget(through != 0);
    Py_RETURN_NONE;
}

static PyObject *restore_depth(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    sm_depth_restore();
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"forget_depth", forget_depth, METH_O,
     "Calls that this thread is in the middle of no longer count towards its recursion limit. True: what follows is "
     "called by exec, otherwise by the caller itself."},
    {"restore_depth", restore_depth, METH_NOARGS, "These calls count towards the recursion limit again."},
    {"exit_with", exit_with, METH_O,
     "Let the process end with this status (0: its own) when the interpreter has finished."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_exit(PyObject *module) {
    return PyModule_AddFunctions(module, functions);
}
