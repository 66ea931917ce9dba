#include "recorder/segments.h"

#include "base/pace.h"
#include "base/time.h"
#include "engine/threads.h"
#include "clock/waits.h"

#define UNTOLD_NS 25000  /* where the kernel does not tell: a stretch this long is worth the CPU clock's price */
#define TOGETHER_NS 5000 /* longer than it takes to read both clocks */
#define APART_NS 2000000 /* as long as the clocks may go apart */
#define COLD_NS 100000   /* after others had the processor: their data fills its caches */
#define YOUNG_NS 1000000
#define WORTH_NS 200000 /* a wait this long is worth asking what it was for */
#define LOOK_NS 20000   /* about as long ago as the clock was read last when a tick finds a long segment */

uint64_t sm_segments_seed(void) {
    bool simulated = sm_engine.clock.kind == SM_CLOCK_SIMULATED; /* then tests want the same gaps every time */
    return (simulated ? sm_simulated_ticks : sm_monotonic_ns()) ^ SM_SEED_STEP;
}

/* ---- off the CPU ---- */

static uint64_t ticks_of(double ns) {
    return (uint64_t)(ns / sm_engine.clock.ns_per_tick);
}

static int64_t own_cpu_ns(void) {
    return sm_engine.clock.kind == SM_CLOCK_SIMULATED ? -1 : sm_time_ns(CLOCK_THREAD_CPUTIME_ID);
}

void sm_segments_calm(sm_segments *segments, uint64_t now) {
    if (segments->off.all != 0 || now < segments->cold)
        segments->calm = 0;
    else if (segments->cpu_ns < 0) /* nothing can be known */
        segments->calm = UINT64_MAX;
    else
        segments->calm = sm_offcpu_tells() ? segments->cpu_ticks + ticks_of(APART_NS) : 0;
}

/* From here on the running thread is watched anew: what was off the CPU before is known. Both clocks are read together,
 * and again where something came in between. */
static void watch_anew(sm_segments *segments) {
    uint64_t before = sm_clock_read(&sm_engine.clock);
    for (int i = 0; i < 3; i++) {
        sm_offcpu_watch();
        segments->cpu_ns = own_cpu_ns();
        segments->cpu_ticks = sm_clock_read(&sm_engine.clock);
        if (sm_ticks_since(before, segments->cpu_ticks) < ticks_of(TOGETHER_NS))
            break;
        before = segments->cpu_ticks;
    }
    sm_segments_calm(segments, segments->cpu_ticks);
}

/* Divides what a thread was off the CPU by what it waited for. */
static sm_off divide(sm_thread *thread, sm_segments *segments, uint64_t ticks) {
    sm_off off = {.all = ticks};
    uint32_t lock = __atomic_exchange_n(&thread->looks_lock, 0, __ATOMIC_RELAXED);
    uint32_t other = __atomic_exchange_n(&thread->looks_other, 0, __ATOMIC_RELAXED);
    if (ticks < ticks_of(WORTH_NS))
        return off;
    int64_t ready = -1;
    if (ready > segments->ready_ns && segments->ready_ns >= 0) {
        uint64_t more = ticks_of((double)(ready - segments->ready_ns));
        off.ready = more < ticks ? more : ticks;
        segments->ready_ns = ready;
    }
    if (lock + other > 0)
        off.lock = (uint64_t)((double)(ticks - off.ready) * lock / (lock + other));
    return off;
}

/* A stretch of our own that took so long: all of it was off the CPU if it is longer than it can be. */
static uint64_t at_work(uint64_t ticks) {
    return ticks < ticks_of(TOGETHER_NS) ? 0 : ticks;
}

/* A stretch that took so long ends `now`: need nobody look at the clocks? */
static bool is_quiet(const sm_segments *segments, sm_offcpu_answer answer, uint64_t ran, uint64_t now) {
    if (answer == SM_OFFCPU_NO && sm_offcpu == SM_OFFCPU_TOLD)
        return sm_ticks_since(segments->cpu_ticks, now) < ticks_of(APART_NS);
    return answer != SM_OFFCPU_YES && ran + segments->opening < ticks_of(UNTOLD_NS);
}

/* As sm_segments_look_back, of a stretch of so many ticks that may have been disturbed. */
uint64_t sm_segments_look_closely(sm_thread *thread, sm_segments *segments, uint64_t ran, uint64_t *now) {
    uint64_t event = *now;
    if (segments->cpu_ns < 0)
        return ran;
    sm_offcpu_answer answer = sm_offcpu_ask();
    if (is_quiet(segments, answer, ran, event)) {
        sm_segments_calm(segments, event); /* it may have been no more than cold */
        return ran;
    }
    bool none = answer == SM_OFFCPU_NO && sm_offcpu == SM_OFFCPU_TOLD;
    uint64_t since = segments->cpu_ticks;
    int64_t cpu_since = segments->cpu_ns;
    segments->disturbed = answer == SM_OFFCPU_YES;
    sm_pace_note(&sm_engine.clock, event, segments->disturbed);
    watch_anew(segments);
    *now = segments->cpu_ticks;
    if (segments->cpu_ns < 0)
        return ran;
    uint64_t here = (none ? 0 : at_work(segments->opening)) + at_work(sm_ticks_since(event, *now));
    double used = (double)(segments->cpu_ns - cpu_since) / sm_engine.clock.ns_per_tick;
    double off = used < 0 ? 0 : (double)sm_ticks_since(since, *now) - used;   /* below 0: another thread's, forked */
    uint64_t before = none || off <= (double)here ? 0 : (uint64_t)off - here; /* none: the clocks have drifted apart */
    before = before < ran ? before : ran;
    if (before + here == 0)
        return ran;
    sm_off divided = divide(thread, segments, before + here);
    if (sm_off_own(&divided) < divided.all / 2)
        segments->cold = *now + ticks_of(COLD_NS);
    sm_off_add(&segments->off, &divided);
    sm_segments_calm(segments, *now);
    return ran - before;
}

void sm_segments_start(sm_thread *thread, sm_segments *segments, uint64_t seed) {
    segments->random = sm_random_state(seed);
    segments->countdown = sm_gap(&segments->random);
    uint64_t worth = sm_engine.threshold_ticks, lasting = sm_engine.long_ticks;
    segments->brief = worth < lasting ? worth : lasting;
    /* To ask costs more than all else here, and a young thread has hardly waited yet. */
    int64_t used = own_cpu_ns();
    segments->ready_ns = used < 0 ? -1 : -1;
    __atomic_store_n(&thread->looked_at, thread->native_id, __ATOMIC_RELAXED);
    if (thread->id > 0)
        sm_ticker_want(); /* there is somebody to wait for */
    watch_anew(segments);
    segments->seen = sm_clock_read(&sm_engine.clock);
}

/* ---- segments ---- */

/* The ticker's visit is seen. How long had the segment at hand gone on by itself, while it ran? */
static uint64_t since_visit(const sm_thread *thread, const sm_segments *segments, const sm_segment *ended,
                            uint64_t event) {
    uint64_t since = sm_ticks_since(__atomic_load_n(&segments->poked, __ATOMIC_ACQUIRE), event);
    if (ended->off == NULL)
        return since;
    int64_t then = __atomic_load_n(&thread->visited_ns, __ATOMIC_RELAXED);
    if (then < 0 || segments->cpu_ns < then) /* not known */
        return sm_ticks_since(ended->off->all, since);
    uint64_t ran = ticks_of((double)(segments->cpu_ns - then));
    return ran < since ? ran : since;
}

/* A stretch of so many ticks has ended at this event because of the ticker's visit. Gaps have no memory, so another is
 * as good. */
void sm_segments_end_visit(const sm_thread *thread, sm_segments *segments, sm_segment *ended, uint64_t ticks,
                           uint64_t event) {
    double tick = (double)__atomic_load_n(&sm_engine.visit_ticks, __ATOMIC_RELAXED);
    segments->left = sm_gap(&segments->random);
    ended->guessed = (double)ticks < tick;
    if (since_visit(thread, segments, ended, event) < sm_engine.long_ticks)
        return;
    double look = (double)ticks_of(LOOK_NS);
    ended->kind = SM_SEGMENT_LONG;
    ended->var = look * look;
    if (ended->guessed) { /* it was met by chance, and stands for those that were not */
        double met = (double)ticks / tick, stands_for = (double)ended->ticks / met;
        ended->ticks = (uint64_t)stands_for;
        ended->var += stands_for * stands_for * (1.0 - met);
    }
}

/* A segment that was opened to be a sample is none, but a long one: the ticker would have found it if it had not looked
 * away. */
void sm_segments_spare(sm_segment *ended) {
    double look = (double)ticks_of(LOOK_NS);
    ended->kind = SM_SEGMENT_LONG;
    ended->ticks -= sm_engine.long_ticks;
    ended->var = look * look;
}

/* The engine has something to do, which is no part of any segment. */
void sm_segments_due(sm_thread *thread, sm_segments *segments) {
    sm_engine_tick(thread);
    if (segments->cpu_ns >= 0)
        watch_anew(segments);
    segments->seen = sm_clock_read(&sm_engine.clock);
}

sm_segment sm_segments_close(sm_thread *thread, sm_segments *segments) {
    uint64_t ran = sm_ticks_since(segments->opened, segments->paused);
    segments->disturbed = false;
    sm_segment ended = sm_segments_end_open(thread, segments, ran, segments->paused);
    segments->countdown = segments->left > 0 ? segments->left : sm_gap(&segments->random);
    return ended;
}

/* Of any thread; -1: unknown. */
static int64_t cpu_so_far(const sm_thread *thread) {
    if (thread->end_ns == 0)
        return sm_thread_cpu_ns(thread);
    return thread->cpu_ns < 0 || thread->cpu_start_ns < 0 ? -1 : thread->cpu_start_ns + thread->cpu_ns;
}

sm_so_far sm_segments_so_far(const sm_thread *thread, const sm_segments *segments, uint64_t now) {
    sm_so_far so_far = {0, segments->off};
    if (segments->open == NULL || segments->open_step != SM_SEGMENT_ALWAYS || (thread->ended && thread->end_ns == 0))
        return (sm_so_far){0};
    if (thread->end_ns != 0) /* the recording has been stopped meanwhile */
        now = thread->end_ticks;
    so_far.ticks = sm_ticks_since(segments->opened, segments->pauses ? segments->paused : now);
    int64_t cpu = cpu_so_far(thread);
    if (cpu < 0 || segments->cpu_ns < 0 || segments->pauses)
        return so_far;
    double ran = (double)(cpu - segments->cpu_ns) / sm_engine.clock.ns_per_tick;
    double more = (double)sm_ticks_since(segments->cpu_ticks, now) - ran;
    if (more < (double)ticks_of(UNTOLD_NS)) /* another thread may be at work meanwhile */
        return so_far;
    uint32_t lock = __atomic_load_n(&thread->looks_lock, __ATOMIC_RELAXED);
    uint32_t other = __atomic_load_n(&thread->looks_other, __ATOMIC_RELAXED);
    sm_off off = {.all = more < (double)so_far.ticks ? (uint64_t)more : so_far.ticks};
    if (lock + other > 0)
        off.lock = (uint64_t)((double)off.all * lock / (lock + other));
    so_far.ticks -= off.all;
    sm_off_add(&so_far.off, &off);
    return so_far;
}

/* What was off the CPU before the pause is moved out of the stretch at hand and told with it. */
void sm_segments_hold(sm_thread *thread, sm_segments *segments) {
    if (segments->pauses++ > 0)
        return;
    uint64_t now = sm_clock_read(&sm_engine.clock);
    uint64_t *then = segments->open != NULL ? &segments->opened : &segments->seen;
    uint64_t ran = sm_segments_look_back(thread, segments, *then, &now);
    segments->paused = now;
    *then = now - ran;
    if (segments->open == NULL) {
        thread->rest_ticks += ran;
        *then = now;
    }
}

void sm_segments_go_on(sm_segments *segments) {
    if (segments->pauses == 0 || --segments->pauses > 0)
        return;
    if (segments->cpu_ns >= 0)
        watch_anew(segments);
    uint64_t away = sm_clock_read(&sm_engine.clock) - segments->paused;
    segments->opened += away;
    segments->seen += away;
}
