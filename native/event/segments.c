#include "event/segments.h"

uint64_t sm_segments_seed(void) {
    bool simulated = sm_engine.clock.kind == SM_CLOCK_SIMULATED; /* then tests want the same gaps every time */
    return (simulated ? sm_simulated_ticks : sm_monotonic_ns()) ^ SM_SEED_STEP;
}

int32_t sm_segments_step(bool few, double ticks, double count) {
    if (few || sm_engine.settings.time_every)
        return SM_SEGMENT_ALWAYS;
    return ticks >= count * (double)sm_engine.threshold_ticks ? SM_SEGMENT_ALWAYS : 1;
}

/* The open segment ends, so long after its beginning. */
static sm_segment close_open(sm_thread *thread, sm_segments *segments, uint64_t now) {
    sm_segment ended = {.owner = segments->open, .ticks = sm_ticks_since(segments->opened, now)};
    segments->open = NULL;
    segments->seen = now;
    if (segments->open_always) {
        ended.kind = SM_SEGMENT_TIMED;
        return ended;
    }
    thread->rest_ticks += ended.ticks;
    if (ended.ticks >= sm_long_ticks()) {
        ended.kind = SM_SEGMENT_LONG;
        return ended;
    }
    ended.kind = SM_SEGMENT_SAMPLED;
    ended.ticks = sm_ticks_since(sm_engine.sampled_extra, ended.ticks);
    return ended;
}

sm_segment sm_segments_end(sm_thread *thread, sm_segments *segments, int32_t step, uint64_t now) {
    if (segments->open != NULL)
        return close_open(thread, segments, now);
    sm_segment ended = {SM_SEGMENT_UNTIMED, NULL, sm_ticks_since(segments->seen, now)};
    thread->rest_ticks += ended.ticks;
    segments->seen = now;
    segments->left = segments->countdown + step; /* before this event */
    if (segments->left == 0) {                   /* the ticker's doing; gaps have no memory, so another is as good */
        segments->left = sm_gap(&segments->random) + 1;
        if (ended.ticks >= sm_long_ticks()) { /* the last look was long ago: so long is the segment, see ticker.c */
            uint64_t tick = (uint64_t)(SM_TICK_NS / sm_engine.clock.ns_per_tick);
            ended.kind = SM_SEGMENT_LONG;
            ended.ticks = ended.ticks > tick ? ended.ticks : tick;
        }
    }
    return ended;
}

bool sm_segments_begin(sm_thread *thread, sm_segments *segments, const sm_segment *ended, void *owner, int32_t step) {
    if (ended->owner != NULL && sm_engine_due(segments->seen)) {
        sm_engine_tick(thread);
        segments->seen = sm_clock_read(&sm_engine.clock);
    }
    bool always = step == SM_SEGMENT_ALWAYS;
    if (!always && --segments->left > 0) {
        segments->countdown = segments->left;
        return false;
    }
    segments->left = always ? segments->left : sm_gap(&segments->random);
    segments->countdown = 0;
    segments->open_always = always;
    segments->open = owner;
    segments->seen = segments->opened = sm_clock_read(&sm_engine.clock);
    return true;
}

sm_segment sm_segments_close(sm_thread *thread, sm_segments *segments) {
    sm_segment ended = close_open(thread, segments, segments->paused);
    segments->countdown = segments->left > 0 ? segments->left : sm_gap(&segments->random);
    return ended;
}

void sm_segments_hold(sm_thread *thread, sm_segments *segments) {
    if (segments->pauses++ > 0)
        return;
    segments->paused = sm_clock_read(&sm_engine.clock);
    if (segments->open == NULL && segments->paused > segments->seen) {
        thread->rest_ticks += segments->paused - segments->seen;
        segments->seen = segments->paused;
    }
}

void sm_segments_go_on(sm_segments *segments) {
    if (segments->pauses == 0 || --segments->pauses > 0)
        return;
    uint64_t away = sm_clock_read(&sm_engine.clock) - segments->paused;
    segments->opened += away;
    segments->seen += away;
}
