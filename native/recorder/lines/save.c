#include "base/alloc.h"
#include "engine/output.h"
#include "recorder/lines/line_tables.h"

static double to_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

/* Write a line's row. Threads and the sampler may change its counters meanwhile. */
static void save_line(sm_output *output, const sm_line *line) {
    uint32_t number = sm_output_function_number(output, line->table->function);
    if (number == UINT32_MAX)
        return;
    int64_t row[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    row[SM_LINES_ID] = line->id;
    row[SM_LINES_FUNCTION] = number;
    row[SM_LINES_LINE] = line->number;
    row[SM_LINES_HITS] = (int64_t)SM_READ(line->hits);
    row[SM_LINES_SAMPLED] = (int64_t)SM_READ(line->looks);
    row[SM_LINES_SAMPLED_NS] = (int64_t)to_ns((double)SM_READ(line->ticks));
    reals[SM_LINES_SAMPLED_SQ] = to_ns(to_ns(SM_READ(line->square)));
    reals[SM_LINES_INNER_NS] = to_ns(SM_READ(line->inner));
    reals[SM_LINES_INNER_VAR] = to_ns(to_ns(SM_READ(line->inner_square)));
    row[SM_LINES_AWAITS] = (int64_t)SM_READ(line->awaits);
    row[SM_LINES_AWAIT_NS] = (int64_t)to_ns((double)SM_READ(line->await_ticks));
    row[SM_LINES_WAIT_NS] = (int64_t)to_ns((double)SM_READ(line->off.all));
    row[SM_LINES_READY_NS] = (int64_t)to_ns((double)SM_READ(line->off.ready));
    row[SM_LINES_LOCK_NS] = (int64_t)to_ns((double)SM_READ(line->off.lock));
    reals[SM_LINES_WAIT_SQ] = to_ns(to_ns(SM_READ(line->off_square)));
    sm_writer_row(output->writer, SM_LINES, row, reals);
}

/* Return a sum that grows with every change. */
static uint64_t changes(const sm_line *line) {
    return SM_READ(line->hits) + SM_READ(line->looks) + SM_READ(line->awaits) + SM_READ(line->off.all) +
           (uint64_t)SM_READ(line->inner_square) + 1;
}

/* Call a function with each line of a store, and a context. Lines may be added meanwhile. */
static void each(const sm_line_store *store, void (*visit)(sm_line *line, void *context), void *context) {
    for (sm_line_block *block = __atomic_load_n(&store->blocks, __ATOMIC_ACQUIRE); block != NULL; block = block->next) {
        uint32_t used = __atomic_load_n(&block->used, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < used; i++)
            visit(&block->lines[i], context);
    }
}

typedef struct {
    sm_output *output;
    sm_line *sums;  /* owned: the lines with the counts of all threads, by id; NULL if the lines have them */
    uint32_t count; /* of these; younger lines are left to the next save */
} line_counts;

#if SM_FREE_THREADED
static void add_up(sm_line *line, void *context) {
    const line_counts *to = context;
    if (line->id >= to->count)
        return;
    if (line->home == NULL)
        to->sums[line->id] = *line;
    else
        sm_line_add(&to->sums[line->id], line);
}

static bool add_threads(line_counts *to) {
    to->count = __atomic_load_n(&sm_lines.lines_count, __ATOMIC_ACQUIRE);
    to->sums = sm_calloc(to->count, sizeof *to->sums);
    if (to->sums == NULL)
        return false;
    sm_sampler_lock();
    each(&sm_lines.store, add_up, to);
    SM_EACH_THREAD (thread)
        each(sm_lines_store(sm_lines_of(thread)), add_up, to);
    sm_sampler_unlock();
    return true;
}
#else
static bool add_threads(line_counts *to) {
    to->count = UINT32_MAX;
    return true;
}
#endif

static void save_changed(sm_line *line, void *context) {
    const line_counts *to = context;
    if (line->id >= to->count)
        return;
    const sm_line *sums = to->sums != NULL ? &to->sums[line->id] : line;
    uint64_t sum = changes(sums);
    if ((!sm_output_all(to->output) && sum == line->saved) || (line == sm_lines.store.elsewhere && sums->looks == 0))
        return;
    save_line(to->output, sums);
    if (!to->output->whole)
        line->saved = sum;
}

void sm_lines_save(sm_output *output) {
    line_counts to = {.output = output};
    if (add_threads(&to))
        each(&sm_lines.store, save_changed, &to);
    else
        SM_COUNT(sm_main.lost_memory);
    sm_free(to.sums);
    sm_output_loss(output, "lines-outside", sm_lines.outside, -1,
                   "hits of lines that a function's line table has no room for, counted on one of its lines");
}
