/* Measure the costs of the probes.
 *
 * A counted event costs time that is not the program's: the interpreter's way into a callback, and the callback. So
 * loops that do little but call or resume run bare and recorded in turn, and the difference per turn is the cost of a
 * call. It also depends on the shape of the call, so several shapes are measured. Their median is the cost, and half of
 * their range is its error. If a C function evaluates each frame, deep calls cost more (estimate/estimate.c), and are
 * measured separately. The cost inside an exact piece is what the pieces of a loop have beyond the bare loop, divided
 * by their number. The shorter half of several runs counts.
 *
 * Where the bare runs are disturbed and the recorded ones are not, a difference is negative. Every probe costs
 * something, so all is measured again then. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define RUNS 12
#define WARM_UP 3
#define ATTEMPTS 5
#define LEAST_ERROR 0.2 /* of a cost; no smaller error is claimed */

static const char program[] = "def f(): pass\n"
                              "def g(x, y=1): return x\n"
                              "def b(n): return n if n < 2 else b(n - 1) + b(n - 2)\n"
                              "def d(n): return d(n - 1) if n else 0\n"
                              "class C:\n"
                              "    def m(self, x): self.x = x\n"
                              "    def n(self, x): return self.m(x)\n"
                              "c = C()\n"
                              "def y(r):\n"
                              "    for _ in r: yield\n"
                              "def calls(r, n):\n"
                              "    for _ in r: f()\n"
                              "def arguments(r, n):\n"
                              "    for x in r: g(x)\n"
                              "def recursion(r, n):\n"
                              "    b(11)\n"
                              "def descent(r, n):\n"
                              "    d(60)\n"
                              "def methods(r, n):\n"
                              "    for x in r: c.n(x)\n"
                              "def resumes(r, n):\n"
                              "    for _ in y(r): pass\n"
                              "def c_calls(r, n):\n"
                              "    for _ in r: n()\n"
                              "def lines(r, n):\n"
                              "    for x in r:\n"
                              "        a = x\n"
                              "        b = a\n"
                              "def branches(r, n):\n"
                              "    for x in r:\n"
                              "        if x:\n"
                              "            a = x\n"
                              "        else:\n"
                              "            a = 1\n"
                              "def h(x):\n"
                              "    a = x\n"
                              "    b = a\n"
                              "    return b\n"
                              "def bodies(r, n):\n"
                              "    for x in r:\n"
                              "        h(x)\n";
#define TURNS 200
#define FIBONACCI_CALLS 287
#define DESCENT_CALLS 61
#define DEEP_CALLS 55 /* of these, with calls SM_DEEP_LEVELS below them (estimate/estimate.h) */

static PyObject *nothing(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    Py_RETURN_NONE;
}

static PyMethodDef nothing_method = {SM_CALIBRATION_IN_C, nothing, METH_NOARGS, NULL};

typedef enum { BY_CALL, BY_DEEP_CALL, BY_RESUME, BY_C_CALL, BY_LINE } kind;

static const struct {
    const char *loop;
    kind kind;
    double calls; /* of a run, or 0 if the recorder counts */
} shapes[] = {
    {"calls", BY_CALL, TURNS},
    {"arguments", BY_CALL, TURNS},
    {"recursion", BY_CALL, FIBONACCI_CALLS},
    {"methods", BY_CALL, 2.0 * TURNS},
    {"descent", BY_DEEP_CALL, DESCENT_CALLS},
    {"resumes", BY_RESUME, TURNS},
    {"c_calls", BY_C_CALL, TURNS},
    {"lines", BY_LINE, 0},
    {"branches", BY_LINE, 0},
    {"bodies", BY_LINE, 0},
};
#define SHAPES (int)(sizeof shapes / sizeof *shapes)

static struct {      /* guarded by the GIL */
    PyObject *names; /* owned; the program's globals */
    PyObject *turns;
    PyObject *nothing; /* owned */
} lab;

static int (*rehearse)(bool on);

static int open_lab(void) {
    if (lab.nothing != NULL)
        return 0;
    PyObject *code = Py_CompileString(program, SM_CALIBRATION, Py_file_input);
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

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Run a loop once. Return its ticks, or -1 with an exception. */
static double run(const char *name) {
    PyObject *loop = PyDict_GetItemString(lab.names, name);
    uint64_t before = sm_clock_read(&sm_engine.clock);
    PyObject *result = PyObject_CallFunctionObjArgs(loop, lab.turns, lab.nothing, NULL);
    uint64_t after = sm_clock_read(&sm_engine.clock);
    if (result == NULL)
        return -1.0;
    Py_DECREF(result);
    return (double)(after - before);
}

static double mean_of_shorter_half(double *values, int count) {
    double sum = 0;
    qsort(values, (size_t)count, sizeof *values, by_size);
    for (int i = 0; i < count / 2; i++)
        sum += values[i];
    return sum / (count / 2);
}

static bool counts_lines(void) {
    return sm_main.pairs[0].recorder->counts_lines;
}

static double lines(void) {
    double sums[2] = {0, 0};
    if (counts_lines())
        sm_main.pairs[0].recorder->sum(sums);
    return sums[0];
}

/* Measure the ticks of a run of each shape, and the number of its events. */
static int measure(double ticks[SHAPES], double counts[SHAPES], bool of_c) {
    for (int i = 0; i < SHAPES; i++) {
        if (of_c != (shapes[i].kind == BY_C_CALL) || counts_lines() != (shapes[i].kind == BY_LINE))
            continue;
        double of[RUNS];
        double before = 0;
        for (int k = -WARM_UP; k < RUNS; k++) {
            before = k == 0 ? lines() : before;
            double took = run(shapes[i].loop);
            if (took < 0)
                return -1;
            of[k < 0 ? 0 : k] = took;
        }
        counts[i] = counts_lines() ? (lines() - before) / RUNS : shapes[i].calls;
        ticks[i] = mean_of_shorter_half(of, RUNS);
    }
    return 0;
}

/* Run the first shape once. Return the cost in a piece, or less than 0 with an exception. */
static double measure_piece(double bare) {
    double before[2], after[2];
    sm_main.pairs[0].recorder->sum(before);
    if (run(shapes[0].loop) < 0)
        return -1.0;
    sm_main.pairs[0].recorder->sum(after);
    double pieces = after[0] - before[0];
    return pieces > 0 ? fmax(0, (after[1] - before[1]) / pieces - bare / (2.0 * TURNS)) : 0;
}

/* Measure the cost in a piece. Unless each piece is exact, use first runs, in which the interpreter still has to enable
 * its events. */
static int measure_pieces(double bare, bool every, double *cost) {
    double costs[RUNS];
    int status = every ? rehearse(true) : 0;
    for (int i = -WARM_UP; i < RUNS && status == 0; i++) {
        status = every ? 0 : rehearse(true);
        double found = status == 0 ? measure_piece(bare) : -1.0;
        if (!every)
            (void)rehearse(false);
        status = found < 0 ? -1 : 0;
        costs[i < 0 ? 0 : i] = found;
    }
    if (every)
        (void)rehearse(false);
    *cost = status == 0 ? mean_of_shorter_half(costs, RUNS) : 0;
    return status;
}

static int measure_recorded(const double bare[SHAPES], double recorded[SHAPES], double counts[SHAPES], double *piece) {
    const char *c_functions = sm_main.settings.c_functions;
    sm_timing_way timing = sm_main.settings.timing;
    bool wants_c = strcmp(c_functions, "none") != 0;
    sm_main.settings.timing = SM_TIMING_SAMPLED;
    int status = rehearse(true);
    if (status == 0)
        status = measure(recorded, counts, false);
    (void)rehearse(false);
    if (status == 0 && wants_c && !counts_lines()) {
        sm_main.settings.c_functions = "all"; /* otherwise the calling place is disabled */
        status = rehearse(true);
        status = status == 0 ? measure(recorded, counts, true) : status;
        (void)rehearse(false);
        sm_main.settings.c_functions = c_functions;
    }
    sm_main.settings.timing = timing;
    if (status == 0 && !counts_lines())
        status = measure_pieces(bare[0], timing == SM_TIMING_EVERY, piece);
    return status;
}

static double cost_of(const double costs[SHAPES], kind of, double *spread) {
    double found[SHAPES];
    int count = 0;
    for (int i = 0; i < SHAPES; i++) {
        if (shapes[i].kind == of)
            found[count++] = fmax(0, costs[i]);
    }
    qsort(found, (size_t)count, sizeof *found, by_size);
    *spread = count > 0 ? (found[count - 1] - found[0]) / 2 : 0;
    return count > 0 ? (found[(count - 1) / 2] + found[count / 2]) / 2 : 0;
}

static int calibrate(bool *sound) {
    double bare[SHAPES], recorded[SHAPES], counts[SHAPES] = {0}, costs[SHAPES], spread, ignored;
    if (open_lab() < 0 || measure(bare, counts, false) < 0 || measure(bare, counts, true) < 0)
        return -1;
    memset(counts, 0, sizeof counts);
    if (measure_recorded(bare, recorded, counts, &sm_engine.costs.piece) < 0)
        return -1;
    for (int i = 0; i < SHAPES; i++)
        costs[i] = counts[i] > 0 ? (recorded[i] - bare[i]) / counts[i] : 0;
    double call = cost_of(costs, counts_lines() ? BY_LINE : BY_CALL, &spread),
           resume = cost_of(costs, BY_RESUME, &ignored), c = cost_of(costs, BY_C_CALL, &ignored),
           deep = fmax(0, cost_of(costs, BY_DEEP_CALL, &ignored) - call);
    /* A source of starts reports in the frame that begins. Others also report the end in it, and the start outside. */
    double inside = sm_main.pairs[0].source->starts_only || counts_lines() ? 1.0 : 0.5;
    sm_engine.costs.python = (sm_cost){call * inside, call * (1 - inside)};
    sm_engine.costs.resume = (sm_cost){resume * inside, resume * (1 - inside)};
    sm_engine.costs.c = (sm_cost){c / 2, c / 2};
    sm_engine.costs.deep = sm_main.pairs[0].source->frames_in_c ? deep * DESCENT_CALLS / DEEP_CALLS : 0;
    sm_engine.costs.error = call > 0 ? fmax(LEAST_ERROR, spread / call) : LEAST_ERROR;
    *sound = call > 0 && (resume > 0 || counts_lines());
    return 0;
}

int sm_engine_calibrate(int (*recording)(bool on), bool *sound) {
    int status = 0;
    rehearse = recording;
    *sound = false;
    for (int i = 0; i < ATTEMPTS && status == 0 && !*sound; i++)
        status = calibrate(sound);
    return status;
}
