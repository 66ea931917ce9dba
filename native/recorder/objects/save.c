/* The objects recorder's rows in a recording.
 *
 * Without the GIL counters grow while they are read. So a part is read before its whole, and no row has more deaths
 * than births. A flush writes the rows whose sum of counters is not the one that the last flush wrote, or failed to
 * write. A row of objects has its site's number less one (site 0 is unattributed), in every snapshot.
 *
 * Rows of lifetimes are numbered in the order in which their buckets are first written. Numbers made of site and bucket
 * would exceed a reader's limit (file/reader.c), since most of a site's 32 buckets are unused. So rows are kept by
 * number, those of a site in a chain. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "recorder/calls/calltree.h"
#include "recorder/objects/marks_and_holders.h"
#include "recorder/objects/span_births.h"
#include "recorder/objects/store.h"

enum { FLAG_APPROXIMATE = 1, NO_NUMBER = UINT32_MAX };

typedef struct { /* a row of lifetimes in the file */
    uint32_t next;
    uint32_t bucket; /* plus the number of the unit times SM_OBJECTS_BUCKETS */
} age_row;

static struct {
    /* Guard: the engine's lock. */
    uint64_t (*names)[2]; /* owned; by type: the numbers of its module and its name in the file, or 0 */
    uint32_t names_size;
    uint32_t times, marks, holders; /* numbers of rows in the file */
    uint64_t last_time;
    age_row *ages;        /* owned; by number */
    uint32_t *first_ages; /* owned; by site: the number of its newest row + 1, or 0 */
    uint32_t ages_count, ages_size, first_ages_size;
    uint32_t image_ages;         /* rows of lifetimes in the current image */
    sm_reference_facts at_start; /* facts of the slot when the recording began */
} saved;

static void forget_ages(void) {
    SM_CLEAR(saved.ages);
    SM_CLEAR(saved.first_ages);
    saved.ages_count = saved.ages_size = saved.first_ages_size = 0;
}

void sm_objects_rows_forget(void) {
    sm_objects_spans_forget();
    sm_objects_survivors_forget();
    sm_objects_notes_forget();
    sm_free(saved.names);
    forget_ages();
    memset(&saved, 0, sizeof saved);
}

void sm_objects_rows_start(void) {
    sm_objects_rows_forget();
    sm_objects_spans_start();
    sm_reference_poll();
    saved.at_start = sm_reference_known_facts();
}

sm_reference_facts sm_objects_slot_facts(void) {
    sm_reference_facts now = sm_reference_known_facts();
    now.taken -= saved.at_start.taken;
    now.blind_ns -= saved.at_start.blind_ns;
    return now;
}

static uint64_t less(uint64_t all, uint64_t part) {
    return all > part ? all - part : 0;
}

/* Return where the numbers of a type's names are kept, or NULL. */
static uint64_t *names_of(const sm_output *output, uint32_t id) {
    if (output->whole)
        return NULL;
    return sm_grow_to(&saved.names, id, &saved.names_size, sizeof *saved.names) ? saved.names[id] : NULL;
}

static void write_type(sm_output *output, const sm_objects_type *type) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    uint64_t *names = names_of(output, type->id), once[2] = {0};
    if (names == NULL)
        names = once;
    if (names[1] == 0) {
        names[0] = sm_output_text(output, type->module);
        names[1] = sm_output_text(output, type->name);
    }
    uint64_t by_gc = SM_READ(type->died_by_gc), unseen = SM_READ(type->unseen);
    uint64_t gone = __atomic_load_n(&type->gone, __ATOMIC_ACQUIRE),
             born = __atomic_load_n(&type->born, __ATOMIC_ACQUIRE);
    uint64_t live = less(born, gone), peak = SM_READ(type->peak), died = less(gone, unseen);
    row[SM_TYPES_ID] = type->id;
    row[SM_TYPES_MODULE] = (int64_t)names[0];
    row[SM_TYPES_NAME] = (int64_t)names[1];
    row[SM_TYPES_FLAGS] = SM_READ(type->flags);
    row[SM_TYPES_SIZE] = (int64_t)type->size;
    row[SM_TYPES_ITEM_SIZE] = type->item_size;
    row[SM_TYPES_BORN] = (int64_t)born;
    row[SM_TYPES_DIED] = (int64_t)died;
    row[SM_TYPES_DIED_BY_GC] = (int64_t)(by_gc < died ? by_gc : died);
    row[SM_TYPES_LIVE] = (int64_t)live;
    row[SM_TYPES_PEAK] = (int64_t)(peak > live ? peak : live);
    row[SM_TYPES_BEFORE] = (int64_t)SM_READ(type->before);
    row[SM_TYPES_UNSEEN] = (int64_t)unseen;
    row[SM_TYPES_RESURRECTED] = (int64_t)SM_READ(type->resurrected);
    row[SM_TYPES_ITEM_BYTES] = (int64_t)SM_READ(type->item_bytes);
    sm_writer_row(output->writer, SM_TYPES, row, NULL);
}

static uint64_t mix(uint64_t sum, uint64_t first, uint64_t second, uint64_t third) {
    return sm_objects_mix(sm_objects_mix(sm_objects_mix(sum, first), second), third);
}

static void write_types(sm_output *output) {
    for (uint32_t i = 0; i < sm_objects.types.count; i++) {
        sm_objects_type *type = sm_objects.types.records[i];
        uint64_t sum = mix(1 + SM_READ(type->flags), SM_READ(type->born), SM_READ(type->gone), SM_READ(type->peak));
        sum = mix(sum, SM_READ(type->before), SM_READ(type->died_by_gc), SM_READ(type->item_bytes));
        sum = mix(sum, SM_READ(type->unseen), SM_READ(type->resurrected), type->size) | 1;
        if (!sm_output_all(output) && sum == type->saved)
            continue;
        write_type(output, type);
        if (!output->whole)
            type->saved = sum;
    }
}

/* Return the row's number in the output, which the first call gives it, or NO_NUMBER if out of memory. */
static uint32_t age_number(const sm_output *output, uint32_t site, uint32_t bucket) {
    if (output->whole)
        return saved.image_ages++;
    if (!sm_grow_to(&saved.first_ages, site, &saved.first_ages_size, sizeof *saved.first_ages))
        return NO_NUMBER;
    uint32_t *first = &saved.first_ages[site];
    for (uint32_t i = *first; i != 0; i = saved.ages[i - 1].next) {
        if (saved.ages[i - 1].bucket == bucket)
            return i - 1;
    }
    if (!sm_grow(&saved.ages, saved.ages_count, &saved.ages_size, sizeof *saved.ages, 1024))
        return NO_NUMBER;
    saved.ages[saved.ages_count] = (age_row){.next = *first, .bucket = bucket};
    *first = ++saved.ages_count;
    return saved.ages_count - 1;
}

static void write_ages(sm_output *output, uint32_t site, uint32_t unit, const uint64_t *counts, uint32_t first) {
    for (uint32_t i = 0; i < SM_OBJECTS_BUCKETS; i++) {
        uint64_t count = SM_READ(counts[i]);
        if (count == 0)
            continue;
        uint32_t number = age_number(output, site, unit * SM_OBJECTS_BUCKETS + i);
        if (number == NO_NUMBER) {
            output->lost++;
            continue;
        }
        int64_t row[SM_MAX_COLUMNS] = {0};
        row[SM_LIFETIMES_ID] = number;
        row[SM_LIFETIMES_OBJECT] = (int64_t)site - 1;
        row[SM_LIFETIMES_UNIT] = unit;
        row[SM_LIFETIMES_BUCKET] = first + i;
        row[SM_LIFETIMES_COUNT] = (int64_t)count;
        sm_writer_row(output->writer, SM_LIFETIMES, row, NULL);
    }
}

/* Return the number of the node's row, or -1 if rows may be missing because memory ran out. */
static int64_t node_number(const sm_output *output, const void *node) {
    if (node == NULL || sm_output_lost(output) != 0)
        return -1;
    return sm_calltree_number(node);
}

static void write_site(sm_output *output, uint32_t id) {
    const sm_objects_site *site = &sm_objects.sites[id];
    const sm_objects_rest *rest = &sm_objects.rests[id];
    uint32_t number = rest->function != NULL ? sm_output_function_number(output, rest->function) : UINT32_MAX;
    int64_t row[SM_MAX_COLUMNS] = {0};
    uint64_t by_gc = SM_READ(site->died_by_gc), unseen = SM_READ(rest->unseen), span_died = SM_READ(site->span_died);
    uint64_t died = __atomic_load_n(&site->died, __ATOMIC_ACQUIRE), span_born = SM_READ(site->span_born);
    uint64_t born = __atomic_load_n(&site->born, __ATOMIC_ACQUIRE);
    bool approximate = SM_READ(rest->approximate);
    uint64_t live = approximate ? SM_READ(site->live) * sm_objects.weight : less(born, died + unseen);
    uint64_t peak = SM_READ(site->peak) * sm_objects.weight;
    row[SM_OBJECTS_ID] = (int64_t)id - 1;
    row[SM_OBJECTS_TYPE] = site->type->id;
    row[SM_OBJECTS_FUNCTION] = number != UINT32_MAX ? (int64_t)number : -1;
    row[SM_OBJECTS_LINE] = rest->line;
    row[SM_OBJECTS_NODE] = node_number(output, rest->node);
    row[SM_OBJECTS_FLAGS] = approximate ? FLAG_APPROXIMATE : 0;
    row[SM_OBJECTS_BORN] = (int64_t)born;
    row[SM_OBJECTS_DIED] = (int64_t)died;
    row[SM_OBJECTS_DIED_BY_GC] = (int64_t)(by_gc < died ? by_gc : died);
    row[SM_OBJECTS_LIVE] = (int64_t)live;
    row[SM_OBJECTS_PEAK] = (int64_t)(peak > live ? peak : live);
    row[SM_OBJECTS_UNSEEN] = (int64_t)unseen;
    row[SM_OBJECTS_ITEM_BYTES] = (int64_t)SM_READ(site->item_bytes);
    row[SM_OBJECTS_SPAN_BORN] = (int64_t)span_born;
    row[SM_OBJECTS_SPAN_DIED] = (int64_t)span_died;
    row[SM_OBJECTS_SPAN_LIVE] = (int64_t)rest->span_live;
    sm_writer_row(output->writer, SM_OBJECTS, row, NULL);
    write_ages(output, id, 0, rest->events, 0);
    write_ages(output, id, 1, rest->ns, SM_OBJECTS_NS_BUCKET);
}

static void write_sites(sm_output *output) {
    for (uint32_t i = 1; i < sm_objects.sites_count; i++) {
        const sm_objects_site *site = &sm_objects.sites[i];
        sm_objects_rest *rest = &sm_objects.rests[i];
        uint64_t sum = sm_objects.weight + SM_READ(rest->approximate);
        sum = mix(sum, SM_READ(site->born), SM_READ(site->died),
                  (uint64_t)SM_READ(site->live) << 32 | SM_READ(site->peak));
        sum = mix(sum, SM_READ(site->span_born), SM_READ(site->span_died), rest->span_live);
        sum = mix(sum, SM_READ(site->item_bytes), SM_READ(site->died_by_gc), SM_READ(rest->unseen)) | 1;
        if (!sm_output_all(output) && sum == rest->saved)
            continue;
        write_site(output, i);
        if (!output->whole)
            rest->saved = sum;
    }
}

static void write_time(sm_output *output, uint32_t id, const sm_objects_time *time) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_OBJECT_TIMES_ID] = id;
    row[SM_OBJECT_TIMES_TIME_NS] = sm_objects_unix_ns(time->ticks);
    row[SM_OBJECT_TIMES_BORN] = (int64_t)time->born;
    row[SM_OBJECT_TIMES_DIED] = (int64_t)time->died;
    sm_writer_row(output->writer, SM_OBJECT_TIMES, row, NULL);
}

/* Write times from the file's last row on, which may have changed, or all if some were removed. Excess rows repeat
 * the last. */
static void write_times(sm_output *output) {
    uint32_t count = __atomic_load_n(&sm_objects.times_count, __ATOMIC_ACQUIRE),
             first = sm_output_all(output) ? 0 : saved.times;
    if (count == 0)
        return;
    if (first > count || (first > 0 && sm_objects.times[first - 1].ticks != saved.last_time))
        first = 0;
    for (uint32_t i = first > 0 ? first - 1 : 0; i < count; i++)
        write_time(output, i, &sm_objects.times[i]);
    if (output->whole)
        return;
    for (uint32_t i = count; i < saved.times; i++)
        write_time(output, i, &sm_objects.times[count - 1]);
    if (!output->anew || saved.times < count) /* the old file counts until it is replaced */
        saved.times = count;
    saved.last_time = sm_objects.times[count - 1].ticks;
}

static void write_marks(sm_output *output) {
    for (uint32_t i = sm_output_all(output) ? 0 : saved.marks; i < sm_objects_notes.marks_count; i++) {
        const sm_objects_mark *mark = &sm_objects_notes.marks[i];
        int64_t row[SM_MAX_COLUMNS] = {0};
        row[SM_MARKS_ID] = i;
        row[SM_MARKS_NAME] = (int64_t)sm_output_text(output, mark->name);
        row[SM_MARKS_TIME_NS] = sm_objects_unix_ns(mark->ticks);
        row[SM_MARKS_BORN] = (int64_t)mark->born;
        sm_writer_row(output->writer, SM_MARKS, row, NULL);
    }
    if (!output->whole)
        saved.marks = sm_objects_notes.marks_count;
}

/* Write holders, only at the end and in snapshots, because others may replace them. */
static void write_holders(sm_output *output) {
    for (uint32_t i = 0; i < sm_objects_notes.holders_count; i++) {
        const sm_objects_holder *holder = &sm_objects_notes.holders[i];
        int64_t row[SM_MAX_COLUMNS] = {0};
        row[SM_HOLDERS_ID] = i;
        row[SM_HOLDERS_OBJECT] = holder->object;
        row[SM_HOLDERS_PARENT] = holder->parent;
        row[SM_HOLDERS_FLAGS] = holder->flags;
        row[SM_HOLDERS_COUNT] = (int64_t)holder->count;
        row[SM_HOLDERS_ASKED] = (int64_t)holder->asked;
        row[SM_HOLDERS_HOLDER] = (int64_t)sm_output_text(output, holder->holder);
        row[SM_HOLDERS_BY] = (int64_t)sm_output_text(output, holder->by);
        sm_writer_row(output->writer, SM_HOLDERS, row, NULL);
    }
}

/* uncounted: ticks since the last count of survivors. */
static void write_losses(sm_output *output, uint64_t uncounted) {
    char detail[200];
    sm_reference_facts slot = sm_objects_slot_facts();
    sm_output_loss(output, "refs-taken", slot.taken, -1,
                   "times that tracemalloc, or another tool like it, took the reference tracer");
    sm_output_loss(output, "refs-blind", (uint64_t)slot.blind_ns, -1,
                   "nanoseconds in which another tool had the reference tracer: no birth or death was seen");
    snprintf(detail, sizeof detail,
             "one live object in so many is followed since more than %llu lived at once; what is marked as approximate "
             "is estimated from these",
             (unsigned long long)sm_objects.max_live);
    sm_output_loss(output, "objects-sampled", sm_objects.sampled != 0 ? sm_objects.weight : 0, -1, detail);
    sm_output_loss(output, "objects-lost", sm_objects.lost_live, -1,
                   "objects that could not be followed to their end for want of memory");
    sm_output_loss(output, "sites-full", sm_objects.lost_sites, -1,
                   "births that are counted by their type only: no memory or no number for the line that made them");
    sm_output_loss(output, "types-lost", sm_objects.lost_types, -1,
                   "births that are not counted at all: no memory for their type");
    sm_output_loss(output, "spans-lost", sm_objects_spans.lost, -1, "calls that were not followed for want of memory");
    snprintf(detail, sizeof detail, "calls that share a row of spans with others: %llu to a row",
             1ull << sm_objects_spans.shift);
    sm_output_loss(output, "spans-folded", sm_objects_spans.shift != 0 ? sm_objects_spans.count : 0, -1, detail);
    sm_output_loss(output, "refs-trashcan", sm_reftracer_trashcan(), -1,
                   "this version of Python does not report the end of containers that are nested deeply (gh-156371): "
                   "they seem to live on until their address is used again; 3.14.8 and 3.15.1 report it");
    sm_output_loss(output, "survivors-old", (uint64_t)sm_clock_ns(&sm_engine.clock, (double)uncounted), -1,
                   "nanoseconds before the last flush: when it was counted what calls left alive");
    sm_output_loss(output, "refs-unspecialised", sm_main.pair_count > 1, -1,
                   "with call paths there are a few more births: CPython makes tuples, bound methods and the like for "
                   "calls that would otherwise need none");
}

void sm_objects_save(sm_output *output) {
    uint64_t uncounted = sm_objects_count_survivors(output);
    if (output->anew) { /* it has no strings yet */
        SM_CLEAR(saved.names);
        saved.names_size = 0;
        forget_ages();
    }
    saved.image_ages = 0;
    write_types(output);
    write_sites(output);
    write_times(output);
    sm_objects_write_spans(output);
    write_marks(output);
    if (output->whole || sm_main.end_ns != 0)
        write_holders(output);
    write_losses(output, uncounted);
}
