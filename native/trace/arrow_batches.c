#include "trace/arrow_batches.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"

enum { B_ID = 0, B_START = 1, B_START_BOUND = 3 }; /* numbers of columns */

const char *const sm_call_columns[SM_BATCH_COLUMNS] = {
    "start_ns", "end_ns", "start_bound_ns", "end_bound_ns", "thread", "stream", "function",
    "node",     "parent", "call",           "depth",        "flags",  NULL};

void sm_call_values(int64_t *values, const sm_call *call, const sm_stream *stream, const int64_t *function,
                    int64_t parent, int64_t first) {
    const int64_t row[] = {call->start,
                           call->end,
                           call->start_bound,
                           call->end_bound,
                           stream->thread,
                           (int64_t)stream->number,
                           function[call->node],
                           call->node,
                           parent,
                           first,
                           call->depth,
                           call->flags};
    memcpy(values, row, sizeof row);
}

/* A batch of rows, column by column: column c begins at values[c * room]. */
typedef struct {
    int64_t *values; /* owned, until an Arrow array takes it over */
    size_t rows, room;
} batch;

typedef struct {
    sm_trace journal;
    const int64_t *function;
    sm_batches_wish wish;
    sm_batches_owner owner;
    sm_sink sink;
    sm_wrong wrong;
    sm_decoder decoder;
    size_t stream;
    uint64_t first;   /* id of the current stream's first call */
    bool leapt, left; /* true if the beginning, or the end, of the current stream is skipped */
    bool reading, failed, done;
    batch batch;
} batches;

static void columns_of(const batches *all, sm_arrow_column columns[SM_BATCH_COLUMNS], const batch *rows) {
    for (size_t c = 0; c < all->wish.columns; c++) {
        columns[c] =
            (sm_arrow_column){.name = all->wish.column[c] == B_ID ? "id" : sm_call_columns[all->wish.column[c] - 1],
                              .format = 'l',
                              .values = rows && rows->values ? rows->values + c * rows->room : NULL};
    }
}

/* Double the batch's room. Return false if out of memory. */
static bool grow(batch *b, size_t columns) {
    size_t room = b->room ? 2 * b->room : SM_BATCH_ROWS + SM_BATCH_ROWS / 2;
    int64_t *values = sm_malloc(room * columns * sizeof *values);
    if (values == NULL)
        return false;
    for (size_t c = 0; b->rows && c < columns; c++)
        memcpy(values + c * room, b->values + c * b->room, b->rows * sizeof *values);
    sm_free(b->values);
    b->values = values;
    b->room = room;
    return true;
}

static int64_t id_of(const batches *all, uint64_t number) {
    return number == SM_CALL_NONE ? -1 : (int64_t)(all->first + number);
}

static int take_call(void *receiver, const sm_stream *stream, const sm_call *call) {
    batches *all = receiver;
    const sm_batches_wish *wish = &all->wish;
    const sm_seek *times = &wish->times;
    batch *b = &all->batch;
    if (call->end < wish->from || call->start >= wish->to || call->start < times->start_least ||
        call->start > times->start_most || call->end < times->end_least || call->end > times->end_most) {
        return 0;
    }
    if ((all->left && call->flags & SM_CALL_AFTER) ||
        (all->leapt && call->flags & SM_CALL_BEFORE && times->start_least > 0)) {
        return 0; /* one of its times is only the point where reading began or ended */
    }
    if (b->rows == b->room && !grow(b, wish->columns)) {
        all->failed = true;
        return 1;
    }
    int64_t value[SM_BATCH_COLUMNS] = {[B_ID] = (int64_t)(all->first + call->number)};
    sm_call_values(value + 1, call, stream, all->function, id_of(all, call->parent), id_of(all, call->call));
    int64_t *row = b->values + b->rows++;
    for (size_t c = 0; c < wish->columns; c++)
        row[c * b->room] = value[wish->column[c]];
    return 0;
}

/* Begin the next stream, at the first block that may have a wanted call. Return false on failure. */
static bool begin_stream(batches *all) {
    const sm_stream *stream = &all->journal.index->stream[all->stream++];
    size_t rows = all->batch.rows;
    all->left = false;
    all->leapt =
        all->wish.leaps && sm_seek_in(&all->decoder, &all->journal, stream, &all->wish.times, &all->sink, &all->wrong);
    if (all->leapt) {
        sm_wrong before = all->wrong;
        if (sm_decoder_step(&all->decoder) && sm_seek_is_sound(&all->decoder, &all->wish.times))
            return true;
        if (sm_decoder_end(&all->decoder) == SM_DECODE_NO_MEMORY || all->failed)
            return false;
        all->wrong = before;
        all->batch.rows = rows;
        all->leapt = false;
    } else if (all->wish.leaps) {
        sm_decoder_end(&all->decoder);
    }
    all->sink.look_back = all->wish.look_back;
    sm_decoder_begin(&all->decoder, &all->journal, stream, all->wish.from, all->wish.to, &all->sink, &all->wrong);
    return true;
}

/* Read until a batch is full or all is read. Return false if out of memory. */
static bool read_on(batches *all) {
    const sm_index *index = all->journal.index;
    while (all->batch.rows < SM_BATCH_ROWS) {
        if (!all->reading && all->stream == index->streams)
            return true;
        if (!all->reading && !begin_stream(all))
            return false;
        all->reading = true;
        all->left = all->left || (all->wish.leaps && sm_seek_out(&all->decoder, &all->wish.times));
        if (!sm_decoder_step(&all->decoder)) {
            all->reading = false;
            all->first += all->decoder.machine.number;
            if (sm_decoder_end(&all->decoder) == SM_DECODE_NO_MEMORY || all->failed)
                return false;
        }
    }
    return true;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    const batches *all = stream->private_data;
    sm_arrow_column columns[SM_BATCH_COLUMNS];
    columns_of(all, columns, NULL);
    return sm_arrow_schema(out, columns, all->wish.columns) < 0 ? ENOMEM : 0;
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
    sm_arrow_column columns[SM_BATCH_COLUMNS];
    columns_of(all, columns, &all->batch);
    if (sm_arrow_batch(out, columns, all->wish.columns, (int64_t)all->batch.rows, sm_free, all->batch.values) < 0) {
        all->failed = true;
        return ENOMEM;
    }
    all->batch = (batch){0};
    return 0;
}

static void release(struct ArrowArrayStream *stream) {
    batches *all = stream->private_data;
    if (all->reading)
        sm_decoder_end(&all->decoder);
    sm_free(all->batch.values);
    all->owner.drop(all->owner.receiver);
    sm_free(all);
    stream->release = NULL;
    stream->private_data = NULL;
}

int sm_batches_make(struct ArrowArrayStream *out, const sm_trace *journal, const int64_t *function,
                    const sm_batches_wish *wish, sm_batches_owner owner) {
    batches *all = sm_calloc(1, sizeof *all);
    if (all == NULL)
        return -1;
    all->journal = *journal;
    all->function = function;
    all->wish = *wish;
    sm_seek *times = &all->wish.times;
    times->starts = times->start_most < INT64_MAX;
    for (size_t c = 0; c < wish->columns; c++)
        times->starts = times->starts || wish->column[c] == B_START || wish->column[c] == B_START_BOUND;
    all->owner = owner;
    all->sink = (sm_sink){.receiver = all, .call = take_call, .look_back = wish->look_back};
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = sm_arrow_last_error,
                                     .release = release,
                                     .private_data = all};
    return 0;
}
