/* Append events to a thread's journal; trace.h explains it. */
#include "recorder/calls/trace.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/varint.h"
#include "engine/threads.h"
#include "hooks/gc_callbacks.h"
#include "recorder/calls/store.h"
#include "recorder/calls/trace_blocks.h"
#include "recorder/calls/trace_zoom.h"

#define UNIT_NS 16        /* the longest unit of marks, which is less than an event costs */
#define LONGEST_TEXT 4096 /* bytes of an instant */
#define LATE_NS 10000000  /* between two checks whether the worker is late */

unsigned sm_trace_unit; /* guard: the GIL, and set by a start, while no worker runs */

/* Guard: the GIL or the core's lock, and what is not atomic changes between two recordings only. */
static struct {
    bool on;
    bool file;
    bool notified;   /* of pauses of the cycle collector */
    uint64_t pauses; /* pauses of the cycle collector, which come one at a time */
    bool filtered;   /* the worker leaves calls out, and needs their depth */
    uint32_t depth;  /* depth of the deepest calls that stay */
    uint64_t gaps;   /* atomic; number of times that events were dropped */
    uint64_t looked; /* atomic; ticks of the last check whether the worker is late */
    uint64_t late;   /* ticks until the next check */
} journal;

/* Return the innermost node on the path that the journal shows. */
static const sm_node *shown(const sm_node *node) {
    while (node->depth > journal.depth)
        node = node->parent;
    return node;
}

static void publish(sm_tree_thread *tree, uint8_t *at) {
    __atomic_store_n(&tree->journal.at, at, __ATOMIC_RELEASE);
}

static void go_nowhere(sm_tree_thread *tree) {
    sm_stream *stream = tree->journal.stream;
    __atomic_fetch_add(&journal.gaps, !stream->gap, __ATOMIC_RELAXED);
    stream->gap = true;
    tree->journal.limit = stream->nowhere + SM_TRACE_SLACK;
    publish(tree, stream->nowhere);
}

static void begin_block(sm_thread *thread, uint64_t now, size_t least) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_stream *stream = tree->journal.stream;
    sm_block *block = sm_blocks_new(stream, least + 2 * SM_TRACE_SLACK);
    if (block == NULL) {
        go_nowhere(tree);
        return;
    }
    tree->journal.mark = now >> sm_trace_unit;
    block->after_gap = stream->gap;
    block->rank = sm_node_rank(shown(tree->node));
    block->mark = tree->journal.mark;
    block->depth = tree->node->depth;
    uint64_t since = sm_ticks_since(sm_engine.start_ticks, tree->journal.mark << sm_trace_unit);
    block->ns = (uint64_t)sm_clock_ns(&sm_engine.clock, (double)since);
    block->unit_ns = sm_clock_ns(&sm_engine.clock, (double)(1u << sm_trace_unit));
    stream->gap = false;
    stream->after = NULL; /* a new block may have the address of an old one */
    tree->journal.limit = block->bytes + SM_TRACE_STRIDE;
    publish(tree, block->bytes);
    sm_blocks_open(stream, block);
}

static void next_block(sm_thread *thread, uint64_t now, size_t least) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (tree->journal.stream->open != NULL)
        sm_blocks_seal(tree->journal.stream, tree->journal.at, sm_levels_nodes(tree));
    begin_block(thread, now, least);
}

static const uint8_t *end_of(const sm_stream *stream) {
    return stream->open->bytes + stream->open->room - SM_TRACE_SLACK;
}

/* Make room for so many bytes and a mark, in another block if necessary. Return false if there is none. */
static bool make_room(sm_thread *thread, size_t size) {
    sm_tree_thread *tree = sm_tree_of(thread);
    const sm_stream *stream = tree->journal.stream;
    if (stream == NULL)
        return false;
    if (stream->open == NULL || tree->journal.at + size > end_of(stream))
        next_block(thread, sm_clock_read(&sm_engine.clock), size);
    return stream->open != NULL;
}

/* Write a mark, and remember it as the last one. A clock that goes back counts as standing still. */
static uint8_t *put_mark(sm_trace_end *end, uint8_t *at, uint64_t now) {
    uint64_t units = now >> sm_trace_unit, since = sm_ticks_since(end->mark, units);
    end->mark += since;
    *at++ = SM_TOKEN_MARK;
    return sm_varint_put(at, since);
}

void sm_trace_mark(sm_thread *thread, uint64_t now) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_stream *stream = tree->journal.stream;
    if (stream == NULL || stream->open == NULL || tree->journal.at == stream->after)
        return;
    uint8_t *at = put_mark(&tree->journal, tree->journal.at, now);
    stream->after = at;
    publish(tree, at);
    if (at >= end_of(stream)) {
        next_block(thread, now, 0);
        return;
    }
    const uint8_t *limit = at + SM_TRACE_STRIDE, *end = end_of(stream);
    tree->journal.limit = (uint8_t *)(uintptr_t)(limit < end ? limit : end);
}

/* Write what is queued if the worker is late, in case the program is killed. */
static void look_after_file(uint64_t now) {
    if (sm_ticks_since(__atomic_load_n(&journal.looked, __ATOMIC_RELAXED), now) < journal.late)
        return;
    __atomic_store_n(&journal.looked, now, __ATOMIC_RELAXED);
    sm_blocks_help();
}

void sm_trace_look(sm_thread *thread) {
    assert(thread == sm_this_thread);
    sm_tree_thread *tree = sm_tree_of(thread);
    const sm_stream *stream = tree->journal.stream;
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (stream->open == NULL)
        begin_block(thread, now, 0); /* perhaps there is room again */
    else
        sm_trace_mark(thread, now);
    look_after_file(now);
}

void sm_trace_stamp_far(sm_thread *thread, uint8_t token, uint64_t now) {
    sm_tree_thread *tree = sm_tree_of(thread);
    uint8_t *at = tree->journal.at;
    *at++ = token;
    publish(tree, put_mark(&tree->journal, at, now));
    if (tree->journal.at >= tree->journal.limit)
        sm_trace_stamped(thread, now);
}

void sm_trace_stamped(sm_thread *thread, uint64_t now) {
    assert(thread == sm_this_thread);
    sm_tree_thread *tree = sm_tree_of(thread);
    const sm_stream *stream = tree->journal.stream;
    if (stream->open == NULL)
        begin_block(thread, now, 0); /* perhaps there is room again */
    else if (tree->journal.at >= end_of(stream))
        next_block(thread, now, 0);
    if (stream->open != NULL)
        tree->journal.limit = (uint8_t *)(uintptr_t)end_of(stream);
    look_after_file(now);
}

static void put_far(sm_thread *thread, uint8_t token, const sm_node *node) {
    sm_tree_thread *tree = sm_tree_of(thread);
    if (tree->journal.stream == NULL)
        return;
    uint8_t *at = tree->journal.at;
    *at++ = token;
    at = sm_varint_put(at, sm_node_rank(node));
    if (journal.filtered && token == SM_TOKEN_GOTO) /* an operand that only the filter reads (trace_filter.c) */
        at = sm_varint_put(at, node->depth);
    publish(tree, at);
    if (tree->journal.at >= tree->journal.limit)
        sm_trace_look(thread);
}

void sm_trace_enter_far(sm_thread *thread, const sm_node *node, bool resumed) {
    put_far(thread, resumed ? SM_TOKEN_RESUME : SM_TOKEN_CALL, node);
}

void sm_trace_goto(sm_thread *thread, sm_node *node) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_block *first = tree->journal.stream != NULL ? tree->journal.stream->open : NULL;
    SM_WRITE(tree->node, node);
    if (first != NULL && first->number == 0 && tree->journal.at == first->bytes && !journal.filtered) {
        first->rank = sm_node_rank(shown(node)); /* the journal begins here, so the path was running */
        first->depth = node->depth;
        return;
    }
    put_far(thread, SM_TOKEN_GOTO, node);
}

void sm_trace_left(sm_thread *thread, sm_node *to, sm_leaving how) {
    SM_WRITE(sm_tree_of(thread)->node, to);
    if (sm_tree_of(thread)->journal.stream != NULL)
        sm_trace_leave(thread, to, how);
}

void sm_trace_entered(sm_thread *thread, sm_node *node) {
    SM_WRITE(sm_tree_of(thread)->node, node);
    if (sm_tree_of(thread)->journal.stream != NULL)
        sm_trace_enter(thread, node, false);
}

bool sm_trace_instant(sm_thread *thread, unsigned kind, uint64_t span, const char *name, size_t name_size,
                      const char *json, size_t json_size) {
    assert(thread == sm_this_thread);
    sm_tree_thread *tree = sm_tree_of(thread);
    uint8_t head[2 * SM_VARINT_MAX], *end = head;
    if (kind >= SM_INSTANT_SPAN_BEGINS)
        end = sm_varint_put(end, span);
    end = sm_varint_put(end, name_size);
    size_t size = (size_t)(end - head) + name_size + json_size;
    if (size > LONGEST_TEXT || !make_room(thread, size + 3 * SM_VARINT_MAX))
        return false;
    assert(kind > 0 && kind < 32);
    sm_block *block = tree->journal.stream->open;
    __atomic_store_n(&block->kinds, block->kinds | (uint32_t)1 << kind, __ATOMIC_RELAXED);
    uint8_t *at = tree->journal.at;
    *at++ = SM_TOKEN_INSTANT;
    at = sm_varint_put(at, kind);
    at = sm_varint_put(at, size);
    memcpy(at, head, (size_t)(end - head));
    memcpy(at + (end - head), name, name_size);
    memcpy(at + (end - head) + name_size, json, json_size);
    publish(tree, at + size);
    sm_trace_mark(thread, sm_clock_read(&sm_engine.clock));
    return true;
}

/* Note a pause of the cycle collector (hooks/gc_callbacks.h). */
static void note_pause(const sm_pause *pause) {
    static const char name[] = "garbage collection";
    sm_thread *thread = sm_this_thread;
    if (!sm_main.running || sm_main.forked || thread->session != sm_engine.session || thread->ended)
        return; /* this thread has had no event yet */
    if (!journal.file || sm_main.ahead)
        return; /* the journal has ended, and the merge of the children's parts collects */
    char json[96] = "";
    long collected = sm_pause_number(pause, "collected"), uncollectable = sm_pause_number(pause, "uncollectable");
    if (pause->begins)
        snprintf(json, sizeof json, "{\"generation\":%ld}", sm_pause_number(pause, "generation"));
    else if (uncollectable != 0)
        snprintf(json, sizeof json, "{\"collected\":%ld,\"uncollectable\":%ld}", collected, uncollectable);
    else
        snprintf(json, sizeof json, "{\"collected\":%ld}", collected);
    unsigned kind = pause->begins ? SM_INSTANT_PAUSE_BEGINS : SM_INSTANT_PAUSE_ENDS;
    journal.pauses += pause->begins;
    (void)sm_trace_instant(thread, kind, journal.pauses, name, sizeof name - 1, json, strlen(json));
}

bool sm_trace_has_file(void) {
    return journal.file && !sm_main.forked;
}

bool sm_trace_thread(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    tree->journal = (sm_trace_end){.at = NULL};
    if (!journal.on)
        return true;
    sm_stream *stream = sm_blocks_stream(sm_thread_row(thread->home), &tree->journal.at);
    if (stream == NULL)
        return false;
    tree->journal.stream = stream;
    if (sm_trace_has_file())
        sm_engine_announce(thread);
    begin_block(thread, sm_clock_read(&sm_engine.clock), 0);
    return true;
}

void sm_trace_thread_end(sm_thread *thread) {
    sm_tree_thread *tree = sm_tree_of(thread);
    sm_stream *stream = tree->journal.stream;
    if (stream == NULL)
        return;
    if (stream->open != NULL && stream->open->number == 0 && tree->journal.at == stream->open->bytes) {
        sm_blocks_drop(stream); /* the block has no events */
    } else if (stream->open != NULL) {
        uint8_t *at = tree->journal.at;
        *at++ = SM_TOKEN_END;
        publish(tree, put_mark(&tree->journal, at, sm_clock_read(&sm_engine.clock)));
        stream->after = NULL;
        sm_blocks_seal(stream, tree->journal.at, sm_levels_nodes(tree));
    }
    sm_blocks_end(stream);
    tree->journal = (sm_trace_end){.at = NULL};
}

void sm_trace_start(sm_writer *writer) {
    bool on = sm_main.settings.journal;
    sm_trace_stop(); /* recorded to learn costs, or before a fork */
    journal.on = on && sm_blocks_init();
    sm_main.lost_memory += on && !journal.on;
    journal.file = journal.on && writer != NULL;
    journal.gaps = journal.pauses = 0;
    journal.looked = sm_clock_read(&sm_engine.clock);
    journal.late = (uint64_t)(LATE_NS / sm_engine.clock.ns_per_tick);
    sm_trace_unit = 0;
    while (sm_engine.clock.kind != SM_CLOCK_SIMULATED &&
           sm_clock_ns(&sm_engine.clock, (double)(2u << sm_trace_unit)) <= UNIT_NS)
        sm_trace_unit++;
    uint64_t depth = sm_tree_chosen.trace_depth;
    depth = depth < UINT16_MAX / 2 ? depth : 0; /* of none that deep */
    journal.filtered = depth != 0 || sm_tree_chosen.trace_least_ns != 0;
    journal.depth = depth != 0 ? (uint32_t)depth : UINT32_MAX;
    sm_blocks_filter filter = {sm_tree_chosen.trace_least_ns, journal.depth, sm_trace_unit};
    if (on)
        sm_blocks_start(journal.on ? writer : NULL, journal.filtered ? &filter : NULL);
    journal.notified = sm_trace_has_file() && sm_collector_notify(note_pause);
}

void sm_trace_stop(void) {
    if (journal.notified)
        (void)sm_collector_notify(NULL);
    journal.notified = false;
    if (!journal.on)
        return;
    SM_EACH_THREAD (thread) {
        if (!thread->ended)
            sm_trace_thread_end(thread);
    }
    sm_blocks_stop();
    journal.on = journal.file = false;
}

void sm_trace_flush(void) {
    if (sm_trace_has_file())
        sm_blocks_flush();
}

uint64_t sm_trace_gaps(void) {
    return __atomic_load_n(&journal.gaps, __ATOMIC_RELAXED);
}
