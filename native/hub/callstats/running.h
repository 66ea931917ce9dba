/* The calls that are running, thread by thread.
 *
 * A *lane* is a thread; a *track* is one stack of calls of it: one for the thread itself, and one for each greenlet
 * that runs on it, told apart by the outermost chunk of the interpreter's data stack, which greenlets exchange when
 * they switch. A track has the calls that are running on it, the outermost first. Tracks are found in lists by a hash
 * of that chunk, where a new one takes over one that is idle, so that there are few more than were ever in use at once.
 *
 * Recursion. cProfile counts how often a function is on the stack, one number for it whoever runs it, and with two
 * threads in a function takes one for the other's recursion. Here the number belongs to a track: `level` counts the
 * calls on the track `owner`. When another track enters or leaves the function, it takes the number over by counting
 * its own calls. That is dear (a look at its whole stack) but happens only when threads take turns in a function, not
 * at its every call. */
#ifndef SM_HUB_CALLSTATS_RUNNING_H
#define SM_HUB_CALLSTATS_RUNNING_H

#include <stdbool.h>

#include "code/function.h"
#include "compat/compat.h"
#include "hub/callstats/store.h"

typedef struct {
    const void *key;
    const void *frame; /* the function's own; of a C function, its caller's */
    sm_call_entry *entry;
    sm_call_link *link; /* NULL: no caller, or not wanted */
    int64_t start, inner;
} sm_running_call;

typedef struct sm_call_track {
    sm_chunk *root, *chunk, *below; /* the outermost, the newest at the last event, and the one under that */
    sm_running_call *calls;
    size_t depth, size;
    struct sm_call_track *next; /* in its bucket */
} sm_call_track;

#define SM_CALL_BUCKETS 64

typedef struct sm_call_lane {
    PyThreadState *tstate; /* borrowed */
    sm_call_track *now;
    sm_call_track *buckets[SM_CALL_BUCKETS]; /* by root */
    struct sm_call_lane *next;
} sm_call_lane;

/* The track of this chunk, which is another one than at the last event. NULL: out of memory. */
sm_call_track *sm_call_track_change(sm_call_lane *lane, sm_chunk *chunk);
bool sm_call_track_grow(sm_call_track *track); /* room for more calls; false: out of memory */
/* The track after this one; the first after NULL; NULL at the end. */
sm_call_track *sm_call_track_next(const sm_call_lane *lane, const sm_call_track *track);
/* Forgets the lane's running calls: they count for nothing. */
void sm_call_lane_drop(sm_call_lane *lane);
/* A list of lanes, whose running calls are forgotten with them only if their entries are, too. */
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
        sm_call_count_level(s, on, links); /* the call itself is still there */
    if (--s->level == 0)
        s->total += total;
    else
        s->recursive++;
    s->own += own;
    s->calls++;
}

/* The track has room. */
static inline sm_running_call *sm_call_push(sm_call_track *on, const void *key, const void *frame, sm_call_entry *entry,
                                            sm_call_link *link) {
    sm_call_enter_sums(&entry->sums, on, false);
    if (link != NULL)
        sm_call_enter_sums(&link->sums, on, true);
    sm_running_call *made = &on->calls[on->depth++];
    *made = (sm_running_call){.key = key, .frame = frame, .entry = entry, .link = link};
    return made;
}

/* The newest call ends. */
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

/* How many calls there are up to and with the one that fits; 0: none does. */
static inline size_t sm_call_find(const sm_call_track *on, const void *key, const void *frame) {
    size_t depth = on->depth;
    while (depth > 0 && (on->calls[depth - 1].key != key || on->calls[depth - 1].frame != frame))
        depth--;
    return depth;
}

#endif
