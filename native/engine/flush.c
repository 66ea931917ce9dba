/* Write the recording's file by the *flush worker*, so that a killed process loses at most an interval. A process is
 * most often killed after a long silence. The worker needs no GIL and touches no Python object.
 *
 * When: Once per interval the worker checks whether the program has run since the last write: whether an event came
 * (each thread's next event takes its slow path, which notes it), or the process used CPU time that is not of seismo's
 * workers, as one long call in C does. If a write takes more than a tenth of the interval, the next one comes later.
 *
 * What: Counters are read while the program runs, and a row that changed since is written again with the next save. The
 * engine's lock guards what moves and lists that grow. What needs the interpreter is left to saves with the GIL.
 *
 * Locks: `disk` is held to write or exchange the file, and comes before the engine's lock. Under the latter rows become
 * bytes, which are written without it. So no thread of the program waits for the disk, unless it requests a flush. */
#include "engine/flush.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "base/worker.h"
#include "code/text.h"
#include "compat/forks.h"

#define FIRST_NS 50000000 /* until the first write; then pauses double */
#define SHARE 10
#define LEAST_NS 1000000 /* of CPU without an event; a worker may use less on its way to sleep */

static struct {
    pthread_mutex_t disk;
    bool wanted;          /* atomic; the worker should run; changed with the GIL */
    uint64_t interval_ns; /* changed while the worker does not run */
    uint64_t pause_ns;    /* the worker's: between two writes */
    int64_t cpu_ns;       /* the worker's: of the program, at the last write */
} flush = {.disk = PTHREAD_MUTEX_INITIALIZER};

static bool has_file(void) {
    sm_engine_lock(); /* the worker may exchange it */
    bool has = sm_engine.running && !sm_engine.forked && sm_engine.output.writer != NULL;
    sm_engine_unlock();
    return has;
}

/* Make the next event note that it came. The caller holds `disk`, as for all functions up to write_now(). */
static void rest(void) {
    __atomic_store_n(&sm_engine.at_rest, true, __ATOMIC_SEQ_CST);
    __atomic_store_n(&sm_engine.unattended, true, __ATOMIC_SEQ_CST);
    SM_EACH_PAIR (pair) {
        if (pair->recorder->thread_size == 0) {
            pair->recorder->wake(NULL);
            continue;
        }
        sm_sampler_lock(); /* as who moves what the next event looks at */
        for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
            if (thread->session == sm_engine.session && !thread->ended)
                pair->recorder->wake(thread);
        }
        sm_sampler_unlock();
    }
}

static void save(sm_output *output, bool gil, bool last) {
    output->gil = gil;
    rest();
    sm_engine_save(output, last);
}

static void send(sm_output *output, bool last) {
    if (last)
        sm_writer_finish(output->writer);
    else
        (void)sm_writer_catch_up(output->writer);
}

/* Write everything, and a journal's copy, into a new file that replaces the old one. Return false if the old file
 * stays. */
static bool write_anew(sm_writer *writer, bool gil, bool last, bool journal) {
    sm_output fresh, *output = &sm_engine.output;
    if (writer == NULL)
        return false;
    sm_engine_lock();
    bool open = sm_engine_open(&fresh, writer, false);
    if (open) {
        sm_writer_hold(writer);
        fresh.anew = true;
        save(&fresh, gil, last);
        fresh.anew = false;
    }
    sm_engine_unlock();
    if (open && journal) {
        (void)sm_writer_catch_up(fresh.writer); /* the rows that it names come first */
        fresh.lost += sm_writer_copy_journal(fresh.writer, output->writer) != 0;
    }
    if (open)
        send(&fresh, last);
    sm_engine_lock();
    bool done = open && sm_output_take_place(&fresh, output);
    if (!done)
        output->anew = open; /* this file lacks what the recorders took for written */
    sm_engine_unlock();
    return done;
}

static void write_changes(bool gil, bool last) {
    sm_output *output = &sm_engine.output;
    bool journal = sm_engine.settings.journal;
    if (!journal && write_anew(sm_output_renew(output, true), gil, last, false))
        return;
    sm_engine_lock();
    save(output, gil, last);
    output->anew = false;
    sm_engine_unlock();
    send(output, last);
}

static void settle(bool whole) {
    SM_EACH_PAIR (pair) {
        if (pair->recorder->settle != NULL)
            pair->recorder->settle(whole);
    }
}

/* Write changes. With a full disk, write old bytes before new ones. */
static void write_now(bool gil) {
    sm_writer *writer = sm_engine.output.writer;
    if (!sm_writer_is_stuck(writer) || sm_writer_catch_up(writer) == 0)
        write_changes(gil, false);
}

void sm_engine_flush(void) {
    if (!has_file() || sm_engine.ahead)
        return;
    settle(false);
    pthread_mutex_lock(&flush.disk);
    write_now(true);
    pthread_mutex_unlock(&flush.disk);
}

void sm_flush_end(bool over) {
    if (!has_file())
        return;
    settle(false);
    pthread_mutex_lock(&flush.disk);
    sm_writer *writer = sm_engine.output.writer;
    bool outgrown = over && sm_engine.settings.journal && sm_writer_outgrown(writer);
    if (!outgrown || !write_anew(sm_writer_renew(writer), true, true, true))
        write_changes(true, true);
    pthread_mutex_unlock(&flush.disk);
}

static sm_thread *thread_here(void) {
    return sm_this_thread->session == sm_engine.session ? sm_this_thread : NULL;
}

void sm_engine_ahead(const char *exit) {
    if (!has_file())
        return;
    sm_thread *thread = thread_here();
    sm_engine_hold(thread, true);
    pthread_mutex_lock(&flush.disk);
    sm_engine_lock();
    sm_replace_chars(&sm_engine.exit, exit);
    sm_engine.ahead = *exit != '\0';
    sm_engine_unlock();
    pthread_mutex_unlock(&flush.disk);
    if (*exit == '\0') {
        sm_engine_flush();
    } else {
        if (sm_engine.settings.journal) /* its file alone has it, so another one cannot make up for its end */
            sm_writer_regain(sm_engine.output.writer);
        sm_flush_end(false);
    }
    sm_engine_hold(thread, false);
}

bool sm_engine_move(int fd) {
    if (!has_file())
        return false;
    sm_thread *thread = thread_here();
    sm_engine_hold(thread, true);
    pthread_mutex_lock(&flush.disk);
    bool moved = sm_writer_move(sm_engine.output.writer, fd) != 0;
    pthread_mutex_unlock(&flush.disk);
    sm_engine_hold(thread, false);
    return moved;
}

PyObject *sm_engine_snapshot(void) {
    assert(PyGILState_Check());
    if (sm_engine.pair_count == 0) {
        PyErr_SetString(PyExc_RuntimeError, "nothing has been recorded yet");
        return NULL;
    }
    sm_thread *thread = thread_here();
    bool running = sm_engine.running;
    if (running)
        sm_engine_hold(thread, true);
    settle(true);
    sm_output output;
    sm_engine_lock();
    bool open = sm_engine_open(&output, sm_writer_new(-1), true);
    if (open) {
        output.gil = true;
        sm_engine_save(&output, true);
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
    if (running)
        sm_engine_hold(thread, false);
    return image;
}

static int64_t program_cpu_ns(void) {
    return sm_time_ns(CLOCK_PROCESS_CPUTIME_ID) - (int64_t)sm_workers_cpu_ns();
}

/* Return true if the program has run since the last write. */
static bool has_run(void) {
    int64_t used = program_cpu_ns();
    if (used - flush.cpu_ns < LEAST_NS && __atomic_load_n(&sm_engine.at_rest, __ATOMIC_RELAXED))
        return false;
    flush.cpu_ns = used;
    return true;
}

static void work(sm_worker *self, uintptr_t run) {
    uint64_t next = sm_monotonic_ns() + flush.pause_ns;
    while (sm_worker_goes_on(self, run)) {
        sm_worker_sleep(self, next);
        uint64_t began = sm_monotonic_ns();
        if (!sm_worker_goes_on(self, run) || began < next)
            continue;
        pthread_mutex_lock(&flush.disk);
        if (!sm_engine.ahead && (has_run() || sm_writer_is_stuck(sm_engine.output.writer)))
            write_now(false);
        pthread_mutex_unlock(&flush.disk);
        uint64_t took = sm_monotonic_ns() - began;
        flush.pause_ns = 2 * flush.pause_ns < flush.interval_ns ? 2 * flush.pause_ns : flush.interval_ns;
        next = began + (took * SHARE > flush.pause_ns ? took * SHARE : flush.pause_ns);
    }
}

static sm_worker worker = SM_WORKER(work, 0);

static void go_on(void) {
    if (__atomic_load_n(&flush.wanted, __ATOMIC_RELAXED))
        (void)sm_worker_start(&worker);
}

void sm_flush_start(void) {
    flush.interval_ns = sm_engine.settings.flush_ns;
    flush.pause_ns = flush.interval_ns < FIRST_NS ? flush.interval_ns : FIRST_NS;
    __atomic_store_n(&flush.wanted, sm_engine.output.writer != NULL && flush.interval_ns != 0, __ATOMIC_RELAXED);
    flush.cpu_ns = program_cpu_ns();
    sm_engine.at_rest = sm_engine.unattended = false;
    go_on();
}

void sm_flush_stop(void) {
    __atomic_store_n(&flush.wanted, false, __ATOMIC_RELAXED);
    sm_worker_stop(&worker);
}

static void before_fork(void) {
    sm_worker_before_fork(&worker, 0);
    pthread_mutex_lock(&flush.disk);
    sm_engine_lock();
}

static bool parent_forked(void) {
    sm_engine_unlock();
    pthread_mutex_unlock(&flush.disk);
    sm_worker_after_fork(&worker);
    return __atomic_load_n(&flush.wanted, __ATOMIC_RELAXED);
}

static void child_forked(void) {
    flush.disk = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    sm_engine_lock_renew();
    __atomic_store_n(&flush.wanted, false, __ATOMIC_RELAXED);
    sm_worker_forked(&worker);
}

bool sm_flush_init(void) {
    static const sm_fork_calls calls = {before_fork, parent_forked, child_forked, go_on};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_FLUSH, &calls);
}
