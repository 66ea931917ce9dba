#include "recorder/calls/trace_zoom.h"

#include "base/alloc.h"
#include "recorder/calls/store.h"
#include "trace/zoom_sheets.h"

static struct { /* guarded by `sums` of trace_blocks.c */
    sm_functions functions;
    sm_places **places; /* owned; by the row of their thread; NULL at first */
    size_t count;
    sm_buffer packed;
} levels;

sm_block_nodes sm_levels_nodes(const sm_tree_thread *tree) {
    const sm_tree_chunk *newest = tree->store->chunks;
    if (newest == NULL)
        return (sm_block_nodes){NULL, 0};
    return (sm_block_nodes){newest, newest->number * (uint32_t)SM_TREE_NODES + newest->used};
}

/* Add the nodes made since the last block. Return false if out of memory. */
static bool learn(sm_places *places, sm_block_nodes nodes) {
    while (places->count < nodes.count) {
        const sm_tree_chunk *chunk = nodes.newest;
        while (chunk->number > places->count / SM_TREE_NODES)
            chunk = chunk->next;
        for (size_t i = places->count % SM_TREE_NODES; i < SM_TREE_NODES && places->count < nodes.count; i++) {
            const sm_node *parent = chunk->nodes[i].parent;
            uint32_t function = chunk->rest[i].function->function->id;
            if (!sm_functions_know(&levels.functions, (size_t)function + 1) ||
                !sm_places_add(places, parent != NULL ? sm_node_rank(parent) : 0, function))
                return false;
        }
    }
    return true;
}

static sm_places *places_of(uint32_t thread) {
    if (!sm_room(&levels.places, &levels.count, (size_t)thread + 1, sizeof *levels.places))
        return NULL;
    if (levels.places[thread] == NULL)
        levels.places[thread] = sm_calloc(1, sizeof *levels.places[thread]);
    return levels.places[thread];
}

static void write_sheet(void *receiver, const sm_zoom_sheet *sheet) {
    levels.packed.size = 0;
    if (sm_zoom_sheet_pack(sheet, &levels.packed))
        (void)sm_writer_append(receiver, SM_CHUNK_LEVL, levels.packed.bytes, levels.packed.size);
}

void sm_levels_block(sm_writer *writer, const sm_block *block) {
    sm_stream *stream = block->stream;
    sm_places *places = places_of(stream->thread);
    if (places == NULL)
        return;
    if (stream->slicer == NULL)
        stream->slicer =
            sm_zoom_slicer_new(stream->thread, stream->number, places, &levels.functions, write_sheet, writer);
    if (stream->slicer == NULL)
        return;
    sm_block_head head = {.number = block->number,
                          .rank = block->rank,
                          .ns = (int64_t)block->ns,
                          .unit = block->unit_ns,
                          .after_gap = block->after_gap};
    (void)learn(places, block->nodes); /* a block that names a missing node is skipped */
    sm_zoom_slicer_block(stream->slicer, &head, block->bytes, block->sealed);
}

void sm_levels_write(sm_writer *writer) {
    levels.packed.size = 0;
    if (sm_longest_pack(&levels.functions, &levels.packed) == 0 && levels.packed.size != 0)
        (void)sm_writer_append(writer, SM_CHUNK_LONG, levels.packed.bytes, levels.packed.size);
}

void sm_levels_forget(sm_stream *stream) {
    sm_zoom_slicer_free(stream->slicer);
    stream->slicer = NULL;
}

void sm_levels_end(sm_stream *stream) {
    if (stream->slicer != NULL)
        sm_zoom_slicer_end(stream->slicer);
    sm_levels_forget(stream);
}

void sm_levels_forget_all(void) {
    for (size_t i = 0; i < levels.count; i++) {
        if (levels.places[i] != NULL)
            sm_places_free(levels.places[i]);
        sm_free(levels.places[i]);
    }
    SM_CLEAR(levels.places);
    levels.count = 0;
    sm_functions_free(&levels.functions);
    sm_buffer_free(&levels.packed);
}
