/* Sort pieces into blocks and streams (pieces.h), by their heads or the copies of these. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/pieces.h"

static int compare(const void *left, const void *right) {
    const sm_piece *a = left, *b = right;
    SM_ORDER_BY(a, b, thread);
    SM_ORDER_BY(a, b, stream);
    SM_ORDER_BY(a, b, block);
    SM_ORDER_BY(a, b, offset);
    SM_ORDER_BY(a, b, at);
    return 0;
}

static int same_block(const sm_piece *a, const sm_piece *b) {
    return a->thread == b->thread && a->stream == b->stream && a->block == b->block;
}

static void find_blocks(sm_index *index) {
    const sm_piece *piece = index->piece;
    for (size_t i = 0; i < index->pieces;) {
        size_t next = i + 1;
        while (next < index->pieces && same_block(&piece[i], &piece[next]))
            next++;
        if (piece[i].offset != 0) {
            index->dropped += next - i;
            i = next;
            continue;
        }
        sm_stream *last = index->streams ? &index->stream[index->streams - 1] : NULL;
        if (last == NULL || last->thread != piece[i].thread || last->number != piece[i].stream) {
            last = &index->stream[index->streams++];
            *last = (sm_stream){.first = index->blocks, .number = piece[i].stream, .thread = piece[i].thread};
        }
        last->blocks++;
        index->block[index->blocks++] = (sm_block){.first = i, .pieces = next - i};
        i = next;
    }
}

/* Return true if copied heads make whole streams: consecutive pieces and blocks, in the order of time. */
static bool agree(const sm_index *index) {
    const sm_piece *piece = index->piece;
    for (size_t s = 0; s < index->streams; s++) {
        const sm_stream *stream = &index->stream[s];
        for (size_t b = 0; b < stream->blocks; b++) {
            const sm_block *block = &index->block[stream->first + b];
            const sm_piece *head = &piece[block->first];
            if (head->block != b || (b > 0 && head->time < piece[block[-1].first].time))
                return false;
            for (size_t i = block->first + 1; i < block->first + block->pieces; i++)
                if (piece[i].offset != piece[i - 1].offset + piece[i - 1].raw)
                    return false;
        }
    }
    return index->dropped == 0;
}

/* Return true if the file has `length` bytes at `at`, after a frame. */
static bool is_inside(const sm_index *index, uint64_t at, uint64_t length) {
    return at >= 12 && at <= index->size && length <= index->size - at && length <= UINT32_MAX;
}

static int read_heads(sm_index *index, const int64_t *places, size_t count, const int64_t *heads, size_t heads_count,
                      size_t threads) {
    uint8_t *is_known = sm_calloc(count, 1);
    if (is_known == NULL)
        return -1;
    for (size_t i = 0; i < heads_count; i++) {
        uint64_t at = (uint64_t)heads[3 * i], length = (uint64_t)heads[3 * i + 1], before = (uint64_t)heads[3 * i + 2];
        if (is_inside(index, at, length) && before <= count)
            sm_piece_heads_read(index->bytes, at, (size_t)length, places, (size_t)before, index->piece, is_known);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)places[2 * i], length = (uint64_t)places[2 * i + 1];
        sm_piece piece = is_known[i] ? index->piece[i] : (sm_piece){.at = at, .kinds = SM_KINDS_UNKNOWN};
        bool sound = is_inside(index, at, length) &&
                     (is_known[i] || sm_piece_parse(index->bytes + at, length, length, &piece) == 0) &&
                     piece.thread < threads;
        if (sound)
            index->piece[index->pieces++] = piece;
    }
    index->dropped = count - index->pieces;
    sm_free(is_known);
    return 0;
}

static int find(sm_index *index, const int64_t *places, size_t count, const int64_t *heads, size_t heads_count,
                size_t threads) {
    index->pieces = index->blocks = index->streams = 0;
    if (read_heads(index, places, count, heads, heads_count, threads) < 0)
        return -1;
    qsort(index->piece, index->pieces, sizeof *index->piece, compare);
    find_blocks(index);
    return 0;
}

int sm_index_make(sm_index *index, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                  const int64_t *heads, size_t heads_count, size_t threads) {
    *index = (sm_index){.bytes = bytes, .size = size};
    index->piece = sm_calloc(count, sizeof *index->piece);
    index->block = sm_calloc(count, sizeof *index->block);
    index->stream = sm_calloc(count, sizeof *index->stream);
    if (index->piece == NULL || index->block == NULL || index->stream == NULL ||
        find(index, places, count, heads, heads_count, threads) < 0) {
        return -1;
    }
    /* Copies may be wrong despite a valid checksum. Then read the heads of the pieces. */
    return heads_count == 0 || agree(index) ? 0 : find(index, places, count, heads, 0, threads);
}

void sm_index_free(sm_index *index) {
    sm_free(index->piece);
    sm_free(index->block);
    sm_free(index->stream);
    *index = (sm_index){0};
}
