/* Choose the blocks that a window needs, and feed them to the machine (token_machine.h). */
#include "trace/decode.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "trace/call_starts.h"

/* Assign times to the events after the last mark. next: time of the next block, which was not read, or -1. */
static void leave(sm_machine *m, int64_t next, bool whole) {
    int64_t end = m->journal->end[m->stream->thread];
    uint32_t how = next >= 0 ? SM_CALL_AFTER : SM_CALL_OPEN;
    if (next >= m->mark && whole)
        sm_machine_settle_before(m, next);
    else if (next < 0 && end > m->mark && end < SM_MACHINE_LATEST && whole && m->events)
        sm_machine_settle_before(m, end);
    else
        sm_machine_settle(m, 0, 0, false);
    sm_machine_end_all(m, how);
    sm_machine_settle(m, m->mark, 0, true);
}

/* Return the first block that may have events from this time on. */
static size_t first_block(const sm_machine *m, int64_t from) {
    int64_t origin = m->journal->origin[m->stream->thread];
    size_t block = 0, blocks = m->stream->blocks;
    while (block + 1 < blocks && sm_machine_head(m, block + 1)->time + origin <= from)
        block++;
    return block - (block > 0); /* Its last events may be later than the next block's time. */
}

/* Begin at a block, and end after `last` or before the first block that begins at `to` or later. */
static void begin(sm_decoder *d, const sm_machine *as, size_t block, size_t last, int64_t to) {
    *d = (sm_decoder){.machine = *as, .block = block, .last = last, .to = to, .whole = true};
    d->bytes = sm_malloc(SM_BLOCK_MOST);
    d->machine.failed = d->bytes == NULL;
    d->machine.steps_left = SM_MACHINE_STEPS;
    d->machine.place = sm_machine_root(&d->machine);
}

void sm_decoder_begin(sm_decoder *d, const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                      const sm_sink *sink, sm_wrong *wrong) {
    sm_machine m = {.journal = journal, .stream = stream, .sink = sink, .wrong = wrong};
    begin(d, &m, first_block(&m, from), stream->blocks - 1, to);
}

int64_t sm_decoder_next(const sm_decoder *d, bool *follows) {
    const sm_machine *m = &d->machine;
    *follows = false;
    if (d->block >= m->stream->blocks)
        return -1;
    const sm_piece *head = sm_machine_head(m, d->block);
    *follows = d->whole && m->begun &&
               sm_block_follows(m->journal->index, &m->journal->index->block[m->stream->first + d->block]);
    return head->time + m->journal->origin[m->stream->thread];
}

/* Check the copied head of the next block: its piece was not read, but its time ends the reading. */
static void note_next(const sm_decoder *d) {
    const sm_machine *m = &d->machine;
    if (d->block < m->stream->blocks)
        m->wrong->damaged += !sm_piece_equals_copy(m->journal->index, sm_machine_head(m, d->block));
}

/* Count a block with kinds of instants that its head does not list. A reader of instants may have skipped it. */
static void note_unlisted(const sm_decoder *d, const sm_block *block, size_t size) {
    const sm_machine *m = &d->machine;
    uint32_t listed = sm_block_kinds(m->journal->index, block);
    if (listed != SM_KINDS_UNKNOWN)
        m->wrong->unlisted += (sm_piece_heads_kinds_of(d->bytes, d->bytes + size) & ~listed) != 0;
}

bool sm_decoder_step(sm_decoder *d) {
    sm_machine *m = &d->machine;
    if (m->failed || m->stopped)
        return false;
    bool follows;
    int64_t time = sm_decoder_next(d, &follows);
    if (d->block > d->last || time >= d->to) {
        note_next(d);
        leave(m, time, d->whole);
        return false;
    }
    const sm_piece *head = sm_machine_head(m, d->block);
    size_t size, block = d->block++;
    const sm_index *index = m->journal->index;
    d->whole = sm_block_load(index, &index->block[m->stream->first + block], d->bytes, &size);
    m->wrong->damaged += !d->whole;
    note_unlisted(d, &index->block[m->stream->first + block], size);
    m->steps_left += SM_MACHINE_STEPS_OF_BYTE * size;
    bool first = !m->begun;
    if (!sm_machine_enter(m, head, follows)) {
        d->whole = false;
        return true;
    }
    if (first && block > 0)
        sm_look_back(m, block);
    sm_machine_read(m, d->bytes, size, head->unit, &d->whole);
    return true;
}

sm_decode_status sm_decoder_end(sm_decoder *d) {
    sm_machine *m = &d->machine;
    sm_decode_status status = m->failed ? SM_DECODE_NO_MEMORY : m->stopped ? SM_DECODE_STOPPED : SM_DECODE_DONE;
    SM_CLEAR(d->bytes);
    sm_machine_free(m);
    return status;
}

static sm_decode_status decode(const sm_machine *as, size_t block, size_t last, int64_t to) {
    sm_decoder d;
    begin(&d, as, block, last, to);
    while (sm_decoder_step(&d)) {
    }
    return sm_decoder_end(&d);
}

sm_decode_status sm_decode(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                           const sm_sink *sink, sm_wrong *wrong) {
    sm_machine m = {.journal = journal, .stream = stream, .sink = sink, .wrong = wrong};
    return decode(&m, first_block(&m, from), stream->blocks - 1, to);
}

sm_decode_status sm_decode_from(const sm_trace *journal, const sm_stream *stream, size_t block, int64_t to,
                                const sm_sink *sink, sm_wrong *wrong) {
    sm_machine m = {.journal = journal, .stream = stream, .sink = sink, .wrong = wrong};
    return decode(&m, block, stream->blocks - 1, to);
}

/* Return true if a block may have instants, or events are missing before it. */
static bool has_instants(const sm_machine *m, size_t block) {
    const sm_index *index = m->journal->index;
    const sm_block *at = &index->block[m->stream->first + block];
    return sm_block_kinds(index, at) != 0 || (index->piece[at->first].flags & SM_BLOCK_AFTER_GAP) != 0 ||
           (block > 0 && !sm_block_follows(index, at));
}

/* Read one block more before and after the blocks with instants: events before a block's first mark, or after its last,
 * get their times from both. */
sm_decode_status sm_decode_instants(const sm_trace *journal, const sm_stream *stream, int64_t from, int64_t to,
                                    const sm_sink *sink, sm_wrong *wrong) {
    sm_machine m = {.journal = journal, .stream = stream, .sink = sink, .wrong = wrong};
    int64_t origin = journal->origin[stream->thread];
    sm_decode_status status = SM_DECODE_DONE;
    size_t blocks = stream->blocks, read = 0;
    for (size_t block = first_block(&m, from); block < blocks && status == SM_DECODE_DONE; block++) {
        if (sm_machine_head(&m, block)->time + origin >= to)
            break;
        if (block < read || !has_instants(&m, block))
            continue;
        size_t last = block;
        while (last + 1 < blocks && sm_machine_head(&m, last + 1)->time + origin < to &&
               (has_instants(&m, last + 1) || has_instants(&m, last))) {
            last++;
        }
        status = decode(&m, block - (block > read), last, to);
        read = last + 1;
    }
    return status;
}
