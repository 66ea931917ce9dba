/* The pieces of a journal: which blocks of which streams they make, found by their headers alone; a block's bytes, when
 * it is wanted. Trusts nothing in the file. No Python.h. */
#ifndef SM_TRACE_PIECES_H
#define SM_TRACE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tokens.h"

typedef struct {
    uint64_t stream, block, rank;
    int64_t time; /* ns since the process began; with rank, unit and flags where offset is 0 */
    double unit;  /* ns */
    uint64_t flags;
    uint64_t at;     /* where the payload begins in the file */
    uint64_t copy;   /* where its head stands once more, which is what was read; 0: nowhere */
    uint32_t kinds;  /* of instants that its block has up to its end: bit k of kind k, bit 0 of all others */
    uint32_t length; /* of the payload */
    uint32_t body;   /* where its bytes begin in the payload */
    uint32_t raw;    /* length of the bytes when unpacked */
    uint32_t thread, offset;
    uint8_t codec;
} sm_piece;

#define SM_KINDS_UNKNOWN UINT32_MAX

/* A block: its pieces in the order of their offsets, the first of which has offset 0. */
typedef struct {
    size_t first, pieces; /* in sm_index.piece */
} sm_block;

typedef struct {
    size_t first, blocks; /* in sm_index.block, in the order of their numbers */
    uint64_t number;
    uint32_t thread;
} sm_stream;

typedef struct {
    const uint8_t *bytes; /* borrowed: the file */
    size_t size;
    sm_piece *piece;   /* owned */
    sm_block *block;   /* owned */
    sm_stream *stream; /* owned */
    size_t pieces, blocks, streams;
    size_t dropped; /* pieces that made no sense, or whose block lacks its beginning */
} sm_index;

/* Reads a piece's header from a payload; `at` and what is of the file are left alone. 0, or -1: it makes no sense. */
int sm_piece_parse(const uint8_t *payload, size_t length, sm_piece *piece);
/* The same from the head alone, which is `size` bytes of a payload of `length`. */
int sm_piece_parse_head(const uint8_t *head, size_t size, size_t length, sm_piece *piece);

/* places: pairs of offset and length of payloads, as the file's reader found them. heads: of chunks of heads, offset
 * and length of the payload and how many of `places` come before it. Pieces of threads from `threads` on are dropped.
 * 0, or -1 when out of memory; sm_index_free whatever comes of it. */
int sm_index_make(sm_index *index, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                  const int64_t *heads, size_t heads_count, size_t threads);
void sm_index_free(sm_index *index);

/* Whether a head that was read where it is repeated is the one that the piece has. */
bool sm_piece_is_as_told(const sm_index *index, const sm_piece *piece);

/* ---- piece_heads.c ---- */

/* Takes what a chunk of heads says of the last of `count` pieces (offsets and lengths in the file: `places`). told[i]:
 * whether piece[i] is known from then on. A chunk that contradicts itself or the places says nothing. */
void sm_piece_heads_read(const uint8_t *bytes, uint64_t at, size_t length, const int64_t *places, size_t count,
                         sm_piece *piece, uint8_t *told);

/* The kinds of instants in a piece, by its bytes; among the tokens of a block. */
uint32_t sm_piece_heads_kinds(const uint8_t *payload, const sm_piece *piece);
uint32_t sm_piece_heads_kinds_of(const uint8_t *tokens, const uint8_t *end);

/* ---- blocks ---- */

/* The kinds of instants that a block has, as in sm_piece. */
uint32_t sm_block_kinds(const sm_index *index, const sm_block *block);

/* What a block holds, unpacked: *size bytes at `to`, which has room for SM_BLOCK_MOST. Returns whether all of the
 * pieces that are in the file could be unpacked and follow one another: otherwise the bytes end before the first that
 * is missing. */
int sm_block_load(const sm_index *index, const sm_block *block, uint8_t *to, size_t *size);

#endif
