/* The calls of a journal as an Arrow stream, decoded as the consumer asks for more. No Python.h.
 *
 * Rows are in the order of threads and there of their ends, so that nothing is kept of a call but while it is open: the
 * memory that reading takes is that of a batch and of the deepest stack. With a condition on times, what cannot have a
 * row is not read (seek.h). */
#ifndef SM_TRACE_ARROW_BATCHES_H
#define SM_TRACE_ARROW_BATCHES_H

#include "file/columns.h"
#include "trace/decode.h"

enum { SM_BATCH_ROWS = 8192 }; /* of a batch, at least, but for the last one; a block more at most */

/* What the stream calls. done: all was read, with what was wrong; drop: nothing of the stream's reading goes on. Both
 * may be called on any thread, once. */
typedef struct {
    void *receiver;
    void (*done)(void *receiver, const sm_wrong *wrong);
    void (*drop)(void *receiver);
} sm_batches_owner;

enum { SM_BATCH_COLUMNS = 13 }; /* of a call; their names: arrow_batches.c */

/* Which calls are wanted, and what of them. */
typedef struct {
    int64_t from, to; /* the window, ns: calls with times in [from, to), cut off at its ends */
    size_t look_back; /* as in sm_sink */
    int64_t start_least, start_most, end_least, end_most; /* ns: of these, only calls with such times */
    /* Whether blocks may be left out that have none of these calls. It takes a window of all times, and columns that do
     * not depend on what came before: neither `id`, `parent`, `call` nor `flags`. */
    bool leaps;
    uint8_t column[SM_BATCH_COLUMNS]; /* in this order */
    size_t columns;
} sm_batches_wish;

/* Makes *out give the calls as columns of int64. `id` counts from 0 in the order of streams and of beginnings there;
 * `parent` and `call` are ids, -1 for none. function: by node, borrowed as all of the journal is. 0, or -1 when out of
 * memory: then the owner was not called. */
int sm_batches_make(struct ArrowArrayStream *out, const sm_trace *journal, const int64_t *function,
                    const sm_batches_wish *wish, sm_batches_owner owner);

#endif
