#include "engine/ticker.h"

#include "base/worker.h"
#include "compat/forks.h"
#include "engine/engine.h"

static bool wanted;        /* atomic; the ticker should run; changed with the GIL */
static void (*tick)(void); /* atomic; changed with the GIL */

static void work(sm_worker *worker, uintptr_t number) {
    while (sm_worker_goes_on(worker, number)) {
        sm_worker_sleep(worker, sm_monotonic_ns() + SM_TICK_NS);
        if (sm_worker_goes_on(worker, number))
            __atomic_load_n(&tick, __ATOMIC_RELAXED)();
    }
}

static sm_worker worker = SM_WORKER(work, 0);

static bool is_wanted(void) {
    return __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

void sm_ticker_start(void (*call)(void)) {
    __atomic_store_n(&tick, call, __ATOMIC_RELAXED);
    __atomic_store_n(&wanted, sm_engine.clock.kind != SM_CLOCK_SIMULATED, __ATOMIC_RELAXED);
    if (is_wanted())
        (void)sm_worker_start(&worker);
}

void sm_ticker_stop(void) {
    __atomic_store_n(&wanted, false, __ATOMIC_RELAXED);
    sm_worker_stop(&worker);
}

static void child_forked(void) {
    __atomic_store_n(&wanted, false, __ATOMIC_RELAXED);
}

bool sm_ticker_init(void) {
    static const sm_fork_calls calls = {.worker = &worker, .child = child_forked, .wanted = is_wanted};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_TICKER, &calls);
}
