/* The worker that writes news, so that a killed process loses no more than a moment.
 *
 * A process is most often killed while it waits, when no event comes and the main thread runs no pending call. So a
 * thread without the GIL flushes: it sleeps until something has changed, waits a period for more, and writes. A flush
 * takes at most 2 % of the time.
 *
 * Before a fork the thread (base/worker.h) is joined, and news are written. It returns when the fork is over, or with
 * the first news after AFTER_FORK_NS.
 *
 * Locks, in this order: the worker's own, from before a fork until after it. `disk`, while the file is written. `lock`,
 * for the rows, which events take for a moment: news become bytes under it, which are written without it. */
#include <pthread.h>

#include "base/time.h"
#include "base/worker.h"
#include "compat/forks.h"
#include "recorder/coverage/store.h"

#define AFTER_FORK_NS 50000000

static struct {
    pthread_mutex_t disk;
    pthread_mutex_t lock; /* guards sm_cover_store and the fields below */
    bool always;
    uint64_t period_ns;
    uint64_t took;
    const sm_cover_steps *steps;
} flush = {.disk = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

void sm_cover_lock(void) {
    pthread_mutex_lock(&flush.lock);
}

void sm_cover_unlock(void) {
    pthread_mutex_unlock(&flush.lock);
}

void sm_cover_lock_file(void) {
    pthread_mutex_lock(&flush.disk);
    pthread_mutex_lock(&flush.lock);
}

void sm_cover_unlock_file(void) {
    pthread_mutex_unlock(&flush.lock);
    pthread_mutex_unlock(&flush.disk);
}

/* Write news. The caller holds both locks; `lock` is released during writes. */
static void write_now(void) {
    uint64_t before = sm_monotonic_ns();
    bool some = flush.steps->gather();
    sm_cover_store.changed = false;
    while (some) {
        pthread_mutex_unlock(&flush.lock);
        flush.steps->send();
        pthread_mutex_lock(&flush.lock);
        some = flush.steps->go_on();
    }
    flush.took = sm_monotonic_ns() - before;
}

void sm_cover_flush_now(void) {
    sm_cover_lock_file();
    sm_cover_store.changed = true;
    write_now();
    sm_cover_unlock_file();
}

/* Return how long the worker sleeps now, or 0 to wait for news. */
static uint64_t next_period(void) {
    pthread_mutex_lock(&flush.lock);
    uint64_t period = flush.period_ns > flush.took * 50 ? flush.period_ns : flush.took * 50;
    bool some = sm_cover_store.changed || sm_cover_store.behind || flush.always;
    pthread_mutex_unlock(&flush.lock);
    return some ? period : 0;
}

static void work(sm_worker *worker, uintptr_t number) {
    while (sm_worker_goes_on(worker, number)) {
        uint64_t period = next_period();
        if (period == 0) {
            sm_worker_sleep(worker, UINT64_MAX);
            continue;
        }
        uint64_t until = sm_monotonic_ns() + period;
        while (sm_worker_goes_on(worker, number) && sm_monotonic_ns() < until)
            sm_worker_sleep(worker, until);
        if (!sm_worker_goes_on(worker, number))
            break;
        sm_cover_lock_file();
        write_now();
        sm_cover_unlock_file();
    }
}

static sm_worker worker = SM_WORKER(work, 0);

void sm_cover_changed(void) {
    if (sm_cover_store.changed || flush.period_ns == 0 || sm_cover.forked)
        return;
    sm_cover_store.changed = sm_worker_want(&worker); /* otherwise the next news try again */
    if (sm_cover_store.changed)
        sm_worker_wake(&worker);
}

static bool is_wanted(void) {
    return flush.period_ns != 0 && !sm_cover.forked;
}

static void before_fork(void) {
    sm_worker_before_fork(&worker, AFTER_FORK_NS);
    sm_cover_lock_file();
    if (is_wanted() && sm_cover_store.changed)
        write_now();
}

static bool parent_forked(void) {
    bool wanted = is_wanted();
    sm_cover_unlock_file();
    sm_worker_after_fork(&worker);
    return wanted;
}

static void child_forked(void) {
    sm_worker_forked(&worker);
    pthread_mutex_init(&flush.disk, NULL);
    pthread_mutex_init(&flush.lock, NULL);
    sm_cover.forked = sm_cover.running;
}

/* Start the worker, which then finds out whether there are news. */
static void start(void) {
    if (sm_worker_runs(&worker) || !sm_worker_start(&worker))
        return;
    pthread_mutex_lock(&flush.lock);
    sm_cover_store.changed = true;
    pthread_mutex_unlock(&flush.lock);
    sm_worker_wake(&worker);
}

static void go_on(void) {
    if (is_wanted())
        start();
}

bool sm_cover_flush_init(void) {
    static const sm_fork_calls calls = {before_fork, parent_forked, child_forked, go_on};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_COVERAGE, &calls);
}

void sm_cover_flush_begin(uint64_t period_ns, bool always, const sm_cover_steps *steps) {
    pthread_mutex_lock(&flush.lock);
    flush.period_ns = period_ns;
    flush.always = always;
    flush.steps = steps;
    flush.took = 0;
    pthread_mutex_unlock(&flush.lock);
    if (always && period_ns != 0) /* counts grow without news */
        start();
}

void sm_cover_flush_end(void) {
    pthread_mutex_lock(&flush.lock);
    flush.period_ns = 0; /* so that no news start another one */
    pthread_mutex_unlock(&flush.lock);
    sm_worker_stop(&worker);
}
