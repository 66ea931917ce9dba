#include "journal/pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "base/varint.h"
#include "vendor/lz4/lz4.h"

static const uint64_t LATEST = (uint64_t)1 << 61; /* ns: times stay far from what int64 holds */

/* The next uvarint, of at most `most`; NULL (also when `at` is). */
static const uint8_t *get(const uint8_t *at, const uint8_t *end, uint64_t most, uint64_t *value) {
    *value = 0;
    at = at ? sm_varint_get(at, end, value) : NULL;
    return at && *value <= most ? at : NULL;
}

int sm_piece_parse(const uint8_t *payload, size_t length, sm_piece *piece) {
    const uint8_t *at = payload, *end = payload + length;
    uint64_t thread, offset, time, raw;
    at = get(at, end, INT32_MAX, &thread);
    at = get(at, end, UINT64_MAX, &piece->stream);
    at = get(at, end, UINT64_MAX, &piece->block);
    at = get(at, end, SM_BLOCK_MOST, &offset);
    if (at && offset == 0) {
        at = get(at, end, UINT64_MAX, &piece->flags);
        at = get(at, end, UINT64_MAX, &piece->rank);
        at = get(at, end, LATEST, &time);
        if (at == NULL || end - at < 8) {
            return -1;
        }
        piece->unit = sm_get_f64(at);
        piece->time = (int64_t)time;
        at += 8;
        if (!(piece->unit >= 0 && piece->unit < 1e18)) { /* NaN too */
            return -1;
        }
    }
    if (at == NULL || at == end) {
        return -1;
    }
    piece->codec = *at++;
    at = get(at, end, SM_BLOCK_MOST, &raw);
    if (at == NULL || raw == 0 || piece->codec > SM_PIECE_LZ4 ||
        (piece->codec == SM_PIECE_PLAIN && (size_t)(end - at) != raw)) {
        return -1;
    }
    piece->thread = (uint32_t)thread;
    piece->offset = (uint32_t)offset;
    piece->raw = (uint32_t)raw;
    piece->body = (uint32_t)(at - payload);
    piece->length = (uint32_t)length;
    return 0;
}

static int compare(const void *left, const void *right) {
    const sm_piece *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    if (a->block != b->block) {
        return a->block < b->block ? -1 : 1;
    }
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static int same_block(const sm_piece *a, const sm_piece *b) {
    return a->thread == b->thread && a->stream == b->stream && a->block == b->block;
}

/* From the sorted pieces to blocks and streams. */
static void find_blocks(sm_index *index) {
    const sm_piece *piece = index->piece;
    for (size_t i = 0; i < index->pieces;) {
        size_t next = i + 1;
        while (next < index->pieces && same_block(&piece[i], &piece[next])) {
            next++;
        }
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

int sm_index_make(sm_index *index, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                  size_t threads) {
    *index = (sm_index){.bytes = bytes, .size = size};
    index->piece = sm_calloc(count, sizeof *index->piece);
    index->block = sm_calloc(count, sizeof *index->block);
    index->stream = sm_calloc(count, sizeof *index->stream);
    if (index->piece == NULL || index->block == NULL || index->stream == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)places[2 * i], length = (uint64_t)places[2 * i + 1];
        sm_piece *piece = &index->piece[index->pieces];
        if (at < 12 || at > size || length > size - at || length > UINT32_MAX ||
            sm_piece_parse(bytes + at, length, piece) < 0 || piece->thread >= threads) {
            index->dropped++;
            continue;
        }
        piece->at = at;
        index->pieces++;
    }
    qsort(index->piece, index->pieces, sizeof *index->piece, compare);
    find_blocks(index);
    return 0;
}

void sm_index_free(sm_index *index) {
    sm_free(index->piece);
    sm_free(index->block);
    sm_free(index->stream);
    *index = (sm_index){0};
}

/* Whether the checksum in the frame before the payload holds. */
static int is_whole(const sm_index *index, const sm_piece *piece, const sm_crc32 *tables) {
    const uint8_t *payload = index->bytes + piece->at;
    uint32_t crc = sm_crc32_update(tables, 0, payload - 8, 4);
    return sm_crc32_update(tables, crc, payload, piece->length) == sm_get_u32(payload - 4);
}

int sm_block_load(const sm_index *index, const sm_block *block, uint8_t *to, size_t *size) {
    sm_crc32 tables;
    sm_crc32_init(&tables);
    *size = 0;
    for (size_t i = 0; i < block->pieces; i++) {
        const sm_piece *piece = &index->piece[block->first + i];
        if (piece->offset < *size) {
            continue; /* the same once more */
        }
        if (piece->offset > *size || *size + piece->raw > SM_BLOCK_MOST || !is_whole(index, piece, &tables)) {
            return 0;
        }
        const uint8_t *body = index->bytes + piece->at + piece->body;
        size_t packed = piece->length - piece->body;
        if (piece->codec == SM_PIECE_PLAIN) {
            memcpy(to + *size, body, piece->raw);
        } else if (packed > INT32_MAX || LZ4_decompress_safe((const char *)body, (char *)to + *size, (int)packed,
                                                             (int)piece->raw) != (int)piece->raw) {
            return 0;
        }
        *size += piece->raw;
    }
    return 1;
}
