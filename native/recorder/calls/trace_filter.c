/* Leave calls out of a journal, on its way from the thread to the file.
 *
 * The thread writes every event, and pays nothing for the filter. The worker processes a block before it writes it,
 * with a stack of the calls that began in it. A call that proves too short is cut off again and counted: an instant has
 * the calls, resumes and exceptions that are missing below the current call. So the journal still adds up to the tree.
 *
 * A call is short only if it certainly is: from the last clock reading before its start to the first one after its end,
 * less time passed than the limit. Calls that began in another block stay, as do calls with an instant or a change of
 * path. Once a call is sure to stay, so are its callers, and everything up to its start can be written.
 *
 * A mark belongs to the event before it, or to the instant that replaces it. Of consecutive instants with marks one is
 * enough, but the first mark after an event that stays is kept, since the event's time depends on it.
 *
 * A call is too deep if at least `depth` calls are above it. Where a block begins or the path is exchanged, the thread
 * writes its depth as a second operand, which does not go into the file. */
#include "recorder/calls/trace_filter.h"

#include <string.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "trace/tokens.h"

struct sm_trace_filter_level { /* guard: that of its filter */
    size_t at;                 /* offset in `out` at which its events begin */
    uint64_t since;            /* in units; the call began no earlier */
    uint64_t written;          /* sm_trace_filter.written at its beginning; the same for the next three */
    sm_left_out below;         /* counts of the call that contains it */
    sm_trace_filter_pair pair;
    bool marked;
    bool resumed;
    sm_left_out all;
};

void sm_trace_filter_begin(sm_trace_filter *f, const sm_trace_filter_limits *limits, uint32_t depth) {
    f->limits = *limits;
    f->out.size = f->sent = f->read = 0;
    f->levels = f->sure = 0;
    f->below = (sm_left_out){0};
    f->units = f->written = 0;
    f->at = depth;
    f->shown = depth < limits->depth ? depth : limits->depth;
    f->marked = true;
    f->pair = (sm_trace_filter_pair){0};
}

void sm_trace_filter_free(sm_trace_filter *f) {
    sm_buffer_free(&f->out);
    SM_CLEAR(f->level);
    f->levels = f->room = 0;
}

static void add(sm_left_out *to, const sm_left_out *more) {
    to->calls += more->calls;
    to->resumes += more->resumes;
    to->exceptions += more->exceptions;
}

static bool is_any(const sm_left_out *of) {
    return (of->calls | of->resumes | of->exceptions) != 0;
}

static void put(sm_trace_filter *f, const uint8_t *bytes, size_t size) {
    f->no_memory |= sm_buffer_append(&f->out, bytes, size) < 0;
    f->marked = false;
}

static void put_left_out(sm_trace_filter *f, const sm_left_out *of) {
    uint8_t text[3 * SM_VARINT_MAX], head[3 + SM_VARINT_MAX], *end = text, *to = head;
    end = sm_varint_put(end, of->calls);
    end = sm_varint_put(end, of->resumes);
    end = sm_varint_put(end, of->exceptions);
    *to++ = SM_TOKEN_INSTANT;
    to = sm_varint_put(to, SM_INSTANT_LEFT_OUT);
    to = sm_varint_put(to, (uint64_t)(end - text));
    put(f, head, (size_t)(to - head));
    put(f, text, (size_t)(end - text));
}

/* Write what was left out of the current call, before its next token. */
static void say(sm_trace_filter *f) {
    if (is_any(&f->below)) {
        put_left_out(f, &f->below);
        f->below = (sm_left_out){0};
    }
}

/* Return true if less than the limit passed between these readings, each of which may be a unit too low. */
static bool is_short(const sm_trace_filter *f, uint64_t since, uint64_t until) {
    return until != UINT64_MAX && until >= since && until - since + 1 < f->limits.least;
}

static void leave_out(sm_trace_filter *f, const sm_left_out *more) {
    add(&f->below, more);
    if (f->levels > 0)
        add(&f->level[f->levels - 1].all, more);
}

static void enter(sm_trace_filter *f, const uint8_t *token, size_t size, bool resumed, uint64_t since) {
    if (f->at != f->shown || f->at >= f->limits.depth) {
        f->at++;
        leave_out(f, &(sm_left_out){.calls = !resumed, .resumes = resumed});
        return;
    }
    if (!sm_room(&f->level, &f->room, f->levels + 1, sizeof *f->level)) {
        f->no_memory = true;
        return;
    }
    f->level[f->levels++] = (sm_trace_filter_level){.at = f->out.size,
                                                    .since = since,
                                                    .written = f->written,
                                                    .below = f->below,
                                                    .pair = f->pair,
                                                    .marked = f->marked,
                                                    .resumed = resumed};
    say(f);
    put(f, token, size);
    f->at++;
    f->shown++;
}

static void leave(sm_trace_filter *f, uint8_t token, uint64_t until) {
    bool unwound = token == SM_TOKEN_UNWIND;
    if (f->at > f->shown) {
        f->at--;
        leave_out(f, &(sm_left_out){.exceptions = unwound});
        return;
    }
    f->at -= f->at > 0;
    f->shown -= f->shown > 0;
    if (f->levels == 0 || f->levels <= f->sure || !is_short(f, f->level[f->levels - 1].since, until)) {
        say(f);
        put(f, &token, 1);
        f->levels -= f->levels > 0;
        f->sure = f->levels;
        return;
    }
    const sm_trace_filter_level *ended = &f->level[--f->levels];
    sm_left_out left = ended->all;
    add(&left, &(sm_left_out){.calls = !ended->resumed, .resumes = ended->resumed, .exceptions = unwound});
    f->out.size = ended->at;
    f->written = ended->written;
    f->marked = ended->marked;
    f->below = ended->below;
    f->pair = ended->pair;
    leave_out(f, &left);
}

static void mark(sm_trace_filter *f, uint64_t now) {
    bool left_out = is_any(&f->below);
    f->units = now;
    if (!left_out && f->marked)
        return;
    sm_trace_filter_pair *pair = &f->pair;
    if (left_out) {
        if (pair->at != pair->end && pair->end == f->out.size && pair->joins && pair->at >= f->sent) {
            f->out.size = pair->at;
            f->written = pair->written;
            add(&f->below, &pair->of);
        }
        *pair = (sm_trace_filter_pair){.at = f->out.size, .of = f->below, .written = f->written, .joins = f->marked};
        say(f);
    } else {
        *pair = (sm_trace_filter_pair){0};
    }
    uint8_t bytes[1 + SM_VARINT_MAX] = {SM_TOKEN_MARK};
    put(f, bytes, (size_t)(sm_varint_put(bytes + 1, now - f->written) - bytes));
    f->written = now;
    f->marked = true;
    pair->end = left_out ? f->out.size : 0;
}

static void advance(sm_trace_filter *f, uint64_t now) {
    while (f->sure < f->levels && !is_short(f, f->level[f->sure].since, now))
        f->sure++;
}

/* Return the token after this one. A change of path also has an operand with the depth. */
static const uint8_t *skip(const uint8_t *at, const uint8_t *end) {
    uint64_t value = 0;
    unsigned token = *at++;
    if (token >= SM_TOKEN_MARK && token <= SM_TOKEN_INSTANT)
        at = sm_varint_get(at, end, &value);
    if (at != NULL && (token == SM_TOKEN_GOTO || token == SM_TOKEN_INSTANT))
        at = sm_varint_get(at, end, &value);
    return at != NULL && token == SM_TOKEN_INSTANT ? (value <= (uint64_t)(end - at) ? at + value : NULL) : at;
}

/* Keep any other token, and the calls around it. */
static void other(sm_trace_filter *f, const uint8_t *at, const uint8_t *next) {
    uint64_t value = 0, depth = 0;
    const uint8_t *end = next;
    if (*at == SM_TOKEN_GOTO) {
        end = sm_varint_get(at + 1, next, &value);
        (void)sm_varint_get(end, next, &depth);
    }
    say(f);
    put(f, at, (size_t)(end - at));
    f->sure = f->levels;
    if (*at == SM_TOKEN_GOTO || *at == SM_TOKEN_END) {
        f->levels = f->sure = 0;
        f->at = f->shown = (uint32_t)depth;
    }
}

/* Process the tokens between two marks. until: the second mark; at_end: the last token is at that time. */
static void take_stretch(sm_trace_filter *f, const uint8_t *at, const uint8_t *end, uint64_t until, bool at_end) {
    while (at < end) {
        const uint8_t *next = skip(at, end);
        unsigned token = *at;
        if (token <= SM_TOKEN_UNWIND)
            leave(f, (uint8_t)token, until);
        else if (token == SM_TOKEN_CALL || token == SM_TOKEN_RESUME)
            enter(f, at, (size_t)(next - at), token == SM_TOKEN_RESUME, next == end && at_end ? until : f->units);
        else if (token >= SM_TOKEN_CALL_CHILD && token != SM_TOKEN_END)
            enter(f, at, 1, token >= SM_TOKEN_RESUME_CHILD, next == end && at_end ? until : f->units);
        else
            other(f, at, next);
        at = next;
    }
}

void sm_trace_filter_take(sm_trace_filter *f, const uint8_t *bytes, uint32_t to, uint64_t now, bool whole) {
    const uint8_t *at = bytes + f->read, *end = bytes + to;
    while (at < end) {
        const uint8_t *stop = at;
        while (stop < end && *stop != SM_TOKEN_MARK)
            stop = skip(stop, end);
        if (stop == end) {
            take_stretch(f, at, end, whole ? UINT64_MAX : now, false);
            break;
        }
        uint64_t distance = 0;
        const uint8_t *after = sm_varint_get(stop + 1, end, &distance);
        take_stretch(f, at, stop, f->units + distance, true);
        mark(f, f->units + distance);
        advance(f, f->units);
        at = after;
    }
    f->read = to;
    if (whole) {
        say(f);
        f->sure = f->levels;
    } else {
        advance(f, now);
    }
}

size_t sm_trace_filter_ready(const sm_trace_filter *f) {
    return f->sure < f->levels ? f->level[f->sure].at : f->out.size;
}
