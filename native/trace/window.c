#include "trace/window.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "trace/zoom_slices.h"

static int window_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    sm_window *w = receiver;
    if (call->end < w->from || call->start >= w->to)
        return 0;
    if (w->calls.size / sizeof(sm_window_call) >= w->limit) {
        w->more = 1;
        return 1;
    }
    sm_window_call row = {.call = *call, .stream = (uint64_t)(stream - w->index->stream)};
    w->no_memory |= sm_buffer_append(&w->calls, &row, sizeof row) < 0;
    return w->no_memory;
}

static int window_instant(void *receiver, const sm_stream *stream, const sm_instant *instant) {
    sm_window *w = receiver;
    if (instant->time < w->from || instant->time >= w->to)
        return 0;
    if (w->limit && w->instants.size / sizeof(sm_window_instant) >= w->limit) {
        w->more = 1;
        return 1;
    }
    sm_window_instant row = {.time = instant->time,
                             .bound = instant->bound,
                             .stream = (uint64_t)(stream - w->index->stream),
                             .kind = instant->kind,
                             .in = instant->in,
                             .at = w->texts.size,
                             .length = instant->length};
    w->no_memory |= (instant->length && sm_buffer_append(&w->texts, instant->bytes, instant->length) < 0) ||
                    sm_buffer_append(&w->instants, &row, sizeof row) < 0;
    return w->no_memory;
}

static bool add_gap(sm_buffer *gaps, const sm_index *index, const sm_stream *stream, int64_t from, int64_t to) {
    sm_window_gap row = {.from = from, .to = to, .stream = (uint64_t)(stream - index->stream)};
    return sm_buffer_append(gaps, &row, sizeof row) == 0;
}

static int window_gap(void *receiver, const sm_stream *stream, int64_t from, int64_t to) {
    sm_window *w = receiver;
    if (to < w->from || from >= w->to)
        return 0;
    w->no_memory |= !add_gap(&w->gaps, w->index, stream, from, to);
    return w->no_memory;
}

static int by_beginning(const void *left, const void *right) {
    const sm_window_call *a = left, *b = right;
    SM_ORDER_BY(a, b, stream);
    SM_ORDER_BY(a, b, call.number);
    return 0;
}

int sm_window_fill(sm_window *w, const sm_trace *journal, int64_t from, int64_t to, int64_t thread, size_t limit,
                   size_t look_back) {
    *w = (sm_window){.limit = limit, .index = journal->index, .from = from, .to = to};
    sm_sink sink = {.receiver = w,
                    .call = limit ? window_call : NULL,
                    .instant = window_instant,
                    .gap = window_gap,
                    .look_back = limit ? look_back : 0};
    for (size_t s = 0; s < journal->index->streams && !w->more; s++) {
        const sm_stream *stream = &journal->index->stream[s];
        if (thread >= 0 && stream->thread != (uint64_t)thread)
            continue;
        sm_decode_status status = limit ? sm_decode(journal, stream, from, to, &sink, &w->wrong)
                                        : sm_decode_instants(journal, stream, from, to, &sink, &w->wrong);
        if (status == SM_DECODE_NO_MEMORY || w->no_memory)
            return -1;
    }
    if (w->calls.size)
        qsort(w->calls.bytes, w->calls.size / sizeof(sm_window_call), sizeof(sm_window_call), by_beginning);
    return 0;
}

int64_t sm_window_row(const sm_window *w, uint64_t stream, uint64_t number) {
    sm_window_call wanted = {.call = {.number = number}, .stream = stream}, *found = NULL;
    if (number != SM_CALL_NONE && w->calls.size)
        found = bsearch(&wanted, w->calls.bytes, w->calls.size / sizeof wanted, sizeof wanted, by_beginning);
    return found ? found - (sm_window_call *)w->calls.bytes : -1;
}

void sm_window_free(sm_window *w) {
    sm_buffer_free(&w->calls);
    sm_buffer_free(&w->instants);
    sm_buffer_free(&w->gaps);
    sm_buffer_free(&w->texts);
}

/* Allocate `longest`, without any call. Return false if out of memory. */
static bool make_longest(sm_sums *s, size_t functions) {
    s->longest = sm_calloc(functions, sizeof *s->longest);
    for (size_t f = 0; s->longest != NULL && f < functions; f++)
        s->longest[f].call.depth = UINT32_MAX;
    return s->longest != NULL;
}

static int sums_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    sm_sums *s = receiver;
    sm_window_call *longest = &s->longest[s->function[call->node]];
    if (longest->call.depth == UINT32_MAX || call->end - call->start > longest->call.end - longest->call.start)
        *longest = (sm_window_call){.call = *call, .stream = (uint64_t)(stream - s->index->stream)};
    s->steps++;
    return 0;
}

static int sums_gap(void *receiver, const sm_stream *stream, int64_t from, int64_t to) {
    sm_sums *s = receiver;
    s->no_memory |= !add_gap(&s->gaps, s->index, stream, from, to);
    return s->no_memory;
}

int sm_sums_fill(sm_sums *s, const sm_trace *journal, const int64_t *function, size_t functions) {
    size_t nodes = journal->dictionary->nodes;
    *s = (sm_sums){.index = journal->index, .function = function};
    bool missing = !make_longest(s, functions);
    sm_sink sink = {.receiver = s, .call = sums_call, .gap = sums_gap};
    for (int c = 0; c < SM_COUNTS; c++) {
        s->counts[c] = sm_calloc(nodes + (c < SM_LEFT_OUT ? 0 : journal->dictionary->threads), sizeof **s->counts);
        sink.counts[c] = s->counts[c];
        missing |= s->counts[c] == NULL;
    }
    if (missing)
        return -1;
    for (size_t i = 0; i < journal->index->streams; i++) {
        const sm_stream *stream = &journal->index->stream[i];
        if (sm_decode(journal, stream, INT64_MIN, INT64_MAX, &sink, &s->wrong) == SM_DECODE_NO_MEMORY || s->no_memory)
            return -1;
    }
    return 0;
}

void sm_sums_free(sm_sums *s) {
    for (int c = 0; c < SM_COUNTS; c++)
        sm_free(s->counts[c]);
    sm_free(s->longest);
    sm_buffer_free(&s->gaps);
}

/* Return the index of a thread's stream with this number, or -1. */
static int64_t stream_at(const sm_index *index, uint32_t thread, uint64_t number) {
    const sm_stream *s = index->stream;
    size_t at = 0;
    SM_BISECT(at, index->streams,
              s[middle].thread < thread || (s[middle].thread == thread && s[middle].number < number));
    return at < index->streams && s[at].thread == thread && s[at].number == number ? (int64_t)at : -1;
}

static void take_longest(sm_sums *s, const sm_trace *journal, const int64_t *function, const uint8_t *payload,
                         size_t length) {
    sm_longest found;
    for (const uint8_t *at = payload, *end = payload + length;
         at != end && (at = sm_longest_parse(at, end, &found)) != NULL;) {
        int64_t stream = stream_at(journal->index, found.thread, found.stream);
        int64_t node =
            stream < 0 || found.rank == 0 ? -1 : sm_dictionary_rank(journal->dictionary, found.thread, found.rank);
        if (node < 0)
            continue;
        sm_window_call *longest = &s->longest[function[node]];
        if (longest->call.depth == UINT32_MAX || found.ns > longest->call.end - longest->call.start) {
            int64_t start = found.start + journal->origin[found.thread];
            longest->stream = (uint64_t)stream;
            longest->call = (sm_call){.start = start,
                                      .end = start + found.ns,
                                      .start_bound = -1,
                                      .end_bound = -1,
                                      .parent = SM_CALL_NONE,
                                      .call = SM_CALL_NONE,
                                      .node = (uint32_t)node,
                                      .depth = found.depth,
                                      .flags = found.flags};
        }
    }
}

int sm_longest_fill(sm_sums *s, const sm_trace *journal, const int64_t *function, size_t functions,
                    const int64_t *places, size_t count) {
    const sm_index *index = journal->index;
    *s = (sm_sums){.index = index};
    if (!make_longest(s, functions))
        return -1;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = (uint64_t)places[2 * i], length = (uint64_t)places[2 * i + 1];
        if (at >= 12 && at <= index->size && length <= index->size - at)
            take_longest(s, journal, function, index->bytes + at, (size_t)length);
    }
    return 0;
}

static int first_gap(void *receiver, const sm_stream *stream, int64_t from, int64_t to) {
    (void)sums_gap(receiver, stream, from, to);
    return 1;
}

int sm_gaps_find(const sm_trace *journal, sm_buffer *gaps) {
    const sm_index *index = journal->index;
    sm_sums found = {.index = index};
    sm_sink sink = {.receiver = &found, .gap = first_gap};
    for (size_t s = 0; s < index->streams; s++) {
        const sm_stream *stream = &index->stream[s];
        for (size_t b = 1; b < stream->blocks; b++)
            if (!sm_block_follows(index, &index->block[stream->first + b]))
                found.no_memory |=
                    sm_decode_from(journal, stream, b - 1, INT64_MAX, &sink, &found.wrong) == SM_DECODE_NO_MEMORY;
    }
    *gaps = found.gaps;
    return found.no_memory ? -1 : 0;
}
