/* The heads of pieces once more, many in one chunk, and which instants their blocks have: so that a reader finds blocks
 * without touching the pieces, and instants without reading all blocks. No Python.h. */
#ifndef SM_TRACE_PIECE_HEADS_H
#define SM_TRACE_PIECE_HEADS_H

#include "base/buffer.h"

typedef struct {       /* guard: its owner's; of a trace that is being recorded, `disk` of trace_blocks.c */
    sm_buffer entries; /* owned */
    uint64_t count;
} sm_piece_heads;

enum { SM_PIECE_HEADS_MANY = 2048 }; /* so many are a chunk */

/* Adds a piece that was written after all those before. head: `size` bytes of it, up to its body; 0: nothing is told.
 * length: of its payload. kinds: of instants, as in sm_piece (trace/pieces.h). Out of memory: those before are
 * forgotten, too, and it is as if nothing had been told of them. */
void sm_piece_heads_add(sm_piece_heads *heads, const uint8_t *head, size_t size, size_t length, uint32_t kinds);
/* The payload that says all of this, behind what `out` has. 0, or -1 when out of memory. */
int sm_piece_heads_pack(const sm_piece_heads *heads, sm_buffer *out);
void sm_piece_heads_clear(sm_piece_heads *heads); /* frees its memory */

#endif
