/* The state of the coverage recorder, and the list of code objects to rearm. */
#include "recorder/coverage/store.h"

sm_cover_state sm_cover = {.stamp = SM_COVER_FIRST_STAMP};
sm_cover_store_state sm_cover_store;

void sm_cover_new_stamp(void) {
    sm_cover.stamp++;
    if (sm_cover.stamp < SM_COVER_FIRST_STAMP) /* after four billion contexts */
        sm_cover.stamp = SM_COVER_FIRST_STAMP;
}

void sm_cover_switched_on(sm_cover_code *record) {
    if (!record->off)
        return;
    record->off = false;
    *record->link_off = record->next_off;
    if (record->next_off != NULL)
        record->next_off->link_off = record->link_off;
}

static void switched_off(sm_cover_code *record) {
    if (record->off)
        return;
    record->off = true;
    record->next_off = sm_cover.off;
    record->link_off = &sm_cover.off;
    if (record->next_off != NULL)
        record->next_off->link_off = &record->next_off;
    sm_cover.off = record;
}

bool sm_cover_after_news(sm_cover_code *code) {
    if (sm_cover.counts || (sm_cover.in_contexts && !code->off))
        return false;
    switched_off(code);
    return true;
}

bool sm_cover_wasted(sm_cover_code *code) {
    if (sm_cover.counts || sm_beside.forked)
        return false;
    if (sm_cover.in_contexts && !code->off) {
        if (code->wasted_stamp != sm_cover.stamp) {
            code->wasted_stamp = sm_cover.stamp;
            code->wasted = 0;
        }
        if (++code->wasted <= SM_COVER_PATIENCE)
            return false;
    }
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
