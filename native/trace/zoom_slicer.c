/* Read the tokens of a stream fast, since this costs processor time while a program is recorded.
 *
 * The tokens between two marks are read twice: to count the events, so that they can be spread evenly over the time,
 * and to process them. A call that began and ended in the open slice is only added to the tally of its node. */
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/varint.h"
#include "trace/compression.h"
#include "trace/zoom_slicer.h"

enum { DEEPEST = 1 << 20 };
static const int64_t LATEST = (int64_t)1 << 56;

static bool make_room(sm_zoom_slicer *s) {
    size_t room = s->room ? s->room * 2 : 64;
    sm_frame *below = s->stack != NULL ? s->stack - 1 : NULL;
    below = room > DEEPEST ? NULL : sm_realloc(below, (room + 1) * sizeof *below);
    if (below != NULL) {
        *below = (sm_frame){.rank = 0}; /* the root, to which outermost calls return */
        s->stack = below + 1;
        sm_depth *depths = sm_realloc(s->depths, room * sizeof *depths);
        if (depths != NULL) {
            memset(depths + s->room, 0, (room - s->room) * sizeof *depths);
            s->depths = depths;
            s->room = room;
            return true;
        }
    }
    s->failed = true;
    return false;
}

static void push(sm_zoom_slicer *s, uint32_t rank, uint32_t flags) {
    if (s->depth < s->room || make_room(s)) {
        sm_frame *frame = &s->stack[s->depth++];
        frame->start = s->now;
        frame->rank = rank;
        frame->flags = flags;
        s->place = rank;
    }
}

/* Note a node's first call in the slice, or one that is longer than all earlier ones of its function. */
static void note_call(sm_zoom_slicer *s, sm_place *place, uint32_t depth, int64_t start, int64_t took) {
    if (place->calls == 0) {
        const sm_longest *longest = &s->functions->of[place->function];
        sm_depth *d = &s->depths[depth];
        place->beyond = longest->ns < LATEST ? (longest->ns << SM_FINE) + 1 : INT64_MAX;
        place->next = d->first;
        if (d->first == 0) {
            d->start = start;
            s->rows += depth < SM_ZOOM_SLICE_DEPTHS;
            s->deepest = depth + 1 > s->deepest ? depth + 1 : s->deepest;
        }
        d->first = (uint32_t)(place - s->places->place) + 1;
    }
    if (took >= place->beyond) {
        place->beyond = took + 1;
        place->began = start;
    }
}

/* Count the end of a call that began in the slice. frame: of its depth. */
static inline void add_run(sm_zoom_slicer *s, sm_place *place, sm_frame *frame, int64_t start, int64_t now) {
    int64_t took = now - start;
    if (SM_UNLIKELY(took >= place->beyond))
        note_call(s, place, (uint32_t)(frame - s->stack), start, took);
    place->calls++;
    place->time += took;
    frame->last = now;
}

/* End the top call, which may be suspended or left by an exception. */
static void end_top(sm_zoom_slicer *s, uint32_t flags) {
    sm_frame *frame = &s->stack[--s->depth];
    if (s->depth < s->low) {
        s->low = s->depth;
        sm_zoom_slice_single(s, frame, flags);
    } else {
        add_run(s, &s->places->place[frame->rank], frame, frame->start, s->now);
        if (SM_UNLIKELY(((frame->flags | flags) & SM_LONGEST_FLAGS) != 0)) { /* runs have no flags */
            sm_longest_note(s, frame->rank, s->depth, frame->flags | flags, frame->start >> SM_FINE,
                            (s->now - frame->start) >> SM_FINE);
        }
    }
    s->place = s->depth ? s->stack[s->depth - 1].rank : 0;
    s->ended++;
}

/* Return the path of a rank from the root on, owned by the caller, or NULL if out of memory or it does not exist. */
static uint32_t *path_of(sm_zoom_slicer *s, uint64_t rank, uint32_t *length) {
    const sm_place *place = s->places->place;
    *length = 0;
    if (rank >= s->places->count) {
        s->broken = true;
        return NULL;
    }
    for (uint64_t at = rank; at != 0; at = place[at].parent)
        ++*length;
    uint32_t *path = sm_malloc((*length + 1) * sizeof *path), at = (uint32_t)rank;
    for (uint32_t i = *length; path != NULL && i > 0; i--, at = place[at].parent)
        path[i - 1] = at;
    s->failed |= path == NULL;
    return path;
}

/* End the calls that are not on the path. */
static void leave_for(sm_zoom_slicer *s, const uint32_t *path, uint32_t length, uint32_t stays) {
    uint32_t common = 0;
    while (common < length && common < s->depth && s->stack[common].rank == path[common])
        s->stack[common++].flags |= stays;
    while (s->depth > common)
        end_top(s, SM_CALL_ENDED_UNSEEN);
}

static void begin_rest(sm_zoom_slicer *s, const uint32_t *path, uint32_t length, uint32_t begins) {
    while (s->depth < length && !s->failed)
        push(s, path[s->depth], begins);
    s->place = length ? path[length - 1] : 0;
}

/* Make the stack the path of a rank, as the reader does. */
static void go_to(sm_zoom_slicer *s, uint64_t rank, uint32_t begins) {
    uint32_t length, *path = path_of(s, rank, &length);
    if (path != NULL) {
        leave_for(s, path, length, 0);
        begin_rest(s, path, length, begins);
        sm_free(path);
    }
}

/* Make the stack the path of a block's rank after missing events, and end the slice. */
static void go_on_behind(sm_zoom_slicer *s, const sm_block_head *head) {
    uint32_t length, *path = path_of(s, head->rank, &length);
    if (path == NULL)
        return;
    leave_for(s, path, length, SM_CALL_GAP);
    sm_zoom_slice_end(s, SM_ZOOM_SLICE_GOES_ON);
    sm_zoom_slice *slice = &s->level[0].slice;
    if (s->ended == s->before)
        *slice = (sm_zoom_slice){.block = head->number, .start = s->now >> SM_FINE, .flags = SM_ZOOM_SLICE_AFTER_GAP};
    begin_rest(s, path, length, SM_CALL_BEGAN_UNSEEN);
    sm_free(path);
}

/* Process a token with operands, the end of which is known. */
static const uint8_t *take_rare(sm_zoom_slicer *s, unsigned token, const uint8_t *at, const uint8_t *stop) {
    uint64_t operand = 0, length = 0;
    if (token == SM_TOKEN_END) {
        while (s->depth)
            end_top(s, SM_CALL_OPEN);
        s->last = true;
        return at;
    }
    if (token > SM_TOKEN_INSTANT || (at = sm_varint_get(at, stop, &operand)) == NULL) {
        s->broken = true;
        return stop;
    }
    if (token == SM_TOKEN_INSTANT) {
        at = sm_varint_get(at, stop, &length);
        return at == NULL || length > (size_t)(stop - at) ? stop : at + length;
    }
    if (operand >= s->places->count || (operand == 0 && token != SM_TOKEN_GOTO))
        s->broken = true;
    else if (token == SM_TOKEN_GOTO)
        go_to(s, operand, SM_CALL_BEGAN_UNSEEN);
    else
        push(s, (uint32_t)operand, token == SM_TOKEN_RESUME ? SM_CALL_RESUMED : 0);
    return at;
}

/* End the slice if it has enough calls for the bytes of its rows. */
static void look_at_slice(sm_zoom_slicer *s) {
    uint64_t calls = s->ended - s->before, deep = s->depth - s->low;
    uint64_t rows = s->rows + s->singles + (deep < SM_ZOOM_SLICE_DEPTHS ? deep : SM_ZOOM_SLICE_DEPTHS);
    uint64_t wanted = rows * SM_ZOOM_SLICE_ROWS > SM_ZOOM_SLICE_CALLS ? rows * SM_ZOOM_SLICE_ROWS : SM_ZOOM_SLICE_CALLS;
    if (calls >= wanted)
        sm_zoom_slice_end(s, SM_ZOOM_SLICE_GOES_ON);
    else
        s->left = wanted;
}

/* Process any token but a call of a child and the end of a call that began in the slice. Return the next one. */
static const uint8_t *take_other(sm_zoom_slicer *s, const uint8_t *at, const uint8_t *stop) {
    unsigned token = *at++;
    if (token > SM_TOKEN_UNWIND)
        at = take_rare(s, token, at, stop);
    else if (s->depth > 0)
        end_top(s, token == SM_TOKEN_YIELD ? SM_CALL_YIELDED : token == SM_TOKEN_UNWIND ? SM_CALL_UNWOUND : 0);
    if (s->ended - s->before >= s->left)
        look_at_slice(s);
    return at;
}

/* Process all tokens. *stop is a mark, so only tokens with operands are checked against the end. */
static void walk(sm_zoom_slicer *s, const uint8_t *at, const uint8_t *stop, int64_t step) {
    while (at != stop && !s->broken && !s->failed) {
        unsigned token = *at, child = (token & 127) - SM_TOKEN_CALL_CHILD;
        s->now += step;
        if (child >= SM_TOKEN_CHILDREN_CALLED) {
            at = take_other(s, at, stop);
            continue;
        }
        const sm_place *place = &s->places->place[s->place];
        s->broken = child >= place->kids;
        if (!s->broken) {
            push(s, s->places->kid[place->kids_at + child], token & 128 ? SM_CALL_RESUMED : 0);
            at++;
        }
    }
}

_Static_assert((int)SM_TOKEN_END == (int)SM_CALL_RESUMED, "the highest bit of a token tells a resumed call");

/* Process tokens up to the first that is neither a call of a child nor the end of a call that began in the slice.
 * Return it. The stack has room, and no slice ends. State is in locals, since the compiler cannot know that no store
 * into the stack changes it. `top` is the frame of the next call. */
static const uint8_t *walk_plainly(sm_zoom_slicer *s, const uint8_t *begin, int64_t step) {
    const uint32_t *kids = s->places->kid;
    sm_place *places = s->places->place, *here = &places[s->place];
    sm_frame *top = s->stack + s->depth, *low = s->stack + s->low;
    const uint8_t *at = begin;
    int64_t now = s->now;
    for (unsigned token = *at;; token = *at) {
        /* Test the token first: this branch waits for no memory, so the processor predicts it early. */
        if (token <= SM_TOKEN_UNWIND) {
            if (SM_UNLIKELY(top <= low))
                break;
            at++;
            now += step;
            top--;
            add_run(s, here, top, top->start, now);
            here = &places[top[-1].rank]; /* in a folded path perhaps not its parent */
            continue;
        }
        unsigned child = (token & 127) - SM_TOKEN_CALL_CHILD;
        if (SM_UNLIKELY(child >= here->kids))
            break;
        uint32_t kid = SM_LIKELY(child < SM_PLACE_NEAR) ? here->near[child] : kids[here->kids_at + child];
        sm_place *place = &places[kid];
        now += step;
        if (*++at <= SM_TOKEN_UNWIND) { /* most calls call nothing, and need no frame */
            at++;
            now += step;
            add_run(s, place, top, now - step, now);
            continue;
        }
        top->start = now;
        top->rank = kid;
        top->flags = token & SM_CALL_RESUMED;
        top++;
        here = place;
    }
    uint32_t depth = (uint32_t)(top - s->stack);
    s->now = now;
    s->ended += ((uint64_t)(at - begin) + s->depth - depth) / 2; /* each token begins or ends a call */
    s->depth = depth;
    s->place = (uint32_t)(here - places);
    return at;
}

/* Return the end of the events before the next mark, and their number. plain_ones: none has operands. */
static inline const uint8_t *count_events(const uint8_t *at, const uint8_t *end, unsigned *events, bool *plain_ones) {
    const uint8_t *counted = at;
    *events = 0;
    *plain_ones = true;
    while ((at = sm_find_operand(at, end)) != end && *at != SM_TOKEN_MARK) {
        *events += (unsigned)(at - counted) + 1;
        *plain_ones = false;
        at = sm_behind_operands(at, end);
        if (at == NULL)
            return end;
        counted = at;
    }
    *events += (unsigned)(at - counted);
    return at;
}

/* Process tokens without a mark after them, at the time of the previous mark. */
static void take_tail(sm_zoom_slicer *s, const uint8_t *at, size_t size) {
    uint8_t *copy = sm_malloc(size + 1);
    if (copy == NULL) {
        s->failed = true;
        return;
    }
    memcpy(copy, at, size);
    copy[size] = SM_TOKEN_MARK;
    walk(s, copy, copy + size, 0);
    sm_free(copy);
}

static inline const uint8_t *take_stretch(sm_zoom_slicer *s, const uint8_t *at, const uint8_t *end) {
    unsigned events;
    bool plain;
    uint64_t distance = 0;
    const uint8_t *stop = count_events(at, end, &events, &plain);
    if (stop == end) {
        take_tail(s, at, (size_t)(end - at));
        return end;
    }
    const uint8_t *next = sm_varint_get(stop + 1, end, &distance);
    if (next == NULL) {
        s->broken = true;
        return end;
    }
    s->units += distance;
    double passed = (double)s->units * s->unit;
    int64_t to = (passed < (double)(LATEST - s->base) ? s->base + (int64_t)passed : LATEST) << SM_FINE;
    int64_t span = to > s->now ? to - s->now : 0, begun = s->now, step = events ? span / events : 0;
    if (plain && s->room - s->depth > events && (int64_t)(s->left - (s->ended - s->before)) > (int64_t)events)
        at = walk_plainly(s, at, step);
    if (at != stop)
        walk(s, at, stop, step);
    s->now = begun + span;
    return next;
}

static void enter(sm_zoom_slicer *s, const sm_block_head *head) {
    bool follows = s->begun && !s->broken && !head->after_gap && head->number == s->block + 1;
    int64_t time = head->ns << SM_FINE;
    s->block = head->number;
    s->base = head->ns;
    s->units = 0;
    s->unit = head->unit;
    s->broken = false;
    if (!s->begun) {
        s->begun = true;
        s->now = time;
        go_to(s, head->rank, SM_CALL_BEFORE);
        s->low = s->depth;
    } else if (follows) {
        s->now = time > s->now ? time : s->now;
        if (s->place != head->rank)
            go_to(s, head->rank, SM_CALL_BEGAN_UNSEEN);
    } else {
        s->now = time > s->now ? time : s->now;
        go_on_behind(s, head);
    }
    s->ended_before_block = s->ended;
}

/* Clear the tallies of a slicer that ends or gives the places to another. */
static void give_back(sm_zoom_slicer *s) {
    if (s != NULL && s->failed)
        for (size_t i = 0; i < s->places->count; i++)
            sm_place_clear(&s->places->place[i]);
    else if (s != NULL)
        sm_zoom_slice_end(s, SM_ZOOM_SLICE_GOES_ON);
}

void sm_zoom_slicer_block(sm_zoom_slicer *s, const sm_block_head *head, const uint8_t *bytes, size_t size) {
    const uint8_t *at = bytes, *end = bytes + size;
    if (s->failed || s->last || s->places->count == 0 || head->ns < 0 || head->ns >= LATEST ||
        !(head->unit >= 0 && head->unit < 1e18)) {
        s->failed = true;
        return;
    }
    if (s->room == 0 && !make_room(s))
        return;
    if (s->places->owner != s) {
        give_back(s->places->owner);
        s->places->owner = s;
    }
    enter(s, head);
    if (s->level[0].slice.start == 0 && s->ended == s->before && !s->level[0].slices && !s->level[0].sheets) {
        s->level[0].slice.start = s->now >> SM_FINE;
        s->level[0].slice.block = head->number;
    }
    while (at < end && !s->broken && !s->failed)
        at = take_stretch(s, at, end);
    if (s->last)
        sm_zoom_slicer_end(s);
}

void sm_zoom_slicer_end(sm_zoom_slicer *s) {
    if (!s->failed && s->begun) {
        bool small = s->level[0].slices == 0 && s->level[0].sheets == 0 && s->ended < SM_ZOOM_SLICE_CALLS / 2;
        sm_zoom_slice_end(s, small     ? SM_ZOOM_SLICE_IS_DROPPED
                             : s->last ? SM_ZOOM_SLICE_IS_LAST
                                       : SM_ZOOM_SLICE_GOES_ON);
        sm_zoom_sheets_end(s);
    }
    if (s->places->owner == s) {
        give_back(s);
        s->places->owner = NULL;
    }
    s->failed = true;
}

sm_zoom_slicer *sm_zoom_slicer_new(uint32_t thread, uint64_t stream, sm_places *places, sm_functions *functions,
                                   sm_zoom_sheet_taker taker, void *receiver) {
    sm_zoom_slicer *s = sm_calloc(1, sizeof *s);
    if (s != NULL) {
        s->thread = thread;
        s->stream = stream;
        s->places = places;
        s->functions = functions;
        s->taker = taker;
        s->receiver = receiver;
        s->left = SM_ZOOM_SLICE_CALLS;
    }
    return s;
}

void sm_zoom_slicer_free(sm_zoom_slicer *s) {
    if (s == NULL)
        return;
    if (s->places->owner == s) {
        s->failed = true;
        give_back(s);
        s->places->owner = NULL;
    }
    for (int l = 0; l < SM_LEVELS; l++) {
        sm_free(s->level[l].gathered);
        sm_buffer_free(&s->level[l].sheet);
    }
    sm_free(s->stack != NULL ? s->stack - 1 : NULL);
    sm_free(s->depths);
    sm_free(s->single);
    sm_free(s->row);
    sm_free(s);
}
