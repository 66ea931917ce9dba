/* Random samples of one segment in many are right about the many short ones, and blind to the rare long one: a function
 * that calls a helper ten thousand times and then computes for a second in one go has one segment in ten thousand that
 * matters, and no clock is read at its ends. What would tell is a look at the time at every event, and that costs more
 * than the event.
 *
 * So time looks at the events. A thread of ours wakes every two milliseconds, give or take a random half, notes the
 * time, and sets every recorded thread's countdown to 0. The next event of such a thread takes the slow path. If it
 * comes SM_LONG_NS or more after the visit, the segment that ends there is a long one. How long, the last reading of
 * the clock tells, since it is read every hundred events or so anyway; but not whether, for a hundred segments of a
 * microsecond take longer than that. A segment that is longer than the distance of ticks is found for certain; a
 * shorter one is found with a probability that is its length's share of that distance, SM_LONG_NS less, and then stands
 * for a whole one. This is sampling by time, and costs nothing on the way of an event. The first SM_LONG_NS of each
 * segment are left to the random samples, which are no longer than that, so that nothing is counted twice. When the
 * machine is so busy that ticks come late, segments shorter than the delay are understated.
 *
 * The thread is started when the first function proves short, so small programs never see it. It blocks all signals,
 * touches no Python object and takes no lock but its own. A fork would find a second thread in the process (since 3.12
 * that is a warning of os.fork): it is joined before the fork and comes back a little later. A store into a countdown
 * may be lost against a simultaneous decrement: then this tick finds no event of that thread, which never happens to a
 * long segment.
 *
 * Locks. `life` is held by whoever starts or joins the thread: with the GIL as a rule, but a thread of C may fork
 * without it. It is held from before a fork until after it, so that nobody starts the thread in between. `lock` belongs
 * to the thread and its wake. What a tick looks at (the list of threads, the recorders) is set while the thread is not
 * there, or is atomic. */
#include "engine/ticker.h"

#include <pthread.h>
#include <signal.h>

#include "engine/engine.h"
#include "engine/waits.h"

#define AFTER_FORK_NS 100000000
#define LOOKS 4 /* at waiting threads, in a tick: some microseconds each */

static struct {
    pthread_mutex_t life;
    pthread_t thread;
    bool started;        /* written with `life`; atomic */
    uint64_t not_before; /* monotonic ns; with `life` */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;       /* with `lock` */
    uint64_t random; /* the thread's */
    uint32_t next;   /* of the waiting threads, from the newest: the first to be looked at; the thread's */
} ticker = {.life = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t next_delay(void) {
    uint64_t x = ticker.random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    ticker.random = x;
    return SM_TICK_NS / 2 + x % SM_TICK_NS;
}

/* Threads that have had no event since the last visit wait, mostly: some of them are looked at, all in turn. */
static void tick(bool may_look) {
    uint32_t waiting = 0, looks = 0;
    for (sm_thread *thread = __atomic_load_n(&sm_engine.threads, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
        if (__atomic_load_n(&thread->session, __ATOMIC_RELAXED) != sm_engine.session)
            continue;
        sm_engine.recorder->poke(thread);
        if (__atomic_fetch_add(&thread->visits, 1, __ATOMIC_RELAXED) == 0 || !may_look ||
            sm_engine.recorder->threadless)
            continue;
        if (waiting++ >= ticker.next && looks < LOOKS) {
            looks++;
            sm_waits_look(thread);
        }
    }
    ticker.next = ticker.next + looks < waiting ? ticker.next + looks : 0;
    if (sm_engine.beside.recorder != NULL)
        sm_engine.beside.recorder->poke(NULL);
}

static void *run(void *unused) {
    bool looks = sm_waits_look_alone();
    pthread_mutex_lock(&ticker.lock);
    while (!ticker.stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t delay = next_delay();
        until.tv_nsec += (long)delay;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&ticker.wake, &ticker.lock, &until);
        if (!ticker.stop)
            tick(looks);
    }
    pthread_mutex_unlock(&ticker.lock);
    return unused;
}

static bool start(void) {
    pthread_condattr_t clock;
    pthread_attr_t attributes;
    sigset_t all, before;
    ticker.stop = false;
    ticker.random = sm_monotonic_ns() | 1;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker.wake, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&ticker.thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

void sm_ticker_want(void) {
    if (__atomic_load_n(&ticker.started, __ATOMIC_RELAXED) || sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        return;
    if (pthread_mutex_trylock(&ticker.life) != 0)
        return; /* somebody forks: an event does not wait for that */
    uint64_t now = sm_monotonic_ns();
    if (!ticker.started && now >= ticker.not_before) {
        bool started = start();
        __atomic_store_n(&ticker.started, started, __ATOMIC_RELAXED);
        ticker.not_before = started ? 0 : now + 10 * (uint64_t)AFTER_FORK_NS;
    }
    pthread_mutex_unlock(&ticker.life);
}

static void join(void) { /* with `life` */
    if (!ticker.started)
        return;
    pthread_mutex_lock(&ticker.lock);
    ticker.stop = true;
    pthread_cond_signal(&ticker.wake);
    pthread_mutex_unlock(&ticker.lock);
    pthread_join(ticker.thread, NULL);
    pthread_cond_destroy(&ticker.wake);
    __atomic_store_n(&ticker.started, false, __ATOMIC_RELAXED);
}

void sm_ticker_stop(void) {
    pthread_mutex_lock(&ticker.life);
    join();
    pthread_mutex_unlock(&ticker.life);
}

void sm_ticker_before_fork(void) {
    pthread_mutex_lock(&ticker.life);
    join();
    ticker.not_before = sm_monotonic_ns() + AFTER_FORK_NS;
}

void sm_ticker_after_fork(void) {
    pthread_mutex_unlock(&ticker.life);
}

void sm_ticker_forked(void) {
    pthread_mutex_init(&ticker.life, NULL);
    pthread_mutex_init(&ticker.lock, NULL);
}
