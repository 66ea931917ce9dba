/* Turn the tallies of a slice into rows, and slices into those of the level above.
 *
 * A call that crosses the beginning of a slice is a row by itself; on higher levels, fewer calls do. `low` is the
 * number of calls, open at a slice's beginning, that are still open. A call of a lower slice that ended deeper than
 * `low` began inside the higher slice, which sums it. */

#include "base/alloc.h"
#include "base/varint.h"
#include "trace/zoom_slicer.h"

enum { LONGEST_DEPTH = 20 }; /* bits of a longest call's depth, below its flags */
enum { ROW_BYTES = (6 + 2 * SM_SHARES) * SM_VARINT_MAX, HEAD_BYTES = 8 * SM_VARINT_MAX };

bool sm_functions_know(sm_functions *f, size_t count) {
    return sm_room(&f->of, &f->count, count, sizeof *f->of);
}

void sm_functions_free(sm_functions *f) {
    sm_free(f->of);
    *f = (sm_functions){0};
}

int sm_longest_pack(sm_functions *f, sm_buffer *buffer) {
    for (size_t i = 0; i < f->count; i++) {
        sm_longest *l = &f->of[i];
        if (!l->fresh)
            continue;
        uint8_t *to = sm_buffer_reserve(buffer, 6 * SM_VARINT_MAX);
        if (to == NULL)
            return -1;
        to = SM_VARINTS_PUT(to, l->thread, l->stream, l->rank, l->depth | (uint64_t)l->flags << LONGEST_DEPTH,
                            (uint64_t)l->start, (uint64_t)l->ns);
        buffer->size = (size_t)(to - buffer->bytes);
        l->fresh = false;
    }
    return 0;
}

const uint8_t *sm_longest_parse(const uint8_t *at, const uint8_t *end, sm_longest *l) {
    uint64_t value[6];
    for (int i = 0; i < 6; i++) {
        at = sm_varint_next(at, end, i != 1 && i < 4 ? INT32_MAX : (uint64_t)1 << 57, &value[i]);
        if (at == NULL)
            return NULL;
    }
    *l = (sm_longest){.thread = (uint32_t)value[0],
                      .stream = value[1],
                      .rank = (uint32_t)value[2],
                      .depth = (uint32_t)value[3] & ((1u << LONGEST_DEPTH) - 1),
                      .flags = (uint32_t)value[3] >> LONGEST_DEPTH & SM_LONGEST_FLAGS,
                      .start = (int64_t)value[4],
                      .ns = (int64_t)value[5]};
    return at;
}

void sm_longest_note(sm_zoom_slicer *s, uint32_t rank, uint32_t depth, uint32_t flags, int64_t start, int64_t ns) {
    sm_longest *longest = &s->functions->of[s->places->place[rank].function];
    if (ns >= longest->ns) {
        longest->ns = ns;
        longest->start = start;
        longest->thread = s->thread;
        longest->stream = s->stream;
        longest->rank = rank;
        longest->depth = depth;
        longest->flags = flags & SM_LONGEST_FLAGS;
        longest->fresh = true;
    }
}

static void add_row(sm_zoom_slicer *s, sm_row **rows, size_t *count, size_t *room, const sm_row *row) {
    if (sm_room(rows, room, *count + 1, sizeof **rows))
        (*rows)[(*count)++] = *row;
    else
        s->failed = true;
}

/* Add a row of the slice that ends. */
static void add(sm_zoom_slicer *s, size_t *count, const sm_row *row) {
    add_row(s, &s->row, count, &s->row_room, row);
}

static sm_row single_row(const sm_zoom_slicer *s, const sm_frame *frame, uint32_t depth, unsigned kind,
                         uint32_t flags) {
    int64_t start = frame->start >> SM_FINE, end = s->now >> SM_FINE;
    return (sm_row){
        .kind = (uint8_t)kind,
        .shares = 1,
        .depth = depth,
        .flags = frame->flags | flags,
        .calls = 1,
        .start = start,
        .end = end,
        .busy = end - start,
        .share = {{.rank = frame->rank, .function = s->places->place[frame->rank].function, .ns = end - start}}};
}

void sm_zoom_slice_single(sm_zoom_slicer *s, const sm_frame *frame, uint32_t flags) {
    if (s->depth < SM_ZOOM_SLICE_DEPTHS) {
        sm_row row = single_row(s, frame, s->depth, SM_ROW_ENDED, flags);
        add_row(s, &s->single, &s->singles, &s->single_room, &row);
    }
    sm_longest_note(s, frame->rank, s->depth, frame->flags | flags, frame->start >> SM_FINE,
                    (s->now - frame->start) >> SM_FINE);
}

static void put_share(sm_row *row, const sm_share *share) {
    unsigned at = row->shares;
    while (at > 0 && row->share[at - 1].ns < share->ns)
        at--;
    if (at == SM_SHARES)
        return;
    row->shares += row->shares < SM_SHARES;
    for (unsigned i = row->shares - 1u; i > at; i--)
        row->share[i] = row->share[i - 1];
    row->share[at] = *share;
}

/* Sum up the calls of a depth that began and ended in the slice, and clear their places. */
static sm_row sum_depth(sm_zoom_slicer *s, uint32_t depth) {
    sm_depth *d = &s->depths[depth];
    sm_place *places = s->places->place;
    sm_longest *of = s->functions->of;
    int64_t busy = 0;
    uint64_t calls = 0;
    for (uint32_t at = d->first; at != 0; at = places[at - 1].next) {
        const sm_place *place = &places[at - 1];
        sm_longest *function = &of[place->function];
        busy += place->time;
        calls += place->calls;
        function->sum += place->time + 1; /* not 0, which marks a function whose share is written */
        if (function->most <= place->time) {
            function->most = place->time + 1;
            function->most_rank = at - 1;
        }
        if ((place->beyond - 1) >> SM_FINE > function->ns)
            sm_longest_note(s, at - 1, depth, 0, place->began >> SM_FINE, (place->beyond - 1) >> SM_FINE);
    }
    sm_row row = {.kind = SM_ROW_RUN,
                  .depth = depth,
                  .calls = calls,
                  .start = d->start >> SM_FINE,
                  .end = s->stack[depth].last >> SM_FINE,
                  .busy = busy >> SM_FINE};
    for (uint32_t at = d->first, next; at != 0; at = next) {
        sm_place *place = &places[at - 1];
        sm_longest *function = &of[place->function];
        if (function->sum) {
            int64_t ns = function->sum >> SM_FINE;
            put_share(&row, &(sm_share){.rank = function->most_rank,
                                        .function = place->function,
                                        .ns = ns < row.busy ? ns : row.busy});
        }
        function->sum = function->most = 0;
        next = place->next;
        sm_place_clear(place);
    }
    d->first = 0;
    return row;
}

static void hand_on(sm_zoom_slicer *s, unsigned l) {
    sm_level *level = &s->level[l];
    if (level->slices && level->sheet.size <= SM_ZOOM_SHEET_MOST) {
        sm_zoom_sheet sheet = {.number = level->sheets,
                               .stream = s->stream,
                               .thread = s->thread,
                               .level = l,
                               .start = level->begins,
                               .end = level->ends,
                               .bytes = level->sheet.bytes,
                               .size = level->sheet.size};
        s->taker(s->receiver, &sheet);
    }
    level->sheets += level->slices != 0;
    level->slices = 0;
    level->sheet.size = 0;
}

static uint8_t *put_row(uint8_t *to, const sm_row *row, const sm_zoom_slice *slice, uint32_t *depth) {
    to = sm_varint_put(to, (uint64_t)(row->depth - *depth) * 4 + row->kind);
    *depth = row->depth;
    if (row->kind != SM_ROW_RUN) {
        to = sm_varint_put(to, row->share[0].rank);
        if (row->kind == SM_ROW_ENDED)
            to = SM_VARINTS_PUT(to, (uint64_t)(slice->start - row->start), (uint64_t)(row->end - slice->start));
        else
            to = sm_varint_put(to, (uint64_t)(row->start - slice->start));
        return sm_varint_put(to, row->flags);
    }
    to = SM_VARINTS_PUT(to, row->calls, (uint64_t)(row->start - slice->start), (uint64_t)(row->end - row->start),
                        (uint64_t)(row->end - row->start - row->busy), row->shares);
    int64_t above = row->busy;
    for (unsigned i = 0; i < row->shares; i++) {
        to = SM_VARINTS_PUT(to, row->share[i].rank, (uint64_t)(above - row->share[i].ns));
        above = row->share[i].ns;
    }
    return to;
}

static void put_slice(sm_zoom_slicer *s, unsigned l, const sm_zoom_slice *slice, const sm_row *rows, size_t count) {
    sm_level *level = &s->level[l];
    uint8_t *to = sm_buffer_reserve(&level->sheet, HEAD_BYTES + count * ROW_BYTES);
    if (to == NULL) {
        s->failed = true;
        return;
    }
    bool first = level->slices == 0;
    level->begins = first ? slice->start : level->begins;
    to = SM_VARINTS_PUT(to, slice->flags, (uint64_t)(first ? slice->start : slice->start - level->ends),
                        (uint64_t)(slice->end - slice->start), first ? slice->block : slice->block - level->last_block,
                        slice->skip, slice->calls, count);
    uint32_t depth = 0;
    for (size_t i = 0; i < count; i++)
        to = put_row(to, &rows[i], slice, &depth);
    level->sheet.size = (size_t)(to - level->sheet.bytes);
    level->ends = slice->end;
    level->last_block = slice->block;
    if (++level->slices == SM_ZOOM_SLICES)
        hand_on(s, l);
}

static void gather_run(sm_gathered *g, const sm_row *row) {
    if (g->calls == 0) {
        g->start = row->start;
        g->busy = 0;
        g->shares = 0;
    }
    g->end = row->end;
    g->busy += row->busy;
    g->calls += row->calls;
    for (unsigned i = 0; i < row->shares; i++) {
        const sm_share *more = &row->share[i];
        unsigned at = 0, least = 0;
        for (; at < g->shares && g->share[at].function != more->function; at++)
            least = g->share[at].ns < g->share[least].ns ? at : least;
        if (at < g->shares) {
            g->share[at].rank = more->ns > g->share[at].ns ? more->rank : g->share[at].rank;
            g->share[at].ns += more->ns;
        } else if (g->shares < SM_GATHERED) {
            g->share[g->shares++] = *more;
        } else if (more->ns > g->share[least].ns) {
            g->share[least] = *more;
        }
    }
}

static sm_gathered *gathered_of(sm_zoom_slicer *s, sm_level *level, uint32_t depth) {
    if (!sm_room(&level->gathered, &level->room, (size_t)depth + 1, sizeof *level->gathered)) {
        s->failed = true;
        return NULL;
    }
    level->deepest = depth + 1 > level->deepest ? depth + 1 : level->deepest;
    return &level->gathered[depth];
}

/* Add a finished slice of the level below. low: number of its first open calls that are still open. */
static void gather(sm_zoom_slicer *s, unsigned l, const sm_zoom_slice *slice, const sm_row *rows, size_t count,
                   uint32_t low) {
    sm_level *level = &s->level[l];
    if (level->below++ == 0) {
        level->slice = *slice;
        level->slice.calls = 0;
        level->low = UINT32_MAX;
    }
    level->slice.flags |= slice->flags & SM_ZOOM_SLICE_LAST;
    level->slice.calls += slice->calls;
    level->slice.end = slice->end;
    for (size_t i = 0; i < count && !s->failed; i++) {
        const sm_row *row = &rows[i];
        sm_gathered *g = row->kind == SM_ROW_OPEN ? NULL : gathered_of(s, level, row->depth);
        if (g != NULL && row->kind == SM_ROW_ENDED && row->depth < level->low) {
            g->ended = true;
            g->call = *row;
        } else if (g != NULL) {
            gather_run(g, row);
        }
    }
    level->low = low < level->low ? low : level->low;
}

/* Add the call of this depth if it is open and began in the slice. */
static void add_open(sm_zoom_slicer *s, uint32_t depth, uint32_t low, size_t *count) {
    if (depth < low || depth >= s->depth || depth >= SM_ZOOM_SLICE_DEPTHS)
        return;
    sm_row row = single_row(s, &s->stack[depth], depth, SM_ROW_OPEN, 0);
    add(s, count, &row);
}

static void end_level(sm_zoom_slicer *s, unsigned l);

/* Write the slice of a level, whose rows are made, and add it to that of the level above. */
static void finish_slice(sm_zoom_slicer *s, unsigned l, size_t count, uint32_t low) {
    const sm_zoom_slice slice = s->level[l].slice;
    put_slice(s, l, &slice, s->row, count);
    if (l + 1 == SM_LEVELS || s->failed)
        return;
    gather(s, l + 1, &slice, s->row, count, low);
    if (s->level[l + 1].below == SM_ZOOM_SLICES && !s->failed)
        end_level(s, l + 1);
}

static void end_level(sm_zoom_slicer *s, unsigned l) {
    sm_level *level = &s->level[l];
    size_t count = 0;
    size_t deepest = s->depth > level->low && s->depth > level->deepest ? s->depth : level->deepest;
    for (uint32_t depth = level->low; depth < deepest && !s->failed; depth++) {
        sm_gathered *g = depth < level->deepest ? &level->gathered[depth] : NULL;
        if (g != NULL && g->ended)
            add(s, &count, &g->call);
        if (g != NULL && g->calls) {
            sm_row row = {.kind = SM_ROW_RUN,
                          .depth = depth,
                          .calls = g->calls,
                          .start = g->start,
                          .end = g->end,
                          .busy = g->busy};
            for (unsigned i = 0; i < g->shares; i++)
                put_share(&row, &g->share[i]);
            add(s, &count, &row);
        }
        if (g != NULL) {
            g->ended = false;
            g->calls = 0;
        }
        add_open(s, depth, level->low, &count);
    }
    level->below = 0;
    level->deepest = 0;
    finish_slice(s, l, count, level->low);
}

/* Make the rows of the open slice of level 0, and clear its tallies. */
static size_t take_rows(sm_zoom_slicer *s) {
    size_t count = 0, deepest = s->depth > s->low && s->depth > s->deepest ? s->depth : s->deepest;
    deepest = s->singles && s->single[0].depth + 1 > deepest ? s->single[0].depth + 1 : deepest;
    for (uint32_t depth = s->low; depth < deepest; depth++) {
        if (s->singles && s->single[s->singles - 1].depth == depth)
            add(s, &count, &s->single[--s->singles]);
        if (depth < s->deepest && s->depths[depth].first) {
            sm_row row = sum_depth(s, depth);
            if (depth < SM_ZOOM_SLICE_DEPTHS)
                add(s, &count, &row);
        }
        add_open(s, depth, s->low, &count);
    }
    s->singles = s->rows = s->deepest = 0;
    return count;
}

void sm_zoom_slice_end(sm_zoom_slicer *s, sm_zoom_slice_ending how) {
    sm_level *level = &s->level[0];
    uint64_t calls = s->ended - s->before;
    if (s->ended == s->before && how != SM_ZOOM_SLICE_IS_LAST)
        return;
    size_t count = take_rows(s);
    uint32_t low = s->low;
    s->left = SM_ZOOM_SLICE_CALLS;
    s->low = s->depth;
    s->before = s->ended;
    if (s->failed || how == SM_ZOOM_SLICE_IS_DROPPED)
        return;
    level->slice.end = s->now >> SM_FINE;
    level->slice.calls = calls;
    level->slice.flags |= how == SM_ZOOM_SLICE_IS_LAST ? SM_ZOOM_SLICE_LAST : 0;
    finish_slice(s, 0, count, low);
    level->slice =
        (sm_zoom_slice){.block = s->block, .skip = s->ended - s->ended_before_block, .start = level->slice.end};
}

void sm_zoom_sheets_end(sm_zoom_slicer *s) {
    for (unsigned l = 0; l < SM_LEVELS && !s->failed; l++) {
        hand_on(s, l);
        if (s->level[l].sheets <= 1 || l + 1 == SM_LEVELS)
            return;
        if (s->level[l + 1].below)
            end_level(s, l + 1);
    }
}
