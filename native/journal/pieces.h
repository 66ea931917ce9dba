/* The pieces of a journal: which blocks of which streams they make, found by their headers alone; a block's bytes, when
 * it is wanted. Trusts nothing in the file. No Python.h. */
#ifndef SM_JOURNAL_PIECES_H
#define SM_JOURNAL_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "journal/tokens.h"

typedef struct {
    uint64_t stream, block, rank;
    int64_t time; /* ns since the process began; with rank, unit and flags where offset is 0 */
    double unit;  /* ns */
    uint64_t flags;
    uint64_t at;     /* where the payload begins in the file */
    uint32_t length; /* of the payload */
    uint32_t body;   /* where its bytes begin in the payload */
    uint32_t raw;    /* length of the bytes when unpacked */
    uint32_t thread, offset;
    uint8_t codec;
} sm_piece;

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

/* places: pairs of offset and length of payloads, as the file's reader found them. Pieces of threads from `threads` on
 * are dropped. 0, or -1 when out of memory; sm_index_free whatever comes of it. */
int sm_index_make(sm_index *index, const uint8_t *bytes, size_t size, const int64_t *places, size_t count,
                  size_t threads);
void sm_index_free(sm_index *index);

/* What a block holds, unpacked: *size bytes at `to`, which has room for SM_BLOCK_MOST. Returns whether all of the
 * pieces that are in the file could be unpacked and follow one another: otherwise the bytes end before the first that
 * is missing. */
int sm_block_load(const sm_index *index, const sm_block *block, uint8_t *to, size_t *size);

#endif
