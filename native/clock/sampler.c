#include "clock/sampler.h"

#include <math.h>
#include <sys/prctl.h>

#include "base/time.h"
#include "base/worker.h"
#include "clock/waits.h"
#include "compat/forks.h"

#define FIRST_NS 1000000000 /* period with FIRST_RATE */
#define FIRST_RATE 4000
#define LATER_RATE 1000
#define STILL 4 /* a thread that did not run during as many looks is idle */
#define IDLE_NS 100000000
#define LATE 3 /* mean intervals; CPU time older than that is not attributed by a look */
#define MOST 32
#define SLACK_NS 1000 /* slack of the sampler's timer; the default is 50 us */

static struct {
    pthread_mutex_t lock;
    sm_timing busy, idle; /* heads of two lists; guarded by `lock` */
    sm_sampled recorder;
    unsigned rate;
    bool wanted; /* the sampler should run; guarded by the GIL */
    /* Of the sampler's thread, while it runs. */
    uint64_t began_ns, idle_ns; /* monotonic: its start, and its last look at idle threads */
    uint64_t random;
    uint64_t most;  /* ticks of CPU time that one look may attribute */
    double running; /* sum of the threads' shares; guarded by `lock`, like the next */
    uint64_t stopped;
} sampler = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void unlink_timing(sm_timing *timing) {
    if (!timing->listed)
        return;
    timing->next->previous = timing->previous;
    timing->previous->next = timing->next;
    timing->listed = false;
}

static void append(sm_timing *head, sm_timing *timing) {
    unlink_timing(timing);
    timing->next = head;
    timing->previous = head->previous;
    head->previous->next = timing;
    head->previous = timing;
    timing->listed = true;
}

static void empty(sm_timing *head) {
    head->next = head->previous = head;
}

void sm_sampler_lock(void) {
    pthread_mutex_lock(&sampler.lock);
}

void sm_sampler_unlock(void) {
    pthread_mutex_unlock(&sampler.lock);
}

typedef struct {
    sm_time_state state;
    uint64_t sampled, ran;
    void *open;
    uint64_t ticks, since_cpu;
    int64_t cpu_ns;
} snapshot;

/* Copy the state. Return false if the thread keeps changing it. */
static bool read_timing(const sm_timing *timing, uint64_t now, snapshot *to) {
    for (int i = 0; i < 4; i++) {
        uint32_t sequence = __atomic_load_n(&timing->sequence, __ATOMIC_ACQUIRE);
        sm_time_state state = __atomic_load_n(&timing->state, __ATOMIC_ACQUIRE);
        uint64_t since = __atomic_load_n(&timing->since, __ATOMIC_ACQUIRE);
        uint64_t sampled = __atomic_load_n(&timing->sampled, __ATOMIC_ACQUIRE);
        uint64_t ran = __atomic_load_n(&timing->ran, __ATOMIC_ACQUIRE);
        void *open = __atomic_load_n(&timing->open, __ATOMIC_ACQUIRE);
        uint64_t cpu_ticks = __atomic_load_n(&timing->cpu_ticks, __ATOMIC_ACQUIRE);
        int64_t cpu_ns = __atomic_load_n(&timing->cpu_ns, __ATOMIC_ACQUIRE);
        if ((sequence & 1) != 0 || __atomic_load_n(&timing->sequence, __ATOMIC_RELAXED) != sequence)
            continue;
        uint64_t ticks = sm_ticks_since(since, now);
        *to = (snapshot){state, sampled + (state == SM_TIME_SAMPLED ? ticks : 0),
                         ran,   state == SM_TIME_EXACT ? open : NULL,
                         ticks, sm_ticks_since(cpu_ticks, now),
                         cpu_ns};
        return true;
    }
    return false;
}

/* Return the ticks of CPU time, within sampled time, that no look has attributed yet. */
static uint64_t unattributed(const sm_timing *timing, const snapshot *at, int64_t cpu_ns) {
    double used = (double)(cpu_ns - timing->cpu_start_ns) / SM_PEEK(sm_timing_clock->ns_per_tick);
    double left = used - (double)at->ran - (double)timing->attributed;
    return left > 0 ? (uint64_t)left : 0;
}

static void add(sm_timing *timing, void *current, const snapshot *at, int64_t cpu_ns, sm_wait wait, bool off,
                bool stood) {
    uint64_t weight = sm_ticks_since(timing->seen, at->sampled);
    timing->seen = at->sampled;
    bool waits = off && wait != SM_WAIT_READY;
    uint64_t left = cpu_ns >= 0 ? unattributed(timing, at, cpu_ns) : waits ? 0 : weight;
    uint64_t ran = left < weight ? left : weight;
    /* The function that used CPU time long ago, or before this wait, is unknown. */
    sm_look look = {waits ? 0 : ran < sampler.most ? ran : sampler.most, {weight - ran, 0, 0}, stood};
    look.off.lock = waits && wait != SM_WAIT_OTHER ? look.off.all : 0;
    look.off.ready = waits || !sm_waits_looks() ? 0 : look.off.all;
    timing->attributed += ran;
    sampler.recorder.add(timing, current, &look);
}

/* Note how much of the time since its last look the thread ran, and how much the others did. */
static void compare(sm_timing *timing, void *current, uint64_t now, int64_t cpu_ns) {
    double took = (double)sm_ticks_since(timing->looked, now);
    double ran = (double)(cpu_ns - timing->cpu_at) / SM_PEEK(sm_timing_clock->ns_per_tick);
    double share = took > 0 ? fmin(ran / took, 1) : 0;
    sampler.running += share - timing->share;
    timing->share = share;
    if (current != NULL && ran > 0 && sampler.recorder.compare != NULL)
        sampler.recorder.compare(current, (uint64_t)ran, (uint64_t)(ran * fmax(sampler.running - share, 0)));
}

static void look_at(sm_timing *timing) {
    snapshot at;
    int64_t cpu_ns = timing->cpu_start_ns >= 0 ? sm_time_ns(timing->cpu_clock) : -1;
    uint64_t now = sm_clock_read(sm_timing_clock);
    if (!read_timing(timing, now, &at))
        return;
    void *current = at.state == SM_TIME_SAMPLED ? sampler.recorder.current(timing) : NULL;
    bool off = cpu_ns >= 0 && sm_time_ns(timing->cpu_clock) == cpu_ns;
    bool stood = off && cpu_ns == timing->cpu_at;
    sm_wait wait = off ? sm_waits_of(timing->native_id, timing->of_world) : SM_WAIT_READY;
    if (cpu_ns >= 0)
        compare(timing, wait != SM_WAIT_READY ? NULL : current != NULL ? current : at.open, now, cpu_ns);
    if (wait == SM_WAIT_STOP)
        sampler.stopped += sm_ticks_since(timing->looked, now);
    timing->looked = now;
    timing->cpu_at = cpu_ns;
    timing->still = stood && wait != SM_WAIT_READY ? timing->still + 1 : 0;
    if (current != NULL) {
        timing->last = current;
        add(timing, current, &at, cpu_ns, wait, off, stood);
    } else if (at.state == SM_TIME_EXACT && off) {
        __atomic_fetch_add(&timing->looks[wait], 1, __ATOMIC_RELAXED);
    }
}

/* Attribute the time since the last look to what runs now: all waiting, and CPU time only of an idle thread, which had
 * no event since. Return the ticks of CPU time that were not attributed. */
static uint64_t settle(sm_timing *timing, uint64_t now) {
    snapshot at;
    if (!read_timing(timing, now, &at))
        return 0;
    void *current = timing->idle || at.state != SM_TIME_SAMPLED ? NULL : sampler.recorder.current(timing);
    if (current == NULL)
        current = timing->last;
    int64_t cpu_ns = timing->cpu_start_ns >= 0 ? sm_time_ns(timing->cpu_clock) : -1;
    uint64_t weight = sm_ticks_since(timing->seen, at.sampled);
    uint64_t left = cpu_ns >= 0 ? unattributed(timing, &at, cpu_ns) : weight, ran = left < weight ? left : weight;
    if (current == NULL || cpu_ns < 0)
        return ran;
    sm_look look = {timing->idle ? ran : 0, {weight - ran, 0, 0}, timing->idle};
    timing->seen = at.sampled;
    timing->attributed += ran;
    sampler.recorder.add(timing, current, &look);
    return 0;
}

/* Mark a thread as idle, so that its next event wakes it. The event reads `idle` after it has opened its gate, and the
 * gate is closed after `idle` is set, so one of the two sees the other. */
static void rest(sm_timing *timing) {
    append(&sampler.idle, timing);
    __atomic_store_n(&timing->idle, true, __ATOMIC_SEQ_CST);
    sampler.recorder.wake(timing);
}

static void rouse(sm_timing *timing) {
    timing->still = 0;
    __atomic_store_n(&timing->idle, false, __ATOMIC_SEQ_CST);
    append(&sampler.busy, timing);
}

static void look_at_busy(void) {
    sm_timing *last = sampler.busy.previous;
    for (int i = 0; i < MOST && sampler.busy.next != &sampler.busy; i++) {
        sm_timing *timing = sampler.busy.next;
        look_at(timing);
        if (timing->still >= STILL)
            rest(timing);
        else
            append(&sampler.busy, timing);
        if (timing == last)
            break;
    }
}

static void look_at_idle(void) {
    for (sm_timing *timing = sampler.idle.next, *next; timing != &sampler.idle; timing = next) {
        next = timing->next;
        int64_t before = timing->cpu_at;
        look_at(timing);
        if (timing->cpu_at != before)
            rouse(timing);
    }
}

void sm_sampler_look(void) {
    pthread_mutex_lock(&sampler.lock);
    for (sm_timing *timing = sampler.busy.next; timing != &sampler.busy; timing = timing->next)
        look_at(timing);
    look_at_idle();
    pthread_mutex_unlock(&sampler.lock);
}

static sm_worker worker;

static uint64_t next_delay(uint64_t now_ns) {
    uint64_t x = sampler.random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    sampler.random = x;
    unsigned rate = sampler.rate != 0 ? sampler.rate : now_ns - sampler.began_ns < FIRST_NS ? FIRST_RATE : LATER_RATE;
    uint64_t mean = 1000000000u / rate;
    sampler.most = (uint64_t)(LATE * (double)mean / SM_PEEK(sm_timing_clock->ns_per_tick));
    return mean / 2 + x % mean;
}

static void work(sm_worker *mine, uintptr_t number) {
    prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
    sm_waits_look_alone();
    uint64_t now = sm_monotonic_ns();
    sampler.random = now | 1;
    while (sm_worker_goes_on(mine, number)) {
        pthread_mutex_lock(&sampler.lock);
        bool all_idle = sampler.busy.next == &sampler.busy;
        pthread_mutex_unlock(&sampler.lock);
        sm_worker_sleep(mine, now + (all_idle ? IDLE_NS : next_delay(now)));
        if (!sm_worker_goes_on(mine, number))
            break;
        now = sm_monotonic_ns();
        pthread_mutex_lock(&sampler.lock);
        look_at_busy();
        if (now - sampler.idle_ns >= IDLE_NS) {
            look_at_idle();
            sampler.idle_ns = now;
        }
        pthread_mutex_unlock(&sampler.lock);
    }
}

static sm_worker worker = SM_WORKER(work, 0);

static bool is_wanted(void) {
    return sampler.wanted;
}

void sm_sampler_forget(void) {
    for (sm_timing *head = &sampler.busy; head != NULL; head = head == &sampler.busy ? &sampler.idle : NULL)
        while (head->next != head)
            unlink_timing(head->next);
}

static void before_fork(void) {
    pthread_mutex_lock(&sampler.lock);
}

static void parent_forked(void) {
    pthread_mutex_unlock(&sampler.lock);
}

static void child_forked(void) {
    pthread_mutex_init(&sampler.lock, NULL);
    sampler.wanted = false;
    sm_sampler_forget();
}

bool sm_sampler_init(void) {
    empty(&sampler.busy);
    empty(&sampler.idle);
    static const sm_fork_calls calls = {&worker, before_fork, parent_forked, child_forked, is_wanted, NULL};
    return sm_worker_init(&worker) && sm_forks_register(SM_FORK_SAMPLER, &calls);
}

void sm_sampler_start(const sm_sampled *recorder, const sm_clock *clock, unsigned rate) {
    sampler.recorder = *recorder;
    sampler.rate = rate;
    sampler.most = UINT64_MAX;
    sampler.running = 0;
    sampler.stopped = 0;
    sampler.began_ns = sampler.idle_ns = sm_monotonic_ns();
    sm_timing_clock = clock;
    sm_timing_long = clock->kind == SM_CLOCK_SIMULATED ? UINT64_MAX : (uint64_t)(SM_PIECE_LONG_NS / clock->ns_per_tick);
    sampler.wanted = clock->kind != SM_CLOCK_SIMULATED;
    if (sampler.wanted)
        (void)sm_worker_start(&worker);
}

void sm_sampler_stop(void) {
    sm_worker_stop(&worker);
    sampler.wanted = false;
}

void sm_sampler_add(sm_timing *timing, clockid_t cpu_clock, uint64_t native_id, uintptr_t of_world) {
    pthread_mutex_lock(&sampler.lock);
    timing->cpu_clock = cpu_clock;
    timing->native_id = native_id;
    timing->of_world = of_world;
    timing->looked = sm_clock_read(sm_timing_clock);
    timing->cpu_start_ns = timing->cpu_at = timing->cpu_ns;
    timing->ran = 0;
    append(&sampler.busy, timing);
    pthread_mutex_unlock(&sampler.lock);
    sm_worker_wake(&worker);
}

void sm_sampler_remove(sm_timing *timing) {
    pthread_mutex_lock(&sampler.lock);
    sampler.running -= timing->share;
    timing->share = 0;
    unlink_timing(timing);
    pthread_mutex_unlock(&sampler.lock);
}

void sm_sampler_attend(sm_timing *timing, uint64_t now) {
    if (pthread_mutex_trylock(&sampler.lock) != 0)
        return;
    if (timing->listed && timing->idle) {
        (void)settle(timing, now);
        rouse(timing);
    }
    pthread_mutex_unlock(&sampler.lock);
    sm_worker_wake(&worker);
}

uint64_t sm_sampler_ran(sm_timing *timing, uint64_t now) {
    pthread_mutex_lock(&sampler.lock);
    uint64_t unseen = timing->listed ? settle(timing, now) : 0, ran = timing->attributed + unseen;
    pthread_mutex_unlock(&sampler.lock);
    return ran;
}

uint64_t sm_sampler_stopped(void) {
    pthread_mutex_lock(&sampler.lock);
    uint64_t ticks = sampler.stopped;
    pthread_mutex_unlock(&sampler.lock);
    return ticks;
}

sm_piece sm_sampler_so_far(const sm_timing *timing, uint64_t now) {
    snapshot at;
    sm_piece piece = {NULL, 0, {0, 0, 0}};
    pthread_mutex_lock(&sampler.lock);
    if (timing->listed && read_timing(timing, now, &at) && at.open != NULL) {
        int64_t cpu_ns = at.cpu_ns >= 0 ? sm_time_ns(timing->cpu_clock) : -1;
        double ran = (double)(cpu_ns - at.cpu_ns) / SM_PEEK(sm_timing_clock->ns_per_tick),
               off = (double)at.since_cpu - ran;
        if (cpu_ns >= 0 && at.ticks >= sm_timing_long && off > 0)
            piece.off = sm_timing_divide(timing->looks, (uint64_t)fmin(off, (double)at.ticks));
        piece.of = at.open;
        piece.ran = at.ticks - piece.off.all;
    }
    pthread_mutex_unlock(&sampler.lock);
    return piece;
}
