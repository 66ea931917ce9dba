#include "hub/callstats/running.h"

#include "base/alloc.h"

static sm_chunk *root_of(sm_chunk *chunk) {
    while (chunk != NULL && chunk->previous != NULL)
        chunk = chunk->previous;
    return chunk;
}

static int bucket_number(const sm_chunk *root) {
    return (int)((((uintptr_t)root >> 12) * 0x9E3779B97F4A7C15u) >> 58);
}

/* The stack has grown or shrunk past a chunk, or was exchanged. */
sm_call_track *sm_call_track_change(sm_call_lane *lane, sm_chunk *chunk) {
    sm_call_track *now = lane->now;
    if (now != NULL && chunk != NULL && (chunk->previous == now->chunk || chunk == now->below)) {
        now->chunk = chunk;
        now->below = chunk->previous;
        return now;
    }
    sm_chunk *root = root_of(chunk);
    sm_call_track **bucket = &lane->buckets[bucket_number(root)], *found = NULL;
    for (sm_call_track *t = *bucket; t != NULL && (found == NULL || found->root != root); t = t->next)
        if (t->root == root || t->depth == 0) /* an idle track can be reused */
            found = t;
    if (found == NULL) {
        found = sm_calloc(1, sizeof *found);
        if (found == NULL)
            return NULL;
        found->next = *bucket;
        *bucket = found;
    }
    found->root = root;
    found->chunk = chunk;
    found->below = chunk != NULL ? chunk->previous : NULL;
    lane->now = found;
    return found;
}

void sm_call_count_level(sm_call_sums *s, const sm_call_track *on, bool links) {
    s->owner = on;
    s->level = 0;
    for (size_t i = 0; i < on->depth; i++)
        s->level += s == (links ? (on->calls[i].link ? &on->calls[i].link->sums : NULL) : &on->calls[i].entry->sums);
}

bool sm_call_track_grow(sm_call_track *on) {
    return sm_room(&on->calls, &on->size, on->size + 1, sizeof *on->calls);
}

sm_call_track *sm_call_track_next(const sm_call_lane *lane, const sm_call_track *track) {
    int bucket = 0;
    if (track != NULL) {
        if (track->next != NULL)
            return track->next;
        bucket = bucket_number(track->root) + 1;
    }
    for (; bucket < SM_CALL_BUCKETS; bucket++)
        if (lane->buckets[bucket] != NULL)
            return lane->buckets[bucket];
    return NULL;
}

void sm_call_lane_drop(sm_call_lane *lane) {
    for (sm_call_track *on = sm_call_track_next(lane, NULL); on != NULL; on = sm_call_track_next(lane, on)) {
        for (size_t i = 0; i < on->depth; i++) { /* forces a recount of levels */
            on->calls[i].entry->sums.owner = NULL;
            if (on->calls[i].link != NULL)
                on->calls[i].link->sums.owner = NULL;
        }
        on->depth = 0;
    }
}

void sm_call_lanes_free(sm_call_lane *lanes) {
    while (lanes != NULL) {
        sm_call_lane *lane = lanes;
        lanes = lane->next;
        for (int i = 0; i < SM_CALL_BUCKETS; i++) {
            while (lane->buckets[i] != NULL) {
                sm_call_track *track = lane->buckets[i];
                lane->buckets[i] = track->next;
                sm_free(track->calls);
                sm_free(track);
            }
        }
        sm_free(lane);
    }
}
