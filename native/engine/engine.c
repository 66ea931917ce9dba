#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "clock/sampler.h"
#include "clock/waits.h"
#include "code/text.h"
#include "compat/exception.h"
#include "compat/forks.h"
#include "compat/runtime.h"
#include "engine/fatal_signals.h"
#include "engine/flush.h"
#include "engine/threads.h"
#include "engine/ticker.h"

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
    sm_waits_init();
    static const sm_fork_calls calls = {.child = child_forked};
    static const sm_fork_calls sampler = {.before = sm_sampler_before_fork,
                                          .parent = sm_sampler_parent_forked,
                                          .child = sm_sampler_child_forked,
                                          .over = sm_sampler_go_on};
    if (!sm_flush_init() || !sm_ticker_init() || !sm_sampler_init() || !sm_forks_register(SM_FORK_ENGINE, &calls) ||
        !sm_forks_register(SM_FORK_SAMPLER, &sampler)) {
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

/* A new recording begins: clock, counters, recorder. */
static void begin(void) {
    stop_workers();
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
    sm_replace_chars(&sm_engine.exit, "");
    sm_engine.began = sm_moment_now();
    sm_engine.start_ns = sm_engine.began.unix_ns;
    sm_engine.start_ticks = sm_clock_read(&sm_engine.clock);
}

/* The process dies of a signal, and nothing of it runs any more: what is kept goes into the file, with its end. */
static void end_by_signal(const char *name) {
    if (!sm_engine.running || sm_engine.forked)
        return;
    sm_engine_look_away();
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
    if (sm_engine.settings.journal)
        sm_engine_flush(); /* who is killed in the first moment leaves a trace that can be read */
    return 0;
}

int sm_engine_rehearse(bool on) {
    if (on)
        return turn_on();
    if (sm_engine.running)
        sm_engine.source->stop();
    sm_engine.running = false;
    stop_workers(); /* they look at what is about to be set */
    return 0;
}

/* What the last recording kept is given up where its recorder is not to begin anew in the same place. */
static void forget_last(const sm_recorder *recorder, const sm_recorder *alongside) {
    stop_workers();
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
    sm_engine.apart = settings->apart ? sm_skipped_threads_now() : (sm_skipped_threads){0, 0};
    if (!sm_clock_choose(&sm_engine.clock, settings->clock)) {
        PyErr_Format(PyExc_RuntimeError, "the clock %s cannot be used here: %s", settings->clock,
                     sm_engine.clock.reason);
        return -1;
    }
    sm_replace_chars(&sm_engine.meta, meta);
    sm_engine.forked = sm_engine.ahead = false;
    memset(&sm_engine.costs, 0, sizeof sm_engine.costs);
    if (calibrate && sm_engine.clock.kind != SM_CLOCK_SIMULATED && sm_engine_find_costs() < 0)
        return -1;
    sm_replace_chars(&sm_engine.exit, "");
    if (open_output(fd) < 0)
        return -1;
    if (alongside != NULL)
        sm_engine.alongside = *alongside;
    sm_engine.from_here = !running;
    if (turn_on() < 0) {
        sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, NULL);
        if (sm_engine.settings.journal)
            sm_engine.recorder->stop(); /* before the writer is gone */
        sm_output_close(&sm_engine.output);
        return -1;
    }
    sm_engine_look_away();
    sm_flush_start();
    sm_engine_look_again();
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

void sm_engine_stop(const char *exit) {
    if (!sm_engine.running)
        return;
    sm_fatal_signal_begin();
    if (sm_this_thread->session == sm_engine.session && !sm_engine.recorder->threadless)
        sm_engine.recorder->pause(sm_this_thread); /* what follows is no time of the program */
    stop_workers();
    stop_sources();
    if (sm_engine.settings.journal && sm_engine.output.writer != NULL && !sm_engine.forked)
        sm_writer_regain(sm_engine.output.writer); /* its end cannot be made up for in another file */
    sm_engine.end_ns = sm_moment_since(&sm_engine.began);
    sm_replace_chars(&sm_engine.exit, exit);
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
    sm_flush_end(true);
    sm_engine.running = false;
    hold_codes(false);
    sm_fatal_signal_want(SM_FATAL_SIGNAL_ENGINE, NULL);
}

void sm_engine_look_after(void) {
    assert(PyGILState_Check() && sm_engine.source != NULL);
    __atomic_store_n(&sm_engine.unattended, false, __ATOMIC_SEQ_CST);
    sm_engine_stir();
    if (sm_engine.forked)
        return; /* the child has not said yet how it goes on */
    sm_exception kept = sm_exception_keep();
    int saved_errno = errno;
    sm_engine_look_away();
    if (sm_engine.source->poll != NULL)
        sm_engine.source->poll();
    if (sm_engine.alongside.source != NULL && sm_engine.alongside.source->poll != NULL)
        sm_engine.alongside.source->poll();
    sm_engine_look_again();
    errno = saved_errno;
    sm_exception_restore(kept);
}

int sm_engine_after_fork(int fd, const char *meta) {
    assert(PyGILState_Check() && fd >= -2);
    sm_output_close(&sm_engine.output);
    if (!sm_engine.running)
        return 0;
    if (fd == -2) {
        stop_sources();
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
    if (sm_engine.source->begin_again != NULL)
        sm_engine.source->begin_again();
    if (sm_engine.alongside.source != NULL && sm_engine.alongside.source->begin_again != NULL)
        sm_engine.alongside.source->begin_again();
    sm_engine.same_frames = true;
    (void)sm_engine_thread_here(false);
    sm_engine.same_frames = false;
    if (sm_engine.settings.journal)
        sm_engine_flush();
    sm_flush_start();
    return 0;
}
