/* Drives the threads of the core as an interpreter would, without one: built with ThreadSanitizer, it says which data
 * two threads touch with no order between them. argv: which part; see main. What the sources need of the interpreter
 * and is not here is not called (the linker is told so); the interpreter's lock is a mutex. */
#include <Python.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "clock/sampler.h"
#include "clock/waits.h"
#include "compat/lock.h"
#include "engine/flush.h"
#include "engine/threads.h"
#include "engine/ticker.h"
#include "hooks/safepoint.h"

enum { WORKERS = 4, ROUNDS = 300, FORKS = 12, PENDING = 32 };

/* ---- what the core takes for the interpreter and for the rest of itself ---- */

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static struct {
    pthread_mutex_t lock;
    int (*calls[PENDING])(void *);
    int count;
} pending = {.lock = PTHREAD_MUTEX_INITIALIZER};

int Py_AddPendingCall(int (*function)(void *), void *Py_UNUSED(argument)) {
    pthread_mutex_lock(&pending.lock);
    bool room = pending.count < PENDING;
    if (room)
        pending.calls[pending.count++] = function;
    pthread_mutex_unlock(&pending.lock);
    return room ? 0 : -1;
}

uint64_t sm_interpreters_made(void) {
    return 0;
}

void sm_wake_for_pending_calls(void) {}
void sm_stop_waking_for_pending_calls(void) {}

static void run_pending(void) { /* with the GIL */
    int (*calls[PENDING])(void *);
    pthread_mutex_lock(&pending.lock);
    int count = pending.count;
    memcpy(calls, pending.calls, sizeof calls);
    pending.count = 0;
    pthread_mutex_unlock(&pending.lock);
    for (int i = 0; i < count; i++)
        (void)calls[i](NULL);
}

/* Data cannot be left out. */
PyTypeObject PyMethod_Type, PyFunction_Type, PyCode_Type, PyType_Type;
PyObject _Py_NoneStruct, *PyExc_RuntimeError;

/* No thread of here has a state of the interpreter's. */
#if PY_VERSION_HEX >= 0x030D0000
PyThreadState *PyThreadState_GetUnchecked(void) {
    return NULL;
}
#else
PyThreadState *_PyThreadState_UncheckedGet(void) {
    return NULL;
}
#endif
PyThreadState *PyGILState_GetThisThreadState(void) {
    return NULL;
}

static void nap(long us) {
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* A thread of C forks, and knows no GIL. */
static void *fork_now_and_then(void *unused) {
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
        nap(3000);
    }
    return unused;
}

static void run_beside_forks(void *(*worker)(void *)) {
    pthread_t threads[WORKERS + 1];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    pthread_create(&threads[WORKERS], NULL, fork_now_and_then, NULL);
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- the ticker ---- */

static uint32_t poked; /* atomic */

static void poke(void) {
    __atomic_fetch_add(&poked, 1, __ATOMIC_RELAXED);
}

static void *start_and_stop(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&gil);
        run_pending();
        if (i % 50 == 49) {
            sm_ticker_stop();
            sm_ticker_start(poke);
        }
        pthread_mutex_unlock(&gil);
        nap(200);
    }
    return unused;
}

static void drive_ticker(void) {
    sm_engine.clock.kind = SM_CLOCK_MONOTONIC;
    if (!sm_ticker_init())
        _exit(2);
    sm_ticker_start(poke);
    run_beside_forks(start_and_stop);
    sm_ticker_stop();
    if (poked == 0)
        _exit(3);
}

/* ---- the flush of recordings: threads come and go, counters grow, a table moves, the second one ends and begins ----
 */

static struct {
    uint64_t *rows; /* with the engine's lock; what they hold is atomic */
    uint32_t count;
} counters;
static uint32_t saves, saves_beside; /* with the engine's lock */
static uint32_t hits;                /* of the second recording, with it as well */

static void wake(sm_thread *thread) {
    __atomic_store_n(thread->recorder, 1, __ATOMIC_SEQ_CST);
}

static void save_counters(sm_output *output) {
    for (uint32_t i = 0; i < counters.count; i++) {
        int64_t row[SM_MAX_COLUMNS] = {0};
        row[SM_MARKS_ID] = i;
        row[SM_MARKS_BORN] = (int64_t)__atomic_load_n(&counters.rows[i], __ATOMIC_RELAXED);
        sm_writer_row(output->writer, SM_MARKS, row, NULL);
    }
    saves++;
}

static void save_hits(sm_output *output) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_MARKS_BORN] = hits;
    sm_writer_row(output->writer, SM_MARKS, row, NULL);
    saves_beside++;
}

static bool has_hits(void) {
    sm_engine_lock();
    bool has = hits > 0;
    sm_engine_unlock();
    return has;
}

void sm_engine_look_after(void) {
    __atomic_store_n(&sm_engine.unattended, false, __ATOMIC_SEQ_CST);
    sm_engine_stir(&sm_main);
}

static sm_thread *meet_thread(void) { /* with the GIL */
    sm_thread *thread = sm_thread_new_record();
    sm_engine_lock();
    thread->home = thread;
    thread->id = sm_engine.thread_count++;
    thread->cpu_clock = CLOCK_MONOTONIC;
    thread->session = sm_engine.session;
    uint64_t *rows = realloc(counters.rows, (counters.count + 1) * sizeof *rows);
    counters.rows = rows;
    rows[counters.count++] = 0;
    sm_engine_unlock();
    return thread;
}

static void *count(void *unused) {
    sm_thread *thread = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&gil);
        run_pending();
        if (i % 50 == 0)
            thread = meet_thread();
        if (__atomic_exchange_n(thread->recorder, 0, __ATOMIC_SEQ_CST) != 0)
            sm_engine_attend();
        __atomic_fetch_add(&counters.rows[i % counters.count], 1, __ATOMIC_RELAXED);
        if (i % 50 == 25)
            sm_engine_flush(i % 100 == 25 ? &sm_main : &sm_beside, 0);
        if (i % 2 == 0) {
            sm_engine_lock();
            hits++;
            sm_engine_stir(&sm_beside);
            sm_engine_unlock();
        }
        if (i % 100 == 75) {
            sm_flush_stop(&sm_beside);
            sm_flush_start(&sm_beside);
        }
        if (i % 50 == 49) {
            sm_engine_lock();
            thread->ended = true;
            sm_engine_unlock();
        }
        pthread_mutex_unlock(&gil);
        nap(200);
    }
    return unused;
}

static void begin(sm_recording *recording, const sm_recorder *recorder) {
    static const sm_source source = {.name = "none"};
    char path[] = "/tmp/seismo-flush-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    recording->pairs[0] = (sm_pair){recorder, &source};
    recording->pair_count = 1;
    recording->settings.flush_ns = 1000000;
    recording->running = true;
    if (fd < 0 || !sm_engine_open(recording, &recording->output, sm_writer_new(fd), false))
        _exit(2);
    sm_writer_hold(recording->output.writer);
    sm_flush_start(recording);
}

static void end(sm_recording *recording) {
    sm_flush_stop(recording);
    sm_flush_end(recording, true);
    if (sm_writer_error(recording->output.writer) != 0)
        _exit(3);
}

static void drive_flush(void) {
    static const sm_thread_states states = {NULL};
    static const sm_recorder recorder = {.name = "none", .threads = &states, .wake = wake, .save = save_counters},
                             beside = {.name = "beside", .has_news = has_hits, .save = save_hits};
    sm_engine.clock.kind = SM_CLOCK_MONOTONIC;
    sm_engine.clock.ns_per_tick = 1.0;
    sm_engine.session = 1;
    if (!sm_flush_init() || sm_threads_init() < 0)
        _exit(2);
    begin(&sm_main, &recorder);
    begin(&sm_beside, &beside);
    run_beside_forks(count);
    end(&sm_beside);
    end(&sm_main);
    if (saves < 10 || saves_beside < 10)
        _exit(3);
}

/* ---- the sampler ---- */

bool sm_lock_place(uintptr_t *from, uintptr_t *below) {
    *from = (uintptr_t)&gil;
    *below = (uintptr_t)(&gil + 1);
    return true;
}

static struct { /* a recorder's data: with the sampler's lock */
    uint64_t looks, ran, off;
} sampled;

static void *current(const sm_timing *Py_UNUSED(timing)) {
    return &sampled;
}

static void add(sm_timing *Py_UNUSED(timing), void *Py_UNUSED(of), const sm_look *look) {
    sampled.looks++;
    sampled.ran += look->ran;
    sampled.off += look->off.all;
}

static void compare(void *Py_UNUSED(of), uint64_t ran, uint64_t beside) {
    sampled.ran += ran > beside ? ran - beside : 0;
}

static uint32_t gates; /* atomic: closed so far */

static void close_gate(sm_timing *Py_UNUSED(timing)) {
    __atomic_fetch_add(&gates, 1, __ATOMIC_RELAXED);
}

/* Threads that begin and end while they are looked at, in each state, and idle in between. */
static void *be_sampled(void *unused) {
    for (int i = 0; i < ROUNDS / 10; i++) {
        sm_timing timing;
        clockid_t clock;
        pthread_getcpuclockid(pthread_self(), &clock);
        sm_timing_start(&timing);
        sm_sampler_add(&timing, clock, (uint64_t)syscall(SYS_gettid), 0);
        for (int k = 0; k < 40; k++) {
            uint64_t now = sm_clock_read(sm_timing_clock);
            if (__atomic_load_n(&timing.idle, __ATOMIC_RELAXED))
                sm_sampler_attend(&timing, now);
            sm_timing_end(&timing, now);
            pthread_mutex_lock(&gil);
            run_pending();
            pthread_mutex_unlock(&gil);
            sm_timing_begin(&timing, k % 3 == 0 ? SM_TIME_EXACT : SM_TIME_SAMPLED, &sampled);
            nap(k % 16 == 0 ? 8000 : 50);
        }
        (void)sm_sampler_ran(&timing, sm_clock_read(sm_timing_clock));
        sm_sampler_remove(&timing);
    }
    return unused;
}

static void drive_sampler(void) {
    static const sm_sampled recorder = {current, add, close_gate, compare};
    static sm_clock clock;
    sm_waits_init();
    if (!sm_clock_choose(&clock, "monotonic") || !sm_sampler_init())
        _exit(2);
    sm_sampler_start(&recorder, &clock, 0);
    run_beside_forks(be_sampled);
    sm_sampler_stop();
    if (sampled.looks == 0 || sampled.off == 0 || __atomic_load_n(&gates, __ATOMIC_RELAXED) == 0)
        _exit(3); /* nothing of it happened */
}

/* ---- the safe point ---- */

static int delivered[SM_SAFE_USERS]; /* with the GIL */

static int deliver(void) {
    delivered[SM_SAFE_REFERENCES]++;
    return 0;
}

static int deliver_when_due(void) {
    delivered[SM_SAFE_WATCHES]++;
    sm_safepoint_wait(SM_SAFE_WATCHES, 100000);
    return 0;
}

static void start_both(void) {
    if (sm_safepoint_start(SM_SAFE_REFERENCES, deliver) < 0 ||
        sm_safepoint_start(SM_SAFE_WATCHES, deliver_when_due) < 0)
        _exit(2);
}

static void stop_both(void) {
    sm_safepoint_stop(SM_SAFE_REFERENCES);
    sm_safepoint_stop(SM_SAFE_WATCHES);
}

static void *ask(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        sm_safepoint_ask(); /* some hooks hold the lock, some do not */
        pthread_mutex_lock(&gil);
        run_pending();
        if (i % 50 == 49) {
            stop_both();
            start_both();
        }
        pthread_mutex_unlock(&gil);
        nap(200);
    }
    return unused;
}

static void drive_safepoint(void) {
    start_both();
    run_beside_forks(ask);
    for (int i = 0; i < 1000 && (delivered[0] == 0 || delivered[1] == 0); i++) {
        sm_safepoint_ask();
        nap(1000);
        run_pending();
    }
    stop_both();
    if (delivered[0] == 0 || delivered[1] == 0)
        _exit(3);
}

/* ---- what has to be found ---- */

static int plain;

static void *add_plainly(void *unused) {
    for (int i = 0; i < ROUNDS; i++)
        plain++;
    return unused;
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    if (strcmp(part, "ticker") == 0)
        drive_ticker();
    else if (strcmp(part, "flush") == 0)
        drive_flush();
    else if (strcmp(part, "sampler") == 0)
        drive_sampler();
    else if (strcmp(part, "safepoint") == 0)
        drive_safepoint();
    else if (strcmp(part, "race") == 0)
        run_beside_forks(add_plainly);
    else
        return 2;
    puts("done");
    return 0;
}
