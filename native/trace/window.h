/* Queries of a journal: the calls, instants and gaps of a window, and sums over all of it. No Python.h. */
#pragma once

#include "base/buffer.h"
#include "trace/decode.h"

typedef struct {
    sm_call call;
    uint64_t stream;
} sm_window_call;

typedef struct {
    int64_t time, bound;
    uint64_t stream, kind, in; /* in: number of the call that contains it */
    size_t at, length;
} sm_window_instant;

typedef struct {
    int64_t from, to;
    uint64_t stream;
} sm_window_gap;

typedef struct {
    sm_buffer calls, instants, gaps; /* arrays of the above; calls by stream and start */
    sm_buffer texts;
    size_t limit; /* most calls and instants; 0 for all instants and no calls */
    int more;
    sm_wrong wrong;
    /* Private, while it is filled. */
    const sm_index *index;
    int64_t from, to;
    int no_memory;
} sm_window;

/* Fill the window with calls, instants and gaps in [from, to), of one thread or (-1) of all. Search `look_back` bytes
 * for the starts of calls that were open before. Return 0, or -1 if out of memory; the caller frees in both cases. */
int sm_window_fill(sm_window *window, const sm_trace *journal, int64_t from, int64_t to, int64_t thread, size_t limit,
                   size_t look_back);
void sm_window_free(sm_window *window);
/* Return the row of the stream's call with this number, or -1 if it is not in the window. */
int64_t sm_window_row(const sm_window *window, uint64_t stream, uint64_t number);

typedef struct {
    int64_t *counts[SM_COUNTS]; /* owned; as in sm_sink */
    sm_window_call *longest;    /* owned; by function; depth is UINT32_MAX if there is none */
    const int64_t *function;    /* borrowed; by node */
    uint64_t steps;
    sm_buffer gaps; /* array of sm_window_gap */
    sm_wrong wrong;
    const sm_index *index;
    int no_memory;
} sm_sums;

/* Fill only `longest`, from payloads at `places` (pairs of offset and length). Return 0, or -1 if out of memory. */
int sm_longest_fill(sm_sums *sums, const sm_trace *journal, const int64_t *function, size_t functions,
                    const int64_t *places, size_t count);
/* Find all gaps (sm_window_gap), which the caller frees in any case. Only blocks before gaps are read. Return 0, or -1
 * if out of memory. */
int sm_gaps_find(const sm_trace *journal, sm_buffer *gaps);
int sm_sums_fill(sm_sums *sums, const sm_trace *journal, const int64_t *function, size_t functions);
void sm_sums_free(sm_sums *sums);
