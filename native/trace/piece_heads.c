#include "trace/piece_heads.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "trace/compression.h"
#include "trace/pieces.h"

void sm_piece_heads_add(sm_piece_heads *heads, const uint8_t *head, size_t size, size_t length, uint32_t kinds) {
    bool added =
        sm_buffer_append_varint(&heads->entries, size) == 0 && sm_buffer_append(&heads->entries, head, size) == 0 &&
        sm_buffer_append_varint(&heads->entries, length) == 0 && sm_buffer_append_varint(&heads->entries, kinds) == 0;
    heads->count++;
    if (!added) {
        heads->entries.size = 0;
        heads->count = 0;
    }
}

int sm_piece_heads_pack(const sm_piece_heads *heads, sm_buffer *out) {
    return sm_buffer_append_varint(out, heads->count) == 0 &&
                   sm_buffer_append(out, heads->entries.bytes, heads->entries.size) == 0
               ? 0
               : -1;
}

void sm_piece_heads_clear(sm_piece_heads *heads) {
    sm_buffer_free(&heads->entries);
    heads->count = 0;
}

/* Return the end of the next entry, or NULL if it is invalid. *size is 0 for an omitted head. */
static const uint8_t *next_entry(const uint8_t *at, const uint8_t *end, const uint8_t **head, uint64_t *size,
                                 uint64_t *length, uint64_t *kinds) {
    at = sm_varint_get(at, end, size);
    if (at == NULL || *size > (uint64_t)(end - at))
        return NULL;
    *head = at;
    at = sm_varint_get(at + *size, end, length);
    return at != NULL ? sm_varint_get(at, end, kinds) : NULL;
}

void sm_piece_heads_read(const uint8_t *bytes, uint64_t at, size_t length, const int64_t *places, size_t count,
                         sm_piece *piece, uint8_t *is_known) {
    const uint8_t *from = bytes + at, *end = from + length, *head;
    uint64_t heads, size, of, kinds;
    from = sm_varint_get(from, end, &heads);
    if (from == NULL || heads > count)
        return;
    const uint8_t *check = from;
    for (uint64_t i = count - heads; check != NULL && i < count; i++) {
        check = next_entry(check, end, &head, &size, &of, &kinds);
        if (check != NULL && (of != (uint64_t)places[2 * i + 1] || size > of || kinds > UINT32_MAX))
            return;
    }
    if (check != end)
        return;
    for (uint64_t i = count - heads; i < count; i++) {
        from = next_entry(from, end, &head, &size, &of, &kinds);
        sm_piece known = {.at = (uint64_t)places[2 * i], .copy = (uint64_t)(head - bytes), .kinds = (uint32_t)kinds};
        if (size != 0 && sm_piece_parse(head, size, (size_t)of, &known) == 0 && known.body == size) {
            piece[i] = known;
            is_known[i] = 1;
        }
    }
}

uint32_t sm_piece_heads_kinds_of(const uint8_t *at, const uint8_t *end) {
    uint32_t kinds = 0;
    uint64_t kind, length;
    for (; at != NULL && (at = sm_find_operand(at, end)) < end; at = sm_behind_operands(at, end)) {
        if (*at == SM_TOKEN_INSTANT && sm_instant_head(at + 1, end, &kind, &length) != NULL &&
            kind != SM_INSTANT_LEFT_OUT && kind != SM_INSTANT_CLOCK)
            kinds |= kind > 0 && kind < 32 ? (uint32_t)1 << kind : 1;
    }
    return kinds;
}

uint32_t sm_piece_heads_kinds(const uint8_t *payload, const sm_piece *piece) {
    const uint8_t *body = payload + piece->body;
    size_t packed = piece->length - piece->body;
    if (piece->codec == SM_PIECE_PLAIN)
        return sm_piece_heads_kinds_of(body, body + packed);
    uint8_t *bytes = sm_malloc(piece->raw);
    bool unpacked = bytes != NULL && sm_piece_unpack(piece->codec, body, packed, bytes, piece->raw);
    uint32_t kinds = unpacked ? sm_piece_heads_kinds_of(bytes, bytes + piece->raw) : SM_KINDS_UNKNOWN;
    sm_free(bytes);
    return kinds;
}
