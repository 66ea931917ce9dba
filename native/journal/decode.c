/* From blocks to the machine that reads them: which blocks a window needs, and what there is where one ends. */
#include "journal/decode.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "journal/machine.h"

/* Where a block begins: `follows` says that all before it was read. False: the block cannot be read. */
static bool enter(sm_machine *m, const sm_piece *head, bool follows) {
    int64_t place = sm_dictionary_rank(m->journal->dictionary, m->stream->thread, head->rank);
    int64_t origin = m->journal->origin[m->stream->thread], time = head->time + origin;
    if (place < 0) {
        m->wrong->unknown++;
        return false;
    }
    m->unit_base = time;
    m->units = 0;
    if (!m->begun) {
        m->begun = true;
        m->mark = m->begins = time;
        m->started = SM_CALL_BEFORE;
        bool gone = sm_machine_go_to(m, place, 0);
        sm_machine_settle(m, time, 0, true);
        m->started = SM_CALL_BEGAN_UNSEEN;
        return gone;
    }
    if (follows) {
        if (time > m->mark) {
            sm_machine_settle_before(m, time);
        } else if (m->events > SM_MACHINE_WAITING) {
            sm_machine_settle(m, 0, 0, false);
        }
        if (m->place == place) {
            return true;
        }
        sm_machine_pass_segment(m);
        return sm_machine_go_to(m, place, 0);
    }
    sm_machine_settle(m, 0, 0, false); /* its last events have no mark after them that belongs to them */
    int64_t before = m->mark;
    m->mark = time > before ? time : before;
    if (m->sink->gap && !m->stopped && m->sink->gap(m->sink->receiver, m->stream, before, m->mark)) {
        m->stopped = true;
    }
    bool gone = sm_machine_go_to(m, place, SM_CALL_GAP);
    sm_machine_settle(m, m->mark, 0, true);
    return gone;
}

/* What is left when the last block was read. next: the time of the block that follows and was not read; -1: none. */
static void leave(sm_machine *m, int64_t next, bool whole) {
    int64_t end = m->journal->end[m->stream->thread];
    uint32_t how = next >= 0 ? SM_CALL_AFTER : SM_CALL_OPEN;
    if (next >= m->mark && whole) {
        sm_machine_settle_before(m, next);
    } else if (next < 0 && end > m->mark && end < SM_MACHINE_LATEST && whole && m->events) {
        sm_machine_settle_before(m, end);
    } else {
        sm_machine_settle(m, 0, 0, false);
    }
    sm_machine_end_all(m, how);
    sm_machine_settle(m, m->mark, 0, true);
}

static void read_block(sm_machine *m, const uint8_t *bytes, size_t size, double unit, bool *whole) {
    const uint8_t *at = bytes, *end = bytes + size;
    while (at < end && !m->failed && !m->stopped) {
        if (m->depth >= SM_MACHINE_DEEPEST) {
            m->wrong->deep++;
            *whole = false;
            return;
        }
        if ((at = sm_machine_take(m, at, end, unit)) == NULL) {
            *whole = false;
            return;
        }
    }
}

static const sm_piece *head_of(const sm_machine *m, size_t block) {
    const sm_index *index = m->journal->index;
    return &index->piece[index->block[m->stream->first + block].first];
}

static void read_blocks(sm_machine *m, int64_t from, int64_t to, uint8_t *bytes) {
    int64_t origin = m->journal->origin[m->stream->thread];
    size_t block = 0, blocks = m->stream->blocks;
    while (block + 1 < blocks && head_of(m, block + 1)->time + origin <= from) {
        block++;
    }
    block -= block > 0; /* its last events may lie behind the next one's time */
    bool whole = true;
    for (; block < blocks && !m->failed && !m->stopped; block++) {
        const sm_piece *head = head_of(m, block);
        if (head->time + origin >= to) {
            leave(m, head->time + origin, whole);
            return;
        }
        bool follows =
            whole && m->begun && !(head->flags & SM_BLOCK_AFTER_GAP) && head->block == head_of(m, block - 1)->block + 1;
        size_t size;
        whole = sm_block_load(m->journal->index, &m->journal->index->block[m->stream->first + block], bytes, &size);
        m->wrong->damaged += !whole;
        m->steps_left += SM_MACHINE_STEPS_OF_BYTE * size;
        if (!enter(m, head, follows)) {
            whole = false;
            continue;
        }
        read_block(m, bytes, size, head->unit, &whole);
    }
    leave(m, -1, whole);
}

sm_decode_status sm_decode(const sm_journal *journal, const sm_stream *stream, int64_t from, int64_t to,
                           const sm_sink *sink, sm_wrong *wrong) {
    sm_machine m = {.journal = journal, .stream = stream, .sink = sink, .wrong = wrong, .steps_left = SM_MACHINE_STEPS};
    m.place = sm_machine_root(&m);
    uint8_t *bytes = sm_malloc(SM_BLOCK_MOST); /* owned */
    if (bytes != NULL) {
        read_blocks(&m, from, to, bytes);
    }
    bool failed = m.failed || bytes == NULL;
    sm_free(bytes);
    sm_machine_free(&m);
    return failed ? SM_DECODE_NO_MEMORY : m.stopped ? SM_DECODE_STOPPED : SM_DECODE_DONE;
}
