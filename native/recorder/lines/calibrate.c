/* What the probes cost in a line's segment, measured here and now. engine/calibrate.c says why; lines differ in this:
 * a segment that a hit begins holds the price of a LINE event, one that begins when a function comes back the price of
 * a PY_RETURN and of what it takes to know whose line is current again. Both are measured as recordings are made, with
 * the clock outside: what a turn of a loop takes longer when it is recorded,
 *
 *     lines:  a loop of simple lines             added = hits a turn * line
 *     calls:  a loop that calls a one-line body  added = hits a turn * line + 1 * coming back
 *
 * Then how much longer a sampled segment is measured than it was: by its share of the clock's read. */
#include <math.h>
#include <stdlib.h>

#include "base/pace.h"
#include "recorder/lines/store.h"

#define ROUNDS 12
#define TURNS 200
#define MOST_ROUNDS 24
#define REPEATS 12 /* of TURNS, for samples */
#define LINES 6    /* hits of a turn of `lines`, its `for` included */
#define CALLS 3    /* of `calls` */
#define LEAST_ERROR (SM_HAS_MONITORING ? 0.4 : 1.5)

static const char program[] = "def f(r):\n"
                              "    return r\n"
                              "def lines(r):\n"
                              "    for i in r:\n"
                              "        a = r\n"
                              "        b = i\n"
                              "        c = a\n"
                              "        d = b\n"
                              "        e = c\n"
                              "def calls(r):\n"
                              "    for i in r:\n"
                              "        f(i)\n";

static PyObject *lab, *turns; /* owned: the program's globals; range(TURNS) */

static int open_lab(void) {
    if (turns != NULL)
        return 0;
    PyObject *code = Py_CompileString(program, "<seismo calibration>", Py_file_input);
    PyObject *names = code ? PyDict_New() : NULL, *done = NULL;
    if (names != NULL && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, names, names);
    PyObject *range = done ? PyObject_CallFunction((PyObject *)&PyRange_Type, "i", TURNS) : NULL;
    Py_XDECREF(code);
    Py_XDECREF(done);
    if (range == NULL) {
        Py_XDECREF(names);
        return -1;
    }
    lab = names, turns = range;
    return 0;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The ticks that a turn of a loop takes, of the quickest of several rounds, at the pace of the first of all
 * measurements; -1 with an exception. spread: how much longer, relatively, the middling one took. */
static double run(const char *name, int rounds, double *spread) {
    PyObject *loop = PyDict_GetItemString(lab, name); /* borrowed */
    sm_pace_readings pace = {.count = 0};
    double took[MOST_ROUNDS];
    for (int i = 0; i < rounds; i++) {
        sm_pace_gather(&pace, &sm_engine.clock);
        uint64_t before = sm_clock_read(&sm_engine.clock);
        PyObject *result = PyObject_CallOneArg(loop, turns);
        took[i] = (double)(sm_clock_read(&sm_engine.clock) - before) / TURNS;
        if (result == NULL)
            return -1.0;
        Py_DECREF(result);
    }
    qsort(took, (size_t)rounds, sizeof *took, by_size);
    if (spread != NULL && took[0] > 0)
        *spread = (took[rounds / 2] - took[0]) / took[0];
    sm_pace_gather(&pace, &sm_engine.clock);
    return took[0] * sm_pace_scale(&pace);
}

/* What was just measured, at the pace of the first measurement. */
static double at_first_pace(double ticks) {
    sm_pace_readings pace = {.count = 0};
    for (int i = 0; i < 3; i++)
        sm_pace_gather(&pace, &sm_engine.clock);
    return ticks * sm_pace_scale(&pace);
}

/* By how much the samples of the loop's lines exceed what they took. */
static int find_sampled_extra(double recorded) {
    PyObject *loop = PyDict_GetItemString(lab, "lines"); /* borrowed */
    const sm_function *function = sm_function_of_code((PyCodeObject *)PyFunction_GET_CODE(loop), NULL);
    double before[3], after[3];
    if (function == NULL)
        return 0;
    sm_engine.recorder->timed(function, before);
    if (run("lines", REPEATS * 2, NULL) < 0)
        return -1;
    sm_engine.recorder->timed(function, after);
    double samples = after[2] - before[2], took = at_first_pace(after[1] - before[1]);
    if (samples >= 16)
        sm_engine.sampled_extra = (uint64_t)fmax(0.0, took / samples - recorded / LINES + 0.5);
    return 0;
}

/* Where every segment is timed, a good part of what an event costs lies between the two reads of the clock that end one
 * segment and begin the next: in none. So what a segment holds is not what the loop took longer, but how much longer
 * its segments were than its lines. In ticks; -1 with an exception. */
static double inside_of_timed(double bare) {
    PyObject *loop = PyDict_GetItemString(lab, "lines"); /* borrowed */
    const sm_function *function = sm_function_of_code((PyCodeObject *)PyFunction_GET_CODE(loop), NULL);
    double least = -1.0, before[3], after[3];
    for (int i = 0; function != NULL && i < ROUNDS; i++) {
        sm_engine.recorder->timed(function, before);
        if (run("lines", 1, NULL) < 0)
            return -1.0;
        sm_engine.recorder->timed(function, after);
        double mean = at_first_pace((after[0] - before[0]) / (TURNS * LINES));
        least = least < 0 || mean < least ? mean : least;
    }
    return fmax(0.0, least - bare / LINES);
}

/* Whatever where= wants, these are recorded. */
static void want_lab(void) {
    static const char *const names[] = {"f", "lines", "calls"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PyObject *object = PyDict_GetItemString(lab, names[i]); /* borrowed */
        sm_function *function = sm_function_of_code((PyCodeObject *)PyFunction_GET_CODE(object), NULL);
        if (function != NULL)
            function->left_out = false;
    }
}

int sm_linetimes_calibrate(void) {
    double bare[2], recorded[2] = {0, 0}, spread = 0, spread_bare = 0;
    if (open_lab() < 0)
        return -1;
    bare[0] = run("lines", ROUNDS, &spread_bare);
    bare[1] = bare[0] < 0 ? -1 : run("calls", ROUNDS, NULL);
    if (bare[1] < 0)
        return -1;
    sm_engine.sampled_extra = 0;
    bool narrow = sm_engine.settings.narrow;
    sm_engine.settings.narrow = false;
    want_lab();
    int status = sm_engine_rehearse(true);
    if (status == 0) {
        recorded[0] = run("lines", ROUNDS * 2, &spread);
        recorded[1] = recorded[0] < 0 ? -1 : run("calls", ROUNDS * 2, NULL);
        status = recorded[1] < 0 ? -1 : 0;
    }
    double inside = -1.0;
    if (status == 0 && !sm_engine.settings.time_every)
        status = find_sampled_extra(recorded[0]);
    else if (status == 0 && (inside = inside_of_timed(bare[0])) < 0)
        status = -1;
    (void)sm_engine_rehearse(false);
    sm_engine.settings.narrow = narrow;
    double line = fmax(0.0, (recorded[0] - bare[0]) / LINES);
    double back = fmax(0.0, recorded[1] - bare[1] - CALLS * line);
    if (inside >= 0) { /* what lies between the reads is the same for both */
        back = fmax(0.0, back - fmax(0.0, line - inside));
        line = fmin(line, inside);
    }
    sm_engine.python = (sm_cost){line, 0.0};
    sm_engine.resume = (sm_cost){back, 0.0};
    /* Lines differ in what their event costs them, however quiet the machine is: those of real programs, by what they
     * take bare, up to so much from the simple ones here; and a trace function has every instruction run slowly. */
    sm_engine.cost_error = fmax(LEAST_ERROR, fmin(0.5, fmax(spread, spread_bare) / 2));
    return status;
}
