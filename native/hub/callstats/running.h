/* The running calls of each thread.
 *
 * A *lane* is a thread. A *track* is one of its stacks of running calls, the outermost first: the thread's own, or a
 * greenlet's. The outermost chunk of the interpreter's data stack, which greenlets exchange, identifies it.
 *
 * cProfile counts a function's running calls over all threads, and so mistakes two threads for recursion. Here,
 * `level` counts the calls on the track `owner`. Another track counts its own calls when it enters or leaves the
 * function. */
#pragma once

#include <stdbool.h>

#include "code/function.h"
#include "compat/compat.h"
#include "hub/callstats/store.h"

typedef struct {
    const void *key;
    const void *frame; /* the function's own, or a C function's caller */
    sm_call_entry *entry;
    sm_call_link *link; /* NULL without a caller, or if links are off */
    int64_t start, inner;
} sm_running_call;

typedef struct sm_call_track {
    sm_chunk *root, *chunk, *below; /* outermost, newest at the last event, and the one below it */
    sm_running_call *calls;
    size_t depth, size;
    struct sm_call_track *next; /* the next track in its bucket */
} sm_call_track;

#define SM_CALL_BUCKETS 64

typedef struct sm_call_lane {
    PyThreadState *tstate; /* borrowed */
    sm_call_track *now;
    sm_call_track *buckets[SM_CALL_BUCKETS]; /* by root */
    struct sm_call_lane *next;
} sm_call_lane;

/* Return the track of this chunk, which has changed since the last event, or NULL if out of memory. */
sm_call_track *sm_call_track_change(sm_call_lane *lane, sm_chunk *chunk);
bool sm_call_track_grow(sm_call_track *track); /* false if out of memory */
/* Return the track after this one, the first after NULL, or NULL at the end. */
sm_call_track *sm_call_track_next(const sm_call_lane *lane, const sm_call_track *track);
/* Drop the lane's running calls without counting them. */
void sm_call_lane_drop(sm_call_lane *lane);
/* Free a list of lanes. Running calls may only be left if their entries are freed too. */
void sm_call_lanes_free(sm_call_lane *lanes);

void sm_call_count_level(sm_call_sums *sums, const sm_call_track *on, bool links);

static inline void sm_call_enter_sums(sm_call_sums *s, const sm_call_track *on, bool links) {
    if (SM_UNLIKELY(s->owner != on))
        sm_call_count_level(s, on, links);
    s->level++;
}

static inline void sm_call_leave_sums(sm_call_sums *s, const sm_call_track *on, bool links, int64_t total,
                                      int64_t own) {
    if (SM_UNLIKELY(s->owner != on))
        sm_call_count_level(s, on, links); /* the count still includes the call itself */
    if (--s->level == 0)
        s->total += total;
    else
        s->recursive++;
    s->own += own;
    s->calls++;
}

/* Push a call. The track has room. */
static inline sm_running_call *sm_call_push(sm_call_track *on, const void *key, const void *frame, sm_call_entry *entry,
                                            sm_call_link *link) {
    sm_call_enter_sums(&entry->sums, on, false);
    if (link != NULL)
        sm_call_enter_sums(&link->sums, on, true);
    sm_running_call *made = &on->calls[on->depth++];
    *made = (sm_running_call){.key = key, .frame = frame, .entry = entry, .link = link};
    return made;
}

/* End the newest call. */
static inline void sm_call_end(sm_call_track *on, int64_t now) {
    sm_running_call *top = &on->calls[on->depth - 1];
    int64_t total = now - top->start, own = total - top->inner;
    if (on->depth > 1)
        top[-1].inner += total;
    sm_call_leave_sums(&top->entry->sums, on, false, total, own);
    if (top->link != NULL)
        sm_call_leave_sums(&top->link->sums, on, true, total, own);
    on->depth--;
}

/* Return the number of calls up to and including the one that matches, or 0. */
static inline size_t sm_call_find(const sm_call_track *on, const void *key, const void *frame) {
    size_t depth = on->depth;
    while (depth > 0 && (on->calls[depth - 1].key != key || on->calls[depth - 1].frame != frame))
        depth--;
    return depth;
}
