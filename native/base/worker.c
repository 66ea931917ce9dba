#include "base/worker.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define STACK_BYTES (256 * 1024)
#define LOOK_NS 50000 /* between two checks for the end of a thread */
#define AFTER_FAILURE_NS 1000000000

/* A thread gets the number of its run and its worker's index in one word. Memory would have to be freed, and the
 * first free() of a thread makes an arena of 128 MiB of addresses. */
#define MOST_WORKERS 16
static sm_worker *workers[MOST_WORKERS]; /* written with the GIL */
static uintptr_t workers_count;

static uint64_t used_ns;               /* atomic; CPU time of all workers, each up to its last sleep */
static __thread uint64_t accounted_ns; /* the part of this worker */

static void account(void) {
    uint64_t now = (uint64_t)sm_time_ns(CLOCK_THREAD_CPUTIME_ID);
    __atomic_fetch_add(&used_ns, now - accounted_ns, __ATOMIC_RELAXED);
    accounted_ns = now;
}

uint64_t sm_workers_cpu_ns(void) {
    return __atomic_load_n(&used_ns, __ATOMIC_RELAXED);
}

bool sm_worker_init(sm_worker *worker) {
    if (!worker->ready && workers_count < MOST_WORKERS) {
        worker->place = workers_count++;
        workers[worker->place] = worker;
        worker->ready = true;
    }
    return worker->ready;
}

bool sm_worker_runs(const sm_worker *worker) {
    return __atomic_load_n(&worker->current, __ATOMIC_RELAXED) != 0;
}

bool sm_worker_goes_on(const sm_worker *worker, uintptr_t number) {
    return __atomic_load_n(&worker->current, __ATOMIC_ACQUIRE) == number;
}

/* glibc has semaphores with a monotonic limit from 2.30 on, and musl has none. */
void sm_worker_sleep(sm_worker *worker, uint64_t until) {
    struct timespec when = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    account();
    while (__atomic_exchange_n(&worker->wake, 0, __ATOMIC_ACQUIRE) == 0) {
        long slept = syscall(SYS_futex, &worker->wake, FUTEX_WAIT_BITSET_PRIVATE, 0, until != UINT64_MAX ? &when : NULL,
                             NULL, FUTEX_BITSET_MATCH_ANY);
        if (slept != 0 && errno != EAGAIN && errno != EINTR)
            break;
    }
}

void sm_worker_wake(sm_worker *worker) {
    int before = errno; /* a signal handler's program may be about to read it */
    if (__atomic_exchange_n(&worker->wake, 1, __ATOMIC_RELEASE) == 0)
        (void)syscall(SYS_futex, &worker->wake, FUTEX_WAKE_PRIVATE, 1);
    errno = before;
}

static void *run(void *given) {
    sm_worker *worker = workers[(uintptr_t)given % MOST_WORKERS];
    uintptr_t number = (uintptr_t)given / MOST_WORKERS;
    worker->tid = (pid_t)syscall(SYS_gettid);
    worker->work(worker, number);
    account();
    __atomic_store_n(&worker->ended, number, __ATOMIC_RELEASE);
    return NULL;
}

static bool start(sm_worker *worker) { /* called with `lock` */
    if (worker->current != 0)
        return true;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (!worker->ready || pthread_attr_init(&attributes) != 0)
        return false;
    uintptr_t number = ++worker->last;
    __atomic_store_n(&worker->current, number, __ATOMIC_RELEASE);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void *given = (void *)(number * MOST_WORKERS + worker->place);
    bool made = pthread_create(&worker->thread, &attributes, run, given) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!made)
        __atomic_store_n(&worker->current, 0, __ATOMIC_RELEASE);
    return made;
}

bool sm_worker_start(sm_worker *worker) {
    pthread_mutex_lock(&worker->lock);
    bool runs = start(worker);
    pthread_mutex_unlock(&worker->lock);
    return runs;
}

bool sm_worker_want(sm_worker *worker) {
    if (sm_worker_runs(worker))
        return true;
    if (pthread_mutex_trylock(&worker->lock) != 0)
        return false;
    uint64_t now = sm_monotonic_ns();
    bool runs = now >= worker->not_before && start(worker);
    if (!runs && now >= worker->not_before)
        worker->not_before = now + AFTER_FAILURE_NS;
    pthread_mutex_unlock(&worker->lock);
    return runs;
}

static bool ends_in_time(const sm_worker *worker, uintptr_t number) {
    uint64_t until = sm_monotonic_ns() + worker->patience_ns;
    while (__atomic_load_n(&worker->ended, __ATOMIC_ACQUIRE) != number) {
        if (sm_monotonic_ns() >= until)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return true;
}

/* Wait until the kernel has removed a joined thread: pthread_join returns a little earlier, and os.fork still counts
 * the thread. The number of tries is bounded, because the id may be reused. */
static void wait_until_gone(pid_t tid) {
    for (int i = 0; i < 1000 && syscall(SYS_tgkill, getpid(), tid, 0) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

static bool stop(sm_worker *worker) { /* with `lock`; true if there was a thread and it was joined */
    uintptr_t number = worker->current;
    if (number == 0)
        return false;
    __atomic_store_n(&worker->current, 0, __ATOMIC_RELEASE);
    sm_worker_wake(worker);
    if (worker->patience_ns != 0 && !ends_in_time(worker, number)) {
        pthread_detach(worker->thread);
        return false;
    }
    pthread_join(worker->thread, NULL);
    return true;
}

void sm_worker_stop(sm_worker *worker) {
    pthread_mutex_lock(&worker->lock);
    (void)stop(worker);
    pthread_mutex_unlock(&worker->lock);
}

void sm_worker_before_fork(sm_worker *worker) {
    pthread_mutex_lock(&worker->lock);
    if (stop(worker))
        wait_until_gone(worker->tid);
}

void sm_worker_after_fork(sm_worker *worker) {
    pthread_mutex_unlock(&worker->lock);
}

void sm_worker_forked(sm_worker *worker) {
    pthread_mutex_init(&worker->lock, NULL);
    worker->not_before = 0;
}
