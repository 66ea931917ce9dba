/* The state of the coverage recorder, and the list of code objects to rearm. */
#include "recorder/coverage/store.h"

sm_cover_state sm_cover = {.stamp = SM_COVER_FIRST_STAMP};
sm_cover_store_state sm_cover_store;

void sm_cover_new_stamp(void) {
    uint32_t next = sm_cover.stamp + 1;
    if (next < SM_COVER_FIRST_STAMP) /* after four billion contexts */
        next = SM_COVER_FIRST_STAMP;
    __atomic_store_n(&sm_cover.stamp, next, __ATOMIC_RELAXED);
}

static bool is_off(const sm_cover_code *record) {
    return __atomic_load_n(&record->off, __ATOMIC_RELAXED);
}

void sm_cover_switched_on(sm_cover_code *record) {
    if (!record->off)
        return;
    __atomic_store_n(&record->off, false, __ATOMIC_RELAXED);
    *record->link_off = record->next_off;
    if (record->next_off != NULL)
        record->next_off->link_off = record->link_off;
}

static void switched_off(sm_cover_code *record) {
    if (is_off(record))
        return;
    SM_CORE_GUARD;
    if (record->off)
        return;
    __atomic_store_n(&record->off, true, __ATOMIC_RELAXED);
    record->next_off = sm_cover.off;
    record->link_off = &sm_cover.off;
    if (record->next_off != NULL)
        record->next_off->link_off = &record->next_off;
    sm_cover.off = record;
}

#if SM_FREE_THREADED
/* A thread that is in the middle of an event disables its place even after another has begun a context and rearmed it.
 */
bool sm_cover_pays(void) {
    return (!sm_cover_in_contexts() || sm_is_only_thread()) && sm_world_stop_pays();
}
#endif

bool sm_cover_after_news(sm_cover_code *code) {
    if (sm_cover.counts || (sm_cover_in_contexts() && !is_off(code)) || !sm_cover_pays())
        return false;
    switched_off(code);
    return true;
}

bool sm_cover_wasted(sm_cover_code *code) {
    if (sm_cover.counts || sm_beside.forked)
        return false;
    if (sm_cover_in_contexts() && !is_off(code)) {
        bool same = sm_cover_is_current(&code->wasted_stamp);
        uint32_t wasted = 1 + (same ? __atomic_load_n(&code->wasted, __ATOMIC_RELAXED) : 0);
        __atomic_store_n(&code->wasted, wasted, __ATOMIC_RELAXED);
        if (!same)
            __atomic_store_n(&code->wasted_stamp, __atomic_load_n(&sm_cover.stamp, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
        if (wasted <= SM_COVER_PATIENCE)
            return false;
    }
    if (!sm_cover_pays())
        return false;
    switched_off(code);
    return true;
}

void sm_cover_rearm(void) {
    if (sm_cover.source->switched != NULL)
        sm_cover.source->switched();
    while (sm_cover.off != NULL) {
        sm_cover_code *record = sm_cover.off;
        sm_cover_switched_on(record);
        sm_cover_store.rearmed++;
        if (sm_cover.source->rearm != NULL)
            sm_cover.source->rearm(record);
    }
}
