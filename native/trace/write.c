#include "trace/write.h"

#include <string.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "trace/compression.h"

enum {
    FULL = 32768,
    HEAD = 8 * 10 + 8,
    LONGEST_TOKEN = 1024, /* room of a full block, beside an instant's text */
};

int sm_trace_writer_make(sm_trace_writer *w) {
    const sm_dictionary *d = w->dictionary;
    w->rank = sm_calloc(d->nodes, sizeof *w->rank);
    w->among = sm_calloc(d->nodes, sizeof *w->among);
    w->packed = sm_malloc(HEAD + SM_PACKED_MOST);
    w->packer = sm_malloc(sizeof *w->packer);
    if (w->rank == NULL || w->among == NULL || w->packed == NULL || w->packer == NULL)
        return -1;
    for (size_t t = 0; t < d->threads; t++)
        for (uint32_t i = d->rank_start[t]; i < d->rank_start[t + 1]; i++)
            w->rank[d->by_rank[i]] = i - d->rank_start[t] + 1;
    for (size_t place = 0; place < d->nodes + d->threads; place++)
        for (uint32_t i = d->child_start[place]; i < d->child_start[place + 1]; i++)
            w->among[d->child[i]] = i - d->child_start[place];
    return 0;
}

void sm_trace_writer_free(sm_trace_writer *w) {
    sm_free(w->rank);
    sm_free(w->among);
    sm_free(w->packed);
    sm_free(w->packer);
    sm_buffer_free(&w->bytes);
}

void sm_write_stream(sm_trace_writer *w, uint32_t thread, uint64_t number, int64_t origin) {
    w->thread = thread;
    w->stream = number;
    w->block = 0;
    w->origin = origin;
}

static uint64_t rank_of(const sm_trace_writer *w, int64_t place) {
    return (size_t)place < w->dictionary->nodes ? w->rank[place] : 0;
}

void sm_write_block(sm_trace_writer *w, int64_t place, int64_t time, bool after_gap) {
    w->block_rank = rank_of(w, place);
    w->block_time = w->mark = time > w->origin ? time : w->origin;
    w->after_gap = after_gap;
    w->open = true;
    w->bytes.size = 0;
}

static void hand_on(sm_trace_writer *w) {
    size_t size = w->bytes.size;
    uint8_t *to = w->packed;
    to = SM_VARINTS_PUT(to, w->thread, w->stream, w->block, 0, w->after_gap ? SM_BLOCK_AFTER_GAP : 0, w->block_rank,
                        (uint64_t)(w->block_time - w->origin));
    w->block++;
    sm_put_f64(to, 1.0);
    to += 8;
    uint8_t *body, *end = sm_piece_pack(w->packer, w->bytes.bytes, size, to, &body);
    w->stopped |= w->piece(w->receiver, w->packed, (size_t)(end - w->packed)) != 0;
}

void sm_write_end(sm_trace_writer *w) {
    if (w->open && w->bytes.size > 0 && !w->stopped && !w->failed)
        hand_on(w);
    w->open = false;
    w->bytes.size = 0;
}

void sm_write_room(sm_trace_writer *w, int64_t place) {
    if (w->bytes.size >= FULL) {
        int64_t mark = w->mark;
        sm_write_end(w);
        sm_write_block(w, place, mark, false);
    }
}

static uint8_t *room(sm_trace_writer *w, size_t size) {
    bool fits = w->bytes.size + size <= SM_BLOCK_MOST;
    uint8_t *at = fits ? sm_buffer_reserve(&w->bytes, size) : NULL;
    w->failed |= fits && at == NULL;
    return at;
}

static void put_operand(sm_trace_writer *w, uint8_t token, uint64_t operand) {
    uint8_t *at = room(w, 1 + SM_VARINT_MAX);
    if (at != NULL) {
        *at++ = token;
        w->bytes.size = (size_t)(sm_varint_put(at, operand) - w->bytes.bytes);
    }
}

void sm_write_token(sm_trace_writer *w, uint8_t token) {
    uint8_t *at = room(w, 1);
    if (at != NULL) {
        *at = token;
        w->bytes.size++;
    }
}

void sm_write_enter(sm_trace_writer *w, int64_t place, uint32_t node, bool resumed) {
    const sm_dictionary *d = w->dictionary;
    if (node >= d->nodes) {
        w->failed = true; /* the node is not in the tree that was counted */
        return;
    }
    int64_t above = d->parent[node] >= 0 ? d->parent[node] : (int64_t)(d->nodes + (size_t)d->thread[node]);
    uint32_t among = w->among[node];
    if (above == place && among < (resumed ? SM_TOKEN_CHILDREN_RESUMED : SM_TOKEN_CHILDREN_CALLED))
        sm_write_token(w, (uint8_t)((resumed ? SM_TOKEN_RESUME_CHILD : SM_TOKEN_CALL_CHILD) + among));
    else
        put_operand(w, resumed ? SM_TOKEN_RESUME : SM_TOKEN_CALL, w->rank[node]);
}

void sm_write_goto(sm_trace_writer *w, int64_t place) {
    put_operand(w, SM_TOKEN_GOTO, rank_of(w, place));
}

void sm_write_instant(sm_trace_writer *w, uint64_t kind, const uint8_t *bytes, size_t size) {
    uint8_t *at = size < SM_BLOCK_MOST - FULL - LONGEST_TOKEN ? room(w, 1 + 2 * SM_VARINT_MAX + size) : NULL;
    if (at == NULL)
        return; /* no recorded instant is that long */
    *at++ = SM_TOKEN_INSTANT;
    at = SM_VARINTS_PUT(at, kind, size);
    if (size)
        memcpy(at, bytes, size);
    w->bytes.size = (size_t)(at + size - w->bytes.bytes);
}

void sm_write_mark(sm_trace_writer *w, int64_t time) {
    put_operand(w, SM_TOKEN_MARK, time > w->mark ? (uint64_t)(time - w->mark) : 0);
    w->mark = time > w->mark ? time : w->mark;
}
