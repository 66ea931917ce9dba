/* The start of a recording of coverage, its file, forks and its end. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time.h"
#include "code/text.h"
#include "compat/runtime.h"
#include "engine/fatal_signals.h"
#include "engine/recording.h"
#include "filter/filter.h"
#include "recorder/coverage/coverage.h"
#include "recorder/coverage/store.h"

static struct {
    /* Changed with the GIL while no flush runs, or with the lock of the file. */
    char *meta, *host, *argv, *interpreter, *exit; /* owned */
    char *folder;
    sm_moment began;
    int64_t end_ns;
    uint64_t flush_ns;
    uint32_t session;
    uint64_t interpreters_gone, interpreters;
} recording;

static sm_about about(void) {
    return (sm_about){.meta = recording.meta,
                      .host = recording.host,
                      .argv = recording.argv,
                      .interpreter = recording.interpreter,
                      .source = sm_cover.source->name,
                      .exit = recording.exit,
                      .start_ns = recording.began.unix_ns,
                      .end_ns = sm_cover.running ? sm_moment_since(&recording.began) : recording.end_ns};
}

/* Write the facts of the process. last: it ends, or this is an image. */
static void write_rest(sm_output *output, bool last) {
    sm_about of = about();
    sm_output_process(output, &of);
    output->losses = 0;
    sm_output_loss(output, "hook-lost", sm_cover.hook_lost, -1,
                   "the program or another tool took the hook away; what came after is missing");
    if (sm_cover.running)
        recording.interpreters = sm_interpreters_made() - recording.interpreters_gone;
    sm_output_interpreters(output, recording.interpreters);
    sm_output_loss(output, "out-of-memory", sm_cover.lost_memory + output->lost + sm_writer_lost(output->writer), -1,
                   "functions, rows or contexts dropped for want of memory");
    sm_output_loss(output, "odd-lines", sm_cover.odd_lines, -1,
                   "line events with numbers that the code's own line table does not have, or has too far apart");
    sm_output_loss(output, "odd-branches", sm_cover.odd_branches, -1,
                   "branch events at places where the code has no branch that is known");
    sm_output_unended(output, !last);
}

/* What the flush sends next. Guard: the lock of the file. */
static struct {
    enum { CHANGES, OLD_FILE, NEW_FILE } now;
    uint32_t contexts;
} sending;

static bool build_new_file(void) {
    if (!sm_cover_anew_gather())
        return false;
    write_rest(&sm_cover_store.fresh, false);
    sm_writer_build(sm_cover_store.fresh.writer);
    sending.now = NEW_FILE;
    return true;
}

/* Turn news into bytes, with the lock. Return true if there are some to send. */
static bool gather_changes(void) {
    sm_output *output = &sm_cover_store.output;
    sending.now = CHANGES;
    if (sm_writer_is_stuck(output->writer)) {
        sm_cover_store.behind = true;
        return true; /* the disk is full, so write old rows first */
    }
    sm_cover_write_counts();
    sm_cover_end_context();
    if (!sm_cover_store.changed && !sm_cover_store.behind)
        return false;
    sm_cover_store.behind = false;
    sm_about of = about();
    if (sm_cover_anew_begin(&of)) {
        sending.now = OLD_FILE;
        sending.contexts = sm_cover_store.context_rows;
        if (sending.contexts == 0) /* nothing is read of it, so it may be cut or gone */
            return build_new_file();
    }
    write_rest(output, false);
    sm_writer_build(output->writer);
    return true;
}

/* Send the bytes, with the file's lock alone, so that events continue. */
static void send_changes(void) {
    sm_cover_store_state *store = &sm_cover_store;
    sm_writer_send(sending.now == NEW_FILE ? store->fresh.writer : store->output.writer);
    if (sending.now == OLD_FILE)
        sm_cover_anew_read(sending.contexts);
}

/* Return true if there is more to send. */
static bool go_on(void) {
    sm_output *output = &sm_cover_store.output;
    if (sending.now == OLD_FILE)
        return build_new_file();
    if (sending.now == CHANGES) {
        sm_cover_store.behind = sm_cover_store.behind || sm_writer_is_stuck(output->writer);
        return false;
    }
    bool done = sm_cover_anew_end();
    sm_writer_hold(output->writer);
    if (done)
        return false;
    sending.now = CHANGES;
    write_rest(output, false);
    sm_writer_build(output->writer);
    return true;
}

static const sm_cover_steps steps = {gather_changes, send_changes, go_on};

static bool write_last_anew(void) {
    sm_cover_store_state *store = &sm_cover_store;
    sm_about of = about();
    if (!sm_cover_anew_begin(&of))
        return false;
    if (store->context_rows > 0) {
        sm_writer_flush(store->output.writer);
        sm_cover_anew_read(store->context_rows);
    }
    if (!sm_cover_anew_gather())
        return false;
    sm_output_sources(&store->fresh, recording.folder);
    write_rest(&store->fresh, true);
    sm_writer_finish(store->fresh.writer);
    bool done = sm_cover_anew_end();
    sm_writer_hold(store->output.writer);
    return done;
}

/* Write the end. The GIL keeps all events waiting, so the lock is not released meanwhile. */
static void write_last(sm_output *output) {
    sm_cover_write_counts();
    sm_cover_end_context();
    if (write_last_anew())
        return;
    sm_output_sources(output, recording.folder);
    write_rest(output, true);
    sm_writer_finish(output->writer);
}

/* Write the end when a signal kills the process, in which nothing else runs any more. */
static void end_by_signal(const char *name) {
    sm_output *output = &sm_cover_store.output;
    if (!sm_cover.running || sm_cover.forked || output->writer == NULL)
        return;
    sm_cover_lock_file();
    sm_replace_chars(&recording.exit, name);
    write_last(output);
    sm_cover_unlock_file();
}

static int open_output(int fd) {
    sm_cover_store_state *store = &sm_cover_store;
    sm_output_close(&store->output);
    sm_cover_forget_contexts();
    store->rows[SM_COVER_LINES] = store->rows[SM_COVER_STEPS] = 0;
    store->branch_rows = store->context_rows = store->hit_rows = 0;
    store->changed = store->behind = false;
    sm_about of = about();
    if (!sm_output_open(&store->output, sm_writer_new(fd), false, &of)) {
        PyErr_NoMemory();
        return -1;
    }
    sm_fatal_signal_want(SM_FATAL_SIGNAL_COVERAGE, fd >= 0 ? end_by_signal : NULL);
    sm_writer_hold(store->output.writer);
    sm_cover_flush_begin(fd >= 0 ? recording.flush_ns : 0, sm_cover.counts, &steps);
    return 0;
}

static void take_settings(const sm_cover_settings *settings) {
    sm_cover.branch = settings->branch;
    sm_cover.counts = settings->counts;
    sm_cover.tests = settings->tests;
    sm_cover.in_contexts = false;
    sm_cover.apart = settings->apart ? sm_skipped_threads_now() : (sm_skipped_threads){0, 0};
    sm_cover.stamp = SM_COVER_FIRST_STAMP;
    sm_cover.test = NULL;
    sm_cover.lost_memory = sm_cover.hook_lost = sm_cover.odd_lines = sm_cover.odd_branches = 0;
    sm_cover.unwanted = (void *)((uintptr_t)++recording.session << 1 | 1);
    sm_filter *before = sm_cover_store.where;
    sm_cover_store.where = sm_filter_hold(settings->where);
    sm_filter_release(before);
    sm_replace_chars(&sm_cover_store.hide, settings->hide);
    sm_replace_chars(&recording.meta, settings->about.meta);
    sm_replace_chars(&recording.host, settings->about.host);
    sm_replace_chars(&recording.argv, settings->about.argv);
    sm_replace_chars(&recording.interpreter, settings->about.interpreter);
    sm_replace_chars(&recording.exit, "");
    char folder[4096];
    sm_replace_chars(&recording.folder, getcwd(folder, sizeof folder));
    recording.began = sm_moment_now();
    recording.interpreters_gone = sm_interpreters_gone();
    recording.end_ns = 0;
    recording.flush_ns = settings->flush_ns;
    sm_free(sm_cover_store.context_name);
    sm_free(sm_cover_store.given_name);
    sm_cover_store.context_name = sm_cover_store.given_name = NULL;
    sm_cover_store.rearmed = 0;
}

static void release_codes(void) {
    sm_cover_release_codes();
    sm_codes_release();
}

int sm_cover_start(const sm_cover_source *source, const sm_cover_settings *settings) {
    assert(PyGILState_Check() && !sm_cover.running && source != NULL);
    if (sm_engine_init() < 0)
        return -1;
    if (!sm_cover_flush_init()) {
        PyErr_NoMemory();
        return -1;
    }
    sm_codes_on_death(SM_CODE_COVERAGE, sm_cover_code_died);
    sm_cover_forget();
    sm_cover.source = source;
    sm_cover.forked = false;
    take_settings(settings);
    if (open_output(settings->fd) < 0)
        return -1;
    sm_codes_hold();
    sm_cover.running = true;
    if (source->start() < 0) {
        sm_cover.running = false;
        sm_fatal_signal_want(SM_FATAL_SIGNAL_COVERAGE, NULL);
        sm_cover_flush_end();
        release_codes();
        sm_output_close(&sm_cover_store.output);
        return -1;
    }
    if (sm_cover.tests && !sm_cover.in_contexts) {
        sm_cover.in_contexts = true;
        source->contexts();
    }
    return 0;
}

static void look_after_hook(void) {
    if (sm_cover.hook_lost == 0 && !sm_cover.source->holds())
        sm_cover.hook_lost = 1;
}

void sm_cover_stop(const char *exit) {
    if (!sm_cover.running)
        return;
    look_after_hook();
    sm_fatal_signal_begin();
    sm_cover_flush_end();
    sm_cover.source->stop();
    recording.interpreters = sm_interpreters_made() - recording.interpreters_gone;
    sm_cover.running = false;
    sm_cover.test = NULL;
    recording.end_ns = sm_moment_since(&recording.began);
    sm_replace_chars(&recording.exit, exit);
    sm_output *output = &sm_cover_store.output;
    if (!sm_cover.forked && output->writer != NULL) {
        sm_cover_lock_file();
        write_last(output);
        sm_cover_unlock_file();
    }
    release_codes();
    sm_cover.forked = false;
    sm_fatal_signal_want(SM_FATAL_SIGNAL_COVERAGE, NULL);
}

void sm_cover_flush(void) {
    if (!sm_cover.running || sm_cover.forked || sm_cover_store.output.writer == NULL)
        return;
    look_after_hook();
    sm_cover_flush_now();
}

void sm_cover_ahead(const char *exit) {
    sm_output *output = &sm_cover_store.output;
    if (!sm_cover.running || sm_cover.forked || output->writer == NULL)
        return;
    sm_cover_lock_file();
    sm_replace_chars(&recording.exit, exit);
    sm_cover_store.changed = true;
    if (*exit != '\0') {
        write_last(output);
    } else {
        for (bool some = gather_changes(); some; some = go_on())
            send_changes();
    }
    sm_cover_store.changed = false;
    sm_cover_unlock_file();
}

bool sm_cover_move(int fd) {
    if (!sm_cover.running || sm_cover.forked || sm_cover_store.output.writer == NULL)
        return false;
    sm_cover_lock_file();
    bool moved = sm_writer_move(sm_cover_store.output.writer, fd) != 0;
    sm_cover_unlock_file();
    return moved;
}

/* Return an image. One of a recording into a file is written again, without the contexts that were flushed. */
PyObject *sm_cover_snapshot(void) {
    assert(PyGILState_Check());
    sm_cover_store_state *store = &sm_cover_store;
    if (store->output.writer == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "no coverage has been recorded yet");
        return NULL;
    }
    size_t size;
    PyObject *image = NULL;
    sm_output copy = {0}, *output = &store->output;
    sm_cover_lock_file();
    sm_cover_write_counts();
    sm_cover_end_context();
    if (sm_writer_bytes(output->writer, &size) == NULL) {
        sm_about of = about();
        output = sm_output_open(&copy, sm_writer_new(-1), true, &of) ? &copy : NULL;
        if (output != NULL)
            sm_cover_write_all(output);
    }
    if (output != NULL) {
        sm_output_sources(output, recording.folder);
        write_rest(output, true);
        if (output == &copy)
            sm_output_loss(output, "contexts-dropped", store->context_rows, -1,
                           "contexts that are in the first file only; this is a copy made without it");
        sm_writer_finish(output->writer);
    }
    sm_cover_unlock_file();
    if (output != NULL && (sm_writer_error(output->writer) == 0 || output != &copy)) {
        const uint8_t *bytes = sm_writer_bytes(output->writer, &size);
        image = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    } else {
        PyErr_NoMemory();
    }
    sm_output_close(&copy);
    return image;
}

static void forget_hits(sm_cover_function *of) {
    for (uint32_t i = 0; i < of->size; i++) {
        of->lines[i].row = 0;
        of->lines[i].stamp = of->lines[i].stamp != SM_COVER_NO_LINE ? SM_COVER_FRESH : SM_COVER_NO_LINE;
        if (of->counts != NULL)
            of->counts[i] = of->saved[i] = 0;
    }
    for (uint32_t i = 0; i < of->steps_count; i++) {
        sm_cover_step *step = &of->steps[i];
        *step = (sm_cover_step){.from = step->from, .to = step->to, .place.stamp = SM_COVER_FRESH};
    }
    for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++) {
        sm_cover_jump *jump = &of->jumps[i];
        *jump = (sm_cover_jump){.step = {jump->step[0], jump->step[1]}};
    }
}

int sm_cover_after_fork(int fd, const char *meta) {
    assert(PyGILState_Check() && fd >= -2);
    sm_cover_store_state *store = &sm_cover_store;
    if (!sm_cover.running)
        return 0;
    if (fd == -2) {
        sm_fatal_signal_want(SM_FATAL_SIGNAL_COVERAGE, NULL);
        sm_cover_flush_end();
        sm_cover.source->stop();
        sm_cover.running = sm_cover.forked = false;
        release_codes();
        sm_output_close(&store->output);
        return 0;
    }
    sm_replace_chars(&recording.meta, meta);
    recording.began = sm_moment_now();
    recording.interpreters_gone = sm_interpreters_gone();
    sm_cover.lost_memory = sm_cover.hook_lost = sm_cover.odd_lines = sm_cover.odd_branches = 0;
    for (sm_cover_function *of = store->functions; of != NULL; of = of->next)
        forget_hits(of);
    if (open_output(fd) < 0)
        return -1;
    for (sm_cover_function *of = store->functions; of != NULL; of = of->next) {
        for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++)
            sm_cover_put_jump(of, i);
    }
    sm_cover_new_stamp();
    sm_cover.forked = false;
    sm_cover_rearm();
    return 0;
}

void sm_cover_identity(uint64_t identity[2]) {
    sm_cover_lock(); /* it guards the exchange of files */
    if (sm_cover_store.output.writer != NULL)
        sm_writer_identity(sm_cover_store.output.writer, identity);
    sm_cover_unlock();
}

sm_cover_facts sm_cover_status(void) {
    const sm_cover_store_state *store = &sm_cover_store;
    sm_cover_facts facts = {.functions = store->functions_count,
                            .lines = store->rows[SM_COVER_LINES],
                            .steps = store->rows[SM_COVER_STEPS],
                            .branches = store->branch_rows,
                            .contexts = store->context_rows,
                            .rearmed = store->rearmed};
    for (const sm_cover_code *record = sm_cover.codes; record != NULL; record = record->next)
        facts.codes++;
    facts.write_error = store->output.writer != NULL ? sm_writer_error(store->output.writer) : 0;
    return facts;
}

uint64_t sm_cover_executed(void) {
    uint64_t sum = 0;
    for (const sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next)
        for (uint32_t i = 0; of->counts != NULL && i < of->size; i++)
            sum += of->counts[i];
    return sum;
}
