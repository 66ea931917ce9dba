#include "journal/batches.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

enum {
    B_ID,
    B_START,
    B_END,
    B_START_BOUND,
    B_END_BOUND,
    B_THREAD,
    B_STREAM,
    B_FUNCTION,
    B_NODE,
    B_PARENT,
    B_CALL,
    B_DEPTH,
    B_FLAGS,
    B_COLUMNS
};
static const char *const NAME[B_COLUMNS] = {"id",     "start_ns", "end_ns",   "start_bound_ns", "end_bound_ns",
                                            "thread", "stream",   "function", "node",           "parent",
                                            "call",   "depth",    "flags"};

/* Rows of a batch, each column behind the other: column c begins at c * room. */
typedef struct {
    int64_t *values; /* owned, until an array has it */
    size_t rows, room;
} batch;

typedef struct {
    sm_journal journal;
    const int64_t *function;
    int64_t from, to;
    sm_batches_owner owner;
    sm_sink sink;
    sm_wrong wrong;
    sm_decoder decoder;
    size_t stream;  /* the next one, in the index */
    uint64_t first; /* id of the first call of the one that is read */
    bool reading, failed, done;
    batch batch;
} batches;

static void columns_of(sm_arrow_column columns[B_COLUMNS], const batch *rows) {
    for (size_t c = 0; c < B_COLUMNS; c++) {
        columns[c] = (sm_arrow_column){
            .name = NAME[c], .format = 'l', .values = rows && rows->values ? rows->values + c * rows->room : NULL};
    }
}

/* Room for twice the rows. */
static bool grow(batch *b) {
    size_t room = b->room ? 2 * b->room : SM_BATCH_ROWS + SM_BATCH_ROWS / 2;
    int64_t *values = sm_malloc(room * B_COLUMNS * sizeof *values);
    if (values == NULL) {
        return false;
    }
    for (size_t c = 0; b->rows && c < B_COLUMNS; c++) {
        memcpy(values + c * room, b->values + c * b->room, b->rows * sizeof *values);
    }
    sm_free(b->values);
    b->values = values;
    b->room = room;
    return true;
}

static int take_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    batches *all = receiver;
    batch *b = &all->batch;
    if (call->end < all->from || call->start >= all->to) {
        return 0;
    }
    if (b->rows == b->room && !grow(b)) {
        all->failed = true;
        return 1;
    }
    int64_t *row = b->values + b->rows++;
    size_t room = b->room;
    row[B_ID * room] = (int64_t)(all->first + call->number);
    row[B_START * room] = call->start;
    row[B_END * room] = call->end;
    row[B_START_BOUND * room] = call->start_bound;
    row[B_END_BOUND * room] = call->end_bound;
    row[B_THREAD * room] = stream->thread;
    row[B_STREAM * room] = (int64_t)stream->number;
    row[B_FUNCTION * room] = all->function[call->node];
    row[B_NODE * room] = call->node;
    row[B_PARENT * room] = call->parent == SM_CALL_NONE ? -1 : (int64_t)(all->first + call->parent);
    row[B_CALL * room] = call->call == SM_CALL_NONE ? -1 : (int64_t)(all->first + call->call);
    row[B_DEPTH * room] = call->depth;
    row[B_FLAGS * room] = call->flags;
    return 0;
}

/* Reads on until there is a batch, or nothing more. False: out of memory. */
static bool read_on(batches *all) {
    const sm_index *index = all->journal.index;
    while (all->batch.rows < SM_BATCH_ROWS) {
        if (!all->reading && all->stream == index->streams) {
            return true;
        }
        if (!all->reading) {
            sm_decoder_begin(&all->decoder, &all->journal, &index->stream[all->stream++], all->from, all->to,
                             &all->sink, &all->wrong);
            all->reading = true;
        }
        if (!sm_decoder_step(&all->decoder)) {
            all->reading = false;
            all->first += all->decoder.machine.number;
            if (sm_decoder_end(&all->decoder) == SM_DECODE_NO_MEMORY || all->failed) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the stream ---- */

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    (void)stream;
    sm_arrow_column columns[B_COLUMNS];
    columns_of(columns, NULL);
    return sm_arrow_schema(out, columns, B_COLUMNS) < 0 ? ENOMEM : 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    batches *all = stream->private_data;
    if (all->failed || !read_on(all)) {
        all->failed = true;
        return ENOMEM;
    }
    if (all->batch.rows == 0) {
        *out = (struct ArrowArray){0};
        if (!all->done) {
            all->done = true;
            all->owner.done(all->owner.receiver, &all->wrong);
        }
        return 0;
    }
    sm_arrow_column columns[B_COLUMNS];
    columns_of(columns, &all->batch);
    if (sm_arrow_batch(out, columns, B_COLUMNS, (int64_t)all->batch.rows, sm_free, all->batch.values) < 0) {
        all->failed = true;
        return ENOMEM;
    }
    all->batch = (batch){0};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "out of memory";
}

static void release(struct ArrowArrayStream *stream) {
    batches *all = stream->private_data;
    if (all->reading) {
        sm_decoder_end(&all->decoder);
    }
    sm_free(all->batch.values);
    all->owner.drop(all->owner.receiver);
    sm_free(all);
    stream->release = NULL;
    stream->private_data = NULL;
}

int sm_batches_make(struct ArrowArrayStream *out, const sm_journal *journal, const int64_t *function, int64_t from,
                    int64_t to, size_t look_back, sm_batches_owner owner) {
    batches *all = sm_calloc(1, sizeof *all);
    if (all == NULL) {
        return -1;
    }
    all->journal = *journal;
    all->function = function;
    all->from = from;
    all->to = to;
    all->owner = owner;
    all->sink = (sm_sink){.receiver = all, .call = take_call, .look_back = look_back};
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release,
                                     .private_data = all};
    return 0;
}
