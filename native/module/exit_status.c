/* How the end of a recording leaves the end of its process: seismo._core.at_end, run_program, exit_with.
 *
 * The end of a recording is an exit function, and the program's signal handlers are still set: Ctrl-C would raise
 * KeyboardInterrupt in the middle of it, and the file would have no end. So while at_end() calls a function, a signal
 * with a handler in Python is only noted, whichever thread it interrupts. It is dropped afterwards, since the bare
 * process would be gone by then, unless the function calls hear_signals(): then the handlers run, also for the signals
 * that came before.
 *
 * Nor does Ctrl-C interrupt our frames between the program, which a KeyboardInterrupt has ended, and the function that
 * prints it. A second one that comes so soon is the same one, as it is to the system while the first is pending.
 *
 * Up to 3.13 the evaluation of a text makes the interpreter forget that the process is to die of SIGINT
 * (compat/runtime.h), and reports evaluate texts. at_end() leaves that as it was.
 *
 * exit_with() sets the status of a process whose program ended well and whose recording is found wanting. It is known
 * only when the last of the program's own handlers has run, from an atexit handler, whose result nobody asks for. So
 * the status is kept until the interpreter is finalized: the last thing it does is to call functions like ours, when
 * all files are flushed and nothing of Python is left; what libraries registered with the C library's atexit still
 * runs. os._exit there instead would skip what the interpreter does in between. */
#include <signal.h>
#include <stdlib.h>

#include "compat/exception.h"
#include "compat/runtime.h"
#include "hub/hidden_frames.h"
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

static struct { /* under the GIL, but for `came` */
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
    if (PyErr_CheckSignals() < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *at_end(PyObject *Py_UNUSED(module), PyObject *function) {
    int *place = sm_interrupt_note(), interrupted = place != NULL ? *place : 0;
    bool held = sm_signals_hold();
    if (PyErr_CheckSignals() < 0) /* one that came before: this end is not cut short either */
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
        sm_exception kept = sm_exception_keep();
        (void)sm_signals_hold();
        (void)PyErr_CheckSignals(); /* one that has come already */
        sm_exception_restore(kept); /* in place of what that raised */
    }
    return result;
}

static PyMethodDef functions[] = {
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

int sm_module_add_exit(PyObject *module) {
    PyObject *signal = PyImport_ImportModule("_signal");
    Py_XSETREF(signals.getsignal, signal != NULL ? PyObject_GetAttrString(signal, "getsignal") : NULL);
    Py_XDECREF(signal);
    if (signals.getsignal == NULL)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
