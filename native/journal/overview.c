/* From calls to what a picture of them can show.
 *
 * Each depth of a stream has a run that is still open to more. What comes next at this depth joins it if both together
 * are no wider than a column; otherwise the run is handed on, and a new one begins. So at each depth two runs that
 * follow each other are wider than a column, and there are no more than twice as many runs as columns, and one. */
#include "journal/overview.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "journal/collect.h"

enum { SHARES = 6 }; /* functions of a run that are told apart */

typedef struct { /* what one function has of a run */
    int64_t function, ns;
    int64_t node_ns; /* of the node that has most of it */
    uint32_t node;
} share;

typedef struct {
    sm_run run; /* calls 0: none */
    share of[SHARES];
    unsigned shares;
} slot;

typedef struct {
    sm_overview *overview;
    const sm_overview_asked *asked;
    const sm_index *index;
    slot *slots; /* owned; by depth, from the first wanted one */
    size_t room;
    int64_t width; /* ns of a column */
    bool failed;
} painter;

static void hand_on(painter *p, slot *s) {
    unsigned most = 0;
    for (unsigned i = 1; i < s->shares; i++) {
        most = s->of[i].ns > s->of[most].ns ? i : most;
    }
    s->run.most = s->of[most].ns;
    s->run.node = s->of[most].node;
    p->failed |= sm_buffer_append(&p->overview->runs, &s->run, sizeof s->run) < 0;
    s->run.calls = 0;
}

static void add_share(slot *s, const share *more) {
    unsigned least = 0;
    for (unsigned i = 0; i < s->shares; i++) {
        share *known = &s->of[i];
        if (known->function == more->function) {
            known->ns += more->ns;
            if (more->node == known->node) {
                known->node_ns += more->node_ns;
            } else if (more->node_ns > known->node_ns) {
                known->node = more->node;
                known->node_ns = more->node_ns;
            }
            return;
        }
        least = known->ns < s->of[least].ns ? i : least;
    }
    if (s->shares < SHARES) {
        s->of[s->shares++] = *more;
    } else if (more->ns > s->of[least].ns) {
        s->of[least] = *more;
    }
}

/* The slot of a depth that is wanted; NULL: out of memory. */
static slot *slot_of(painter *p, uint32_t depth) {
    size_t at = depth - p->asked->first_depth;
    if (at >= p->room) {
        size_t room = at + 64;
        slot *slots = sm_realloc(p->slots, room * sizeof *slots);
        if (slots == NULL) {
            p->failed = true;
            return NULL;
        }
        memset(slots + p->room, 0, (room - p->room) * sizeof *slots);
        p->slots = slots;
        p->room = room;
    }
    return &p->slots[at];
}

static bool is_wanted(const painter *p, int64_t start, int64_t end, uint32_t depth) {
    const sm_overview_asked *a = p->asked;
    return end >= a->from && start < a->to && depth >= a->first_depth && depth < a->last_depth;
}

/* A run, with its `most` and `node` as the one share that is known of it. */
static void paint(painter *p, const sm_run *run) {
    slot *s = slot_of(p, run->depth);
    if (s == NULL) {
        return;
    }
    share all = {.function = p->asked->function[run->node], .ns = run->most, .node_ns = run->most, .node = run->node};
    if (s->run.calls && (run->start < s->run.start || run->end - s->run.start > p->width)) {
        hand_on(p, s);
    }
    if (s->run.calls == 0) {
        s->run = *run;
        s->shares = 0;
    } else {
        s->run.end = run->end > s->run.end ? run->end : s->run.end;
        s->run.busy += run->busy;
        s->run.calls += run->calls;
        s->run.flags = 0;
        s->run.bound = -1;
    }
    add_share(s, &all);
}

static int paint_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    painter *p = receiver;
    if (is_wanted(p, call->start, call->end, call->depth)) {
        int64_t took = call->end - call->start;
        bool known = call->start_bound >= 0 && call->end_bound >= 0;
        paint(p, &(sm_run){.start = call->start,
                           .end = call->end,
                           .busy = took,
                           .most = took,
                           .bound = !known                                ? -1
                                    : call->start_bound > call->end_bound ? call->start_bound
                                                                          : call->end_bound,
                           .calls = 1,
                           .stream = (uint64_t)(stream - p->index->stream),
                           .node = call->node,
                           .depth = call->depth,
                           .flags = call->flags});
    }
    return p->failed;
}

static int note_gap(void *receiver, const sm_stream *stream, int64_t from, int64_t to) {
    painter *p = receiver;
    if (to < p->asked->from || from >= p->asked->to) {
        return 0;
    }
    sm_window_gap row = {.from = from, .to = to, .stream = (uint64_t)(stream - p->index->stream)};
    p->failed |= sm_buffer_append(&p->overview->gaps, &row, sizeof row) < 0;
    return p->failed;
}

static int by_place(const void *left, const void *right) {
    const sm_run *a = left, *b = right;
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    if (a->depth != b->depth) {
        return a->depth < b->depth ? -1 : 1;
    }
    return a->start != b->start ? (a->start < b->start ? -1 : 1) : (a->end > b->end) - (a->end < b->end);
}

int sm_overview_fill(sm_overview *o, const sm_journal *journal, const sm_overview_asked *asked) {
    *o = (sm_overview){0};
    int64_t width = (asked->to - asked->from) / (asked->columns ? asked->columns : 1);
    painter p = {.overview = o, .asked = asked, .index = journal->index, .width = width};
    sm_sink sink = {.receiver = &p, .call = paint_call, .gap = note_gap};
    for (size_t s = 0; s < journal->index->streams && !p.failed; s++) {
        const sm_stream *stream = &journal->index->stream[s];
        if (asked->wanted && !asked->wanted[stream->thread]) {
            continue;
        }
        p.failed |= sm_decode(journal, stream, asked->from, asked->to, &sink, &o->wrong) == SM_DECODE_NO_MEMORY;
        for (size_t i = 0; i < p.room && !p.failed; i++) {
            if (p.slots[i].run.calls) {
                hand_on(&p, &p.slots[i]);
            }
        }
    }
    sm_free(p.slots);
    if (o->runs.size) {
        qsort(o->runs.bytes, o->runs.size / sizeof(sm_run), sizeof(sm_run), by_place);
    }
    return p.failed ? -1 : 0;
}

void sm_overview_free(sm_overview *o) {
    sm_buffer_free(&o->runs);
    sm_buffer_free(&o->gaps);
}
