#include "engine/recording.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "clock/waits.h"
#include "code/text.h"
#include "compat/core_lock.h"
#include "compat/exception.h"
#include "compat/runtime.h"
#include "engine/fatal_signals.h"
#include "engine/flush.h"
#include "engine/threads.h"
#include "engine/ticker.h"

/* Keep code objects identified by their addresses during a recording. */
static void hold_codes(sm_recording *recording, bool on) {
    if (on == recording->holds_codes)
        return;
    recording->holds_codes = on;
    if (on)
        sm_codes_hold();
    else
        sm_codes_release();
}

int sm_engine_init(void) {
    static bool done = false;
    SM_CORE_GUARD;
    if (done)
        return 0;
    sm_engine_lock_renew();
    if (sm_functions_init() < 0 || sm_threads_init() < 0)
        return -1;
    sm_waits_init();
    if (!sm_flush_init() || !sm_ticker_init() || !sm_sampler_init())
        return sm_no_memory();
    done = true;
    return 0;
}

static void stop_workers(sm_recording *recording) {
    sm_flush_stop(recording);
    if (recording != &sm_main)
        return;
    sm_ticker_stop();
    sm_sampler_stop();
}

static void start_recorders(sm_recording *recording) {
    SM_EACH_PAIR (recording, pair)
        pair->recorder->start(); /* frees the last tree, which the threads own */
}

/* Begin with the threads and the clock. */
static void begin_main(void) {
    sm_sampler_forget();
    start_recorders(&sm_main);
    if (sm_engine_keeps_time())
        sm_sampler_start(sm_main.pairs[0].recorder->clock, &sm_engine.clock, sm_main.settings.rate);
    sm_threads_forget();
    sm_groups_forget();
    sm_engine.session++;
    sm_engine.repaired = sm_engine.late_threads = sm_engine.sites_off = sm_engine.source_changes = 0;
    sm_engine.cython_unseen = false;
}

static void begin(sm_recording *recording) {
    stop_workers(recording);
    recording->lost_memory = recording->hook_lost = 0;
    if (recording == &sm_main)
        begin_main();
    else
        start_recorders(recording);
    recording->interpreters_gone = sm_interpreters_gone();
    recording->interpreters_recorded = 0;
    recording->end_ns = 0;
    sm_replace_chars(&recording->exit, "");
    recording->began = sm_moment_now();
    sm_clock_error_begin(&recording->time_bound, &recording->began);
    sm_engine.start_ticks = recording == &sm_main ? sm_clock_read(&sm_engine.clock) : sm_engine.start_ticks;
}

/* Write the ends when a signal kills the process, in which nothing else runs any more. */
static void end_by_signal(const char *name) {
    sm_core_enter(); /* until the process has died */
    for (int i = SM_RECORDINGS - 1; i >= 0; i--) {
        sm_recording *recording = sm_recordings[i];
        if (!recording->running || recording->forked)
            continue;
        sm_engine_hold(NULL, true);
        stop_workers(recording);
        sm_replace_chars(&recording->exit, name);
        sm_flush_end(recording, false);
    }
}

/* Have a signal end this recording, too, or no longer. */
static void want_end_by_signal(sm_recording *recording, bool wanted) {
    recording->ends_by_signal = wanted;
    wanted = sm_main.ends_by_signal || sm_beside.ends_by_signal;
    sm_fatal_signal_want(SM_FATAL_SIGNAL_RECORDINGS, wanted ? end_by_signal : NULL);
}

static int open_output(sm_recording *recording, int fd) {
    sm_output_close(&recording->output);
    want_end_by_signal(recording, fd >= 0);
    if (fd < 0)
        return 0;
    sm_writer *writer = sm_writer_new(fd);
    if (writer == NULL || !sm_engine_open(recording, &recording->output, writer, false))
        return sm_no_memory();
    sm_writer_hold(writer);
    return 0;
}

/* Stop the first `count` sources, the last one first. Keep the exception, since a stop may run Python code. */
static void stop_sources(const sm_recording *recording, uint32_t count) {
    SM_EXCEPTION_GUARD;
    while (count > 0)
        recording->pairs[--count].source->stop();
}

static int turn_on(sm_recording *recording) {
    begin(recording);
    recording->running = true;
    for (uint32_t i = 0; i < recording->pair_count; i++) {
        if (recording->pairs[i].source->start(&recording->settings) < 0) {
            stop_sources(recording, i);
            recording->running = false;
            return -1;
        }
        if (i == 0 && recording == &sm_main)
            (void)sm_engine_thread_here(false);
    }
    sm_engine.from_here = false;
    if (recording->settings.journal)
        sm_engine_flush(recording, 0); /* a program killed in the first moment leaves a readable trace */
    return 0;
}

/* Turn a recording for the calibration on or off. */
static int rehearse(bool on) {
    if (on)
        return turn_on(&sm_main);
    if (sm_main.running)
        stop_sources(&sm_main, sm_main.pair_count);
    sm_main.running = false;
    stop_workers(&sm_main); /* they use what is about to change */
    return 0;
}

/* Free the data of the last recording, except of a recorder that begins again in the same place. */
static void forget_last(sm_recording *recording, const sm_pair *pairs, uint32_t count) {
    stop_workers(recording);
    if (recording == &sm_main)
        sm_sampler_forget();
    for (uint32_t i = 0; i < recording->pair_count; i++) {
        if (i >= count || recording->pairs[i].recorder != pairs[i].recorder)
            recording->pairs[i].recorder->end(true);
    }
}

/* Choose the clock, and find the costs of the first pair without the others. */
static int prepare_main(bool calibrate) {
    const char *clock = sm_main.settings.clock;
    if (!sm_clock_choose(&sm_engine.clock, clock))
        return SM_FAIL(PyExc_RuntimeError, "the clock %s cannot be used here: %s", clock, sm_engine.clock.reason);
    memset(&sm_engine.costs, 0, sizeof sm_engine.costs);
    if (calibrate && sm_engine.clock.kind != SM_CLOCK_SIMULATED)
        return sm_engine_find_costs(rehearse);
    return 0;
}

static int start(sm_recording *recording, uint32_t count, bool calibrate, bool running, int fd) {
    if (recording == &sm_main && prepare_main(calibrate) < 0)
        return -1;
    sm_replace_chars(&recording->exit, "");
    if (open_output(recording, fd) < 0)
        return -1;
    recording->pair_count = count;
    sm_engine.from_here = recording == &sm_main && !running;
    if (turn_on(recording) < 0) {
        want_end_by_signal(recording, false);
        SM_EACH_PAIR (recording, pair)
            pair->recorder->end(false); /* before the writer is freed, to which a journal leads */
        sm_output_close(&recording->output);
        return -1;
    }
    sm_engine_hold(NULL, true);
    sm_flush_start(recording);
    sm_engine_hold(NULL, false);
    return 0;
}

int sm_engine_start(sm_recording *recording, const sm_pair *pairs, uint32_t count, const sm_settings *settings,
                    bool calibrate, bool running, int fd, const char *meta) {
    SM_CORE_GUARD;
    assert(PyGILState_Check() && !recording->running && meta != NULL);
    assert(count > 0 && count <= SM_MOST_PAIRS && !pairs[0].recorder->beside == (recording == &sm_main));
    assert(count == 1 || pairs[1].recorder->threads == NULL);
    hold_codes(recording, true);
    sm_output_close(&recording->output); /* of the last recording; a calibration has none */
    forget_last(recording, pairs, count);
    memcpy(recording->pairs, pairs, count * sizeof *pairs);
    recording->pair_count = 1;
    recording->settings = *settings;
    recording->apart = settings->apart ? sm_skipped_threads_now() : (sm_skipped_threads){0, 0};
    recording->forked = recording->ahead = false;
    sm_replace_chars(&recording->meta, meta);
    char folder[4096];
    sm_replace_chars(&recording->folder, getcwd(folder, sizeof folder));
    int result = start(recording, count, calibrate, running, fd);
    if (result < 0)
        hold_codes(recording, false);
    return result;
}

/* End the times of the threads that still run. */
static void end_threads(void) {
    SM_EACH_THREAD (thread) {
        if (thread->ended || thread->end_ns != 0)
            continue;
        sm_thread_take_cpu(thread);
        thread->end_ns = sm_main.end_ns;
        thread->end_ticks = sm_clock_read(&sm_engine.clock);
        sm_thread_take_rest(thread);
    }
}

void sm_engine_stop(sm_recording *recording, const char *exit) {
    SM_CORE_GUARD;
    if (!recording->running || recording->stopping)
        return;
    recording->stopping = true; /* what follows may let go of the lock */
    bool main = recording == &sm_main;
    sm_fatal_signal_begin();
    if (main && sm_this_thread->session == sm_engine.session && recording->pairs[0].recorder->threads != NULL)
        recording->pairs[0].recorder->hold(sm_this_thread, true); /* what follows is not the program's time */
    stop_workers(recording);
    stop_sources(recording, recording->pair_count);
    sm_core_drain();
    if (recording->settings.journal && recording->output.writer != NULL && !recording->forked)
        sm_writer_regain(recording->output.writer); /* another file cannot make up for its end */
    recording->end_ns = sm_moment_since(&recording->began);
    sm_clock_error_look(&recording->time_bound, &recording->began);
    sm_replace_chars(&recording->exit, exit);
    if (main)
        end_threads();
    SM_EACH_PAIR (recording, pair)
        pair->recorder->end(false);
    if (main)
        sm_sampler_forget();
    sm_flush_end(recording, true);
    sm_engine_count_interpreters(recording); /* also for an image, where there is no file */
    recording->running = recording->forked = recording->stopping = false;
    hold_codes(recording, false);
    want_end_by_signal(recording, false);
}

void sm_engine_poll(const sm_recording *recording) {
    SM_CORE_GUARD;
    if (!recording->running || recording->forked)
        return;
    SM_EXCEPTION_GUARD;
    int saved_errno = errno;
    sm_engine_hold(NULL, true);
    SM_EACH_PAIR (recording, pair) {
        if (pair->source->poll != NULL)
            pair->source->poll();
    }
    sm_engine_hold(NULL, false);
    errno = saved_errno;
}

void sm_engine_look_after(void) {
    assert(PyGILState_Check() && sm_main.pair_count > 0);
    __atomic_store_n(&sm_engine.unattended, false, __ATOMIC_SEQ_CST);
    sm_engine_stir(&sm_main);
    sm_engine_poll(&sm_main);
}

int sm_engine_after_fork(sm_recording *recording, int fd, const char *meta) {
    SM_CORE_GUARD;
    assert(PyGILState_Check() && fd >= -2);
    sm_output_close(&recording->output);
    if (!recording->running)
        return 0;
    if (recording == &sm_main)
        sm_threads_forked();
    if (fd == -2) {
        sm_engine_stop(recording, "");
        return 0;
    }
    sm_replace_chars(&recording->meta, meta);
    if (open_output(recording, fd) < 0)
        return -1;
    recording->forked = recording->ahead = false;
    begin(recording);
    SM_EACH_PAIR (recording, pair) {
        if (pair->source->begin_again != NULL)
            pair->source->begin_again();
    }
    if (recording == &sm_main) {
        sm_engine.same_frames = true;
        (void)sm_engine_thread_here(false);
        sm_engine.same_frames = false;
    }
    if (recording->settings.journal)
        sm_engine_flush(recording, 0);
    sm_flush_start(recording);
    return 0;
}
