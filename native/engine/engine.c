#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/offcpu.h"
#include "base/pace.h"
#include "base/random.h"
#include "base/time.h"
#include "compat/exception.h"
#include "compat/runtime.h"
#include "engine/ending.h"
#include "engine/threads.h"
#include "engine/ticker.h"
#include "engine/waits.h"
#include "slots/forks.h"

/* How many reads of the clock a segment must be worth to be timed always: two are needed, so that costs 2 % of its time
 * at most. With a score, programs whose functions all take a few hundred nanoseconds paid more for the clock than for
 * the events. */
#define WORTH_READS 100.0

static void code_died(sm_code_entry *entry) {
    if (!sm_engine.running)
        return;
    sm_engine.recorder->code_died(entry);
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->code_died(entry);
}

/* From the start of a recording to its end, code objects are known by their addresses. */
static void hold_codes(bool on) {
    static bool held = false;
    if (on == held)
        return;
    held = on;
    if (on)
        sm_codes_hold();
    else
        sm_codes_release();
}

/* Between fork and sm_engine_after_fork the child shares its parent's file: nothing may be written. */
static void child_forked(void) {
    if (sm_engine.running)
        sm_engine.forked = true;
}

int sm_engine_init(void) {
    static bool done = false;
    if (done)
        return 0;
    if (sm_functions_init() < 0 || sm_threads_init() < 0)
        return -1;
    sm_codes_on_function_death(code_died);
    sm_gap_table_init();
    sm_waits_init();
    static const sm_fork_calls calls = {.child = child_forked};
    if (!sm_ticker_init() || !sm_forks_register(SM_FORK_ENGINE, &calls)) {
        PyErr_NoMemory();
        return -1;
    }
    done = true;
    return 0;
}

static void replace_text(char **target, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = sm_malloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    sm_free(*target);
    *target = copy;
}

static void plan_flush(uint64_t from, uint64_t interval) {
    sm_engine.next_flush = interval == 0 ? UINT64_MAX : from + interval;
}

/* A new recording begins: clock, counters, recorder. */
static void begin(void) {
    sm_ticker_stop();
    sm_engine.recorder->start(&sm_engine.settings); /* frees the last tree, which hangs on the threads */
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->start(&sm_engine.settings);
    sm_threads_forget();
    sm_engine.session++;
    sm_engine.repaired = sm_engine.lost_memory = sm_engine.late_threads = sm_engine.hook_lost = 0;
    sm_engine.sites_off = sm_engine.source_changes = 0;
    sm_engine.interpreters_gone = sm_interpreters_gone();
    sm_engine.cython_unseen = false;
    sm_engine.end_ns = 0;
    sm_pace_begin();
    replace_text(&sm_engine.exit, "");
    sm_engine.began = sm_moment_now();
    sm_engine.start_ns = sm_engine.began.unix_ns;
    sm_engine.start_ticks = sm_clock_read(&sm_engine.clock);
    sm_engine.flush_took = 0;
    sm_engine.flushed = sm_engine.start_ticks;
    plan_flush(sm_engine.start_ticks, sm_engine_interval(0));
}

/* The process dies of a signal, and nothing of it runs any more: what is kept goes into the file, with its end. */
static void end_by_signal(const char *name) {
    if (!sm_engine.running || sm_engine.forked || sm_engine.output.writer == NULL)
        return;
    sm_engine_look_away();
    sm_ticker_stop();
    replace_text(&sm_engine.exit, name);
    sm_engine_write(&sm_engine.output, true);
}

static int open_output(int fd) {
    sm_output_close(&sm_engine.output);
    sm_ending_want(SM_ENDING_ENGINE, fd >= 0 ? end_by_signal : NULL);
    if (fd < 0)
        return 0;
    sm_writer *writer = sm_writer_new(fd);
    if (writer == NULL || !sm_engine_open(&sm_engine.output, writer, false)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void stop_sources(void) {
    if (sm_engine.alongside.source != NULL)
        sm_engine.alongside.source->stop();
    sm_engine.source->stop();
}

/* Puts the exception aside: a source's stop may lead to Python code. */
static void undo_main(void) {
    sm_exception kept = sm_exception_keep();
    sm_engine.source->stop();
    sm_engine.running = false;
    sm_exception_restore(kept);
}

static int turn_on(void) {
    begin();
    sm_engine.running = true;
    if (sm_engine.source->start(&sm_engine.settings) < 0) {
        sm_engine.running = false;
        return -1;
    }
    (void)sm_engine_thread_here(false); /* the thread that starts is met at once */
    if (sm_engine.alongside.source != NULL && sm_engine.alongside.source->start(&sm_engine.settings) < 0) {
        undo_main();
        return -1;
    }
    sm_engine.from_here = false;
    if (sm_engine.settings.journal && sm_engine.output.writer != NULL)
        sm_engine_flush(); /* who is killed in the first moment leaves a trace that can be read */
    return 0;
}

int sm_engine_rehearse(bool on) {
    if (on)
        return turn_on();
    if (sm_engine.running)
        sm_engine.source->stop();
    sm_engine.running = false;
    sm_ticker_stop(); /* it looks at what is about to be set */
    return 0;
}

/* Costs hold for a process, a source and a set of events; a second recording of the same kind starts at once. */
static int find_costs(void) {
    static struct {
        const sm_source *source;
        const sm_recorder *recorder;
        bool time_every, opcodes, journal;
        sm_clock_kind clock;
        char c_functions[8];
        sm_cost python, c, resume;
        double error, far, deep, caught, coroutine, from_c;
        uint64_t sampled_extra;
        double pace;
    } known;
    if (known.source == sm_engine.source && known.recorder == sm_engine.recorder &&
        known.time_every == sm_engine.settings.time_every && known.opcodes == sm_engine.settings.opcodes &&
        known.journal == sm_engine.settings.journal && known.clock == sm_engine.clock.kind &&
        strcmp(known.c_functions, sm_engine.settings.c_functions) == 0) {
        sm_engine.python = known.python, sm_engine.c = known.c, sm_engine.resume = known.resume;
        sm_engine.cost_error = known.error, sm_engine.far = known.far, sm_engine.deep = known.deep;
        sm_engine.caught = known.caught, sm_engine.coroutine = known.coroutine, sm_engine.from_c = known.from_c;
        sm_engine.sampled_extra = known.sampled_extra;
        sm_pace_recall(known.pace);
        return 0;
    }
    if ((sm_engine.recorder->calibrate ? sm_engine.recorder->calibrate() : sm_engine_calibrate()) < 0)
        return -1;
    known.source = sm_engine.source;
    known.recorder = sm_engine.recorder;
    known.time_every = sm_engine.settings.time_every;
    known.opcodes = sm_engine.settings.opcodes;
    known.journal = sm_engine.settings.journal;
    known.clock = sm_engine.clock.kind;
    strcpy(known.c_functions, sm_engine.settings.c_functions);
    known.python = sm_engine.python, known.c = sm_engine.c, known.resume = sm_engine.resume;
    known.error = sm_engine.cost_error, known.far = sm_engine.far, known.deep = sm_engine.deep;
    known.caught = sm_engine.caught, known.coroutine = sm_engine.coroutine, known.from_c = sm_engine.from_c;
    known.sampled_extra = sm_engine.sampled_extra;
    known.pace = sm_pace_calibrated();
    return 0;
}

/* What the last recording kept is given up where its recorder is not to begin anew in the same place. */
static void forget_last(const sm_recorder *recorder, const sm_recorder *alongside) {
    sm_ticker_stop();
    if (sm_engine.recorder != NULL && sm_engine.recorder != recorder)
        sm_engine.recorder->forget();
    if (sm_engine.alongside.recorder != NULL && sm_engine.alongside.recorder != alongside)
        sm_engine.alongside.recorder->forget();
}

static int start(const sm_pair *main, const sm_pair *alongside, const sm_settings *settings, bool calibrate,
                 bool running, int fd, const char *meta) {
    sm_output_close(&sm_engine.output); /* the last one's: what is recorded to learn costs goes nowhere */
    forget_last(main->recorder, alongside != NULL ? alongside->recorder : NULL);
    sm_engine.recorder = main->recorder;
    sm_engine.source = main->source;
    sm_engine.alongside = (sm_pair){NULL, NULL}; /* what the main pair costs is measured without it */
    sm_engine.settings = *settings;
    sm_engine.apart = settings->apart ? sm_apart_now() : (sm_apart){0, 0};
    if (!sm_clock_choose(&sm_engine.clock, settings->clock)) {
        PyErr_Format(PyExc_RuntimeError, "the clock %s cannot be used here: %s", settings->clock,
                     sm_engine.clock.reason);
        return -1;
    }
    if (!settings->timeless && !main->recorder->threadless)
        sm_offcpu_probe(); /* sleeps, and on a busy machine for long: only where times are kept */
    sm_engine.threshold_ticks = (uint64_t)(WORTH_READS * sm_engine.clock.read_ticks);
    bool ticks = sm_engine.clock.kind != SM_CLOCK_SIMULATED;
    sm_engine.visit_ticks = (uint64_t)(SM_TICK_NS / sm_engine.clock.ns_per_tick);
    sm_engine.long_ticks = ticks ? (uint64_t)(SM_LONG_NS / sm_engine.clock.ns_per_tick) : UINT64_MAX;
    replace_text(&sm_engine.meta, meta);
    sm_engine.forked = sm_engine.ahead = false;
    memset(&sm_engine.python, 0, sizeof sm_engine.python);
    sm_engine.c = sm_engine.resume = sm_engine.python;
    sm_engine.cost_error = sm_engine.far = sm_engine.deep = 0.0;
    sm_engine.caught = sm_engine.coroutine = sm_engine.from_c = 0.0;
    sm_engine.sampled_extra = 0;
    sm_pace_forget();
    if (calibrate && sm_engine.clock.kind != SM_CLOCK_SIMULATED && find_costs() < 0)
        return -1;
    replace_text(&sm_engine.exit, "");
    if (open_output(fd) < 0)
        return -1;
    if (alongside != NULL)
        sm_engine.alongside = *alongside;
    sm_engine.from_here = !running;
    if (turn_on() < 0) {
        sm_ending_want(SM_ENDING_ENGINE, NULL);
        if (sm_engine.settings.journal)
            sm_engine.recorder->stop(); /* before the writer is gone */
        sm_output_close(&sm_engine.output);
        return -1;
    }
    return 0;
}

int sm_engine_start(const sm_pair *main, const sm_pair *alongside, const sm_settings *settings, bool calibrate,
                    bool running, int fd, const char *meta) {
    assert(PyGILState_Check() && !sm_engine.running);
    assert(main->recorder != NULL && main->source != NULL && meta != NULL);
    hold_codes(true);
    int result = start(main, alongside, settings, calibrate, running, fd, meta);
    if (result < 0)
        hold_codes(false);
    return result;
}

/* A journal is in its file alone, so that its end cannot be made up for in another one. */
static void regain_file(void) {
    if (sm_engine.settings.journal && sm_engine.output.writer != NULL && !sm_engine.forked)
        sm_writer_regain(sm_engine.output.writer);
}

void sm_engine_stop(const char *exit) {
    if (!sm_engine.running)
        return;
    sm_ending_begin();
    sm_ticker_stop();
    stop_sources();
    regain_file();
    if (sm_this_thread->session == sm_engine.session && !sm_engine.recorder->threadless)
        sm_engine.recorder->pause(sm_this_thread); /* closes its last segment */
    sm_engine.end_ns = sm_moment_since(&sm_engine.began);
    replace_text(&sm_engine.exit, exit);
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session != sm_engine.session || thread->ended || thread->end_ns != 0)
            continue;
        int64_t cpu = sm_thread_cpu_ns(thread);
        if (cpu >= 0 && thread->cpu_start_ns >= 0)
            thread->cpu_ns = cpu - thread->cpu_start_ns;
        thread->end_ns = sm_engine.end_ns;
        thread->end_ticks = sm_clock_read(&sm_engine.clock);
    }
    sm_engine.recorder->stop();
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->stop();
    if (sm_engine.output.writer != NULL && !sm_engine.forked)
        sm_engine_write_end(&sm_engine.output);
    sm_engine.running = false;
    hold_codes(false);
    sm_ending_want(SM_ENDING_ENGINE, NULL);
}

void sm_engine_flush(void) {
    if (!sm_engine.running || sm_engine.forked)
        return;
    if (sm_engine.ahead) {
        sm_engine.next_flush = UINT64_MAX;
        return;
    }
    uint64_t before = sm_clock_read(&sm_engine.clock);
    sm_writer *writer = sm_engine.output.writer;
    sm_engine.flush_most = 0;
    if (writer != NULL && sm_writer_is_stuck(writer))
        sm_writer_flush(writer); /* the disk is full: nothing new before the old is written */
    else if (writer != NULL)
        sm_engine_write(&sm_engine.output, false);
    uint64_t took = sm_ticks_since(before, sm_clock_read(&sm_engine.clock));
    sm_engine.flushed = before + took;
    plan_flush(before, sm_engine.flush_most != 0 ? sm_engine.flush_most : sm_engine_interval(took));
}

void sm_engine_tick(sm_thread *Py_UNUSED(thread)) {
    assert(PyGILState_Check() && sm_engine.source != NULL);
    if (sm_engine.forked) {
        sm_engine.next_flush = UINT64_MAX; /* until the child has said how it goes on */
        return;
    }
    sm_exception kept = sm_exception_keep();
    int saved_errno = errno;
    sm_engine_look_away();
    if (sm_engine.source->poll != NULL)
        sm_engine.source->poll();
    if (sm_engine.alongside.source != NULL && sm_engine.alongside.source->poll != NULL)
        sm_engine.alongside.source->poll();
    sm_engine_flush();
    sm_engine_look_again();
    errno = saved_errno;
    sm_exception_restore(kept);
}

void sm_engine_ahead(const char *exit) {
    if (!sm_engine.running || sm_engine.forked || sm_engine.output.writer == NULL)
        return;
    sm_thread *thread = sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
    sm_engine_pause(thread);
    replace_text(&sm_engine.exit, exit);
    if (*exit != '\0') {
        regain_file();
        sm_engine_write(&sm_engine.output, true);
    }
    sm_engine.ahead = *exit != '\0';
    sm_engine_flush();
    sm_engine_go_on(thread);
}

bool sm_engine_move(int fd) {
    if (!sm_engine.running || sm_engine.forked || sm_engine.output.writer == NULL)
        return false;
    sm_thread *thread = sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
    sm_engine_pause(thread);
    bool moved = sm_writer_move(sm_engine.output.writer, fd) != 0;
    sm_engine_go_on(thread);
    return moved;
}

PyObject *sm_engine_snapshot(void) {
    assert(PyGILState_Check());
    if (sm_engine.recorder == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "nothing has been recorded yet");
        return NULL;
    }
    sm_thread *thread = sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
    bool running = sm_engine.running;
    if (running)
        sm_engine_pause(thread);
    sm_output output;
    PyObject *image = NULL;
    if (!sm_engine_open(&output, sm_writer_new(-1), true)) {
        PyErr_NoMemory();
    } else {
        sm_engine_save(&output, true);
        size_t size;
        const uint8_t *bytes = sm_writer_bytes(output.writer, &size);
        if (sm_writer_error(output.writer) != 0)
            PyErr_NoMemory();
        else
            image = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    }
    sm_output_close(&output);
    if (running)
        sm_engine_go_on(thread);
    return image;
}

int sm_engine_after_fork(int fd, const char *meta) {
    assert(PyGILState_Check() && fd >= -2);
    sm_output_close(&sm_engine.output);
    if (!sm_engine.running)
        return 0;
    if (fd == -2) {
        stop_sources();
        sm_ending_want(SM_ENDING_ENGINE, NULL);
        sm_engine.running = sm_engine.forked = false;
        hold_codes(false);
        return 0;
    }
    replace_text(&sm_engine.meta, meta);
    if (open_output(fd) < 0)
        return -1;
    sm_engine.forked = sm_engine.ahead = false;
    sm_threads_forked();
    begin();
    if (sm_engine.source->begin_again != NULL)
        sm_engine.source->begin_again();
    sm_engine.same_frames = true;
    (void)sm_engine_thread_here(false);
    sm_engine.same_frames = false;
    if (sm_engine.settings.journal && sm_engine.output.writer != NULL)
        sm_engine_flush();
    return 0;
}
