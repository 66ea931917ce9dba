/* Write the recordings' files by the *flush worker*, so that a killed process loses at most an interval. A process is
 * most often killed after a long silence. The worker needs no GIL and touches no Python object.
 *
 * When: Once per interval the worker checks whether the program has run since the last write. Either an event came,
 * since each thread's next event takes its slow path, which notes it. Or the process used CPU time that is not of
 * seismo's workers, as one long call in C does. Or a recorder has counted what no event notes. If a write takes more
 * than a tenth of the interval, the next one comes later. Forks stop the worker, but do not delay the next write.
 *
 * What: Counters are read while the program runs, and a row that changed since is written again with the next save. The
 * engine's lock guards what moves and lists that grow. What needs the interpreter is left to saves with the GIL.
 *
 * Locks: `disk` is held to write or exchange a file, and comes before the engine's lock. Under the latter rows become
 * bytes, which are written without it. So no thread of the program waits for the disk, unless it requests a flush. */
#include "engine/flush.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "base/worker.h"
#include "code/text.h"
#include "compat/core_lock.h"
#include "compat/forks.h"

#define FIRST_NS 50000000 /* until the first write; then pauses double */
#define SHARE 10
#define LEAST_NS 1000000 /* of CPU without an event; a worker may use less on its way to sleep */

/* Guard of the files: held to write or exchange one. */
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

static bool has_file(const sm_recording *recording) {
    sm_engine_lock(); /* the worker may exchange it */
    bool has = recording->running && !recording->forked && recording->output.writer != NULL;
    sm_engine_unlock();
    return has;
}

/* Make the next event note that it came. The caller holds `disk`, as for all functions up to write_now(). */
static void rest(sm_recording *recording) {
    __atomic_store_n(&recording->at_rest, true, __ATOMIC_SEQ_CST);
    if (recording == &sm_main)
        __atomic_store_n(&sm_engine.unattended, true, __ATOMIC_SEQ_CST);
    SM_EACH_PAIR (recording, pair) {
        if (pair->recorder->wake == NULL)
            continue;
        if (pair->recorder->threads == NULL) {
            pair->recorder->wake(NULL);
            continue;
        }
        sm_sampler_lock(); /* as who moves what the next event looks at */
        SM_EACH_THREAD (thread) {
            if (!thread->ended)
                pair->recorder->wake(thread);
        }
        sm_sampler_unlock();
    }
}

static void save(sm_recording *recording, sm_output *output, bool gil, bool last) {
    output->gil = gil;
    if (output->since == 0) /* otherwise the file still lacks something */
        rest(recording);
    sm_engine_save(recording, output, last);
}

static void send(sm_output *output, bool last) {
    if (last)
        sm_writer_finish(output->writer);
    else
        (void)sm_writer_catch_up(output->writer);
}

/* Copy what only the old file has and the memory has not. */
static bool carry(const sm_recording *recording, sm_output *fresh) {
    bool done = true;
    SM_EACH_PAIR (recording, pair)
        done = done && (pair->recorder->carry == NULL || pair->recorder->carry(fresh, &recording->output));
    return done;
}

/* Write everything, and a journal's copy, into a new file that replaces the old one. Return false if the old file
 * stays. */
static bool write_anew(sm_recording *recording, sm_writer *writer, bool gil, bool last) {
    sm_output fresh, *output = &recording->output;
    if (writer == NULL || !sm_engine_open(recording, &fresh, writer, false))
        return false;
    sm_writer_hold(writer);
    if (!carry(recording, &fresh)) {
        sm_output_close(&fresh);
        return false;
    }
    sm_engine_lock();
    fresh.anew = true;
    save(recording, &fresh, gil, last);
    fresh.anew = false;
    sm_engine_unlock();
    if (recording->settings.journal) {
        (void)sm_writer_catch_up(fresh.writer); /* the rows that it names come first */
        fresh.lost += sm_writer_copy_journal(fresh.writer, output->writer) != 0;
    }
    send(&fresh, last);
    sm_engine_lock();
    bool done = sm_output_take_place(&fresh, output);
    output->anew = !done; /* otherwise this file lacks what the recorders took for written */
    sm_engine_unlock();
    return done;
}

static void write_rows(sm_recording *recording, bool gil, bool last) {
    sm_output *output = &recording->output;
    sm_engine_lock();
    uint64_t lost = sm_output_lost(output);
    save(recording, output, gil, last);
    output->anew = sm_output_lost(output) != lost; /* the recorders took for written what was not */
    sm_engine_unlock();
    send(output, last);
}

static void write_changes(sm_recording *recording, bool gil, bool last) {
    bool carries = recording->pairs[0].recorder->carry != NULL;
    sm_writer *fresh = recording->settings.journal ? NULL : sm_output_renew(&recording->output, !carries);
    if (fresh != NULL && carries)
        write_rows(recording, gil, false); /* what is carried is in the old file */
    if (!write_anew(recording, fresh, gil, last))
        write_rows(recording, gil, last);
}

static void settle(const sm_recording *recording, bool whole) {
    SM_EACH_PAIR (recording, pair) {
        if (pair->recorder->settle != NULL)
            pair->recorder->settle(whole);
    }
}

/* Write changes. With a full disk, write old bytes before new ones. */
static void write_now(sm_recording *recording, bool gil) {
    sm_writer *writer = recording->output.writer;
    sm_clock_error_look(&recording->time_bound, &recording->began);
    if (!sm_writer_is_stuck(writer) || sm_writer_catch_up(writer) == 0)
        write_changes(recording, gil, false);
}

void sm_engine_flush(sm_recording *recording, uint32_t since) {
    SM_CORE_GUARD;
    if (!has_file(recording) || recording->ahead)
        return;
    settle(recording, false);
    pthread_mutex_lock(&disk);
    recording->output.since = since;
    write_now(recording, true);
    recording->output.since = 0;
    pthread_mutex_unlock(&disk);
}

void sm_flush_end(sm_recording *recording, bool over) {
    SM_CORE_GUARD;
    if (!has_file(recording))
        return;
    settle(recording, false);
    pthread_mutex_lock(&disk);
    sm_writer *writer = recording->output.writer;
    bool outgrown = over && recording->settings.journal && sm_writer_outgrown(writer);
    if (!outgrown || !write_anew(recording, sm_writer_renew(writer), true, true))
        write_changes(recording, true, true);
    pthread_mutex_unlock(&disk);
}

static sm_thread *thread_here(void) {
    return sm_main.running && sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
}

void sm_engine_ahead(sm_recording *recording, const char *exit) {
    SM_CORE_GUARD;
    if (!has_file(recording))
        return;
    sm_thread *thread = thread_here();
    sm_engine_hold(thread, true);
    pthread_mutex_lock(&disk);
    sm_engine_lock();
    sm_replace_chars(&recording->exit, exit);
    recording->ahead = *exit != '\0';
    sm_engine_unlock();
    pthread_mutex_unlock(&disk);
    if (*exit == '\0') {
        sm_engine_flush(recording, 0);
    } else {
        if (recording->settings.journal) /* its file alone has it, so another one cannot make up for its end */
            sm_writer_regain(recording->output.writer);
        sm_flush_end(recording, false);
    }
    sm_engine_hold(thread, false);
}

bool sm_engine_move(sm_recording *recording, int fd) {
    SM_CORE_GUARD;
    if (!has_file(recording))
        return false;
    sm_thread *thread = thread_here();
    sm_engine_hold(thread, true);
    pthread_mutex_lock(&disk);
    bool moved = sm_writer_move(recording->output.writer, fd) != 0;
    pthread_mutex_unlock(&disk);
    sm_engine_hold(thread, false);
    return moved;
}

PyObject *sm_engine_snapshot(sm_recording *recording) {
    SM_CORE_GUARD;
    assert(PyGILState_Check());
    if (recording->pair_count == 0)
        return PyErr_Format(PyExc_RuntimeError, "nothing has been recorded yet");
    sm_thread *thread = thread_here();
    sm_engine_hold(thread, true);
    settle(recording, true);
    sm_output output;
    sm_engine_lock();
    bool open = sm_engine_open(recording, &output, sm_writer_new(-1), true);
    if (open) {
        output.gil = true;
        sm_engine_save(recording, &output, true);
    }
    sm_engine_unlock();
    PyObject *image = NULL;
    if (open) {
        size_t size;
        sm_writer_finish(output.writer);
        const uint8_t *bytes = sm_writer_bytes(output.writer, &size);
        if (sm_writer_error(output.writer) == 0)
            image = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
    }
    if (image == NULL)
        PyErr_NoMemory();
    sm_output_close(&output);
    sm_engine_hold(thread, false);
    return image;
}

static int64_t program_cpu_ns(void) {
    return sm_time_ns(CLOCK_PROCESS_CPUTIME_ID) - (int64_t)sm_workers_cpu_ns();
}

/* Return true if the program has run since the last write. */
static bool has_run(sm_recording *recording) {
    int64_t used = program_cpu_ns();
    bool has = used - recording->flush.cpu_ns >= LEAST_NS || !__atomic_load_n(&recording->at_rest, __ATOMIC_RELAXED);
    SM_EACH_PAIR (recording, pair)
        has = has || (pair->recorder->has_news != NULL && pair->recorder->has_news());
    if (has)
        recording->flush.cpu_ns = used;
    return has;
}

static bool is_wanted(const sm_recording *recording) {
    return __atomic_load_n(&recording->flush.wanted, __ATOMIC_ACQUIRE);
}

static bool any_is_wanted(void) {
    return is_wanted(&sm_main) || is_wanted(&sm_beside);
}

/* Write a recording if it is time. Return when to look again. */
static uint64_t look_at(sm_recording *recording) {
    uint64_t began = sm_monotonic_ns();
    if (!is_wanted(recording))
        return UINT64_MAX;
    if (began < recording->flush.next_ns)
        return recording->flush.next_ns;
    if (!recording->ahead && (has_run(recording) || sm_writer_is_stuck(recording->output.writer)))
        write_now(recording, false);
    uint64_t took = sm_monotonic_ns() - began, pause = 2 * recording->flush.pause_ns;
    pause = pause < recording->settings.flush_ns ? pause : recording->settings.flush_ns;
    recording->flush.pause_ns = pause;
    recording->flush.next_ns = began + (took * SHARE > pause ? took * SHARE : pause);
    return recording->flush.next_ns;
}

static void work(sm_worker *self, uintptr_t run) {
    while (sm_worker_goes_on(self, run)) {
        uint64_t next = UINT64_MAX;
        for (int i = 0; i < SM_RECORDINGS; i++) {
            pthread_mutex_lock(&disk);
            uint64_t then = sm_worker_goes_on(self, run) ? look_at(sm_recordings[i]) : 0;
            pthread_mutex_unlock(&disk);
            next = then < next ? then : next;
        }
        sm_worker_sleep(self, next);
    }
}

static sm_worker worker = SM_WORKER(work, 0);

void sm_flush_start(sm_recording *recording) {
    uint64_t interval = recording->settings.flush_ns;
    recording->flush.pause_ns = interval < FIRST_NS ? interval : FIRST_NS;
    recording->flush.next_ns = sm_monotonic_ns() + recording->flush.pause_ns;
    recording->flush.cpu_ns = program_cpu_ns();
    recording->at_rest = false;
    if (recording == &sm_main)
        sm_engine.unattended = false;
    __atomic_store_n(&recording->flush.wanted, recording->output.writer != NULL && interval != 0, __ATOMIC_RELEASE);
    if (any_is_wanted())
        (void)sm_worker_start(&worker);
    sm_worker_wake(&worker);
}

void sm_flush_stop(sm_recording *recording) {
    __atomic_store_n(&recording->flush.wanted, false, __ATOMIC_RELAXED);
    if (any_is_wanted()) {
        pthread_mutex_lock(&disk); /* until the worker has written */
        pthread_mutex_unlock(&disk);
    } else {
        sm_worker_stop(&worker);
    }
}

static void before_fork(void) {
    pthread_mutex_lock(&disk);
    sm_engine_lock();
}

static void parent_forked(void) {
    sm_engine_unlock();
    pthread_mutex_unlock(&disk);
}

/* Write nothing between the fork and sm_engine_after_fork, while the child shares its parent's files. */
static void child_forked(void) {
    disk = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    sm_core_forked();
    sm_engine_lock_renew();
    for (int i = 0; i < SM_RECORDINGS; i++) {
        sm_recordings[i]->flush.wanted = false;
        sm_recordings[i]->forked = sm_recordings[i]->running;
    }
}

bool sm_flush_init(void) {
    static const sm_fork_calls calls = {&worker, before_fork, parent_forked, child_forked, any_is_wanted, NULL};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_FLUSH, &calls);
}
