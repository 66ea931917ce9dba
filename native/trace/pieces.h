/* The pieces of a journal: the blocks and streams that they form, found by their heads alone, and a block's bytes on
 * request. Nothing in the file is trusted. No Python.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tokens.h"

typedef struct {
    uint64_t stream, block, rank;
    int64_t time; /* ns since the process began; with rank, unit and flags if offset is 0 */
    double unit;
    uint64_t flags;
    uint64_t at;    /* offset of the payload in the file */
    uint64_t copy;  /* offset of the copy from which the head was read, or 0 */
    uint32_t kinds; /* kinds of instants in its block up to its end: bit k for kind k, bit 0 for all others */
    uint32_t length;
    uint32_t body; /* offset of the packed bytes in the payload */
    uint32_t raw;  /* length of the unpacked bytes */
    uint32_t thread, offset;
    uint8_t codec;
} sm_piece;

#define SM_KINDS_UNKNOWN UINT32_MAX

/* A block: its pieces by offset, the first of which is 0. */
typedef struct {
    size_t first, pieces;
} sm_block;

typedef struct {
    size_t first, blocks;
    uint64_t number;
    uint32_t thread;
} sm_stream;

typedef struct {
    const uint8_t *bytes; /* borrowed; the file */
    size_t size;
    sm_piece *piece;   /* owned */
    sm_block *block;   /* owned */
    sm_stream *stream; /* owned */
    size_t pieces, blocks, streams;
    size_t dropped; /* pieces that are invalid, or whose block lacks its beginning */
} sm_index;

/* Parse a piece's head, except `at`, `copy` and `kinds`. size: of the bytes at hand; length: of the payload. Return 0,
 * or -1 if it is invalid. */
int sm_piece_parse(const uint8_t *head, size_t size, size_t length, sm_piece *piece);

/* Build the index. places: offset and length of each payload, from the file's reader. heads: of each chunk of heads,
 * its offset and length and the number of `places` before it. Pieces of threads from `threads` on are dropped. Return
 * 0, or -1 if out of memory. The caller frees it in both cases. */
int sm_index_make(sm_index *index, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                  const int64_t *heads, size_t heads_count, size_t threads);
void sm_index_free(sm_index *index);

/* Return true if the piece's head equals the copy that was read. */
bool sm_piece_equals_copy(const sm_index *index, const sm_piece *piece);

/* Read a chunk of heads, for the last of `count` pieces at `places`. Set `is_known[i]` if piece[i] is known then.
 * Ignore a chunk that contradicts itself or the places. */
void sm_piece_heads_read(const uint8_t *bytes, uint64_t at, size_t length, const int64_t *places, size_t count,
                         sm_piece *piece, uint8_t *is_known);

/* Return the kinds of instants in a piece, or SM_KINDS_UNKNOWN if it is damaged. */
uint32_t sm_piece_heads_kinds(const uint8_t *payload, const sm_piece *piece);
/* Return the kinds of instants among tokens. */
uint32_t sm_piece_heads_kinds_of(const uint8_t *tokens, const uint8_t *end);

/* Return true if no events are missing between a stream's block and the one before it, by their heads. */
bool sm_block_follows(const sm_index *index, const sm_block *block);

/* Return the kinds of instants in a block, as in sm_piece. */
uint32_t sm_block_kinds(const sm_index *index, const sm_block *block);

/* Unpack a block into *size bytes at `to`, which has room for SM_BLOCK_MOST. Return 1 if its pieces are whole and
 * consecutive. Otherwise return 0, with the bytes before the first that is missing. */
int sm_block_load(const sm_index *index, const sm_block *block, uint8_t *to, size_t *size);
