/* Compression of pieces, for writers and readers of journals; compression.c explains it. No Python.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/varint.h"
#include "trace/tokens.h"

typedef struct sm_packer { /* memory to work in. Guard: its owner's */
    uint8_t tokens[SM_BLOCK_MOST + 32], operands[SM_BLOCK_MOST + 8];
    uint16_t gaps[SM_BLOCK_MOST / 2 + 64];
} sm_packer;

enum { SM_PACKED_MOST = SM_BLOCK_MOST + 32 };

/* Pack 1 to SM_BLOCK_MOST bytes of whole tokens: write the codec, their number and the body. Return the body's end, and
 * set *body to its beginning. */
uint8_t *sm_piece_pack(sm_packer *packer, const uint8_t *bytes, size_t size, uint8_t *to, uint8_t **body);
/* Unpack a body into `raw` bytes. Return false if it is damaged. */
bool sm_piece_unpack(unsigned codec, const uint8_t *body, size_t size, uint8_t *to, size_t raw);

/* Return the index of the first of eight bytes that is a mark or a token with operands, or 8. */
static inline unsigned sm_first_operand(const uint8_t *at) {
    const uint64_t ones = 0x0101010101010101;
    uint64_t eight;
    memcpy(&eight, at, 8);
    uint64_t high = eight & ones * 0xf8; /* zero for a byte below 8 */
    uint64_t below = ~((((high & ones * 0x7f) + ones * 0x7f) | high) | ones * 0x7f);
    uint64_t found = below & ((eight & ones * 7) + ones * 5)
                                 << 4; /* 3 to 7 plus 5 sets bit 3, shifted to the top bit */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return found ? (unsigned)__builtin_ctzll(found) / 8 : 8;
#else
    return found ? (unsigned)__builtin_clzll(found) / 8 : 8;
#endif
}

static inline bool sm_has_operand(unsigned token) {
    return token - SM_TOKEN_MARK < SM_TOKEN_CALL_CHILD - SM_TOKEN_MARK;
}

/* Return the first token from `at` on that is a mark or has operands, or `end`; some thirty bytes lie between marks. */
static inline const uint8_t *sm_find_operand(const uint8_t *at, const uint8_t *end) {
#if defined(__SSE2__)
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    typedef char signs __attribute__((vector_size(16)));
    for (; end - at >= 16; at += 16) {
        sixteen bytes;
        memcpy(&bytes, at, 16);
        unsigned found = (unsigned)__builtin_ia32_pmovmskb128(
            (signs)(bytes - SM_TOKEN_MARK < (uint8_t)(SM_TOKEN_CALL_CHILD - SM_TOKEN_MARK)));
        if (found != 0)
            return at + __builtin_ctz(found);
    }
#endif
    for (; end - at >= 8; at += 8) {
        unsigned plain = sm_first_operand(at);
        if (plain < 8)
            return at + plain;
    }
    while (at < end && !sm_has_operand(*at))
        at++;
    return at;
}

/* Return the end of the operands of a token that has some, or NULL if they are cut off. */
const uint8_t *sm_behind_operands(const uint8_t *at, const uint8_t *end);

/* Read an instant's kind and length, behind its token. Return its bytes, or NULL if they are cut off. */
static inline const uint8_t *sm_instant_head(const uint8_t *at, const uint8_t *end, uint64_t *kind, uint64_t *length) {
    at = sm_varint_next(at, end, UINT64_MAX, kind);
    at = sm_varint_next(at, end, UINT64_MAX, length);
    return at != NULL && *length <= (size_t)(end - at) ? at : NULL;
}
