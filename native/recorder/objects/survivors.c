/* The survivors of spans: rows of object_spans and object_survivors.
 *
 * Counting: One pass over the live table adds every object that was born in a span to its span's row, to its site, and
 * to the pair of both. Pairs are few compared with objects.
 *
 * When: In snapshots, at the end, and at each flush. The flush worker counts while the program runs, so an entry that
 * moves may be missed or counted twice. The program waits if its table has to grow. So with many objects a count is
 * skipped if the last one took more than 2 % of the time since. Then the file has an earlier count, with its age. After
 * rows of spans were merged, a count is necessary, because older pairs would refer to the wrong rows.
 *
 * Rows: A file's rows can be replaced but not removed. So pairs keep their row from one flush to the next, and only
 * changes are written. Rows of pairs that are gone are reused by new pairs, or get a count of 0, which readers skip. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "recorder/objects/span_births.h"
#include "recorder/objects/store.h"

enum {
    FEW = 1000000, /* so many objects are counted at each flush, in some milliseconds */
    SHARE = 50,    /* with more objects, counting may take 1/SHARE of the time */
    NO_ROW = UINT32_MAX,
};

typedef struct {
    uint64_t key; /* row of spans << 32 | site; sites are never 0 */
    uint64_t count;
    uint64_t written; /* the count that the file has */
    uint32_t row;     /* its row in the file, or NO_ROW */
} pair;

typedef struct {
    pair *pairs; /* owned; by key */
    uint32_t count;
} pair_set;

typedef struct {
    sm_map pairs;
    uint64_t lost;
} counting;

static struct {
    /* Guard: the engine's lock. */
    pair_set pairs; /* result of the last count */
    char *taken;    /* owned; for each row in the file: UNUSED, OLD or NEW */
    uint32_t rows, rows_size;
    uint32_t folds;    /* sm_objects_spans.folds at the last count */
    uint64_t at, took; /* ticks: the time of the last count, or 0, and its duration */
} kept;

enum { UNUSED, OLD, NEW }; /* a row without a pair, with one of the last count, with one of this count */

static void count_object(const sm_object *object, void *context) {
    counting *so_far = context;
    uint32_t row = object->span != 0 ? sm_objects_span_row_of(object->span, object->serial) : UINT32_MAX;
    if (row == UINT32_MAX)
        return;
    sm_objects_spans.rows[row].live += sm_objects.weight;
    sm_objects.rests[object->site].span_live += sm_objects.weight;
    pair *at = sm_map_make(&so_far->pairs, (uint64_t)row << 32 | object->site, sizeof *at, 1024);
    if (at == NULL) {
        so_far->lost += sm_objects.weight;
        return;
    }
    at->row = NO_ROW;
    at->count += sm_objects.weight;
}

static int by_key(const void *a, const void *b) {
    uint64_t left = ((const pair *)a)->key, right = ((const pair *)b)->key;
    return left < right ? -1 : left > right;
}

/* Return the pairs by key, in the memory of the map. */
static pair_set in_order(counting *counted) {
    pair_set set = {(pair *)(void *)counted->pairs.places, 0};
    for (uint32_t i = 0; i < counted->pairs.size; i++) {
        if (set.pairs[i].key != 0)
            set.pairs[set.count++] = set.pairs[i];
    }
    if (set.count > 0)
        qsort(set.pairs, set.count, sizeof *set.pairs, by_key);
    return set;
}

static void write_pair(sm_output *output, uint32_t id, uint64_t key, uint64_t count) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_OBJECT_SURVIVORS_ID] = id;
    row[SM_OBJECT_SURVIVORS_SPAN] = (int64_t)(key >> 32);
    row[SM_OBJECT_SURVIVORS_OBJECT] = (int64_t)(uint32_t)key - 1;
    row[SM_OBJECT_SURVIVORS_COUNT] = (int64_t)count;
    sm_writer_row(output->writer, SM_OBJECT_SURVIVORS, row, NULL);
}

/* Find the pairs of the last count, and mark the rows that they keep. */
static void keep_rows(pair_set *now) {
    const pair *old = kept.pairs.pairs, *end = old + (kept.folds == sm_objects_spans.folds ? kept.pairs.count : 0);
    for (pair *at = now->pairs; at < now->pairs + now->count; at++) {
        while (old < end && old->key < at->key)
            old++;
        if (old < end && old->key == at->key) {
            at->row = old->row;
            at->written = old->written;
            kept.taken[at->row] = NEW;
        }
    }
}

/* Give a row to each pair without one. There is room for all. */
static void give_rows(pair_set *now) {
    uint32_t row = 0;
    for (pair *at = now->pairs; at < now->pairs + now->count; at++) {
        if (at->row != NO_ROW)
            continue;
        while (row < kept.rows && kept.taken[row] == NEW)
            row++;
        at->row = row;
        kept.taken[row] = NEW;
        if (row == kept.rows)
            kept.rows++;
    }
}

static bool make_room(uint64_t rows) {
    if (rows <= kept.rows_size)
        return true;
    if (rows >= NO_ROW || !sm_resize(&kept.taken, rows * 2))
        return false;
    memset(kept.taken + kept.rows_size, UNUSED, rows * 2 - kept.rows_size);
    kept.rows_size = (uint32_t)(rows * 2 < NO_ROW ? rows * 2 : NO_ROW);
    return true;
}

/* Write the changes, and keep this count. Return false, without a change, if out of memory. */
static bool bring_up_to_date(sm_output *output, pair_set *now) {
    if (!make_room((uint64_t)kept.rows + now->count))
        return false;
    keep_rows(now);
    give_rows(now);
    for (pair *at = now->pairs; at < now->pairs + now->count; at++) {
        if (at->count != at->written || output->anew)
            write_pair(output, at->row, at->key, at->count);
        at->written = at->count;
    }
    for (uint32_t row = 0; row < kept.rows; row++) {
        if (kept.taken[row] == OLD)
            write_pair(output, row, 1, 0);
        kept.taken[row] = kept.taken[row] == NEW ? OLD : UNUSED;
    }
    sm_free(kept.pairs.pairs);
    kept.pairs = *now;
    kept.folds = sm_objects_spans.folds;
    return true;
}

static void write_span(sm_output *output, uint32_t id) {
    const sm_objects_span_row *span = &sm_objects_spans.rows[id];
    uint32_t number = sm_output_function_number(output, span->function);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_OBJECT_SPANS_ID] = id;
    row[SM_OBJECT_SPANS_FUNCTION] = number != UINT32_MAX ? (int64_t)number : -1;
    row[SM_OBJECT_SPANS_FIRST] = (int64_t)id << sm_objects_spans.shift;
    row[SM_OBJECT_SPANS_CALLS] = span->calls;
    row[SM_OBJECT_SPANS_START_NS] = sm_objects_unix_ns(span->start_ticks);
    row[SM_OBJECT_SPANS_END_NS] = span->open == 0 ? sm_objects_unix_ns(span->end_ticks) : 0;
    row[SM_OBJECT_SPANS_BORN] = (int64_t)span->born;
    row[SM_OBJECT_SPANS_DIED] = (int64_t)span->died;
    row[SM_OBJECT_SPANS_LIVE] = (int64_t)span->live;
    sm_writer_row(output->writer, SM_OBJECT_SPANS, row, NULL);
}

static uint64_t changes(const sm_objects_span_row *span) {
    uint64_t sum = sm_objects_mix(sm_objects_mix(1 + span->calls, span->born), span->died);
    return sm_objects_mix(sm_objects_mix(sm_objects_mix(sum, span->live), span->end_ticks), span->open == 0) | 1;
}

static bool is_worth_it(uint64_t now) {
    return kept.at == 0 || kept.folds != sm_objects_spans.folds || sm_objects_live_count() < FEW ||
           now - kept.at >= kept.took * SHARE;
}

uint64_t sm_objects_count_survivors(sm_output *output) {
    uint64_t now = sm_clock_read(&sm_engine.clock);
    bool must = output->whole || sm_main.end_ns != 0;
    if (sm_objects_spans.count == 0)
        return 0;
    if (!must && !is_worth_it(now)) {
        for (uint32_t i = 0; output->anew && i < kept.pairs.count; i++)
            write_pair(output, kept.pairs.pairs[i].row, kept.pairs.pairs[i].key, kept.pairs.pairs[i].count);
        return now > kept.at ? now - kept.at : 0;
    }
    for (uint32_t i = 0; i < sm_objects_spans.rows_count; i++)
        sm_objects_spans.rows[i].live = 0;
    for (uint32_t i = 0; i < sm_objects.sites_count; i++)
        sm_objects.rests[i].span_live = 0;
    counting counted = {.lost = 0};
    sm_objects_each_live(count_object, &counted);
    pair_set set = in_order(&counted);
    output->lost += counted.lost != 0;
    if (output->whole) {
        for (uint32_t i = 0; i < set.count; i++)
            write_pair(output, i, set.pairs[i].key, set.pairs[i].count);
        sm_free(set.pairs);
        kept.at = 0; /* the sums are newer than the file, so the next flush counts, too */
        return 0;
    }
    if (!bring_up_to_date(output, &set)) {
        output->lost++;
        sm_free(set.pairs);
    }
    kept.at = now;
    kept.took = sm_clock_read(&sm_engine.clock) - now;
    return 0;
}

void sm_objects_survivors_forget(void) {
    sm_free(kept.pairs.pairs);
    sm_free(kept.taken);
    memset(&kept, 0, sizeof kept);
}

void sm_objects_write_spans(sm_output *output) {
    sm_objects_spans_state *spans = &sm_objects_spans;
    for (uint32_t i = 0; i < spans->rows_count; i++) {
        uint64_t sum = changes(&spans->rows[i]);
        if (sm_output_all(output) || sum != spans->rows[i].saved || spans->folds != spans->folds_saved)
            write_span(output, i);
        if (!output->whole)
            spans->rows[i].saved = sum;
    }
    if (output->whole)
        return;
    for (uint32_t i = spans->rows_count; i < spans->written && (output->anew || spans->folds != spans->folds_saved);
         i++) {
        int64_t row[SM_MAX_COLUMNS] = {0};
        row[SM_OBJECT_SPANS_ID] = i;
        row[SM_OBJECT_SPANS_FUNCTION] = -1;
        sm_writer_row(output->writer, SM_OBJECT_SPANS, row, NULL);
    }
    spans->folds_saved = spans->folds;
    if (spans->written < spans->rows_count)
        spans->written = spans->rows_count;
}
