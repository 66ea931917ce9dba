#include "trace/build_zoom.h"

#include "base/alloc.h"
#include "base/search.h"

typedef struct {
    sm_zoom_sheets *sheets;
    const sm_trace *journal;
    const int64_t *function;
    size_t functions;
    sm_functions longest;
    sm_places places;
    int64_t thread; /* the thread to which the places belong; -1 at first */
    size_t new;
    bool failed;
} builder;

/* Note the payload's place as an offset, because the memory moves as it grows. */
static void take_sheet(void *receiver, const sm_zoom_sheet *sheet) {
    builder *b = receiver;
    sm_zoom_sheets *s = b->sheets;
    size_t at = s->memory.size;
    if (!sm_room(&s->sheet, &s->room, s->sheets + 1, sizeof *s->sheet) || !sm_zoom_sheet_pack(sheet, &s->memory)) {
        b->failed = true;
        return;
    }
    sm_zoom_sheet_place *place = &s->sheet[s->sheets];
    if (sm_zoom_sheet_parse(s->memory.bytes + at, s->memory.size - at, place) == 0) {
        place->in_memory = true;
        place->payload = (const uint8_t *)(uintptr_t)at;
        s->sheets++;
    }
}

static void learn_places(builder *b, uint32_t thread) {
    const sm_dictionary *d = b->journal->dictionary;
    sm_places_free(&b->places);
    b->thread = thread;
    b->failed |= !sm_places_add(&b->places, 0, 0);
    size_t first = d->rank_start[thread], count = d->rank_start[thread + 1] - first;
    for (size_t i = 0; i < count && !b->failed; i++) {
        uint32_t node = d->by_rank[first + i];
        if (node >= d->sound_nodes)
            return;
        uint32_t parent = 0;
        if (d->parent[node] >= 0) { /* a thread's nodes are sorted by id */
            size_t above = 0;
            SM_BISECT(above, i, d->by_rank[first + middle] < (uint64_t)d->parent[node]);
            parent = (uint32_t)above + 1;
        }
        b->failed |= !sm_places_add(&b->places, parent, (uint32_t)b->function[node]);
    }
}

static void build_stream(builder *b, const sm_stream *stream, uint8_t *bytes) {
    if (b->thread != stream->thread)
        learn_places(b, stream->thread);
    sm_zoom_slicer *slicer = sm_zoom_slicer_new(stream->thread, stream->number, &b->places, &b->longest, take_sheet, b);
    b->failed |= slicer == NULL;
    bool whole = true;
    for (size_t i = 0; i < stream->blocks && !b->failed; i++) {
        const sm_block *block = &b->journal->index->block[stream->first + i];
        const sm_piece *piece = &b->journal->index->piece[block->first];
        size_t size;
        sm_block_head head = {.number = piece->block,
                              .rank = piece->rank,
                              .ns = piece->time,
                              .unit = piece->unit,
                              .after_gap = (piece->flags & SM_BLOCK_AFTER_GAP) || !whole};
        whole = sm_block_load(b->journal->index, block, bytes, &size);
        sm_zoom_slicer_block(slicer, &head, bytes, size);
    }
    if (slicer != NULL)
        sm_zoom_slicer_end(slicer);
    sm_zoom_slicer_free(slicer);
}

static size_t bytes_of(const sm_index *index, const sm_stream *stream) {
    size_t size = 0;
    for (size_t i = 0; i < stream->blocks; i++) {
        const sm_block *block = &index->block[stream->first + i];
        for (size_t j = 0; j < block->pieces; j++)
            size += index->piece[block->first + j].raw;
    }
    return size;
}

int sm_zoom_sheets_build(sm_zoom_sheets *sheets, const sm_trace *journal, const int64_t *function, size_t functions,
                         size_t least) {
    builder b = {.sheets = sheets,
                 .journal = journal,
                 .function = function,
                 .functions = functions,
                 .thread = -1,
                 .new = sheets->sheets};
    const sm_index *index = journal->index;
    uint8_t *bytes = sm_malloc(SM_BLOCK_MOST);
    uint8_t *lacking = sm_calloc(index->streams, 1); /* computed first, since sheets are unsorted while added */
    b.failed = bytes == NULL || lacking == NULL || !sm_functions_know(&b.longest, functions + 1);
    for (size_t i = 0; i < index->streams && !b.failed; i++) {
        size_t count;
        const sm_stream *stream = &index->stream[i];
        (void)sm_zoom_sheets_of(sheets, stream->thread, stream->number, 0, &count);
        lacking[i] = count == 0 && bytes_of(index, stream) >= least;
    }
    for (size_t i = 0; i < index->streams && !b.failed; i++)
        if (lacking[i])
            build_stream(&b, &index->stream[i], bytes);
    for (size_t i = b.new; i < sheets->sheets; i++) {
        sm_zoom_sheet_place *place = &sheets->sheet[i];
        place->payload = sheets->memory.bytes + (uintptr_t)place->payload;
    }
    if (sheets->sheets > b.new)
        sm_zoom_sheets_sort(sheets);
    sm_places_free(&b.places);
    sm_functions_free(&b.longest);
    sm_free(bytes);
    sm_free(lacking);
    return b.failed ? -1 : 0;
}
