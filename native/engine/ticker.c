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
 * segment are left to the random samples, which are no longer than that, so that nothing is counted twice.
 *
 * Busy machines. Ticks come late there, so their distance is what it was of late, not what was asked for. And a thread
 * that is visited while it has no processor, or loses it afterwards, comes by late although its segment is short: it
 * counts how long it *ran* since the visit. The visit notes what the thread's CPU clock says for that, since what the
 * thread itself knows of its time off the CPU may all lie before the visit; where that was taken off instead, a third
 * of the long segments beside busy processes was not seen.
 *
 * The thread (base/worker.h) is started when the first function proves short, so small programs never see it, and comes
 * back a little after a fork. It touches no Python object. A store into a countdown may be lost against a simultaneous
 * decrement: then this tick finds no event of that thread, which never happens to a long segment. What a tick looks at
 * (the list of threads, the recorders) is set while the thread is not there, or is atomic. */
#include "engine/ticker.h"

#include "base/worker.h"
#include "engine/engine.h"
#include "clock/waits.h"
#include "slots/forks.h"

#define AFTER_FORK_NS 100000000
#define OF_LATE 64.0 /* visits */
#define LOOKS 4      /* at waiting threads, in a tick: some microseconds each */

static struct { /* the thread's */
    uint64_t random;
    uint32_t next;   /* of the waiting threads, from the newest: the first to be looked at */
    int64_t last_ns; /* when it visited last */
    double mean_ns;  /* between visits, of late */
} ticker;

static uint64_t next_delay(void) {
    uint64_t x = ticker.random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    ticker.random = x;
    return SM_TICK_NS / 2 + x % SM_TICK_NS;
}

/* Has the mean distance of visits follow what it is. */
static void note_distance(void) {
    int64_t now = sm_monotonic_ns();
    ticker.mean_ns += ((double)(now - ticker.last_ns) - ticker.mean_ns) / OF_LATE;
    ticker.last_ns = now;
    __atomic_store_n(&sm_engine.visit_ticks, (uint64_t)(ticker.mean_ns / sm_engine.clock.ns_per_tick),
                     __ATOMIC_RELAXED);
}

/* Threads that have had no event since the last visit wait, mostly: some of them are looked at, all in turn. */
static void tick(bool may_look) {
    (void)may_look;
    note_distance();
    for (sm_thread *thread = __atomic_load_n(&sm_engine.threads, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
        if (__atomic_load_n(&thread->session, __ATOMIC_RELAXED) != sm_engine.session)
            continue;
        sm_engine.recorder->poke(thread);
        __atomic_fetch_add(&thread->visits, 1, __ATOMIC_RELAXED);
    }
    if (sm_engine.alongside.recorder != NULL)
        sm_engine.alongside.recorder->poke(NULL);
}

static void work(sm_worker *worker, uintptr_t number) {
    bool looks = false;
    ticker.last_ns = sm_monotonic_ns();
    ticker.mean_ns = SM_TICK_NS;
    ticker.random = (uint64_t)ticker.last_ns | 1;
    while (sm_worker_goes_on(worker, number)) {
        sm_worker_sleep(worker, sm_monotonic_ns() + next_delay());
        if (sm_worker_goes_on(worker, number))
            tick(looks);
    }
}

static sm_worker worker = SM_WORKER(work, 0);

void sm_ticker_want(void) {
    if (sm_engine.clock.kind != SM_CLOCK_SIMULATED)
        (void)sm_worker_want(&worker);
}

void sm_ticker_stop(void) {
    sm_worker_stop(&worker);
}

static void before_fork(void) {
    sm_worker_before_fork(&worker, AFTER_FORK_NS);
}

static bool parent_forked(void) {
    sm_worker_after_fork(&worker);
    return false;
}

static void child_forked(void) {
    sm_worker_forked(&worker);
}

bool sm_ticker_init(void) {
    static const sm_fork_calls calls = {.before = before_fork, .parent = parent_forked, .child = child_forked};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_TICKER, &calls);
}
