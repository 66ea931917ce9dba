/* The thread that writes what is new, so that a process that is killed has lost no more than a moment.
 *
 * An event that finds it is time could flush, but the most common death comes after a long silence: a server has done
 * its work, waits for the next request, and is killed. Then no event comes any more, and the main thread runs no
 * pending call. So a thread of ours does it, and needs nothing of the interpreter's: what is new are rows in the writer
 * already. It sleeps until something has changed, waits a period for more of it, writes, and sleeps again.
 *
 * It blocks all signals. Before a fork it is joined, since a second thread at that time is a warning of os.fork
 * from 3.12 on, and the child has one thread only; what was new is written first. os.fork counts the threads in the
 * end, so the thread comes back when the frame that called it goes on: a pending call looks out for that. (Hooks of the
 * program run in os.fork; each of them may be where pending calls are run.) If none comes, for the main thread is busy
 * in C, the first news after AFTER_FORK_NS bring it back.
 *
 * A flush takes at most 2 % of the time: the longer one takes, the longer the period.
 *
 * Locks, in this order. `life` is held by whoever starts or ends the thread, and from before a fork until after it: a
 * thread of C may fork without the GIL. `disk` is held by who writes the file. The third is that of the rows: events
 * take it for a moment, so nobody writes with it. What is new becomes bytes under it, and these are written without. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/time.h"
#include "recorder/coverage/store.h"

#define AFTER_FORK_NS 50000000
#define MOST_LOOKS 200 /* for the frame that forked */

static struct {
    pthread_mutex_t life, disk;
    pthread_mutex_t lock; /* of sm_cover_store and of what follows */
    pthread_cond_t wake;
    pthread_t thread;
    bool ready;   /* wake is there */
    bool running; /* the thread is */
    bool stop, always;
    uint64_t period_ns; /* 0: nobody wants a flush */
    uint64_t not_before, took;
    const void *forking; /* the frame that called fork */
    int looks;           /* left */
    bool (*gather)(void);
    void (*send)(void);
} flush = {.life = PTHREAD_MUTEX_INITIALIZER, .disk = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

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

/* With both locks, and gives back that of the rows meanwhile. */
static void write_now(void) {
    uint64_t before = sm_monotonic_ns();
    bool some = flush.gather();
    sm_cover_store.changed = false;
    pthread_mutex_unlock(&flush.lock);
    if (some)
        flush.send();
    pthread_mutex_lock(&flush.lock);
    flush.took = sm_monotonic_ns() - before;
}

void sm_cover_flush_now(void) {
    sm_cover_lock_file();
    sm_cover_store.changed = true;
    write_now();
    sm_cover_unlock_file();
}

static void wait_until(uint64_t when) {
    struct timespec until = {.tv_sec = (time_t)(when / 1000000000), .tv_nsec = (long)(when % 1000000000)};
    while (!flush.stop && pthread_cond_timedwait(&flush.wake, &flush.lock, &until) != ETIMEDOUT)
        ;
}

uint64_t sm_cover_flush_period(void) {
    return flush.period_ns > flush.took * 50 ? flush.period_ns : flush.took * 50;
}

static void *run(void *unused) {
    pthread_mutex_lock(&flush.lock);
    while (!flush.stop) {
        if (!sm_cover_store.changed && !flush.always) {
            pthread_cond_wait(&flush.wake, &flush.lock);
            continue;
        }
        wait_until(sm_monotonic_ns() + sm_cover_flush_period());
        if (flush.stop)
            break;
        pthread_mutex_unlock(&flush.lock); /* that of the file comes first */
        sm_cover_lock_file();
        write_now();
        pthread_mutex_unlock(&flush.disk);
    }
    pthread_mutex_unlock(&flush.lock);
    return unused;
}

static bool start_thread(void) {
    pthread_attr_t attributes;
    sigset_t all, before;
    flush.stop = false;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&flush.thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

void sm_cover_changed(void) {
    if (sm_cover_store.changed || flush.period_ns == 0 || sm_cover.forked)
        return;
    sm_cover_store.changed = true;
    if (flush.running) {
        pthread_cond_signal(&flush.wake);
        return;
    }
    if (sm_monotonic_ns() >= flush.not_before)
        flush.running = start_thread();
    if (!flush.running)
        sm_cover_store.changed = false; /* the next news ask again */
}

static void join(void) { /* with `life` */
    pthread_mutex_lock(&flush.lock);
    bool running = flush.running;
    pthread_t thread = flush.thread;
    flush.stop = true;
    flush.not_before = UINT64_MAX; /* no news start another one */
    if (running)
        pthread_cond_signal(&flush.wake);
    pthread_mutex_unlock(&flush.lock);
    if (!running)
        return;
    pthread_join(thread, NULL);
    pthread_mutex_lock(&flush.lock);
    flush.running = false;
    pthread_mutex_unlock(&flush.lock);
}

static void before_fork(void) {
    pthread_mutex_lock(&flush.life);
    join();
    sm_cover_lock_file(); /* the child gets all as it is */
    if (flush.period_ns == 0 || sm_cover.forked)
        return;
    if (sm_cover_store.changed)
        write_now();
    flush.not_before = sm_monotonic_ns() + AFTER_FORK_NS;
}

static int go_on(void *unused) { /* a pending call: on the main thread, between two instructions */
    (void)unused;
    pthread_mutex_lock(&flush.lock);
    bool later = sm_tstate_frame(PyThreadState_Get()) != flush.forking && flush.looks-- > 0;
    pthread_mutex_unlock(&flush.lock);
    if (later && Py_AddPendingCall(go_on, NULL) == 0)
        return 0;
    pthread_mutex_lock(&flush.life);
    pthread_mutex_lock(&flush.lock);
    if (flush.period_ns != 0 && !flush.running && !sm_cover.forked) {
        flush.not_before = 0;
        sm_cover_store.changed = true;
        flush.running = start_thread();
    }
    pthread_mutex_unlock(&flush.lock);
    pthread_mutex_unlock(&flush.life);
    return 0;
}

static void parent_forked(void) {
    bool wanted = flush.period_ns != 0 && !sm_cover.forked;
    PyThreadState *tstate = wanted && sm_holds_gil() ? sm_tstate_unchecked() : NULL;
    if (tstate != NULL) {
        flush.forking = sm_tstate_frame(tstate);
        flush.looks = MOST_LOOKS;
    }
    sm_cover_unlock_file();
    pthread_mutex_unlock(&flush.life);
    if (tstate != NULL)
        (void)Py_AddPendingCall(go_on, NULL);
}

static void child_forked(void) {
    pthread_mutex_init(&flush.life, NULL);
    pthread_mutex_init(&flush.disk, NULL);
    pthread_mutex_init(&flush.lock, NULL);
    flush.running = false;
    sm_cover.forked = sm_cover.running;
}

int sm_cover_flush_init(void) {
    if (flush.ready)
        return 0;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    flush.ready = pthread_cond_init(&flush.wake, &clock) == 0;
    pthread_condattr_destroy(&clock);
    if (!flush.ready || pthread_atfork(before_fork, parent_forked, child_forked) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

void sm_cover_flush_begin(uint64_t period_ns, bool always, bool (*gather)(void), void (*send)(void)) {
    pthread_mutex_lock(&flush.lock);
    flush.period_ns = period_ns;
    flush.always = always;
    flush.gather = gather;
    flush.send = send;
    flush.took = 0;
    flush.not_before = 0;
    if (always && period_ns != 0) { /* counts grow without news */
        flush.running = start_thread();
        sm_cover_store.changed = flush.running;
    }
    pthread_mutex_unlock(&flush.lock);
}

void sm_cover_flush_end(void) {
    pthread_mutex_lock(&flush.life);
    join();
    pthread_mutex_lock(&flush.lock);
    flush.period_ns = 0;
    pthread_mutex_unlock(&flush.lock);
    pthread_mutex_unlock(&flush.life);
}
