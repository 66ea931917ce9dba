#include "trace/pieces.h"

#include <stdbool.h>
#include <string.h>

#include "base/crc32.h"
#include "base/varint.h"
#include "trace/compression.h"

static const uint64_t LATEST = (uint64_t)1 << 61; /* ns; sums of times stay within int64 */

/* Return the beginning of the body, or NULL if the head is invalid. */
static const uint8_t *parse(const uint8_t *at, const uint8_t *end, sm_piece *piece) {
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
            return NULL;
        piece->unit = sm_get_f64(at);
        piece->time = (int64_t)time;
        at += 8;
        if (!(piece->unit >= 0 && piece->unit < 1e18)) /* also rejects NaN */
            return NULL;
    }
    if (at == NULL || at == end)
        return NULL;
    piece->codec = *at++;
    at = sm_varint_next(at, end, SM_BLOCK_MOST, &raw);
    if (at == NULL || raw == 0 || piece->codec > SM_PIECE_APART)
        return NULL;
    piece->thread = (uint32_t)thread;
    piece->offset = (uint32_t)offset;
    piece->raw = (uint32_t)raw;
    return at;
}

static int parsed(sm_piece *piece, size_t body, size_t length) {
    piece->body = (uint32_t)body;
    piece->length = (uint32_t)length;
    return piece->codec == SM_PIECE_PLAIN && length - body != piece->raw ? -1 : 0;
}

int sm_piece_parse(const uint8_t *payload, size_t length, sm_piece *piece) {
    const uint8_t *body = parse(payload, payload + length, piece);
    return body == NULL ? -1 : parsed(piece, (size_t)(body - payload), length);
}

int sm_piece_parse_head(const uint8_t *head, size_t size, size_t length, sm_piece *piece) {
    const uint8_t *body = parse(head, head + size, piece);
    return body != head + size || length < size ? -1 : parsed(piece, size, length);
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
