/* Write a part of a journal as another journal: a window, or chosen calls.
 *
 * A first pass over the events counts them and so finds the nodes. A second pass writes the events as tokens, with new
 * numbers for the nodes. Memory is bounded by the depth of the stack, plus a bit per call if the choice depends on how
 * calls end.
 *
 * The part keeps the chosen calls, all that they called, and their callers. A call waits on the stack with its start
 * until something in it is chosen, and is written then. Nothing was written in between, since it would have been inside
 * that call. A choice by duration needs the ends, so a pass of its own sets a bit for each chosen call.
 *
 * Times stay exact, because the part has the clock readings on both sides of each event. If no kept event happened at a
 * reading, an instant of kind CLOCK records it. The path at the window's edges is certain. An event between two
 * readings around an edge stays on the side where the whole journal shows it, and is counted (`edges`).
 *
 * Time is counted in segments, as the recorder does: from one kept event to the next, it belongs to the innermost kept
 * call. The uncertainty of a segment's ends goes into its variance, as a uniform distribution between two readings. */
#include "trace/excerpt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/varint.h"
#include "trace/decode.h"

typedef struct {
    sm_event_time began;
    uint64_t number;
    int64_t inner; /* ns in its callees */
    uint32_t node, flags;
    uint32_t pythons; /* Python functions on the stack, including this one */
    bool whole;       /* true if the call or one of its callers is chosen */
} open_call;

typedef struct {
    const sm_trace *journal;
    const sm_cut_order *order;
    sm_cut_counts *counts;
    sm_trace_writer *writer;
    sm_cut_notes *notes;
    const sm_stream *stream;
    open_call *stack; /* owned */
    size_t depth, room;
    size_t shown;    /* number of outermost calls that are in the part */
    uint8_t *chosen; /* owned; a bit for each call of the stream, set if its end makes it chosen */
    size_t chosen_size;
    bool ahead;
    sm_event_time open; /* when calls without an end were still open */
    int64_t last;       /* time of the last kept event, or of the part's beginning */
    double doubt;       /* variance of `last`, ns squared */
    int64_t due;        /* clock reading after the last written event, or -1 once written */
    int64_t start;
    int64_t gap_end;
    bool met;
    bool begun;
    bool astray; /* the path must be written before the next event */
    bool beyond; /* the stream continues after the window */
    bool ended, failed;
} cutter;

static size_t cell_of(const sm_cut_choice *choice, int fact, int64_t value) {
    size_t cell = 0;
    SM_BISECT(cell, choice->count[fact], choice->bounds[fact][middle] <= value);
    return cell;
}

static bool is_chosen(const sm_cut_choice *choice, const open_call *open, int64_t duration, unsigned how) {
    size_t at = (size_t)choice->class_of[open->node];
    at = at * (choice->count[SM_CUT_DURATION] + 1) + cell_of(choice, SM_CUT_DURATION, duration);
    at = at * (choice->count[SM_CUT_OWN] + 1) + cell_of(choice, SM_CUT_OWN, duration - open->inner);
    at = at * (choice->count[SM_CUT_DEPTH] + 1) + cell_of(choice, SM_CUT_DEPTH, open->pythons);
    return choice->table[at * SM_CUT_HOWS + how];
}

/* Return true if each class chooses all calls or none, so that ends do not matter. */
static bool is_settled(const sm_cut_choice *choice) {
    size_t cells = SM_CUT_HOWS;
    for (int f = 0; f < SM_CUT_FACTS; f++)
        cells *= choice->count[f] + 1;
    for (size_t c = 0; c < choice->classes; c++) {
        const uint8_t *of = choice->table + c * cells;
        if (memchr(of, !of[0], cells) != NULL)
            return false;
    }
    return true;
}

static unsigned how_left(uint32_t flags) {
    if (flags & SM_CALL_UNWOUND)
        return SM_CUT_UNWOUND;
    if (flags & SM_CALL_YIELDED)
        return SM_CUT_YIELDED;
    return flags & (SM_CALL_OPEN | SM_CALL_AFTER | SM_CALL_ENDED_UNSEEN) ? SM_CUT_UNENDED : SM_CUT_RETURNED;
}

static open_call *push(cutter *c, const sm_happened *event) {
    if (!sm_room(&c->stack, &c->room, c->depth + 1, sizeof *c->stack)) {
        c->failed = true;
        return NULL;
    }
    const open_call *above = c->depth ? &c->stack[c->depth - 1] : NULL;
    const sm_cut_choice *choice = c->order->choice;
    open_call *open = &c->stack[c->depth++];
    *open = (open_call){
        .began = event->at,
        .number = event->call->number,
        .node = event->call->node,
        .flags = event->call->flags,
        .pythons = (above ? above->pythons : 0) + (choice != NULL && choice->python[event->call->node]),
        .whole = above != NULL && above->whole,
    };
    return open;
}

static void note_choice(cutter *c, uint64_t number) {
    size_t byte = (size_t)(number / 8);
    if (!sm_room(&c->chosen, &c->chosen_size, byte + 1, 1)) {
        c->failed = true;
        return;
    }
    c->chosen[byte] |= (uint8_t)(1u << (number % 8));
}

/* Set a bit for each call that is chosen by its end, in a pass of its own. */
static int choose(void *receiver, const sm_stream *stream, const sm_happened *event) {
    (void)stream;
    cutter *c = receiver;
    if (event->what == SM_HAPPENED_START)
        return push(c, event) == NULL;
    if (event->what != SM_HAPPENED_END || c->depth == 0)
        return 0;
    const open_call *open = &c->stack[--c->depth];
    int64_t took = event->call->end - event->call->start;
    if (c->depth)
        c->stack[c->depth - 1].inner += took;
    if (is_chosen(c->order->choice, open, took, how_left(event->call->flags)))
        note_choice(c, open->number);
    return c->failed;
}

static int64_t number_of(const cutter *c, uint32_t node) {
    return c->order->node ? c->order->node[node] : (int64_t)node;
}

/* Return the current place of the part, in the writer's dictionary. */
static int64_t place(const cutter *c) {
    if (c->shown)
        return number_of(c, c->stack[c->shown - 1].node);
    return (int64_t)c->writer->dictionary->nodes + c->order->thread[c->stream->thread];
}

/* Count the time up to `at` for the innermost kept call. */
static void pass(cutter *c, const sm_event_time *at) {
    double around = at->bound == 0   ? 0
                    : at->after >= 0 ? (double)(at->after - at->before)
                                     : (double)(at->time - c->last);
    double doubt = around * around / 12;
    if (c->shown && c->counts && at->time >= c->last) {
        uint32_t node = c->stack[c->shown - 1].node;
        double ns = (double)(at->time - c->last);
        c->counts->segments[node]++;
        c->counts->ns[node] += at->time - c->last;
        c->counts->ns_sq[node] += ns * ns;
        c->counts->ns_var[node] += (doubt + c->doubt) / 2;
    }
    c->last = at->time > c->last ? at->time : c->last;
    c->doubt = doubt;
}

static void read_clock(cutter *c, int64_t time) {
    sm_write_instant(c->writer, SM_INSTANT_CLOCK, NULL, 0);
    sm_write_mark(c->writer, time);
}

/* Flag the node of a call in the part, also if the call began before the part. */
static void note(cutter *c, const open_call *open) {
    bool before = open->began.time < c->order->from || open->flags & SM_CALL_BEFORE;
    if (c->counts)
        c->counts->seen[open->node] |= SM_CUT_ON_PATH | (before ? SM_CUT_BEGAN_BEFORE : 0);
}

/* Begin the part with the calls on the stack, and a block. Calls that ended earlier are left out. Return true if the
 * block is new. */
static bool begin(cutter *c) {
    bool begun = c->begun, is_new = c->writer != NULL && !c->writer->open;
    c->notes->streams += !begun;
    for (size_t i = 0; !begun && i < c->shown; i++)
        note(c, &c->stack[i]);
    c->begun = true;
    if (is_new)
        sm_write_block(c->writer, place(c), begun ? c->gap_end : c->start, begun);
    return is_new;
}

/* Prepare for an event: open a block, and write the clock readings since the last event and a changed path. */
static void lead_up(cutter *c, const sm_event_time *at) {
    sm_trace_writer *w = c->writer;
    pass(c, at);
    c->notes->edges += at->bound != 0 && ((at->before < c->order->from && at->after > c->order->from) ||
                                          (at->after >= c->order->to && at->before < c->order->to));
    if (begin(c)) {
        c->astray = false;
        c->due = -1;
    }
    if (w == NULL)
        return;
    if (c->due >= 0 && at->before >= c->due) {
        read_clock(c, c->due);
        c->due = -1;
    }
    if (at->before > w->mark)
        read_clock(c, at->before);
    sm_write_room(w, place(c));
    if (c->astray) {
        sm_write_goto(w, place(c));
        c->astray = false;
    }
}

/* Write the event's time if it is a clock reading; otherwise remember the next reading. */
static void follow_up(cutter *c, const sm_event_time *at) {
    if (at->bound == 0) {
        sm_write_mark(c->writer, at->time);
        c->due = -1;
    } else {
        c->due = at->after;
    }
}

/* Write the path if nothing else happened in the block. */
static void write_path(cutter *c) {
    if (begin(c))
        read_clock(c, c->writer->mark);
}

/* Put all calls on the stack into the part, from the outermost on. */
static void show(cutter *c) {
    for (; c->shown < c->depth; c->shown++) {
        const open_call *open = &c->stack[c->shown];
        bool before = open->began.time < c->order->from || open->flags & SM_CALL_BEFORE;
        bool seen = !before && !(open->flags & SM_CALL_BEGAN_UNSEEN), resumed = open->flags & SM_CALL_RESUMED;
        if (c->begun)
            note(c, open);
        if (!seen) {
            c->astray = true;
            continue;
        }
        lead_up(c, &open->began);
        note(c, open);
        if (c->counts)
            (resumed ? c->counts->resumes : c->counts->calls)[open->node]++;
        if (c->writer) {
            sm_write_enter(c->writer, place(c), (uint32_t)number_of(c, open->node), resumed);
            follow_up(c, &open->began);
        }
    }
}

static void on_start(cutter *c, const sm_happened *event) {
    const sm_cut_choice *choice = c->order->choice;
    open_call *open = push(c, event);
    if (open == NULL)
        return;
    if (choice == NULL)
        open->whole = true;
    else if (c->ahead)
        open->whole |= open->number / 8 < c->chosen_size && (c->chosen[open->number / 8] >> (open->number % 8) & 1);
    else
        open->whole |= is_chosen(choice, open, 0, SM_CUT_RETURNED);
    if (open->whole)
        show(c);
}

static void on_end(cutter *c, const sm_happened *event) {
    const sm_event_time *at = &event->at;
    uint32_t flags = event->call->flags;
    if (flags & (SM_CALL_OPEN | SM_CALL_AFTER)) { /* the call stays on the stack until end() */
        c->beyond |= (flags & SM_CALL_AFTER) != 0;
        c->open = *at;
        return;
    }
    if (c->depth == 0)
        return;
    const open_call *open = &c->stack[c->depth - 1];
    if (c->shown < c->depth) {
        c->depth--;
        return;
    }
    if (flags & SM_CALL_ENDED_UNSEEN || at->time < c->order->from) {
        c->astray = true;
    } else {
        lead_up(c, at);
        if (c->counts)
            c->counts->exceptions[open->node] += (flags & SM_CALL_UNWOUND) != 0;
        if (c->writer) {
            sm_write_token(c->writer, flags & SM_CALL_UNWOUND   ? SM_TOKEN_UNWIND
                                      : flags & SM_CALL_YIELDED ? SM_TOKEN_YIELD
                                                                : SM_TOKEN_RETURN);
            follow_up(c, at);
        }
    }
    c->shown = --c->depth;
}

static void on_instant(cutter *c, const sm_happened *event) {
    const sm_instant *instant = event->instant;
    const sm_event_time *at = &event->at;
    bool inside = c->order->choice == NULL || (c->depth && c->stack[c->depth - 1].whole);
    if (at->time < c->order->from || !inside || instant->kind == SM_INSTANT_CLOCK)
        return;
    if (instant->kind == SM_INSTANT_LEFT_OUT) {
        const uint8_t *from = instant->bytes, *end = from + instant->length;
        uint64_t calls = 0, resumes = 0;
        if ((from = sm_varint_get(from, end, &calls)) != NULL && sm_varint_get(from, end, &resumes) != NULL)
            c->notes->left_out += calls + resumes;
        return;
    }
    lead_up(c, at);
    if (c->writer) {
        sm_write_instant(c->writer, instant->kind, instant->bytes, instant->length);
        follow_up(c, at);
    }
}

/* End the part of this stream, without an END token if the stream was cut off. */
static void end(cutter *c, const sm_event_time *at, bool in_order) {
    c->ended = true;
    if (!c->begun && c->shown == 0)
        return;
    if (in_order) {
        lead_up(c, at);
        if (c->writer) {
            sm_write_token(c->writer, SM_TOKEN_END);
            follow_up(c, at);
        }
    } else {
        pass(c, at);
        write_path(c);
    }
    for (size_t i = 0; c->counts && i < c->shown; i++)
        c->counts->seen[c->stack[i].node] |= SM_CUT_RUNS_ON;
}

static int keep(void *receiver, const sm_stream *stream, const sm_happened *event) {
    (void)stream;
    cutter *c = receiver;
    const sm_event_time *at = &event->at;
    if (!c->met) {
        c->met = true;
        c->start = c->last = at->before > c->order->from ? at->before : c->order->from;
    }
    if (at->time >= c->order->to) {
        c->beyond = true;
        return 1;
    }
    switch (event->what) {
    case SM_HAPPENED_START:
        on_start(c, event);
        break;
    case SM_HAPPENED_END:
        on_end(c, event);
        break;
    case SM_HAPPENED_INSTANT:
        on_instant(c, event);
        break;
    case SM_HAPPENED_LAST:
        if (at->time >= c->order->from)
            end(c, at, true);
        break;
    case SM_HAPPENED_OTHER:
        if (c->astray && c->begun && at->time >= c->order->from) {
            lead_up(c, at);
            if (c->writer)
                follow_up(c, at);
        }
        break;
    }
    return c->failed || (c->writer && (c->writer->failed || c->writer->stopped));
}

static int keep_gap(void *receiver, const sm_stream *stream, int64_t from, int64_t to) {
    (void)stream;
    cutter *c = receiver;
    if (to <= c->order->from || from >= c->order->to)
        return 0;
    c->notes->gaps++;
    if (c->met && (c->begun || (c->shown && from > c->order->from))) {
        pass(c, &(sm_event_time){.time = from});
        write_path(c);
        if (c->writer)
            sm_write_end(c->writer);
    }
    c->gap_end = c->last = c->start = to < c->order->to ? to : c->order->to;
    c->doubt = 0;
    c->due = -1;
    return 0;
}

static int choose_ahead(cutter *c) {
    const sm_cut_order *order = c->order;
    sm_wrong wrong = {0};
    sm_sink sink = {.receiver = c, .event = choose, .look_back = SIZE_MAX};
    sm_decode_status done = sm_decode(c->journal, c->stream, order->from, order->to, &sink, &wrong);
    c->depth = 0;
    return done == SM_DECODE_NO_MEMORY || c->failed ? -1 : 0;
}

static int cut_stream(cutter *c) {
    const sm_cut_order *order = c->order;
    if (c->ahead && choose_ahead(c) < 0)
        return -1;
    if (c->writer) {
        uint32_t thread = (uint32_t)order->thread[c->stream->thread];
        sm_write_stream(c->writer, thread, c->stream->number, c->journal->origin[c->stream->thread]);
    }
    sm_wrong wrong = {0};
    sm_sink sink = {.receiver = c, .event = keep, .gap = keep_gap};
    if (sm_decode(c->journal, c->stream, order->from, order->to, &sink, &wrong) == SM_DECODE_NO_MEMORY || c->failed)
        return -1;
    c->notes->damaged += wrong.damaged + wrong.unknown + wrong.reserved + wrong.deep;
    if (c->beyond && !c->ended) {
        sm_event_time at = {.time = order->to, .after = order->to};
        c->due = c->due < order->to ? c->due : -1;
        at.before = c->due >= 0 ? c->due : 0;
        end(c, &at, true);
    } else if (c->met && !c->ended && c->open.time >= order->from) {
        end(c, &c->open, false);
    }
    if (c->writer) {
        if (c->writer->open && c->due >= 0 && c->due <= order->to)
            read_clock(c, c->due);
        sm_write_end(c->writer);
    }
    return 0;
}

int sm_cut(const sm_trace *journal, const sm_cut_order *order, sm_cut_counts *counts, sm_trace_writer *writer,
           sm_cut_notes *notes) {
    bool ahead = order->choice != NULL && !is_settled(order->choice);
    int done = 0;
    *notes = (sm_cut_notes){0};
    for (size_t s = 0; s < journal->index->streams && done == 0; s++) {
        cutter c = {.journal = journal,
                    .order = order,
                    .counts = counts,
                    .writer = writer,
                    .notes = notes,
                    .stream = &journal->index->stream[s],
                    .ahead = ahead,
                    .due = -1};
        if (writer != NULL && order->thread[c.stream->thread] < 0)
            continue;
        done = cut_stream(&c);
        sm_free(c.stack);
        sm_free(c.chosen);
        if (writer != NULL && done == 0)
            done = writer->failed ? -1 : writer->stopped;
    }
    return done;
}
