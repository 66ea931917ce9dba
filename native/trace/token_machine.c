/* Turn tokens into calls.
 *
 * The reader keeps the recorded thread's stack of open calls. A block names the node at which it begins, so reading can
 * start at any block, with the node's ancestors open. If the previous blocks were read, the node must be the top of the
 * stack.
 *
 * Times: The clock was read at marks. Events in between wait in `event` until the next mark, each with its weight: the
 * sum of the mean times of the segments up to it. The time between two marks is divided by weight. So times never go
 * back, and no error exceeds the distance to the farther mark. The clock was also read where a block begins later than
 * the last mark, and at the thread's end.
 *
 * A call goes to the receiver when its end has a time. Until then it is in the pool, where events name it by index.
 *
 * Steps of generators: A resume does not name the step that it continues. The step that paused last on this node is
 * taken, and flagged if there are others.
 *
 * Memory is bounded by the depth of the stack, which has a limit, and by the waiting events: too long without a mark,
 * they get guessed times. Time is bounded by the bytes, because a change of path costs its length. */
#include "trace/token_machine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/varint.h"
#include "trace/compression.h"

static const double EVENT = 30;

static bool grow(sm_machine *m, void *array, size_t *room, size_t size) {
    bool grown = sm_room(array, room, *room + 1, size);
    m->failed |= !grown;
    return grown;
}

static void hand_on(sm_machine *m, uint32_t at) {
    sm_call *call = &m->pool[at].call;
    if (call->end < call->start)
        call->end = call->start;
    if (!m->stopped && m->sink->call && m->sink->call(m->sink->receiver, m->stream, call))
        m->stopped = true;
    m->pool[at].next = m->free_call;
    m->free_call = at + 1;
}

static void happen(sm_machine *m, const sm_happened *event) {
    if (!m->stopped && m->sink->event && m->sink->event(m->sink->receiver, m->stream, event))
        m->stopped = true;
}

static void hand_on_instant(sm_machine *m, uint32_t number, sm_happened *event) {
    sm_instant_text about;
    memcpy(&about, m->about.bytes + number * sizeof about, sizeof about);
    sm_instant instant = {.time = event->at.time,
                          .bound = event->at.bound,
                          .kind = about.kind,
                          .in = about.in,
                          .bytes = m->texts.bytes + about.at,
                          .length = about.length};
    if (!m->stopped && m->sink->instant && m->sink->instant(m->sink->receiver, m->stream, &instant))
        m->stopped = true;
    event->instant = &instant;
    happen(m, event);
}

void sm_machine_settle(sm_machine *m, int64_t to, double total, bool known) {
    int64_t span = to > m->mark ? to - m->mark : 0;
    for (size_t i = 0; i < m->events; i++) {
        const sm_waiting *e = &m->event[i];
        double share = known ? (total > 0 ? (double)span * (e->weight / total) : (double)span) : e->weight;
        int64_t passed = share < (double)SM_MACHINE_LATEST ? (int64_t)share : SM_MACHINE_LATEST;
        passed = known && passed > span ? span : passed;
        int64_t time = m->mark > SM_MACHINE_LATEST - passed ? SM_MACHINE_LATEST : m->mark + passed;
        int64_t bound = !known ? -1 : e->weight >= total ? 0 : passed > span - passed ? passed : span - passed;
        sm_happened event = {.what = e->what, .at = {time, bound, m->mark, known ? m->mark + span : -1}};
        if (e->what == SM_HAPPENED_INSTANT) {
            hand_on_instant(m, e->open, &event);
        } else if (e->what == SM_HAPPENED_START) {
            sm_call *call = &m->pool[e->open].call;
            call->start = time;
            call->start_bound = call->flags & SM_CALL_BEFORE ? -1 : bound;
            event.call = call;
            happen(m, &event);
        } else if (e->what == SM_HAPPENED_END) {
            sm_call *call = &m->pool[e->open].call;
            call->end = time;
            call->end_bound = bound;
            event.call = call;
            happen(m, &event);
            hand_on(m, e->open);
        } else {
            happen(m, &event);
        }
        if (!known && i + 1 == m->events)
            to = time;
    }
    m->events = 0;
    m->texts.size = m->about.size = 0;
    m->weight = 0;
    m->mark = to > m->mark ? to : m->mark;
}

void sm_machine_settle_before(sm_machine *m, int64_t to) {
    sm_machine_settle(m, to, m->weight + EVENT, true);
}

static void wait_for_mark(sm_machine *m, uint32_t what, uint32_t open) {
    if (m->events == m->event_room && !grow(m, &m->event, &m->event_room, sizeof *m->event))
        return;
    m->event[m->events++] = (sm_waiting){.weight = m->weight, .open = open, .what = what};
}

/* End the segment of the current place at an event. */
static void pass_segment(sm_machine *m) {
    const double *weight = m->journal->weight;
    m->weight += EVENT;
    if (weight && m->place >= 0 && (size_t)m->place < m->journal->dictionary->nodes)
        m->weight += weight[m->place];
}

int64_t sm_machine_root(const sm_machine *m) {
    return (int64_t)(m->journal->dictionary->nodes + m->stream->thread);
}

static void set_place(sm_machine *m) {
    m->place = m->depth ? (int64_t)m->pool[m->stack[m->depth - 1]].call.node : sm_machine_root(m);
}

/* Push a new call, whose start is not set. Return its index in the pool, or -1 if out of memory. */
static int64_t push(sm_machine *m, uint32_t node, uint32_t flags) {
    if (m->depth == m->stack_room && !grow(m, &m->stack, &m->stack_room, sizeof *m->stack))
        return -1;
    uint32_t at = m->free_call - 1;
    if (m->free_call) {
        m->free_call = m->pool[at].next;
    } else {
        if (m->pooled == m->pool_room && !grow(m, &m->pool, &m->pool_room, sizeof *m->pool))
            return -1;
        at = (uint32_t)m->pooled++;
    }
    uint64_t below = m->depth ? m->pool[m->stack[m->depth - 1]].call.number : SM_CALL_NONE;
    m->pool[at].call = (sm_call){.start_bound = -1,
                                 .number = m->number,
                                 .parent = below,
                                 .call = m->number,
                                 .node = node,
                                 .depth = (uint32_t)m->depth,
                                 .flags = flags};
    m->number++;
    m->stack[m->depth++] = at;
    m->place = node;
    return at;
}

static sm_paused *paused_on(sm_machine *m, uint32_t node) {
    const sm_dictionary *d = m->journal->dictionary;
    uint32_t first = d->rank_start[m->stream->thread], count = d->rank_start[m->stream->thread + 1] - first;
    if (m->of_node == NULL && (m->of_node = sm_calloc(count, sizeof *m->of_node)) == NULL) {
        m->failed = true;
        return NULL;
    }
    uint32_t at = 0;
    SM_BISECT(at, count, d->by_rank[first + middle] < node);
    return &m->of_node[at];
}

static void end_innermost(sm_machine *m, uint32_t how) {
    if (m->depth == 0) {
        m->wrong->below++;
        return;
    }
    uint32_t at = m->stack[--m->depth];
    sm_call *call = &m->pool[at].call;
    call->flags |= how;
    if (how == SM_CALL_YIELDED) {
        sm_paused *p = paused_on(m, call->node);
        if (p) {
            p->call = call->call;
            p->others++;
        }
    } else if (how == SM_CALL_UNWOUND && m->sink->counts[SM_COUNT_EXCEPTIONS]) {
        m->sink->counts[SM_COUNT_EXCEPTIONS][call->node]++;
    }
    wait_for_mark(m, SM_HAPPENED_END, at);
    set_place(m);
}

static void begin(sm_machine *m, uint32_t node, bool resumed) {
    int64_t *counts = m->sink->counts[resumed ? SM_COUNT_RESUMES : SM_COUNT_CALLS];
    if (counts)
        counts[node]++;
    int64_t at = push(m, node, resumed ? SM_CALL_RESUMED : 0);
    if (at < 0)
        return;
    if (resumed) {
        sm_call *call = &m->pool[at].call;
        sm_paused *p = paused_on(m, node);
        if (p == NULL)
            return;
        call->call = p->others ? p->call : SM_CALL_NONE;
        call->flags |= p->others == 1 && !m->left_out ? 0 : SM_CALL_UNSURE;
        p->others -= p->others > 0;
        p->call = SM_CALL_NONE;
    }
    wait_for_mark(m, SM_HAPPENED_START, (uint32_t)at);
}

/* Make the stack the path of a place. Common calls get the flags `stays`, others end unseen, and new ones begin with
 * `started`. Return false if the path exceeds the limits. */
static bool go_to(sm_machine *m, int64_t place, uint32_t stays) {
    const sm_dictionary *d = m->journal->dictionary;
    size_t length = 0, common = 0;
    for (int64_t n = place; n >= 0 && (size_t)n < d->nodes; n = d->parent[n])
        length++;
    if (length + m->depth > m->steps_left || length > SM_MACHINE_DEEPEST) {
        m->wrong->deep++;
        return false;
    }
    m->steps_left -= length + m->depth;
    uint32_t *path = sm_malloc((length + 1) * sizeof *path);
    if (path == NULL) {
        m->failed = true;
        return false;
    }
    int64_t node = place;
    for (size_t i = length; i > 0; i--, node = d->parent[node])
        path[i - 1] = (uint32_t)node;
    while (common < length && common < m->depth && m->pool[m->stack[common]].call.node == path[common])
        m->pool[m->stack[common++]].call.flags |= stays;
    while (m->depth > common && !m->failed)
        end_innermost(m, SM_CALL_ENDED_UNSEEN);
    for (size_t i = common; i < length && !m->failed; i++) {
        int64_t at = push(m, path[i], m->started);
        if (at >= 0)
            wait_for_mark(m, SM_HAPPENED_START, (uint32_t)at);
    }
    sm_free(path);
    set_place(m);
    return true;
}

void sm_machine_end_all(sm_machine *m, uint32_t how) {
    while (m->depth > 0 && !m->failed)
        end_innermost(m, how);
}

/* Count what a filter left out below the current place. */
static void take_left_out(sm_machine *m, const uint8_t *at, const uint8_t *end) {
    m->left_out = true;
    for (int c = SM_LEFT_OUT; c < SM_COUNTS; c++) {
        uint64_t number = 0;
        at = at ? sm_varint_get(at, end, &number) : NULL;
        if (at != NULL && m->sink->counts[c] != NULL) {
            int64_t *sum = &m->sink->counts[c][m->place];
            *sum = number < (uint64_t)(INT64_MAX - *sum) ? *sum + (int64_t)number : INT64_MAX;
        }
    }
}

/* Process an instant. Return its end, or NULL if it is cut off. */
static const uint8_t *take_instant(sm_machine *m, const uint8_t *at, const uint8_t *end) {
    uint64_t kind, length;
    if ((at = sm_instant_head(at, end, &kind, &length)) == NULL)
        return NULL;
    pass_segment(m);
    if (kind == SM_INSTANT_LEFT_OUT)
        take_left_out(m, at, at + length);
    if (m->sink->instant == NULL && m->sink->event == NULL) {
        wait_for_mark(m, SM_HAPPENED_OTHER, 0);
        return at + length;
    }
    sm_instant_text about = {.kind = kind,
                             .in = m->depth ? m->pool[m->stack[m->depth - 1]].call.number : SM_CALL_NONE,
                             .at = m->texts.size,
                             .length = (size_t)length};
    size_t number = m->about.size / sizeof about;
    if (sm_buffer_append(&m->texts, at, (size_t)length) < 0 || sm_buffer_append(&m->about, &about, sizeof about) < 0) {
        m->failed = true;
        return NULL;
    }
    wait_for_mark(m, SM_HAPPENED_INSTANT, (uint32_t)number);
    return at + length;
}

static void take_mark(sm_machine *m, uint64_t distance, double unit) {
    m->units = m->units > UINT64_MAX - distance ? UINT64_MAX : m->units + distance;
    double passed = (double)m->units * unit;
    int64_t time =
        passed < (double)(SM_MACHINE_LATEST - m->unit_base) ? m->unit_base + (int64_t)passed : SM_MACHINE_LATEST;
    sm_machine_settle(m, time, m->weight, true);
}

/* Process a token with a rank. Return its end, or NULL if it is cut off or names no node. */
static const uint8_t *take_ranked(sm_machine *m, unsigned token, const uint8_t *at, const uint8_t *end) {
    uint64_t rank;
    if ((at = sm_varint_get(at, end, &rank)) == NULL) {
        m->wrong->reserved++;
        return NULL;
    }
    int64_t place = sm_dictionary_rank(m->journal->dictionary, m->stream->thread, rank);
    if (place < 0 || (rank == 0 && token != SM_TOKEN_GOTO)) {
        m->wrong->unknown++;
        return NULL;
    }
    double before = m->weight;
    pass_segment(m);
    if (token == SM_TOKEN_GOTO) {
        double now = m->weight;
        m->weight = (before + now) / 2; /* the path changed somewhere since the event before */
        if (!go_to(m, place, 0))
            return NULL;
        m->weight = now;
        wait_for_mark(m, SM_HAPPENED_OTHER, 0);
    } else {
        begin(m, (uint32_t)place, token == SM_TOKEN_RESUME);
    }
    return at;
}

/* Process one token. Return the next one, or NULL if the block ends here. */
static const uint8_t *take(sm_machine *m, const uint8_t *at, const uint8_t *end, double unit) {
    unsigned token = *at++;
    if ((token >= SM_TOKEN_CALL_CHILD && token < SM_TOKEN_END) || token >= SM_TOKEN_RESUME_CHILD) {
        bool resumed = token >= SM_TOKEN_RESUME_CHILD;
        unsigned number = token - (resumed ? SM_TOKEN_RESUME_CHILD : SM_TOKEN_CALL_CHILD);
        int64_t node = sm_dictionary_child(m->journal->dictionary, m->place, number);
        if (node < 0) {
            m->wrong->unknown++;
            return NULL;
        }
        pass_segment(m);
        begin(m, (uint32_t)node, resumed);
        return at;
    }
    uint64_t distance;
    switch (token) {
    case SM_TOKEN_RETURN:
    case SM_TOKEN_YIELD:
    case SM_TOKEN_UNWIND:
        pass_segment(m);
        end_innermost(m, token == SM_TOKEN_YIELD ? SM_CALL_YIELDED : token == SM_TOKEN_UNWIND ? SM_CALL_UNWOUND : 0);
        return at;
    case SM_TOKEN_MARK:
        if ((at = sm_varint_get(at, end, &distance)) != NULL) {
            take_mark(m, distance, unit);
            return at;
        }
        break;
    case SM_TOKEN_CALL:
    case SM_TOKEN_RESUME:
    case SM_TOKEN_GOTO:
        return take_ranked(m, token, at, end);
    case SM_TOKEN_INSTANT:
        if ((at = take_instant(m, at, end)) != NULL || m->failed)
            return at;
        break;
    case SM_TOKEN_END:
        pass_segment(m);
        sm_machine_end_all(m, SM_CALL_OPEN);
        wait_for_mark(m, SM_HAPPENED_LAST, 0);
        return at;
    default:
        break;
    }
    m->wrong->reserved++;
    return NULL;
}

const sm_piece *sm_machine_head(const sm_machine *m, size_t block) {
    const sm_index *index = m->journal->index;
    return &index->piece[index->block[m->stream->first + block].first];
}

bool sm_machine_enter(sm_machine *m, const sm_piece *head, bool follows) {
    int64_t place = sm_dictionary_rank(m->journal->dictionary, m->stream->thread, head->rank);
    int64_t origin = m->journal->origin[m->stream->thread], time = head->time + origin;
    if (place < 0) {
        m->wrong->unknown++;
        return false;
    }
    m->unit_base = time;
    m->units = 0;
    if (!m->begun) {
        m->begun = true;
        m->mark = m->begins = time;
        m->started = SM_CALL_BEFORE;
        bool gone = go_to(m, place, 0);
        sm_machine_settle(m, time, 0, true);
        m->started = SM_CALL_BEGAN_UNSEEN;
        return gone;
    }
    if (follows) {
        if (time > m->mark)
            sm_machine_settle_before(m, time);
        else if (m->events > SM_MACHINE_WAITING)
            sm_machine_settle(m, 0, 0, false);
        if (m->place == place)
            return true;
        pass_segment(m);
        return go_to(m, place, 0);
    }
    sm_machine_settle(m, 0, 0, false); /* no mark before the gap gives the last events a time */
    int64_t before = m->mark;
    m->mark = time > before ? time : before;
    if (m->sink->gap && !m->stopped && m->sink->gap(m->sink->receiver, m->stream, before, m->mark))
        m->stopped = true;
    bool gone = go_to(m, place, SM_CALL_GAP);
    sm_machine_settle(m, m->mark, 0, true);
    return gone;
}

void sm_machine_read(sm_machine *m, const uint8_t *bytes, size_t size, double unit, bool *whole) {
    const uint8_t *at = bytes, *end = bytes + size;
    while (at < end && !m->failed && !m->stopped) {
        if (m->depth >= SM_MACHINE_DEEPEST) {
            m->wrong->deep++;
            *whole = false;
            return;
        }
        if ((at = take(m, at, end, unit)) == NULL) {
            *whole = false;
            return;
        }
    }
}

void sm_machine_free(sm_machine *m) {
    sm_free(m->stack);
    sm_free(m->pool);
    sm_free(m->event);
    sm_free(m->of_node);
    sm_buffer_free(&m->texts);
    sm_buffer_free(&m->about);
}
