#include "trace/pieces.h"

#include <stdbool.h>
#include <string.h>

#include "base/crc32.h"
#include "base/varint.h"
#include "trace/compression.h"

static const uint64_t LATEST = (uint64_t)1 << 61; /* ns; sums of times stay within int64 */

int sm_piece_parse(const uint8_t *head, size_t size, size_t length, sm_piece *piece) {
    const uint8_t *at = head, *end = head + size;
    uint64_t thread, offset, time, raw;
    at = sm_varint_next(at, end, INT32_MAX, &thread);
    at = sm_varint_next(at, end, UINT64_MAX, &piece->stream);
    at = sm_varint_next(at, end, UINT64_MAX, &piece->block);
    at = sm_varint_next(at, end, SM_BLOCK_MOST, &offset);
    if (at && offset == 0) {
        at = sm_varint_next(at, end, UINT64_MAX, &piece->flags);
        at = sm_varint_next(at, end, UINT64_MAX, &piece->rank);
        at = sm_varint_next(at, end, LATEST, &time);
        if (at == NULL || end - at < 8)
            return -1;
        piece->unit = sm_get_f64(at);
        piece->time = (int64_t)time;
        at += 8;
        if (!(piece->unit >= 0 && piece->unit < 1e18)) /* also rejects NaN */
            return -1;
    }
    if (at == NULL || at == end)
        return -1;
    piece->codec = *at++;
    at = sm_varint_next(at, end, SM_BLOCK_MOST, &raw);
    if (at == NULL || raw == 0 || piece->codec > SM_PIECE_APART || length < size)
        return -1;
    piece->thread = (uint32_t)thread;
    piece->offset = (uint32_t)offset;
    piece->raw = (uint32_t)raw;
    piece->body = (uint32_t)(at - head);
    piece->length = (uint32_t)length;
    return piece->codec == SM_PIECE_PLAIN && length - piece->body != piece->raw ? -1 : 0;
}

bool sm_piece_equals_copy(const sm_index *index, const sm_piece *piece) {
    return piece->copy == 0 || memcmp(index->bytes + piece->copy, index->bytes + piece->at, piece->body) == 0;
}

static int is_whole(const sm_index *index, const sm_piece *piece, const sm_crc32 *tables) {
    const uint8_t *payload = index->bytes + piece->at;
    if (!sm_piece_equals_copy(index, piece))
        return 0;
    uint32_t crc = sm_crc32_update(tables, 0, payload - 8, 4);
    return sm_crc32_update(tables, crc, payload, piece->length) == sm_get_u32(payload - 4);
}

bool sm_block_follows(const sm_index *index, const sm_block *block) {
    const sm_piece *head = &index->piece[block->first], *before = &index->piece[block[-1].first];
    return !(head->flags & SM_BLOCK_AFTER_GAP) && head->block == before->block + 1;
}

uint32_t sm_block_kinds(const sm_index *index, const sm_block *block) {
    uint32_t kinds = 0;
    for (size_t i = 0; i < block->pieces; i++)
        kinds |= index->piece[block->first + i].kinds;
    return kinds;
}

int sm_block_load(const sm_index *index, const sm_block *block, uint8_t *to, size_t *size) {
    sm_crc32 tables;
    sm_crc32_init(&tables);
    *size = 0;
    for (size_t i = 0; i < block->pieces; i++) {
        const sm_piece *piece = &index->piece[block->first + i];
        if (piece->offset < *size && sm_piece_equals_copy(index, piece))
            continue; /* a duplicate */
        if (piece->offset != *size || *size + piece->raw > SM_BLOCK_MOST || !is_whole(index, piece, &tables))
            return 0;
        const uint8_t *body = index->bytes + piece->at + piece->body;
        size_t packed = piece->length - piece->body;
        if (!sm_piece_unpack(piece->codec, body, packed, to + *size, piece->raw))
            return 0;
        *size += piece->raw;
    }
    return 1;
}
