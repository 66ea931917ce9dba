/* Compress the tokens of a piece.
 *
 * Events repeat, but their times do not: a mark every 31 bytes, with nanoseconds that never recur, defeats LZ4. So
 * marks are stored separately, as the distances between them, which are nearly always the same, and their units, which
 * do not compress. This leaves a third of a program's journal in half the time. */
#include "trace/compression.h"

#include "base/varint.h"
#include "vendor/lz4/lz4.h"

enum {
    WORTH_PACKING = 64,
    LEAST_SAVED = 16,
    ASKED_GAPS = 64, /* gaps that are sampled for the usual one */
};

const uint8_t *sm_behind_operands(const uint8_t *at, const uint8_t *end) {
    uint64_t operand, length;
    if (*at != SM_TOKEN_INSTANT)
        return sm_varint_get(at + 1, end, &operand);
    at = sm_instant_head(at + 1, end, &operand, &length);
    return at != NULL ? at + length : NULL;
}

typedef struct {
    size_t tokens, operands, marks; /* marks: number of gaps; others: bytes */
} apart;

/* Split bytes into tokens, operands of marks, and gaps. Return false if an operand is cut off. */
static bool take_apart(sm_packer *p, const uint8_t *at, const uint8_t *end, apart *is) {
    uint8_t *token = p->tokens, *operand = p->operands, *since = token;
    uint16_t *gap = p->gaps;
    for (;;) {
        /* Fast path: each event has a mark with an operand of one byte. */
        for (; end - at >= 3 && at[1] == SM_TOKEN_MARK && at[2] < 0x80 && !sm_has_operand(*at); at += 3) {
            *token++ = *at;
            *operand++ = at[2];
            *gap++ = (uint16_t)(token - since);
            since = token;
        }
        const uint8_t *plain = sm_find_operand(at, end);
        if (plain - at <= 32 && end - at >= 32) /* the usual case; p->tokens has room for the excess */
            memcpy(token, at, 32);
        else
            memcpy(token, at, (size_t)(plain - at));
        token += plain - at;
        at = plain;
        if (at == end)
            break;
        if (*at == SM_TOKEN_MARK) {
            *gap++ = (uint16_t)(token - since);
            since = token;
            do {
                if (++at == end)
                    return false;
                *operand++ = *at;
            } while (*at & 0x80);
            at++;
            continue;
        }
        const uint8_t *next = sm_behind_operands(at, end);
        if (next == NULL)
            return false;
        memcpy(token, at, (size_t)(next - at));
        token += next - at;
        at = next;
    }
    *is = (apart){(size_t)(token - p->tokens), (size_t)(operand - p->operands), (size_t)(gap - p->gaps)};
    return true;
}

/* Return the gap that more than half of the sampled marks have, if there is one (majority vote). */
static unsigned usual_gap(const uint16_t *gaps, size_t count) {
    unsigned usual = 0;
    size_t lead = 0, step = count / ASKED_GAPS + 1;
    for (size_t i = 0; i < count; i += step) {
        usual = lead == 0 ? gaps[i] : usual;
        lead = gaps[i] == usual ? lead + 1 : lead - 1;
    }
    return usual;
}

/* Return a bit for each of 64 gaps that differs from the usual one, without branches. */
static uint64_t unusual_gaps(const uint16_t *gaps, unsigned usual) {
    uint64_t found = 0;
#if defined(__SSE2__)
    typedef short eight __attribute__((vector_size(16)));
    short all = (short)usual;
    eight same = {all, all, all, all, all, all, all, all}, low, high;
    for (unsigned i = 0; i < 64; i += 16) {
        memcpy(&low, gaps + i, sizeof low);
        memcpy(&high, gaps + i + 8, sizeof high);
        unsigned alike = (unsigned)__builtin_ia32_pmovmskb128(__builtin_ia32_packsswb128(low == same, high == same));
        found |= (uint64_t)(~alike & 0xffff) << i;
    }
#else
    for (unsigned i = 0; i < 64; i++)
        found |= (uint64_t)(gaps[i] != usual) << i;
#endif
    return found;
}

/* Write the gaps, or return NULL if they exceed the limit. 64 more gaps after the last are readable. */
static uint8_t *put_gaps(uint8_t *to, const uint8_t *limit, const uint16_t *gaps, size_t count) {
    unsigned usual = usual_gap(gaps, count);
    size_t counted = 0;
    to = sm_varint_put(sm_varint_put(to, count), usual);
    for (size_t i = 0; i < count; i += 64) {
        uint64_t unusual = unusual_gaps(gaps + i, usual);
        unusual &= count - i < 64 ? ((uint64_t)1 << (count - i)) - 1 : ~(uint64_t)0;
        for (; unusual != 0; unusual &= unusual - 1) {
            size_t at = i + (size_t)__builtin_ctzll(unusual);
            if (to + 3 * SM_VARINT_MAX > limit)
                return NULL;
            to = sm_varint_put(sm_varint_put(to, at - counted), gaps[at]);
            counted = at + 1;
        }
    }
    return to + SM_VARINT_MAX > limit ? NULL : sm_varint_put(to, count - counted);
}

static uint8_t *pack_apart(sm_packer *p, const uint8_t *bytes, size_t size, uint8_t *to, const uint8_t *limit) {
    apart is;
    if (!take_apart(p, bytes, bytes + size, &is))
        return NULL;
    to = sm_varint_put(to, is.tokens);
    to = put_gaps(to, limit, p->gaps, is.marks);
    if (to == NULL || is.operands + 1 >= (size_t)(limit - to))
        return NULL;
    memcpy(to, p->operands, is.operands);
    to += is.operands;
    int packed = LZ4_compress_default((const char *)p->tokens, (char *)to, (int)is.tokens, (int)(limit - to));
    return packed > 0 ? to + packed : NULL;
}

uint8_t *sm_piece_pack(sm_packer *packer, const uint8_t *bytes, size_t size, uint8_t *to, uint8_t **body) {
    uint8_t *codec = to, *begin = sm_varint_put(to + 1, size), *end = NULL;
    if (size >= WORTH_PACKING)
        end = pack_apart(packer, bytes, size, begin, begin + size - LEAST_SAVED);
    *codec = end != NULL ? SM_PIECE_APART : SM_PIECE_PLAIN;
    if (end == NULL) {
        memcpy(begin, bytes, size);
        end = begin + size;
    }
    *body = begin;
    return end;
}

typedef struct { /* the marks of a piece that are still to be merged */
    const uint8_t *gap, *gaps_end, *operand, *end;
    uint64_t left, usual, run;
} marks;

/* Read the gap before the next mark. Return false if the data is invalid. */
static bool next_gap(marks *m, uint64_t *gap) {
    if (m->run > 0) {
        m->run--;
        *gap = m->usual;
        return true;
    }
    m->gap = sm_varint_get(m->gap, m->gaps_end, gap);
    m->gap = sm_varint_next(m->gap, m->gaps_end, UINT64_MAX, &m->run);
    return m->gap != NULL;
}

/* Find the end of the gaps, where the operands begin. Return false if the data is invalid. */
static bool begin_marks(marks *m, const uint8_t *at, const uint8_t *end) {
    uint64_t run, gap;
    *m = (marks){.end = end};
    at = sm_varint_next(at, end, UINT64_MAX, &m->left);
    at = sm_varint_next(at, end, UINT64_MAX, &m->usual);
    at = sm_varint_next(at, end, UINT64_MAX, &m->run);
    m->gap = at;
    uint64_t counted = m->run;
    while (at != NULL && counted < m->left) {
        at = sm_varint_get(at, end, &gap);
        at = at == NULL ? NULL : sm_varint_get(at, end, &run);
        counted += at == NULL ? 0 : 1 + (run < SM_BLOCK_MOST ? run : SM_BLOCK_MOST);
    }
    m->gaps_end = m->operand = at;
    return at != NULL && counted == m->left && m->left <= SM_BLOCK_MOST / 2;
}

static bool unpack_apart(const uint8_t *body, size_t size, uint8_t *to, size_t raw) {
    const uint8_t *end = body + size, *at;
    uint64_t tokens, operand, gap;
    marks m;
    if ((at = sm_varint_get(body, end, &tokens)) == NULL || tokens > raw || !begin_marks(&m, at, end))
        return false;
    const uint8_t *packed = m.operand;
    for (uint64_t i = 0; i < m.left && packed != NULL; i++)
        packed = sm_varint_get(packed, end, &operand);
    if (packed == NULL || (size_t)(packed - m.operand) + m.left != raw - tokens)
        return false;
    uint8_t *from = to + (raw - tokens),
            *last = to + raw; /* the packed bytes are at the end, so that the merged ones never overtake them */
    if (LZ4_decompress_safe((const char *)packed, (char *)from, (int)(end - packed), (int)tokens) != (int)tokens)
        return false;
    for (; m.left > 0; m.left--) {
        if (!next_gap(&m, &gap) || gap > (size_t)(last - from))
            return false;
        memmove(to, from, (size_t)gap);
        to += gap;
        from += gap;
        *to++ = SM_TOKEN_MARK;
        do {
            *to++ = *m.operand;
        } while (*m.operand++ & 0x80);
    }
    return true;
}

bool sm_piece_unpack(unsigned codec, const uint8_t *body, size_t size, uint8_t *to, size_t raw) {
    if (codec == SM_PIECE_PLAIN) {
        if (size == raw)
            memcpy(to, body, raw);
        return size == raw;
    }
    if (size > INT32_MAX || raw > INT32_MAX)
        return false;
    return codec == SM_PIECE_APART
               ? unpack_apart(body, size, to, raw)
               : LZ4_decompress_safe((const char *)body, (char *)to, (int)size, (int)raw) == (int)raw;
}
