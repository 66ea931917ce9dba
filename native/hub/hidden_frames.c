#include "hub/hidden_frames.h"

#include "compat/exception.h"
#include "hooks/monitoring_tool.h"

#if SM_HAS_MONITORING
/* A change of monitoring or trace events instruments the code of all frames on the stacks. 3.15 crashes if an exception
 * then leaves code that was not instrumented. Our frames were hidden, so we set and remove an event once they are
 * visible again. */
static void prepare_frames(void) {
    static const int order[6] = {4, 5, 3, 2, 0, 1};
    SM_EXCEPTION_GUARD;
    int tool = sm_monitoring_find() == 0 ? sm_monitoring_take("seismo", order) : -1;
    if (tool >= 0) {
        (void)sm_monitoring_set(tool, sm_monitoring_number("PY_START"));
        PyErr_Clear();
        sm_monitoring_free(tool);
    } else { /* all six ids are in use */
        PyErr_Clear();
        (void)sm_monitoring_restart();
    }
    PyErr_Clear();
}
#else
static void prepare_frames(void) {}
#endif

PyObject *sm_hidden_frames_run(PyObject *what, PyObject *with) {
    PyThreadState *tstate = PyThreadState_Get();
    sm_recursion calls = sm_tstate_recursion(tstate);
    void *frames = sm_tstate_take_frames(tstate);
    sm_tstate_recursion_add(tstate, calls, 1);
    PyObject *result = NULL;
    if (!PyCode_Check(what))
        result = PyObject_Call(what, with, NULL);
    else if (PySys_Audit("exec", "O", what) == 0) /* the interpreter raises this event for a program, too */
        result = PyEval_EvalCode(what, with, with);
    sm_tstate_recursion_add(tstate, calls, -1);
    sm_tstate_give_frames(tstate, frames);
    prepare_frames();
    return result;
}
