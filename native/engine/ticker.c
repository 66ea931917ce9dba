#include "engine/ticker.h"

#include "base/worker.h"
#include "engine/engine.h"
#include "slots/forks.h"

#define AFTER_FORK_NS 100000000

static void tick(void) {
    const sm_recorder *recorder = sm_engine.recorder, *alongside = sm_engine.alongside.recorder;
    if (recorder->poke != NULL)
        recorder->poke();
    if (alongside != NULL && alongside->poke != NULL)
        alongside->poke();
}

static void work(sm_worker *worker, uintptr_t number) {
    while (sm_worker_goes_on(worker, number)) {
        sm_worker_sleep(worker, sm_monotonic_ns() + SM_TICK_NS);
        if (sm_worker_goes_on(worker, number))
            tick();
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
