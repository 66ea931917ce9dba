/* The calls of a journal as an Arrow stream, decoded as the consumer asks for more. No Python.h.
 *
 * Rows are in the order of threads and there of their ends, so that nothing is kept of a call but while it is open: the
 * memory that reading takes is that of a batch and of the deepest stack. */
#ifndef SM_JOURNAL_BATCHES_H
#define SM_JOURNAL_BATCHES_H

#include "file/columns.h"
#include "journal/decode.h"

enum { SM_BATCH_ROWS = 8192 }; /* of a batch, at least, but for the last one; a block more at most */

/* What the stream calls. done: all was read, with what was wrong; drop: nothing of the stream's reading goes on. Both
 * may be called on any thread, once. */
typedef struct {
    void *receiver;
    void (*done)(void *receiver, const sm_wrong *wrong);
    void (*drop)(void *receiver);
} sm_batches_owner;

/* Makes *out give the calls with times in [from, to), ns, as columns of int64 (their names: batches.c). `id` counts
 * from 0 in the order of streams and of beginnings there; `parent` and `call` are ids, -1 for none. function: by node,
 * borrowed as all of the journal is. 0, or -1 when out of memory: then the owner was not called. */
int sm_batches_make(struct ArrowArrayStream *out, const sm_journal *journal, const int64_t *function, int64_t from,
                    int64_t to, size_t look_back, sm_batches_owner owner);

#endif
