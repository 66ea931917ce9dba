/* Draw levels of detail as a picture.
 *
 * A slice no wider than a column is painted from its rows. A wider one is replaced by slices of the level below, and on
 * level 0 by the journal itself while `calls_left` lasts. Slices before the picture's time are read only for open calls
 * (OPEN rows), and slices after it for calls that began earlier. So the columns bound the work, however long the trace
 * is.
 *
 * The journal supplies what no sheet has: the last calls of a killed program, threads of few calls, traces without
 * levels. */
#include "trace/overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/decode.h"
#include "trace/window.h"

enum { EXACT_CALLS = 300000, LOOK_BACK = 1 << 20 };

typedef struct { /* an open call */
    bool known;
    uint32_t node, flags;
    int64_t start;
} opened;

typedef struct {
    opened *at; /* owned; by depth */
    size_t room;
} opened_list;

typedef struct {
    sm_run_painter *painter;
    sm_overview *overview;
    const sm_overview_asked *asked;
    const sm_trace *journal;
    const sm_zoom_sheets *sheets;
    const sm_stream *stream;
    uint64_t number;
    int64_t origin;
    size_t first[SM_LEVELS], count[SM_LEVELS]; /* range of the thread's sheets, by level */
    opened_list open;
    /* A run of level-0 slices that is to be read from the journal. */
    bool exact;
    uint64_t next, block, skip, calls, seen;
    opened_list before; /* calls that were open where it begins, and end in it */
    uint64_t calls_left;
    bool failed;
} walker;

static opened *opened_at(walker *w, opened_list *list, uint32_t depth) {
    if (!sm_room(&list->at, &list->room, (size_t)depth + 1, sizeof *list->at)) {
        w->failed = true;
        return NULL;
    }
    return &list->at[depth];
}

/* Return the node of a row, or -1. */
static int64_t node_of(walker *w, uint32_t rank) {
    int64_t place = rank ? sm_dictionary_rank(w->journal->dictionary, w->stream->thread, rank) : -1;
    w->overview->wrong.unknown += place < 0;
    return place;
}

static void paint_single(walker *w, const sm_row *row, uint32_t node) {
    sm_call call = {.start = row->start + w->origin,
                    .end = row->end + w->origin,
                    .start_bound = -1,
                    .end_bound = -1,
                    .node = node,
                    .depth = row->depth,
                    .flags = row->flags};
    sm_paint_call(w->painter, &call, w->number);
}

static void paint_sum(walker *w, const sm_row *row) {
    sm_share share[SM_SHARES];
    unsigned shares = 0;
    for (unsigned i = 0; i < row->shares; i++) {
        int64_t node = node_of(w, row->share[i].rank);
        if (node >= 0)
            share[shares++] = (sm_share){.rank = (uint32_t)node, .ns = row->share[i].ns};
    }
    if (shares) {
        sm_run run = {.start = row->start + w->origin,
                      .end = row->end + w->origin,
                      .busy = row->busy,
                      .bound = -1,
                      .calls = row->calls,
                      .stream = w->number,
                      .depth = row->depth};
        sm_paint_run(w->painter, &run, share, shares);
    }
}

/* Take the open calls of a slice's rows. Paint its single calls and its runs if wanted. */
static void take_rows(walker *w, const sm_zoom_sheet_rows *rows, size_t slice, bool singles, bool runs) {
    for (size_t i = rows->first[slice]; i < rows->first[slice + 1] && !w->failed; i++) {
        const sm_row *row = &rows->row[i];
        if (row->kind == SM_ROW_RUN) {
            if (runs)
                paint_sum(w, row);
            continue;
        }
        int64_t node = node_of(w, row->share[0].rank);
        opened *o = node < 0 ? NULL : opened_at(w, &w->open, row->depth);
        if (o != NULL && row->kind == SM_ROW_OPEN) {
            *o = (opened){.known = true, .node = (uint32_t)node, .start = row->start, .flags = row->flags};
        } else if (o != NULL) {
            o->known = false;
            if (singles)
                paint_single(w, row, (uint32_t)node);
        }
    }
}

static int exact_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    walker *w = receiver;
    (void)stream;
    if (w->seen++ < w->skip)
        return 0;
    sm_call known = *call;
    if ((call->flags & SM_CALL_BEFORE) && call->depth < w->before.room && w->before.at[call->depth].known) {
        known.start = w->before.at[call->depth].start + w->origin;
        known.flags &= ~(uint32_t)SM_CALL_BEFORE | w->before.at[call->depth].flags;
        w->before.at[call->depth].known = false;
    }
    known.start = known.start < known.end ? known.start : known.end;
    sm_paint_call(w->painter, &known, w->number);
    return w->painter->failed || w->seen >= w->skip + w->calls;
}

/* Return the index of the stream's last block whose number is not above `number`. */
static size_t block_at(const walker *w, uint64_t number) {
    const sm_index *index = w->journal->index;
    size_t after = 0;
    SM_BISECT(after, w->stream->blocks, index->piece[index->block[w->stream->first + middle].first].block <= number);
    return after ? after - 1 : 0;
}

static void decode_exact(walker *w, int64_t to) {
    sm_sink sink = {.receiver = w, .call = exact_call};
    w->seen = 0;
    w->exact = false;
    w->failed |= sm_decode_from(w->journal, w->stream, block_at(w, w->block), to, &sink, &w->overview->wrong) ==
                 SM_DECODE_NO_MEMORY;
}

/* Read the pending run from the journal. */
static void settle(walker *w) {
    if (w->exact)
        decode_exact(w, INT64_MAX);
}

/* Add a level-0 slice to the pending run. Return false if too much was read already. */
static bool add_exact(walker *w, const sm_zoom_sheet_rows *rows, size_t at, uint64_t number) {
    const sm_zoom_slice *slice = &rows->slice[at];
    bool goes_on = w->exact && w->next == number && !(slice->flags & SM_ZOOM_SLICE_AFTER_GAP);
    uint64_t cost = slice->calls + (goes_on ? 0 : slice->skip);
    if (cost > w->calls_left)
        return false;
    w->calls_left -= cost;
    if (!goes_on)
        settle(w);
    if (!w->exact) {
        w->exact = true;
        w->block = slice->block;
        w->skip = slice->skip;
        w->calls = 0;
        if (w->before.at)
            memset(w->before.at, 0, w->before.room * sizeof *w->before.at);
    }
    for (size_t i = rows->first[at]; i < rows->first[at + 1]; i++) {
        const sm_row *row = &rows->row[i];
        opened *o = row->kind == SM_ROW_ENDED ? opened_at(w, &w->before, row->depth) : NULL;
        if (o != NULL && !o->known)
            *o = (opened){.known = true, .start = row->start, .flags = row->flags};
    }
    take_rows(w, rows, at, false, false);
    w->calls += slice->calls;
    w->next = number + 1;
    return true;
}

static const sm_zoom_sheet_place *find(const walker *w, uint32_t level, uint64_t number) {
    size_t at = w->first[level], end = at + w->count[level];
    SM_BISECT(at, end, w->sheets->sheet[middle].number < number);
    return at < end && w->sheets->sheet[at].number == number ? &w->sheets->sheet[at] : NULL;
}

/* Paint a sheet. Return false if it is missing or damaged. */
static bool take_sheet(walker *w, uint32_t level, uint64_t number) {
    const sm_zoom_sheet_place *sheet = find(w, level, number);
    if (sheet == NULL)
        return false;
    sm_zoom_sheet_rows rows = {0};
    int done = sm_zoom_sheet_read(w->sheets, sheet, &rows);
    w->failed |= done < 0;
    for (size_t i = 0; done > 0 && i < rows.slices && !w->failed; i++) {
        const sm_zoom_slice *slice = &rows.slice[i];
        int64_t start = slice->start + w->origin, end = slice->end + w->origin;
        uint64_t below = number * SM_ZOOM_SLICES + i;
        if (end < w->asked->from || start >= w->asked->to) {
            settle(w);
            take_rows(w, &rows, i, start >= w->asked->to, false);
        } else if (end - start <= w->painter->width ||
                   !(level ? take_sheet(w, level - 1, below) : add_exact(w, &rows, i, below))) {
            settle(w);
            take_rows(w, &rows, i, true, true);
        }
    }
    sm_zoom_sheet_rows_free(&rows);
    return done > 0;
}

/* Paint all sheets, from the highest level on. Where a level ends early, the one below continues. Return true if the
 * last slice ends the stream. Otherwise w->block and w->skip are where it ends. */
static bool take_sheets(walker *w) {
    uint64_t done = 0;
    for (uint32_t level = SM_LEVELS; level-- > 0 && !w->failed;) {
        uint64_t sheets = w->count[level] ? w->sheets->sheet[w->first[level] + w->count[level] - 1].number + 1 : 0;
        unsigned shift = 4 * (level + 1);
        for (uint64_t number = done >> shift; number < sheets && !w->failed; number++)
            (void)take_sheet(w, level, number);
        uint64_t to = sheets << shift;
        done = to > done ? to : done;
    }
    settle(w);
    sm_zoom_sheet_rows rows = {0};
    bool last = false;
    if (sm_zoom_sheet_read(w->sheets, &w->sheets->sheet[w->first[0] + w->count[0] - 1], &rows) > 0) {
        const sm_zoom_slice *slice = &rows.slice[rows.slices - 1];
        last = (slice->flags & SM_ZOOM_SLICE_LAST) != 0;
        w->block = slice->block;
        w->skip = slice->skip + slice->calls;
    }
    sm_zoom_sheet_rows_free(&rows);
    return last;
}

/* Read what follows the last sheet from the journal. */
static void take_rest(walker *w) {
    opened_list none = w->before;
    w->before = w->open; /* starts of the calls that are open there */
    w->open = none;
    w->calls = UINT64_MAX - w->skip;
    decode_exact(w, INT64_MAX);
}

static int paint_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    walker *w = receiver;
    (void)stream;
    sm_paint_call(w->painter, call, w->number);
    return w->painter->failed;
}

static void take_stream(walker *w) {
    for (uint32_t level = 0; level < SM_LEVELS; level++)
        w->first[level] = sm_zoom_sheets_of(w->sheets, w->stream->thread, w->stream->number, level, &w->count[level]);
    if (w->count[0] == 0) {
        sm_sink sink = {.receiver = w, .call = paint_call, .look_back = LOOK_BACK};
        w->failed |= sm_decode(w->journal, w->stream, w->asked->from, w->asked->to, &sink, &w->overview->wrong) ==
                     SM_DECODE_NO_MEMORY;
    } else if (!take_sheets(w) && !w->failed) {
        take_rest(w);
    }
    w->failed |= w->painter->failed;
    sm_paint_end(w->painter);
    sm_free(w->open.at);
    sm_free(w->before.at);
    w->open = w->before = (opened_list){0};
}

/* Keep the gaps that are in the picture. */
static void choose_gaps(sm_overview *o, const sm_trace *journal, const sm_overview_asked *asked) {
    sm_window_gap *gap = (sm_window_gap *)(void *)o->gaps.bytes;
    size_t kept = 0;
    for (size_t i = 0; i < o->gaps.size / sizeof *gap; i++) {
        bool wanted = asked->wanted == NULL || asked->wanted[journal->index->stream[gap[i].stream].thread];
        if (wanted && gap[i].to >= asked->from && gap[i].from < asked->to)
            gap[kept++] = gap[i];
    }
    o->gaps.size = kept * sizeof *gap;
}

static int by_place(const void *left, const void *right) {
    const sm_run *a = left, *b = right;
    SM_ORDER_BY(a, b, stream);
    SM_ORDER_BY(a, b, depth);
    SM_ORDER_BY(a, b, start);
    SM_ORDER_BY(a, b, end);
    return 0;
}

int sm_overview_fill(sm_overview *o, const sm_trace *journal, const sm_overview_asked *asked) {
    *o = (sm_overview){0};
    int64_t width = (asked->to - asked->from) / (asked->columns ? asked->columns : 1);
    sm_run_painter painter = {.asked = asked, .runs = &o->runs, .width = width};
    walker w = {.painter = &painter,
                .overview = o,
                .asked = asked,
                .journal = journal,
                .sheets = asked->sheets,
                .calls_left = EXACT_CALLS};
    for (size_t s = 0; s < journal->index->streams && !w.failed; s++) {
        w.stream = &journal->index->stream[s];
        w.number = s;
        w.origin = journal->origin[w.stream->thread];
        if (asked->wanted == NULL || asked->wanted[w.stream->thread])
            take_stream(&w);
    }
    sm_free(painter.slots);
    w.failed |= sm_gaps_find(journal, &o->gaps) < 0;
    choose_gaps(o, journal, asked);
    if (o->runs.size)
        qsort(o->runs.bytes, o->runs.size / sizeof(sm_run), sizeof(sm_run), by_place);
    return w.failed ? -1 : 0;
}

void sm_overview_free(sm_overview *o) {
    sm_buffer_free(&o->runs);
    sm_buffer_free(&o->gaps);
}
