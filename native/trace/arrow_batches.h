/* The calls of a journal as an Arrow stream, decoded as the consumer asks for more. No Python.h.
 *
 * Rows come stream by stream, in the order in which calls end. Only open calls are kept, so reading takes the memory of
 * one batch and the deepest stack. With a condition on times, seek.h skips blocks. */
#pragma once

#include "file/columns.h"
#include "trace/seek.h"

enum { SM_BATCH_ROWS = 8192 }; /* rows of each batch but the last, plus at most a block's */

/* Callbacks of the stream, each called once, on any thread. done: everything was read, with what was wrong; drop: the
 * stream is released. */
typedef struct {
    void *receiver;
    void (*done)(void *receiver, const sm_wrong *wrong);
    void (*drop)(void *receiver);
} sm_batches_owner;

/* The columns of a table of calls, NULL at the end. A stream of them has `id` before these. */
extern const char *const sm_call_columns[];
enum { SM_BATCH_COLUMNS = 13 };
/* Set the values of a row. parent, first: the rows of the caller and of the call's first step, or -1. */
void sm_call_values(int64_t *values, const sm_call *call, const sm_stream *stream, const int64_t *function,
                    int64_t parent, int64_t first);

typedef struct {
    int64_t from, to; /* in ns; only calls with times in [from, to) */
    size_t look_back;
    sm_seek times; /* bounds on a call's start and end */
    /* True if blocks without such calls may be skipped. This needs a window of all times, and none of the columns `id`,
     * `parent`, `call` and `flags`, which depend on earlier blocks. */
    bool leaps;
    uint8_t column[SM_BATCH_COLUMNS];
    size_t columns;
} sm_batches_wish;

/* Make *out a stream of the calls, as int64 columns. `id` counts from 0 in the order of streams and of starts in them;
 * `parent` and `call` are ids, or -1. Borrows all arguments. Return 0, or -1 if out of memory, without calling the
 * owner. */
int sm_batches_make(struct ArrowArrayStream *out, const sm_trace *journal, const int64_t *function,
                    const sm_batches_wish *wish, sm_batches_owner owner);
