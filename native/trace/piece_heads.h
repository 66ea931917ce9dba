/* Chunks that repeat the heads of many pieces, with the kinds of instants in their blocks. With them a reader finds
 * blocks without touching the pieces, and instants without reading all blocks. No Python.h. */
#pragma once

#include "base/buffer.h"

typedef struct {       /* guard: its owner's; of a trace that is being recorded, `disk` of trace_blocks.c */
    sm_buffer entries; /* owned */
    uint64_t count;
} sm_piece_heads;

enum { SM_PIECE_HEADS_MANY = 2048 };

/* Add the next piece. head: its first `size` bytes, up to the body, or none to omit it. length: of its payload. kinds:
 * as in sm_piece (trace/pieces.h). If out of memory, drop all heads. */
void sm_piece_heads_add(sm_piece_heads *heads, const uint8_t *head, size_t size, size_t length, uint32_t kinds);
/* Append the chunk's payload to `out`. Return 0, or -1 if out of memory. */
int sm_piece_heads_pack(const sm_piece_heads *heads, sm_buffer *out);
void sm_piece_heads_clear(sm_piece_heads *heads);
