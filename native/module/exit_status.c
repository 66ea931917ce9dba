/* The effects of a recording's end on the end of its process: seismo._core.at_end, run_program, exit_with.
 *
 * A recording ends in an exit function, while the program's signal handlers are still set. To keep Ctrl-C from
 * interrupting it, signals with a Python handler are only recorded while at_end() calls a function, and then dropped,
 * unless it calls hear_signals(). at_end() also restores the interpreter's flag to die of SIGINT, which evaluating
 * source text clears up to 3.13.
 *
 * exit_with() sets the status of a process whose program succeeded and whose recording failed a check. An atexit
 * handler's result is ignored, so the status is kept until the end of finalization, when all files are flushed. */
#include <signal.h>
#include <stdlib.h>

#include "compat/runtime.h"
#include "hub/hidden_frames.h"
#include "module/module.h"

static int status; /* set with the GIL, read after finalization */

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
    if (!registered && Py_AtExit(leave) < 0)
        return PyErr_Format(PyExc_RuntimeError, "the interpreter has no room for another function to call at exit");
    registered = true;
    status = (int)wanted;
    Py_RETURN_NONE;
}

static struct { /* guarded by the GIL, except `came` */
    PyObject *getsignal;
    struct sigaction theirs[NSIG];
    bool held[NSIG], holding;
    volatile sig_atomic_t came[NSIG];
} signals;

static void note(int number) {
    signals.came[number] = 1;
}

bool sm_signals_hold(void) {
    struct sigaction ours = {.sa_handler = note, .sa_flags = SA_RESTART | SA_ONSTACK};
    if (signals.holding)
        return false;
    signals.holding = true;
    sigfillset(&ours.sa_mask);
    for (int number = 1; number < NSIG; number++) {
        PyObject *handler = PyObject_CallFunction(signals.getsignal, "i", number);
        signals.came[number] = 0;
        if (handler != NULL && PyCallable_Check(handler))
            signals.held[number] = sigaction(number, &ours, &signals.theirs[number]) == 0;
        Py_XDECREF(handler);
        PyErr_Clear();
    }
    return true;
}

void sm_signals_release(bool deliver) {
    signals.holding = false;
    for (int number = 1; number < NSIG; number++) {
        if (!signals.held[number])
            continue;
        sigaction(number, &signals.theirs[number], NULL);
        signals.held[number] = false;
        if (deliver && signals.came[number])
            raise(number);
    }
}

static PyObject *hear_signals(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    sm_signals_release(true);
    return sm_none(PyErr_CheckSignals());
}

static PyObject *at_end(PyObject *Py_UNUSED(module), PyObject *function) {
    int *place = sm_interrupt_note(), interrupted = place != NULL ? *place : 0;
    bool held = sm_signals_hold();
    if (PyErr_CheckSignals() < 0) /* an earlier signal must not interrupt this end */
        PyErr_Clear();
    PyObject *result = PyObject_CallNoArgs(function);
    if (held)
        sm_signals_release(false);
    if (place != NULL)
        *place = interrupted;
    return result;
}

static PyObject *run_at_bottom(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *what, *with; /* borrowed */
    if (!PyArg_ParseTuple(arguments, "OO:run_at_bottom", &what, &with))
        return NULL;
    if (PyCode_Check(what) ? !PyDict_Check(with) : !PyTuple_Check(with))
        return PyErr_Format(PyExc_TypeError, "run_at_bottom() needs code and a dict, or a function and a tuple");
    sm_signals_release(false);
    return sm_hidden_frames_run(what, with);
}

static PyObject *run_program(PyObject *module, PyObject *arguments) {
    PyObject *result = run_at_bottom(module, arguments);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        SM_EXCEPTION_GUARD; /* replaces the exception of the signal's handler */
        (void)sm_signals_hold();
        (void)PyErr_CheckSignals(); /* handles a signal that came before */
    }
    return result;
}

static PyObject *set_first_path(PyObject *Py_UNUSED(module), PyObject *path) {
    return sm_none(sm_set_first_path(path));
}

PyMethodDef sm_methods_exit_status[] = {
    {"set_first_path", set_first_path, METH_O, "Let sys.path of other interpreters begin with this entry."},
    {"run_at_bottom", run_at_bottom, METH_VARARGS,
     "Run code in a dict, or call a function with a tuple, as if nothing were below it on the stack."},
    {"at_end", at_end, METH_O,
     "Call a function that ends the recording of a process: signals of the program do not disturb it, and the process "
     "dies of SIGINT if it would have without."},
    {"run_program", run_program, METH_VARARGS,
     "As run_at_bottom(). After a KeyboardInterrupt no signal's handler in Python runs until run_at_bottom()."},
    {"hear_signals", hear_signals, METH_NOARGS,
     "In at_end(): let the program's signal handlers run from now on, for signals that have come already, too."},
    {"exit_with", exit_with, METH_O,
     "Let the process end with this status (0: its own) when the interpreter has finished."},
    {NULL, NULL, 0, NULL},
};

int sm_module_add_exit_status(PyObject *Py_UNUSED(module)) {
    PyObject *signal = PyImport_ImportModule("_signal");
    Py_XSETREF(signals.getsignal, signal != NULL ? PyObject_GetAttrString(signal, "getsignal") : NULL);
    Py_XDECREF(signal);
    return signals.getsignal != NULL ? 0 : -1;
}
