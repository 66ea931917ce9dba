#include "engine/recording.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "clock/waits.h"
#include "code/text.h"
#include "compat/exception.h"
#include "compat/forks.h"
#include "compat/runtime.h"
#include "engine/fatal_signals.h"
#include "engine/flush.h"
#include "engine/threads.h"
#include "engine/ticker.h"

/* Keep code objects identified by their addresses during a recording. */
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

/* Stop writes between fork and sm_engine_after_fork, while the child shares its parent's file. */
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
    sm_waits_init();
    static const sm_fork_calls calls = {.child = child_forked};
    if (!sm_flush_init() || !sm_ticker_init() || !sm_sampler_init() || !sm_forks_register(SM_FORK_ENGINE, &calls)) {
        PyErr_NoMemory();
        return -1;
    }
    done = true;
    return 0;
}

static void stop_workers(void) {
    sm_flush_stop();
    sm_ticker_stop();
    sm_sampler_stop();
}

static void begin(void) {
    stop_workers();
    sm_sampler_forget();
    SM_EACH_PAIR (pair)
        pair->recorder->start(); /* frees the last tree, which the threads own */
    if (sm_engine_keeps_time())
        sm_sampler_start(sm_engine.pairs[0].recorder->clock, &sm_engine.clock, sm_engine.settings.rate);
    sm_threads_forget();
    sm_groups_forget();
    sm_engine.session++;
    sm_engine.repaired = sm_engine.lost_memory = sm_engine.late_threads = sm_engine.hook_lost = 0;
    sm_engine.sites_off = sm_engine.source_changes = 0;
    sm_engine.interpreters_gone = sm_interpreters_gone();
    sm_engine.cython_unseen = false;
    sm_engine.end_ns = 0;
    sm_replace_chars(&sm_engine.exit, "");
    sm_engine.began = sm_moment_now();
    sm_engine.start_ns = sm_engine.began.unix_ns;
    sm_engine.start_ticks = sm_clock_read(&sm_engine.clock);
}

/* Write the end when a signal kills the process, in which nothing else runs any more. */
static void end_by_signal(const char *name) {
    if (!sm_engine.running || sm_engine.forked)
        return;
    sm_engine_hold(NULL, true);
    stop_workers();
    sm_replace_chars(&sm_engine.exit, name);
    sm_flush_end(false);
}

static int open_output(int fd) {
    sm_output_close(&sm_engine.output);
    sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, fd >= 0 ? end_by_signal : NULL);
    if (fd < 0)
        return 0;
    sm_writer *writer = sm_writer_new(fd);
    if (writer == NULL || !sm_engine_open(&sm_engine.output, writer, false)) {
        PyErr_NoMemory();
        return -1;
    }
    sm_writer_hold(writer);
    return 0;
}

/* Stop the first `count` sources, the last one first. Keep the exception, since a stop may run Python code. */
static void stop_sources(uint32_t count) {
    sm_exception kept = sm_exception_keep();
    while (count > 0)
        sm_engine.pairs[--count].source->stop();
    sm_exception_restore(kept);
}

static int turn_on(void) {
    begin();
    sm_engine.running = true;
    for (uint32_t i = 0; i < sm_engine.pair_count; i++) {
        if (sm_engine.pairs[i].source->start(&sm_engine.settings) < 0) {
            stop_sources(i);
            sm_engine.running = false;
            return -1;
        }
        if (i == 0)
            (void)sm_engine_thread_here(false);
    }
    sm_engine.from_here = false;
    if (sm_engine.settings.journal)
        sm_engine_flush(); /* a program killed in the first moment leaves a readable trace */
    return 0;
}

/* Turn a recording for the calibration on or off. */
static int rehearse(bool on) {
    if (on)
        return turn_on();
    if (sm_engine.running)
        stop_sources(sm_engine.pair_count);
    sm_engine.running = false;
    stop_workers(); /* they use what is about to change */
    return 0;
}

/* Free the data of the last recording, except of a recorder that begins again in the same place. */
static void forget_last(const sm_pair *pairs, uint32_t count) {
    stop_workers();
    sm_sampler_forget();
    for (uint32_t i = 0; i < sm_engine.pair_count; i++) {
        if (i >= count || sm_engine.pairs[i].recorder != pairs[i].recorder)
            sm_engine.pairs[i].recorder->end(true);
    }
}

static int start(const sm_pair *pairs, uint32_t count, const sm_settings *settings, bool calibrate, bool running,
                 int fd, const char *meta) {
    sm_output_close(&sm_engine.output); /* of the last recording; a calibration has none */
    forget_last(pairs, count);
    memcpy(sm_engine.pairs, pairs, count * sizeof *pairs);
    sm_engine.pair_count = 1; /* the cost of the first pair is measured without the others */
    sm_engine.settings = *settings;
    sm_engine.apart = settings->apart ? sm_skipped_threads_now() : (sm_skipped_threads){0, 0};
    if (!sm_clock_choose(&sm_engine.clock, settings->clock)) {
        PyErr_Format(PyExc_RuntimeError, "the clock %s cannot be used here: %s", settings->clock,
                     sm_engine.clock.reason);
        return -1;
    }
    sm_replace_chars(&sm_engine.meta, meta);
    sm_engine.forked = sm_engine.ahead = false;
    memset(&sm_engine.costs, 0, sizeof sm_engine.costs);
    if (calibrate && sm_engine.clock.kind != SM_CLOCK_SIMULATED && sm_engine_find_costs(rehearse) < 0)
        return -1;
    sm_replace_chars(&sm_engine.exit, "");
    if (open_output(fd) < 0)
        return -1;
    sm_engine.pair_count = count;
    sm_engine.from_here = !running;
    if (turn_on() < 0) {
        sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, NULL);
        if (sm_engine.settings.journal)
            sm_engine.pairs[0].recorder->end(false); /* before the writer is freed */
        sm_output_close(&sm_engine.output);
        return -1;
    }
    sm_engine_hold(NULL, true);
    sm_flush_start();
    sm_engine_hold(NULL, false);
    return 0;
}

int sm_engine_start(const sm_pair *pairs, uint32_t count, const sm_settings *settings, bool calibrate, bool running,
                    int fd, const char *meta) {
    assert(PyGILState_Check() && !sm_engine.running && meta != NULL);
    assert(count > 0 && count <= SM_MOST_PAIRS && pairs[0].recorder->thread_size <= SM_RECORDER_ROOM);
    assert(count == 1 || pairs[1].recorder->thread_size == 0);
    hold_codes(true);
    int result = start(pairs, count, settings, calibrate, running, fd, meta);
    if (result < 0)
        hold_codes(false);
    return result;
}

void sm_engine_stop(const char *exit) {
    if (!sm_engine.running)
        return;
    sm_fatal_signal_begin();
    const sm_recorder *recorder = sm_engine.pairs[0].recorder;
    if (sm_this_thread->session == sm_engine.session && recorder->thread_size > 0)
        recorder->hold(sm_this_thread, true); /* what follows is not the program's time */
    stop_workers();
    stop_sources(sm_engine.pair_count);
    if (sm_engine.settings.journal && sm_engine.output.writer != NULL && !sm_engine.forked)
        sm_writer_regain(sm_engine.output.writer); /* another file cannot make up for its end */
    sm_engine.end_ns = sm_moment_since(&sm_engine.began);
    sm_replace_chars(&sm_engine.exit, exit);
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session != sm_engine.session || thread->ended || thread->end_ns != 0)
            continue;
        sm_thread_take_cpu(thread);
        thread->end_ns = sm_engine.end_ns;
        thread->end_ticks = sm_clock_read(&sm_engine.clock);
        sm_thread_take_rest(thread);
    }
    SM_EACH_PAIR (pair)
        pair->recorder->end(false);
    sm_sampler_forget();
    sm_flush_end(true);
    sm_engine.running = false;
    hold_codes(false);
    sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, NULL);
}

void sm_engine_look_after(void) {
    assert(PyGILState_Check() && sm_engine.pair_count > 0);
    __atomic_store_n(&sm_engine.unattended, false, __ATOMIC_SEQ_CST);
    sm_engine_stir();
    if (sm_engine.forked)
        return;
    sm_exception kept = sm_exception_keep();
    int saved_errno = errno;
    sm_engine_hold(NULL, true);
    SM_EACH_PAIR (pair) {
        if (pair->source->poll != NULL)
            pair->source->poll();
    }
    sm_engine_hold(NULL, false);
    errno = saved_errno;
    sm_exception_restore(kept);
}

int sm_engine_after_fork(int fd, const char *meta) {
    assert(PyGILState_Check() && fd >= -2);
    sm_output_close(&sm_engine.output);
    if (!sm_engine.running)
        return 0;
    if (fd == -2) {
        stop_sources(sm_engine.pair_count);
        sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, NULL);
        sm_engine.running = sm_engine.forked = false;
        hold_codes(false);
        return 0;
    }
    sm_replace_chars(&sm_engine.meta, meta);
    if (open_output(fd) < 0)
        return -1;
    sm_engine.forked = sm_engine.ahead = false;
    sm_threads_forked();
    begin();
    SM_EACH_PAIR (pair) {
        if (pair->source->begin_again != NULL)
            pair->source->begin_again();
    }
    sm_engine.same_frames = true;
    (void)sm_engine_thread_here(false);
    sm_engine.same_frames = false;
    if (sm_engine.settings.journal)
        sm_engine_flush();
    sm_flush_start();
    return 0;
}
