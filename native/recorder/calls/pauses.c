/* A collection takes as long as some hundred segments and more, and happens in whatever happens to make one object too
 * many: once in thousands of the segments of a function. By the random samples of that function nothing would be known
 * of it. They miss it mostly; and where they do not, one such sample stands for a hundred more of the kind and is as
 * much as all else that the function does. But when a collection begins and ends is told (slots/collector.h). So its
 * time is measured, at the price of two reads of the clock, and is no part of the segment that it is in (timing.c).
 *
 * That holds for the pauses in which the thread did nothing else and lost no processor, nearly all of them. What
 * finalizers do has events of its own, and time off the CPU is found by comparing clocks when the segment ends: such a
 * pause is left to the samples and to the ticker, as it would be if nothing had been told. Which of the two a pause is
 * does not depend on what is sampled, so that neither is counted twice. */
#include "recorder/calls/pauses.h"

#include "recorder/calls/store.h"
#include "slots/collector.h"

static struct {
    bool told, timed;
    sm_thread *thread; /* that collects; NULL: none, or what it takes is not measured */
    const sm_node *node;
    const void *open;
    uint64_t began, opened, seen; /* ticks */
    int32_t countdown;
} pauses;

static sm_segments *segments_of(sm_thread *thread) {
    return &sm_tree_of(thread)->segments;
}

static bool is_timed(sm_thread *thread) {
    const sm_segments *segments = segments_of(thread);
    bool visited = segments->open == NULL && segments->countdown <= 0;
    bool known = sm_engine.source->starts_only == false && sm_tree_of(thread)->node->parent != NULL;
    return pauses.timed && known && !visited && segments->pauses == 0 && (segments->cpu_ns < 0 || sm_offcpu_tells());
}

static void begin(sm_thread *thread) {
    const sm_segments *segments = segments_of(thread);
    pauses.thread = is_timed(thread) ? thread : NULL;
    pauses.node = sm_tree_of(thread)->node;
    pauses.open = segments->open, pauses.opened = segments->opened, pauses.seen = segments->seen;
    pauses.countdown = segments->countdown;
    pauses.began = sm_clock_read(&sm_engine.clock);
}

/* Has this thread done nothing else since the pause began? */
static bool is_alone(sm_thread *thread) {
    sm_segments *segments = segments_of(thread);
    if (pauses.thread != thread || sm_tree_of(thread)->node != pauses.node || segments->open != pauses.open ||
        segments->opened != pauses.opened || segments->seen != pauses.seen || segments->pauses != 0 ||
        (segments->cpu_ns >= 0 && !sm_offcpu_undisturbed()))
        return false;
    int32_t visited = 0; /* else the ticker would find the pause once more */
    if (segments->countdown != pauses.countdown && pauses.open == NULL)
        __atomic_compare_exchange_n(&segments->countdown, &visited, pauses.countdown, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return segments->countdown == pauses.countdown;
}

static void end(sm_thread *thread) {
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (is_alone(thread) && now > pauses.began)
        sm_tree_take_out(thread, pauses.began, now - pauses.began);
    pauses.thread = NULL;
}

/* On the thread that collects. */
static void note(const sm_pause *of) {
    sm_thread *thread = sm_this_thread;
    if (!sm_engine.running || sm_engine.forked || thread->session != sm_engine.session || thread->ended)
        return; /* no event has come from this thread */
    if (sm_engine.ahead)
        return; /* the journal has its end, and what collects is the merge of the children's parts */
    if (!of->begins)
        end(thread);
    sm_journal_pause(thread, of);
    if (of->begins)
        begin(thread);
}

void sm_pauses_start(const sm_settings *settings) {
    pauses.thread = NULL;
    pauses.timed = !settings->timeless && !settings->time_every;
    bool wanted = pauses.timed || sm_journal_has_file();
    if (wanted || pauses.told)
        pauses.told = sm_collector_tell(wanted ? note : NULL);
}

void sm_pauses_stop(void) {
    if (pauses.told)
        (void)sm_collector_tell(NULL);
    pauses.told = false;
}
