/* What the probes cost, measured here and now.
 *
 * A measured segment runs from one callback's read of the clock to the next one's: it holds the end of the first
 * callback, the interpreter's way out of and into callbacks, and the program's own work. All but the last would not be
 * there without us. Its size depends on the interpreter, the source, the events asked for and the machine, so it is
 * measured with exactly those: small loops that call an empty function, call a C function that does nothing, and resume
 * a generator, bare and recorded as programs are. A turn's difference is the cost of a call.
 *
 * Where it falls. With every segment timed,
 *
 *     callee's segment + caller's segment - bare turn = inside + outside
 *
 * tells in which proportion it is the callee's and the caller's (native/estimate/estimate.c takes both out). How much
 * of a bare turn the callee itself takes cannot be seen from outside; a share is assumed, which moves a few nanoseconds
 * between caller and callee and leaves their sum right.
 *
 * Far events. sys.monitoring tells where an event is, as an int; up to 256 those exist already, beyond, the interpreter
 * has to make one. What that costs is the difference of two generators whose yield stands before and beyond that byte.
 *
 * Deep calls. Where recorded frames are evaluated by a C function each (3.11), returns through many of them are more
 * than the processor keeps return addresses of, and all but the innermost cost more: by how much tells a recursion.
 *
 * Other calls. Catching what a call has raised costs more than its return, and so does a call of a coroutine; and where
 * C functions evaluate frames, one costs less that C code makes anyway, as that of a key function by sorted(). Each is
 * a loop's turn against that of plain calls. (Those of generators do not differ by more than readings do.)
 *
 * What disturbs a run only makes it longer, and a run holds a few timed samples, more or fewer by chance; so of several
 * runs the shorter half counts, not the shortest. Bare and recorded runs take turns, and all of it is done again until
 * most of the results agree: the median is taken, and how far most of them are from it is the stated error. (That two
 * agree says little: of six results that differ by a third, two are alike nearly always.)
 *
 * That helps against what passes within a millisecond, and not where the processor is slower for longer
 * (base/pace.h): so what is measured is what it would be at the pace of the first measurement. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pace.h"
#include "engine/engine.h"

#define RUNS 16
#define WARM_UP 2
#define TURNS 300
#define RUNS_A_READING 2 /* of the pace */
#define MOST_CYCLES 6
#define AGREE 0.03 /* of the cost; never claimed to be known better than that */
#define SAMPLED_ROUNDS 9
#define SAMPLED_REPEATS 5 /* of TURNS: a dozen samples */

/* Makes a code object longer than SM_FAR_BYTES. */
#define PAD "x=r;x=r;x=r;x=r;x=r;x=r;x=r;x=r;x=r;x=r;"

static const char program[] = "def f(): pass\n"
                              "def g(r):\n"
                              "    for _ in r: yield\n"
                              "def calls(r, n):\n"
                              "    for _ in r: f()\n"
                              "def c_calls(r, n):\n"
                              "    for _ in r: n()\n"
                              "def resumes(r, n):\n"
                              "    for _ in g(r): pass\n"
                              "def h(r):\n"
                              "    if r is None: " PAD PAD PAD PAD PAD PAD PAD "pass\n"
                              "    for _ in r: yield\n"
                              "def far_resumes(r, n):\n"
                              "    for _ in h(r): pass\n"
                              "def d(n):\n"
                              "    if n: d(n - 1)\n"
                              "def deep_calls(r, n):\n"
                              "    for _ in r[::50]: d(49)\n"
                              "def q(x): raise KeyError\n"
                              "def catches(r, n):\n"
                              "    for x in r[::3]:\n"
                              "        try: q(x)\n"
                              "        except KeyError: pass\n"
                              "async def k(x): pass\n"
                              "async def awaits(r):\n"
                              "    for x in r: await k(x)\n"
                              "def coroutine_calls(r, n):\n"
                              "    try: awaits(r[::6]).send(None)\n"
                              "    except StopIteration: pass\n"
                              "def c(x): pass\n"
                              "def from_c_calls(r, n):\n"
                              "    for _ in map(c, r[::6]): pass\n";
#define EVERY_THIRD 3.0
#define EVERY_SIXTH 6.0
#define DEPTH 50.0
#define FORESEEN 5.0 /* of these: SM_FORESEEN_DEPTH of estimate/overhead.h */

static PyObject *nothing(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    Py_RETURN_NONE;
}

static PyMethodDef nothing_method = {"seismo_nothing", nothing, METH_NOARGS, NULL};

typedef enum { BARE, RECORDED, TIMED } way; /* TIMED: recorded, and every segment timed */

typedef struct {
    const char *loop, *callee; /* callee NULL: the C function */
    double share;              /* of a bare turn that is the callee's own */
    sm_cost *cost;             /* NULL: what it costs is held against another's */
    bool needless;             /* nobody wants to know it of this interpreter */
    const char *c_functions;   /* the setting that it is recorded with */
    double bare, recorded;     /* ticks a turn, as measured last */
    double inside, outside;    /* what the callee's and the caller's segments have more than bare, when all are timed */
    double found[MOST_CYCLES];
    double error; /* relative */
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

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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

static sm_function *function_of(const char *name) {
    if (name == NULL)
        return sm_function_of_c(&nothing_method, lab.nothing);
    PyObject *object = PyDict_GetItemString(lab.names, name); /* borrowed */
    return sm_function_of_code((PyCodeObject *)PyFunction_GET_CODE(object), NULL);
}

/* What the recording has of this thread's time so far, in segments that are not timed always. */
static double rest_so_far(void) {
    sm_thread *thread = sm_this_thread;
    if (!sm_engine.running || thread->session != sm_engine.session)
        return 0.0;
    sm_engine.recorder->pause(thread);
    double ticks = (double)thread->rest_ticks;
    sm_engine.recorder->go_on(thread);
    return ticks;
}

static double mean_of_shorter_half(double *values, int count) {
    double sum = 0;
    qsort(values, (size_t)count, sizeof *values, by_size);
    for (int i = 0; i < count / 2; i++)
        sum += values[i];
    return sum / (count / 2);
}

/* said: ticks a turn of the callee's segments that are timed always, and of the caller's; and of all segments, or bare
 * of the loop; at the pace of the first measurement. -1 with an exception. */
static int run_often(const experiment *what, double said[3]) {
    const sm_function *function[2] = {function_of(what->callee), function_of(what->loop)};
    double of[3][RUNS] = {{0}};
    sm_pace_readings pace = {.count = 0};
    for (int i = -WARM_UP; i < RUNS; i++) {
        if (i >= 0 && i % RUNS_A_READING == 0)
            sm_pace_gather(&pace, &sm_engine.clock);
        int at = i < 0 ? 0 : i;
        double before[2][3] = {{0}}, after[2][3] = {{0}}, rest = rest_so_far();
        for (int k = 0; k < 2 && sm_engine.running && function[k] != NULL; k++)
            sm_engine.recorder->timed(function[k], before[k]);
        of[2][at] = run(what);
        if (of[2][at] < 0)
            return -1;
        if (!sm_engine.running)
            continue;
        of[2][at] = (rest_so_far() - rest) / TURNS;
        for (int k = 0; k < 2 && function[k] != NULL; k++) {
            sm_engine.recorder->timed(function[k], after[k]);
            of[k][at] = (after[k][0] - before[k][0]) / TURNS;
            of[2][at] += of[k][at];
        }
    }
    double scale = sm_pace_scale(&pace);
    for (int k = 0; k < 3; k++)
        said[k] = scale * mean_of_shorter_half(of[k], RUNS);
    return 0;
}

static int measure(experiment *what, way way) {
    double said[3];
    if (what->needless)
        return 0;
    if (run_often(what, said) < 0)
        return -1;
    *(way == BARE ? &what->bare : &what->recorded) = said[2];
    if (way == TIMED) {
        what->inside = fmax(0, said[0] - what->bare * what->share);
        what->outside = fmax(0, said[1] - what->bare * (1 - what->share));
    }
    return 0;
}

static int measure_bare(experiment *all, int count) {
    for (int i = 0; i < count; i++) {
        if (measure(&all[i], BARE) < 0)
            return -1;
    }
    return 0;
}

static int measure_recorded(experiment *all, int count, way way) {
    const char *c_functions = sm_engine.settings.c_functions, *now = NULL;
    bool time_every = sm_engine.settings.time_every;
    int status = 0;
    sm_engine.settings.time_every = way == TIMED;
    for (int i = 0; i < count && status == 0; i++) {
        if (all[i].c_functions != now) {
            (void)sm_engine_rehearse(false);
            sm_engine.settings.c_functions = now = all[i].c_functions;
            status = sm_engine_rehearse(true);
        }
        status = status == 0 ? measure(&all[i], way) : status;
    }
    (void)sm_engine_rehearse(false);
    sm_engine.settings.c_functions = c_functions;
    sm_engine.settings.time_every = time_every;
    return status;
}

/* A sampled segment is measured longer than it would have been: it holds a part of the clock's read that the processor
 * could not hide. By how much the samples of a loop's turn exceed the turn; the median of several rounds, since one
 * disturbance weighs a lot among a dozen samples. Where caches are full it is more, which the estimate finds
 * (reconcile). */
static int find_sampled_extra(const experiment *what) {
    double extra[SAMPLED_ROUNDS];
    int count = 0, status = sm_engine_rehearse(true);
    const sm_function *caller = function_of(what->loop), *callee = function_of(what->callee);
    for (int round = 0; round < SAMPLED_ROUNDS && caller != NULL && callee != NULL && status == 0; round++) {
        double before[2][3], after[2][3], turn = 0;
        sm_pace_readings pace = {.count = 0};
        sm_engine.recorder->timed(caller, before[0]);
        sm_engine.recorder->timed(callee, before[1]);
        for (int i = 0; i < SAMPLED_REPEATS && status == 0; i++) {
            sm_pace_gather(&pace, &sm_engine.clock);
            status = run(what) < 0 ? -1 : 0;
        }
        sm_engine.recorder->timed(caller, after[0]);
        sm_engine.recorder->timed(callee, after[1]);
        for (int i = 0; i < 2; i++)
            turn += (after[i][1] - before[i][1]) / fmax(1, after[i][2] - before[i][2]);
        if (after[0][2] > before[0][2] && after[1][2] > before[1][2])
            extra[count++] = (turn * sm_pace_scale(&pace) - what->recorded) / 2;
    }
    (void)sm_engine_rehearse(false);
    if (count > 0) {
        qsort(extra, (size_t)count, sizeof *extra, by_size);
        sm_engine.sampled_extra = (uint64_t)fmax(0, extra[count / 2] + 0.5);
    }
    return status;
}

static double turn_of(const experiment *what, way way) {
    return fmax(0, way == TIMED ? what->inside + what->outside : what->recorded - what->bare);
}

/* Sorts them. */
static double median_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* A cycle more: do most results agree? Where the median says that a call costs nothing, bare was disturbed. */
static bool agreed(experiment *what, int cycle, way way) {
    double sorted[MOST_CYCLES], apart[MOST_CYCLES];
    int count = cycle + 1;
    what->found[cycle] = turn_of(what, way);
    if (what->cost == NULL || what->needless)
        return true;
    memcpy(sorted, what->found, (size_t)count * sizeof *sorted);
    double middle = median_of(sorted, count);
    for (int i = 0; i < count; i++)
        apart[i] = fabs(what->found[i] - middle);
    qsort(apart, (size_t)count, sizeof *apart, by_size);
    double inside = what->inside + what->outside > 0 ? what->inside / (what->inside + what->outside) : 0.5;
    *what->cost = (sm_cost){middle * inside, middle * (1 - inside)};
    double most = count == 2 ? apart[0] + apart[1] : apart[count / 2];
    what->error = middle > 0 ? most / middle : INFINITY;
    return cycle > 0 && what->error <= AGREE;
}

/* How much more a turn of one costs than one of the other, in the middling one of all cycles. */
static double costs_more(const experiment *what, const experiment *than, int cycles) {
    double more[MOST_CYCLES];
    for (int i = 0; i < cycles; i++)
        more[i] = what->found[i] - than->found[i];
    return fmax(0, median_of(more, cycles));
}

/* What an event far into its code costs more: a turn is a resume and a yield. */
static double far_cost(const experiment *near, const experiment *far, int cycles) {
    return SM_HAS_MONITORING ? costs_more(far, near, cycles) / 2 : 0;
}

/* What a call costs more that has more than FORESEEN others below it. */
static double deep_cost(const experiment *flat, const experiment *deep, int cycles) {
    return SM_HAS_EVALFRAME ? costs_more(deep, flat, cycles) * DEPTH / (DEPTH - FORESEEN) : 0;
}

/* What other calls cost more or less than plain ones, by one reading: each is a part of few calls only, or small. */
static int find_others(way way) {
    const char *c_functions = sm_engine.settings.c_functions;
    experiment all[] = {
        {.loop = "catches", .callee = "q", .c_functions = c_functions},
        {.loop = "coroutine_calls", .callee = "k", .c_functions = c_functions},
        {.loop = "from_c_calls", .callee = "c", .c_functions = c_functions, .needless = !sm_engine.source->frames_in_c},
    };
    if (measure_bare(all, 3) < 0 || measure_recorded(all, 3, way) < 0)
        return -1;
    double more[3], plain = sm_engine.python.inside + sm_engine.python.outside;
    for (int i = 0; i < 3; i++)
        more[i] = (i == 0 ? EVERY_THIRD : EVERY_SIXTH) * (all[i].recorded - all[i].bare) - plain;
    sm_engine.caught = fmax(0, more[0]);
    sm_engine.coroutine = fmax(0, more[1]);
    sm_engine.from_c = all[2].needless ? 0 : fmax(0, -more[2]);
    return 0;
}

int sm_engine_calibrate(void) {
    const char *c_functions = sm_engine.settings.c_functions;
    experiment all[] = {
        {.loop = "calls", .callee = "f", .share = 0.4, .cost = &sm_engine.python, .c_functions = c_functions},
        {.loop = "resumes", .callee = "g", .share = 0.6, .cost = &sm_engine.resume, .c_functions = c_functions},
        {.loop = "far_resumes",
         .callee = "h",
         .share = 0.6,
         .cost = NULL,
         .c_functions = c_functions,
         .needless = !SM_HAS_MONITORING},
        {.loop = "deep_calls",
         .callee = "d",
         .share = 0.5,
         .cost = NULL,
         .c_functions = c_functions,
         .needless = !SM_HAS_EVALFRAME},
        /* in "auto" its place would be switched off before it is measured */
        {.loop = "c_calls", .callee = NULL, .share = 0.5, .cost = &sm_engine.c, .c_functions = "all"},
    };
    int count = strcmp(c_functions, "none") == 0 ? 4 : 5, cycle = 0;
    way way = sm_engine.settings.time_every ? TIMED : RECORDED;
    sm_engine.sampled_extra = 0;
    sm_pace_forget();
    if (open_lab() < 0 || measure_bare(all, count) < 0 || measure_recorded(all, count, TIMED) < 0)
        return -1;
    bool done = false;
    for (; cycle < MOST_CYCLES && !done; cycle++) {
        if (measure_bare(all, count) < 0 || measure_recorded(all, count, way) < 0)
            return -1;
        done = true;
        for (int i = 0; i < count; i++)
            done = agreed(&all[i], cycle, way) && done;
    }
    sm_engine.far = far_cost(&all[1], &all[2], cycle);
    sm_engine.deep = deep_cost(&all[0], &all[3], cycle);
    sm_engine.cost_error = AGREE;
    for (int i = 0; i < count; i++)
        sm_engine.cost_error = fmin(0.5, fmax(sm_engine.cost_error, all[i].error));
    if (find_others(way) < 0)
        return -1;
    return way == TIMED ? 0 : find_sampled_extra(&all[0]);
}
