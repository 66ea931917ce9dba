/* The engine's Python functions: start, stop, snapshot and others. */
#include <string.h>

#include "base/write_without_signal.h"
#include "clock/sampler.h"
#include "clock/waits.h"
#include "code/text.h"
#include "compat/runtime.h"
#include "engine/engine.h"
#include "engine/flush.h"
#include "engine/recording.h"
#include "filter/filter.h"
#include "module/containers.h"
#include "module/module.h"
#include "module/settings.h"
#include "module/wiring.h"
#include "recorder/calls/calltree.h"
#include "recorder/lines/lines.h"
#include "recorder/objects/objects.h"
#include "source/reftracer.h"
#include "source/sources.h"

static const char *const choices_c[] = {"auto", "all", "none", NULL};
static const char *const choices_clock[] = {"auto", "tsc", "monotonic", "simulated", NULL};
static const char *const choices_interpreters[] = {"all", "main", NULL};
static const char *const choices_timing[] = {"sampled", "every", "none", NULL}; /* in the order of sm_timing_way */

static const sm_known_recorder *choose_recorder(const char *name) {
    for (const sm_known_recorder *known = sm_recorders; known->recorder != NULL; known++) {
        if (strcmp(known->recorder->name, name) == 0)
            return known;
    }
    PyErr_Format(PyExc_ValueError, "there is no recorder '%s'", name);
    return NULL;
}

/* Convert the name of a recorder to its recording (an "O&" converter of PyArg_Parse). */
static int as_recording(PyObject *name, void *to) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    const sm_known_recorder *known = text != NULL ? choose_recorder(text) : NULL;
    if (known != NULL)
        *(sm_recording **)to = known->recorder->beside ? &sm_beside : &sm_main;
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the name of a recorder must be a str");
    return known != NULL;
}

/* Facts about this process that every recording carries. */
static void replace(char **target, PyObject *text) {
    sm_replace_chars(target, text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL);
    PyErr_Clear();
}

/* Options of start() that need checking. */
typedef struct {
    const char *source, *c_functions, *clock, *timing, *recorder, *interpreters;
    int paths, apart, journal;
    unsigned rate;
    unsigned long flush_ms;
    PyObject *where, *span;
    bool only_c; /* where= leaves all Python functions out */
} start_options;

/* Why a source cannot serve this recorder in this interpreter; NULL: it can. */
static const char *objection_here(const sm_recorder *recorder, const sm_source *source) {
    bool without_gil = source->tool_id != NULL || source == &sm_source_reftracer; /* other hooks need the GIL */
    const char *objection = recorder->without_gil && without_gil ? sm_interpreter_objection() : sm_gil_objection();
    return objection == NULL && source->objection != NULL ? source->objection() : objection;
}

/* Why a source does not serve what was asked for; NULL: it does. */
static const char *objection_to(const sm_recorder *recorder, const sm_source *source, const start_options *given,
                                const sm_settings *settings) {
    bool all_c = strcmp(settings->c_functions, "all") == 0, auto_c = strcmp(settings->c_functions, "auto") == 0;
    const char *objection = objection_here(recorder, source);
    if (objection != NULL)
        return objection;
    if (source->frames_in_c && (all_c || (given->only_c && auto_c)))
        return "frame evaluation reports no calls of C functions";
    if (source->starts_only && settings->journal)
        return "a trace needs the ends of all calls";
    if (source->starts_only && given->paths)
        return "objects need the path that runs, and so the ends of all calls";
    if (source->starts_only && settings->narrow && settings->timing != SM_TIMING_NONE)
        return "nothing is reported of functions that where= leaves out, so the sampler could not find their frames";
    return NULL;
}

static const sm_source *choose_source(const sm_known_recorder *known, const char *name, const start_options *given,
                                      const sm_settings *settings) {
    const char *why_not = NULL;
    for (const sm_source *const *source = known->sources; *source != NULL && why_not == NULL; source++) {
        if (name != NULL && strcmp(name, (*source)->name) != 0)
            continue;
        const char *objection = objection_to(known->recorder, *source, given, settings);
        if (objection == NULL)
            return *source;
        if (name != NULL || known->sources[1] == NULL)
            why_not = objection;
    }
    if (why_not == NULL && name == NULL)
        why_not = sm_gil_objection(); /* all that is left may need the GIL */
    if (why_not == NULL && name != NULL)
        PyErr_Format(PyExc_ValueError, "there is no source '%s'", name);
    else
        PyErr_SetString(PyExc_RuntimeError, why_not ? why_not : "no source can be used here; `seismo doctor` says why");
    return NULL;
}

/* Return -1 with an exception set. The settings' texts are static, so that settings need not own them. */
static int check_options(const start_options *given, sm_settings *settings) {
    int c_functions = sm_settings_word("c_functions", given->c_functions, choices_c);
    int clock = c_functions < 0 ? -1 : sm_settings_word("clock", given->clock, choices_clock);
    int timing = clock < 0 ? -1 : sm_settings_word("timing", given->timing, choices_timing);
    int interpreters = timing < 0 ? -1 : sm_settings_word("interpreters", given->interpreters, choices_interpreters);
    if (interpreters < 0)
        return -1;
    settings->c_functions = choices_c[c_functions];
    settings->clock = choices_clock[clock];
    settings->timing = (sm_timing_way)timing;
    settings->flush_ns = given->flush_ms * 1000000ull;
    settings->rate = given->rate;
    settings->narrow = given->where != Py_None;
    settings->apart = given->apart != 0;
    settings->journal = given->journal != 0;
    bool calls = strcmp(given->recorder, sm_calltree.name) == 0;
    /* A filter has objects of this interpreter. */
    settings->others = interpreters == 0 && calls && !settings->narrow;
    const char *why_not = NULL;
    if (settings->timing == SM_TIMING_NONE && !calls)
        why_not = "only calls can be recorded without times: timing cannot be none";
    else if (settings->timing == SM_TIMING_EVERY && !calls)
        why_not = "only calls are timed one by one: timing cannot be every";
    else if (settings->journal && !calls)
        why_not = "a trace is of calls: leave journal out";
    else if (settings->timing == SM_TIMING_NONE && settings->journal)
        why_not = "a trace has times: timing cannot be none";
    if (why_not != NULL)
        PyErr_SetString(PyExc_ValueError, why_not);
    return why_not != NULL ? -1 : 0;
}

/* Choose the recorders: the given one, and before it the call tree if objects are recorded by call path. Return their
 * number, or -1 with an exception set. */
static int choose_recorders(const start_options *given, const sm_known_recorder *known[SM_MOST_PAIRS]) {
    int count = 0;
    if (given->paths && strcmp(given->recorder, sm_objects_recorder.name) == 0)
        known[count++] = choose_recorder(sm_calltree.name);
    known[count] = choose_recorder(given->recorder);
    return known[count] != NULL ? count + 1 : -1;
}

/* Choose their sources, and leave out of the settings what these cannot see. Return -1 with an exception set. */
static int choose_sources(const sm_known_recorder *const known[SM_MOST_PAIRS], int count, const start_options *given,
                          sm_settings *settings, sm_pair pairs[SM_MOST_PAIRS]) {
    for (int i = 0; i < count; i++) {
        pairs[i].source = choose_source(known[i], i == 0 ? given->source : NULL, given, settings);
        if (pairs[i].source == NULL)
            return -1;
    }
    if (pairs[0].source->python_only)
        settings->c_functions = "none";
    return 0;
}

/* Set the filter of start()'s argument, or NULL for None. Return -1 with an exception set. */
static int filter_from(PyObject *given, sm_filter **filter) {
    *filter = given == Py_None ? NULL : sm_filter_from(given);
    return *filter == NULL && given != Py_None ? -1 : 0;
}

/* Start with the given options; `own`: those that recorders declare. */
static PyObject *start(PyObject *args, PyObject *keywords, PyObject *own) {
    static char *names[] = {"source",  "c_functions", "clock",        "timing",      "fd",   "flush_ms",
                            "hide",    "meta",        "calibrate",    "interpreter", "host", "argv",
                            "running", "where",       "recorder",     "paths",       "span", "apart",
                            "journal", "rate",        "interpreters", NULL};
    start_options given = {.c_functions = "auto",
                           .clock = "auto",
                           .timing = "sampled",
                           .recorder = "calltree",
                           .interpreters = "all",
                           .flush_ms = SM_FLUSH_MS,
                           .where = Py_None,
                           .span = Py_None};
    sm_settings settings = {.hide = ""};
    PyObject *meta = NULL, *interpreter = NULL, *host = NULL, *argv = NULL;
    int fd = -1, calibrate = 1, running = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$zsssiksUpUUUpOspOppIs:start", names, &given.source,
                                     &given.c_functions, &given.clock, &given.timing, &fd, &given.flush_ms,
                                     &settings.hide, &meta, &calibrate, &interpreter, &host, &argv, &running,
                                     &given.where, &given.recorder, &given.paths, &given.span, &given.apart,
                                     &given.journal, &given.rate, &given.interpreters))
        return NULL;
    sm_filter *span;
    if (filter_from(given.where, &settings.where) < 0 || filter_from(given.span, &span) < 0)
        return NULL;
    uint32_t calls = SM_EVENT_BIT(SM_EVENT_CALL) | SM_EVENT_BIT(SM_EVENT_C_CALL);
    given.only_c = settings.where != NULL && (sm_filter_kinds(settings.where) & calls) == SM_EVENT_BIT(SM_EVENT_C_CALL);
    const sm_known_recorder *known[SM_MOST_PAIRS];
    int count = check_options(&given, &settings) < 0 ? -1 : choose_recorders(&given, known);
    const char *meta_text = meta ? PyUnicode_AsUTF8(meta) : "{}", *objection = sm_interpreter_objection();
    if (count < 0 || meta_text == NULL)
        return NULL;
    sm_recording *recording = known[0]->recorder->beside ? &sm_beside : &sm_main;
    if (objection == NULL && recording->running)
        objection = recording == &sm_main ? "a recording is running already" : "coverage is being recorded already";
    if (objection != NULL)
        return PyErr_Format(PyExc_RuntimeError, "%s", objection);
    sm_pair pairs[SM_MOST_PAIRS] = {{known[0]->recorder, NULL}, {known[count - 1]->recorder, NULL}};
    bool objects = pairs[count - 1].recorder == &sm_objects_recorder;
    if (sm_settings_take(pairs, (uint32_t)count, own) < 0)
        return NULL;
    if (objects && (count > 1 || span != NULL) && sm_objects_chosen.by != SM_OBJECTS_BY_LINE)
        return PyErr_Format(PyExc_ValueError,
                            "call paths and spans of objects can be recorded by line only, not by type");
    if (choose_sources(known, count, &given, &settings, pairs) < 0 || sm_engine_init() < 0 ||
        (objects && sm_module_objects_prepare(span) < 0))
        return NULL;
    replace(&recording->interpreter, interpreter);
    replace(&recording->host, host);
    replace(&recording->argv, argv);
    if (recording == &sm_main) {
        sm_functions_hide(settings.hide);
        sm_filter_functions(settings.where);
        sm_wire(pairs, (uint32_t)count, &settings);
    }
    if (sm_engine_start(recording, pairs, (uint32_t)count, &settings, calibrate, running, fd, meta_text) < 0)
        return NULL;
    if (objects && span != NULL && sm_module_objects_spans_start(span) < 0) {
        SM_EXCEPTION_GUARD;
        sm_engine_stop(&sm_main, "");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *engine_start(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    PyObject *rest = keywords ? PyDict_Copy(keywords) : PyDict_New(), *own = PyDict_New(), *result = NULL;
    if (rest != NULL && own != NULL && sm_settings_split(rest, own) == 0)
        result = start(args, rest, own);
    Py_XDECREF(rest);
    Py_XDECREF(own);
    return result;
}

static PyObject *engine_stop(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords) {
    static char *names[] = {"exit", "recorder", NULL};
    const char *exit = "";
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|sO&:stop", names, &exit, as_recording, &recording))
        return NULL;
    if (recording == &sm_main)
        sm_module_objects_spans_stop();
    sm_engine_stop(recording, exit);
    Py_RETURN_NONE;
}

static PyObject *engine_snapshot(PyObject *Py_UNUSED(module), PyObject *args) {
    sm_recording *recording = &sm_main;
    return PyArg_ParseTuple(args, "|O&:snapshot", as_recording, &recording) ? sm_engine_snapshot(recording) : NULL;
}

static PyObject *engine_flush(PyObject *Py_UNUSED(module), PyObject *args) {
    sm_recording *recording = &sm_main;
    unsigned int since = 0;
    if (!PyArg_ParseTuple(args, "|O&I:flush", as_recording, &recording, &since))
        return NULL;
    sm_engine_poll(recording);
    sm_engine_flush(recording, since);
    Py_RETURN_NONE;
}

static PyObject *engine_paths(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none)) {
    return PyLong_FromUnsignedLongLong(sm_calltree_paths());
}

static PyObject *engine_move(PyObject *Py_UNUSED(module), PyObject *args) {
    int fd;
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTuple(args, "i|O&:move", &fd, as_recording, &recording))
        return NULL;
    return PyBool_FromLong(sm_engine_move(recording, fd));
}

static PyObject *engine_ahead(PyObject *Py_UNUSED(module), PyObject *args) {
    const char *exit;
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTuple(args, "s|O&:ahead", &exit, as_recording, &recording))
        return NULL;
    sm_engine_ahead(recording, exit);
    Py_RETURN_NONE;
}

/* Call a function while no event of this thread reaches any tool. */
static PyObject *engine_quietly(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count < 1)
        return PyErr_Format(PyExc_TypeError, "quietly() takes a function and the arguments to call it with");
    PyThreadState *tstate = PyThreadState_Get();
    bool running = sm_main.running;
    sm_thread *thread = running && sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
    uint32_t session = sm_engine.session;
    PyThreadState_EnterTracing(tstate);
    if (running)
        sm_engine_hold(thread, true);
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), NULL);
    if (running && sm_main.running && sm_engine.session == session)
        sm_engine_hold(thread, false);
    PyThreadState_LeaveTracing(tstate);
    return result;
}

static PyObject *engine_after_fork(PyObject *Py_UNUSED(module), PyObject *args) {
    int fd;
    const char *meta;
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTuple(args, "is|O&:after_fork", &fd, &meta, as_recording, &recording))
        return NULL;
    if (fd == -2 && recording == &sm_main)
        sm_module_objects_spans_stop();
    if (sm_engine_after_fork(recording, fd, meta) < 0)
        return NULL;
    if (recording == &sm_main)
        sm_module_objects_spans_forked();
    Py_RETURN_NONE;
}

static PyObject *clock_facts(const sm_clock *clock) {
    return Py_BuildValue("{sssssdsdsd}", "name", sm_clock_name(clock), "reason", clock->reason, "cost_ns",
                         sm_clock_ns(clock, clock->read_ticks), "ns_per_tick", clock->ns_per_tick, "step_ns",
                         sm_clock_ns(clock, clock->step_ticks));
}

static PyObject *engine_write(PyObject *Py_UNUSED(module), PyObject *args) {
    int fd;
    Py_buffer content;
    if (!PyArg_ParseTuple(args, "iy*", &fd, &content))
        return NULL;
    ssize_t written = sm_write(fd, content.buf, (size_t)content.len, -1);
    PyBuffer_Release(&content);
    return written < 0 ? PyErr_SetFromErrno(PyExc_OSError) : PyLong_FromSsize_t(written);
}

/* Return the device and inode, which change when the file is rewritten. */
static PyObject *engine_file(PyObject *Py_UNUSED(module), PyObject *args) {
    uint64_t identity[2] = {0, 0};
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTuple(args, "|O&:file", as_recording, &recording))
        return NULL;
    sm_engine_lock(); /* the flush worker may exchange it */
    if (recording->output.writer != NULL)
        sm_writer_identity(recording->output.writer, identity);
    sm_engine_unlock();
    return Py_BuildValue("KK", (unsigned long long)identity[0], (unsigned long long)identity[1]);
}

/* Return facts about the main recording alone. */
static PyObject *main_status(void) {
    PyObject *facts = Py_BuildValue(
        "{sssIsKsKsKsNsdsdsdsdsdsdsdsd}", "c_functions", sm_main.pair_count > 0 ? sm_main.settings.c_functions : "",
        "sites_room", (unsigned)sm_sites_room(), "paths", (unsigned long long)sm_calltree_paths(), "path_bytes",
        (unsigned long long)sm_calltree_bytes(), "repaired", (unsigned long long)sm_engine.repaired, "clock",
        clock_facts(&sm_engine.clock), "python_inside", sm_clock_ns(&sm_engine.clock, sm_engine.costs.python.inside),
        "python_outside", sm_clock_ns(&sm_engine.clock, sm_engine.costs.python.outside), "c_inside",
        sm_clock_ns(&sm_engine.clock, sm_engine.costs.c.inside), "c_outside",
        sm_clock_ns(&sm_engine.clock, sm_engine.costs.c.outside), "resume_inside",
        sm_clock_ns(&sm_engine.clock, sm_engine.costs.resume.inside), "resume_outside",
        sm_clock_ns(&sm_engine.clock, sm_engine.costs.resume.outside), "cost_error", sm_engine.costs.error, "piece",
        sm_clock_ns(&sm_engine.clock, sm_engine.costs.piece));
    sm_dict_join(&facts, sm_module_objects_status());
    return facts;
}

static PyObject *engine_status(PyObject *Py_UNUSED(module), PyObject *args) {
    sm_recording *recording = &sm_main;
    if (!PyArg_ParseTuple(args, "|O&:status", as_recording, &recording))
        return NULL;
    const sm_pair *last = recording->pair_count > 0 ? &recording->pairs[recording->pair_count - 1] : NULL;
    const sm_source *source = recording->pairs[0].source;
    sm_objects_quiet(true);
    sm_engine_lock();
    sm_writer *writer = recording->output.writer;
    int error = writer != NULL ? sm_writer_error(writer) : 0;
    bool kept =
        recording->settings.journal && writer != NULL && !sm_writer_behind(writer) && sm_writer_lost(writer) == 0;
    sm_engine_unlock();
    PyObject *status = Py_BuildValue(
        "{sOsOsssssisKsKsisO}", "running", recording->running ? Py_True : Py_False, "forked",
        recording->forked ? Py_True : Py_False, "source", last ? source->name : "", "recorder",
        last ? last->recorder->name : "", "tool_id", last && source->tool_id ? source->tool_id() : -1, "hook_lost",
        (unsigned long long)recording->hook_lost, "lost_memory", (unsigned long long)recording->lost_memory,
        "write_error", error, "journal_kept", kept ? Py_True : Py_False);
    sm_dict_join(&status, recording == &sm_main ? main_status() : sm_module_coverage_status());
    sm_objects_quiet(false);
    return status;
}

static PyObject *engine_sources(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    PyObject *list = PyList_New(0);
    bool chosen = false;
    for (const sm_source *const *source = sm_recorders[0].sources; list != NULL && *source != NULL; source++) {
        const char *objection = objection_here(&sm_calltree, *source);
        const char *reason = objection ? objection
                             : chosen  ? "works, but a better source is available"
                                       : "the best source here";
        PyObject *fact =
            Py_BuildValue("{sssOsOss}", "name", (*source)->name, "available", objection ? Py_False : Py_True, "chosen",
                          !objection && !chosen ? Py_True : Py_False, "reason", reason);
        chosen = chosen || objection == NULL;
        sm_list_add(&list, fact);
    }
    return list;
}

static PyObject *engine_clock_info(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    sm_clock clock;
    (void)sm_clock_choose(&clock, "auto");
    return clock_facts(&clock);
}

#ifdef SM_TESTING
static PyObject *engine_check(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    bool right = sm_codes_check();
    for (const sm_known_recorder *known = sm_recorders; known->recorder != NULL; known++) {
        const sm_recording *recording = known->recorder->beside ? &sm_beside : &sm_main;
        SM_EACH_PAIR (recording, pair)
            right = right && (known->recorder != pair->recorder || known->check());
    }
    return PyBool_FromLong(right);
}

/* Return the scale and the number of drifts after these anchors, (ticks, ns) each, from the start on. */
static PyObject *learn_clock(PyObject *Py_UNUSED(module), PyObject *args) {
    sm_clock clock = {.kind = SM_CLOCK_TSC};
    PyObject *anchors;
    if (!PyArg_ParseTuple(args, "dO!:_learn_clock", &clock.ns_per_tick, &PyList_Type, &anchors))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(anchors); i++) {
        unsigned long long ticks;
        long long ns;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(anchors, i), "KL", &ticks, &ns))
            return NULL;
        if (i > 0)
            sm_clock_learn(&clock, ticks, ns);
        else
            clock.last_ticks = ticks, clock.last_ns = ns;
    }
    return Py_BuildValue("dI", clock.ns_per_tick, clock.drifts);
}

static PyObject *advance_clock(PyObject *Py_UNUSED(module), PyObject *ns) {
    unsigned long long ticks = PyLong_AsUnsignedLongLong(ns);
    if (ticks == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    sm_simulated_ticks += ticks;
    if (sm_main.running && sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        sm_sampler_look();
    Py_RETURN_NONE;
}

static PyObject *limit_waits(PyObject *Py_UNUSED(module), PyObject *wanted) {
    int truth = PyObject_IsTrue(wanted);
    if (truth < 0)
        return NULL;
    sm_waits_limit(truth);
    Py_RETURN_NONE;
}
#endif

static PyObject *waits_told(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args)) {
    if (sm_engine_init() < 0)
        return NULL;
    return PyUnicode_FromString(sm_waits_known());
}

static PyMethodDef functions[] = {
    /* The last argument of many is the name of a recorder, for its recording: by default the main one, which is that of
     * all recorders but coverage. */
    {"start", SM_KEYWORDS(engine_start),
     "Start recording. Raises RuntimeError, with a sentence that says why, where that is impossible."},
    {"stop", SM_KEYWORDS(engine_stop),
     "Remove the hooks and write the rest. Does nothing when nothing is being recorded."},
    {"snapshot", engine_snapshot, METH_VARARGS, "Return the recording so far, as the bytes of a .seismo file."},
    {"flush", engine_flush, METH_VARARGS,
     "Write to the file, if there is one, what has changed since the last write, or of call paths only those from a "
     "number on."},
    {"paths", engine_paths, METH_NOARGS, "Return the number of call paths."},
    {"quietly", (PyCFunction)(void (*)(void))engine_quietly, METH_FASTCALL,
     "Call the function without recording what it does or how long it takes."},
    {"move", engine_move, METH_VARARGS,
     "Continue in the file that fd is an opening of, a copy of the recording's. False: it is no copy."},
    {"ahead", engine_ahead, METH_VARARGS,
     "Write everything and the end of the file, as if the process ended now in this way. '' revokes it."},
    {"after_fork", engine_after_fork, METH_VARARGS,
     "In a forked child: discard the parent's counts and continue into fd (-1: in memory; -2: stop recording)."},
    {"status", engine_status, METH_VARARGS, "Return facts about the current recording, or about the last one."},
    {"sources", engine_sources, METH_NOARGS, "Return, for each source, whether it can be used here and why."},
    {"write", engine_write, METH_VARARGS,
     "As os.write, but a limit of file sizes is an OSError and sends the program no signal."},
    {"file", engine_file, METH_VARARGS,
     "Return device and inode of the file that is recorded into, or 0 and 0 where there is none."},
    {"clock_info", engine_clock_info, METH_NOARGS, "Return the clock that a recording would use."},
    {"waits_told", waits_told, METH_NOARGS,
     "Return what can be measured of waiting: see the column `waits` in docs/format.md."},
#ifdef SM_TESTING
    {"check", engine_check, METH_NOARGS, "Return whether the recorder's structures are consistent."},
    {"_limit_waits", limit_waits, METH_O,
     "Leave waits undivided, as where /proc cannot be read (false), or divide them (true)."},
    {"_advance_clock", advance_clock, METH_O, "Move the simulated clock."},
    {"_learn_clock", learn_clock, METH_VARARGS, "Return what a clock learns from anchors: its scale and its drifts."},
#endif
    {NULL, NULL, 0, NULL},
};

int sm_module_add_engine(PyObject *module) {
    PyObject *defaults = Py_BuildValue("{sI}", "flush_ms", SM_FLUSH_MS);
    int status =
        defaults && sm_settings_defaults(defaults) == 0 ? PyModule_AddObjectRef(module, "DEFAULTS", defaults) : -1;
    Py_XDECREF(defaults);
    return status < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
