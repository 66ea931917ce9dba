/* What the probes cost, measured here and now.
 *
 * A measured segment runs from one callback's read of the clock to the next one's: it holds the end of the first
 * callback, the interpreter's way out of and into callbacks, and the program's own work. All but the last would not be
 * there without us. Its size depends on the interpreter, the source, the events asked for and the machine, so it is
 * measured with exactly those: small loops that call an empty function, call a C function that does nothing, and resume
 * a generator, first bare, then recorded with every segment timed. For one turn of a loop
 *
 *     callee's segment + caller's segment - bare turn = inside + outside
 *
 * which are the costs that the estimate takes out of the callee's and of the caller's own time
 * (native/model/estimate.c). How much of a bare turn the callee itself takes cannot be seen from outside; a share is
 * assumed, which moves a few nanoseconds between caller and callee and leaves their sum right. The cheapest of several
 * rounds counts: what disturbs a round only makes it longer. Their spread is the stated error. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "event/engine.h"

#define ROUNDS 8
#define TURNS 300
#define SAMPLED_ROUNDS 9
#define SAMPLED_REPEATS 5 /* of TURNS: a dozen samples */

static const char program[] = "def f(): pass\n"
                              "def g(r):\n"
                              "    for _ in r: yield\n"
                              "def calls(r, n):\n"
                              "    for _ in r: f()\n"
                              "def c_calls(r, n):\n"
                              "    for _ in r: n()\n"
                              "def resumes(r, n):\n"
                              "    for _ in g(r): pass\n";

static PyObject *nothing(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    Py_RETURN_NONE;
}

static PyMethodDef nothing_method = {"seismo_nothing", nothing, METH_NOARGS, NULL};

typedef struct {
    const char *loop, *callee; /* callee NULL: the C function */
    double share;              /* of a bare turn that is the callee's own */
    sm_cost *cost;
    double bare, recorded; /* ticks a turn */
    double spread;
} experiment;

static struct {
    PyObject *names;   /* owned: the program's globals */
    PyObject *turns;   /* owned: range(TURNS) */
    PyObject *nothing; /* owned */
} lab;

static int open_lab(void) {
    if (lab.nothing != NULL)
        return 0;
    PyObject *code = Py_CompileString(program, "<seismo calibration>", Py_file_input);
    PyObject *names = code ? PyDict_New() : NULL;
    PyObject *done = NULL;
    if (names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, names, names);
    PyObject *turns = done ? PyObject_CallFunction((PyObject *)&PyRange_Type, "i", TURNS) : NULL;
    PyObject *function = turns ? PyCFunction_New(&nothing_method, NULL) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(done);
    if (function == NULL) {
        Py_XDECREF(names);
        Py_XDECREF(turns);
        return -1;
    }
    lab.names = names, lab.turns = turns, lab.nothing = function;
    return 0;
}

/* Runs a loop once; its ticks a turn, or -1 with an exception. */
static double run(const experiment *what) {
    PyObject *loop = PyDict_GetItemString(lab.names, what->loop); /* borrowed */
    uint64_t before = sm_clock_read(&sm_engine.clock);
    PyObject *result = PyObject_CallFunctionObjArgs(loop, lab.turns, lab.nothing, NULL);
    uint64_t after = sm_clock_read(&sm_engine.clock);
    if (result == NULL)
        return -1.0;
    Py_DECREF(result);
    return (double)(after - before) / TURNS;
}

static int run_bare(experiment *what) {
    what->bare = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double ticks = run(what);
        if (ticks < 0)
            return -1;
        if (ticks < what->bare)
            what->bare = ticks;
    }
    return 0;
}

static sm_function *function_of(const char *name) {
    if (name == NULL)
        return sm_function_of_c(&nothing_method, lab.nothing);
    PyObject *object = PyDict_GetItemString(lab.names, name); /* borrowed */
    return sm_function_of_code((PyCodeObject *)PyFunction_GET_CODE(object), NULL);
}

static int run_recorded(experiment *what) {
    sm_function *caller = function_of(what->loop), *callee = function_of(what->callee);
    if (caller == NULL || callee == NULL)
        return 0;
    double best_inside = 1e18, best_outside = 1e18, worst = 0, best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double before[2][3], after[2][3];
        sm_engine.recorder->timed(caller, before[0]);
        sm_engine.recorder->timed(callee, before[1]);
        if (run(what) < 0)
            return -1;
        sm_engine.recorder->timed(caller, after[0]);
        sm_engine.recorder->timed(callee, after[1]);
        double outside = (after[0][0] - before[0][0]) / TURNS, inside = (after[1][0] - before[1][0]) / TURNS;
        best_outside = outside < best_outside ? outside : best_outside;
        best_inside = inside < best_inside ? inside : best_inside;
        best = inside + outside < best ? inside + outside : best;
        if (round >= ROUNDS / 2 && inside + outside > worst)
            worst = inside + outside; /* the first rounds warm up */
    }
    double own = what->bare * what->share;
    what->cost->inside = best_inside > own ? best_inside - own : 0.0;
    what->cost->outside = best_outside > what->bare - own ? best_outside - (what->bare - own) : 0.0;
    what->spread = best > 0 ? (worst - best) / best : 0.0;
    return 0;
}

/* A segment that is not timed costs less: no clock is read at its ends. What a turn of the loop really costs when it is
 * recorded as programs are is seen on the clock outside; the two costs keep their proportion. */
static int run_as_recorded(experiment *what, double *factor) {
    double best = 1e18;
    if (what->callee == NULL && strcmp(sm_engine.settings.c_functions, "auto") == 0) {
        what->cost->inside *= *factor; /* its call site would be switched off before it is measured */
        what->cost->outside *= *factor;
        return 0;
    }
    for (int round = 0; round < 2 * ROUNDS; round++) {
        double ticks = run(what);
        if (ticks < 0)
            return -1;
        best = ticks < best ? ticks : best;
    }
    double sum = what->cost->inside + what->cost->outside, real = best > what->bare ? best - what->bare : 0.0;
    *factor = sum > 0 ? real / sum : 1.0;
    what->cost->inside *= *factor;
    what->cost->outside *= *factor;
    what->recorded = best;
    return 0;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A sampled segment is measured longer than it would have been: it holds a part of the clock's read that the processor
 * could not hide. By how much the samples of a loop's turn exceed the turn; the median of several rounds, since one
 * disturbance weighs a lot among a dozen samples. Where caches are full it is more, which the estimate finds
 * (reconcile). */
static int find_sampled_extra(const experiment *what) {
    sm_function *caller = function_of(what->loop), *callee = function_of(what->callee);
    double extra[SAMPLED_ROUNDS];
    int count = 0;
    for (int round = 0; round < SAMPLED_ROUNDS && caller != NULL && callee != NULL; round++) {
        double before[2][3], after[2][3], turn = 0;
        sm_engine.recorder->timed(caller, before[0]);
        sm_engine.recorder->timed(callee, before[1]);
        for (int i = 0; i < SAMPLED_REPEATS; i++) {
            if (run(what) < 0)
                return -1;
        }
        sm_engine.recorder->timed(caller, after[0]);
        sm_engine.recorder->timed(callee, after[1]);
        for (int i = 0; i < 2; i++)
            turn += (after[i][1] - before[i][1]) / fmax(1, after[i][2] - before[i][2]);
        if (after[0][2] > before[0][2] && after[1][2] > before[1][2])
            extra[count++] = (turn - what->recorded) / 2;
    }
    if (count > 0) {
        qsort(extra, (size_t)count, sizeof *extra, by_size);
        sm_engine.sampled_extra = (uint64_t)fmax(0, extra[count / 2] + 0.5);
    }
    return 0;
}

int sm_engine_calibrate(void) {
    experiment experiments[] = {
        {"calls", "f", 0.4, &sm_engine.python, 0, 0, 0},
        {"resumes", "g", 0.6, &sm_engine.resume, 0, 0, 0},
        {"c_calls", NULL, 0.5, &sm_engine.c, 0, 0, 0},
    };
    int count = strcmp(sm_engine.settings.c_functions, "none") == 0 ? 2 : 3;
    if (open_lab() < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        if (run_bare(&experiments[i]) < 0)
            return -1;
    }
    bool time_every = sm_engine.settings.time_every;
    sm_engine.sampled_extra = 0;
    sm_engine.settings.time_every = true;
    int status = sm_engine_rehearse(true);
    for (int i = 0; i < count && status == 0; i++)
        status = run_recorded(&experiments[i]);
    (void)sm_engine_rehearse(false);
    sm_engine.settings.time_every = time_every;
    if (!time_every && status == 0) {
        status = sm_engine_rehearse(true);
        double factor = 1.0; /* of the experiment before */
        for (int i = 0; i < count && status == 0; i++)
            status = run_as_recorded(&experiments[i], &factor);
        if (status == 0)
            status = find_sampled_extra(&experiments[0]);
        (void)sm_engine_rehearse(false);
    }
    double spread = 0.02; /* never claim to be better than that */
    for (int i = 0; i < count; i++)
        spread = experiments[i].spread > spread ? experiments[i].spread : spread;
    sm_engine.cost_error = spread < 0.5 ? spread : 0.5;
    return status;
}
