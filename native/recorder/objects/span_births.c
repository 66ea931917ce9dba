/* The spans of the objects recorder.
 *
 * A live entry has 18 bits for its span. So it holds the low part of a number that the process never reuses, and the
 * serial resolves ambiguity: an object belongs to the latest span with this low part that had begun when it was born.
 * That is wrong only for a span that ran while 2^18 others began.
 *
 * There are at most 4096 rows: for more calls, every two consecutive rows are merged into one, which has their sums.
 * Survivors are found from the live table (survivors.c), since counting at deaths would make every death read a
 * row.
 *
 * Most deaths belong to the span that runs on this thread, which one comparison finds. Other open spans are found by
 * their low part in a hash table.
 *
 * Threads keep a pointer to the record of their span. A recording may end while another thread is inside a span, and
 * nobody can write to that thread's storage. So records are reused but never freed, and one is valid only if it has the
 * number that the thread knows. */
#include "recorder/objects/span_births.h"

#include "base/alloc.h"

enum {
    LOWS = (1 << SM_OBJECTS_SPAN_BITS) - 1,
    BUCKETS = 1024,
};

sm_objects_spans_state sm_objects_spans;

static struct {
    /* Guard: the GIL. */
    sm_objects_span *buckets[BUCKETS]; /* open spans of this recording, by low part */
    sm_objects_span *free;
    uint64_t given; /* numbers given in the whole process */
} open;

static uint32_t low_of(uint64_t span) {
    return (uint32_t)(span % LOWS) + 1;
}

static sm_objects_span **link_of(uint32_t low) {
    sm_objects_span **link = &open.buckets[low % BUCKETS];
    while (*link != NULL && (*link)->low != low)
        link = &(*link)->next;
    return link;
}

static sm_objects_span_row *row_of(uint64_t number) {
    return &sm_objects_spans.rows[number >> sm_objects_spans.shift];
}

static void fold(void) {
    sm_objects_spans_state *spans = &sm_objects_spans;
    for (uint32_t i = 0; i < spans->rows_count; i += 2) {
        sm_objects_span_row into = spans->rows[i];
        if (i + 1 < spans->rows_count) {
            const sm_objects_span_row *next = &spans->rows[i + 1];
            into.calls += next->calls;
            into.open += next->open;
            into.born += next->born;
            into.died += next->died;
            if (next->end_ticks > into.end_ticks)
                into.end_ticks = next->end_ticks;
        }
        spans->rows[i / 2] = into;
    }
    spans->rows_count = (spans->rows_count + 1) / 2;
    spans->shift++;
    spans->folds++;
}

/* Return the row of the next call, or NULL if out of memory. With the engine's lock. */
static sm_objects_span_row *next_row(const sm_function *function) {
    sm_objects_spans_state *spans = &sm_objects_spans;
    if (spans->count >> spans->shift == SM_OBJECTS_SPAN_ROWS)
        fold();
    uint32_t number = (uint32_t)(spans->count >> spans->shift);
    if (!sm_grow(&spans->rows, number, &spans->rows_size, sizeof *spans->rows, 64))
        return NULL;
    sm_objects_span_row *row = &spans->rows[number];
    if (number == spans->rows_count) {
        *row = (sm_objects_span_row){.function = function,
                                     .start_ticks = sm_clock_read(&sm_engine.clock),
                                     .first_serial = sm_objects.births + 1};
        spans->rows_count++;
    }
    return row;
}

uint64_t sm_objects_span_open(const sm_function *function) {
    SM_OBJECTS_GUARD;
    if (open.free == NULL) {
        open.free = sm_calloc(1, sizeof *open.free);
        if (open.free == NULL) {
            sm_objects_spans.lost++;
            return 0;
        }
    }
    uint64_t number = open.given + 1;
    sm_engine_lock();
    sm_objects_span_row *row = *link_of(low_of(number)) == NULL ? next_row(function) : NULL;
    sm_engine_unlock();
    if (row == NULL) { /* out of memory, or a span that began 2^18 calls ago still runs */
        sm_objects_spans.lost++;
        return 0;
    }
    open.given = number;
    row->calls++;
    row->open++;
    sm_objects_span *span = open.free;
    open.free = span->next;
    sm_objects_span **link = &open.buckets[low_of(number) % BUCKETS];
    *span = (sm_objects_span){number, low_of(number), sm_objects_spans.count++, sm_objects.births + 1, *link};
    *link = span;
    return number;
}

void sm_objects_span_close(uint64_t number) {
    SM_OBJECTS_GUARD;
    sm_objects_span **link = link_of(low_of(number)), *span = *link;
    if (span == NULL || span->span != number)
        return;
    sm_objects_span_row *row = row_of(span->row);
    row->open--;
    row->end_ticks = sm_clock_read(&sm_engine.clock);
    *link = span->next;
    *span = (sm_objects_span){.next = open.free};
    open.free = span;
}

void sm_objects_span_run(uint64_t number) {
    SM_OBJECTS_GUARD;
    sm_objects_span *span = number != 0 ? *link_of(low_of(number)) : NULL;
    if (span != NULL && span->span != number)
        span = NULL;
    sm_objects_here.span = span != NULL ? span->low : 0;
    sm_objects_here.running = span;
}

void sm_objects_span_born(sm_objects_site *site) {
    const sm_objects_span *span = sm_objects_here.running;
    if (SM_UNLIKELY(span == NULL || span->span == 0 || span->low != sm_objects_here.span)) {
        sm_objects_here.running = NULL; /* belongs to an earlier recording */
        sm_objects_here.span = 0;
        return;
    }
    site->span_born++;
    row_of(span->row)->born++;
}

/* Return the row of a span that has not ended, or NULL. Other spans may have the same low part. */
static sm_objects_span_row *open_row(uint32_t low, uint64_t serial) {
    const sm_objects_span *span = sm_objects_here.running;
    if (span == NULL || span->low != low)
        span = *link_of(low);
    return span != NULL && span->span != 0 && serial >= span->first_serial ? row_of(span->row) : NULL;
}

void sm_objects_span_died(sm_objects_site *site, uint32_t low, uint64_t serial, uint64_t weight) {
    sm_objects_span_row *row = open_row(low, serial);
    if (row == NULL)
        return;
    site->span_died += weight;
    row->died += weight;
}

void sm_objects_span_unborn(sm_objects_site *site, uint32_t low, uint64_t serial) {
    sm_objects_span_row *row = open_row(low, serial);
    if (row == NULL)
        return;
    site->span_born--;
    row->born--;
}

uint32_t sm_objects_span_row_of(uint32_t low, uint64_t serial) {
    const sm_objects_spans_state *spans = &sm_objects_spans;
    if (spans->count == 0 || low == 0)
        return UINT32_MAX;
    uint64_t last = spans->before + spans->count; /* an upper bound of the numbers with this low part */
    uint64_t back = (last % LOWS + LOWS - (low - 1)) % LOWS;
    while (back < spans->count) {
        uint64_t number = last - back - spans->before - 1;
        if (row_of(number)->first_serial <= serial)
            return (uint32_t)(number >> spans->shift);
        back += LOWS;
    }
    return UINT32_MAX;
}

void sm_objects_spans_forget(void) {
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (open.buckets[i] != NULL) {
            sm_objects_span *span = open.buckets[i];
            open.buckets[i] = span->next;
            *span = (sm_objects_span){.next = open.free};
            open.free = span;
        }
    }
    sm_free(sm_objects_spans.rows);
    sm_objects_spans = (sm_objects_spans_state){0};
}

void sm_objects_spans_start(void) {
    sm_objects_spans_forget();
    sm_objects_spans.before = open.given;
}
