/* The linetimes' rows in a recording. */
#include <math.h>

#include "engine/output.h"
#include "recorder/lines/store.h"

#define AT_MOST 2 /* a flag of lines */

static double to_ns(double ticks) {
    return sm_clock_ns(&sm_engine.clock, ticks);
}

static void save_line(sm_output *output, const sm_line *line, sm_so_far open) {
    const sm_line_times *times = &line->times;
    uint32_t number = sm_output_function_number(output, line->table->function);
    if (number == UINT32_MAX)
        return;
    int64_t row[SM_MAX_COLUMNS] = {0};
    double reals[SM_MAX_COLUMNS] = {0};
    row[SM_LINES_ID] = line->id;
    row[SM_LINES_FUNCTION] = number;
    row[SM_LINES_LINE] = line->number;
    row[SM_LINES_HITS] = (int64_t)line->hits;
    row[SM_LINES_SEGMENTS] = (int64_t)(line->hits + line->more);
    row[SM_LINES_TIMED] = (int64_t)times->timed;
    row[SM_LINES_TIMED_NS] = (int64_t)fmax(0.0, to_ns((double)(int64_t)(times->timed_ticks + open.ticks)));
    reals[SM_LINES_TIMED_SQ] = to_ns(to_ns(times->timed_sq));
    row[SM_LINES_SAMPLED] = (int64_t)times->sampled;
    row[SM_LINES_SAMPLED_NS] = (int64_t)to_ns((double)times->sampled_ticks);
    reals[SM_LINES_SAMPLED_SQ] = to_ns(to_ns(times->sampled_sq));
    row[SM_LINES_TICKED] = (int64_t)times->ticked;
    row[SM_LINES_TICKED_NS] = (int64_t)to_ns((double)times->ticked_ticks);
    reals[SM_LINES_TICKED_VAR] = to_ns(to_ns(times->ticked_var));
    reals[SM_LINES_SAMPLED_MOST] = to_ns(to_ns(times->sampled_most));
    reals[SM_LINES_INNER_NS] = fmax(0.0, to_ns(times->inner));
    reals[SM_LINES_INNER_VAR] = fmax(0.0, to_ns(to_ns(times->inner_var)));
    reals[SM_LINES_INNER_COST] = fmax(0.0, to_ns(times->inner_cost));
    reals[SM_LINES_SEARCH_ERROR] = to_ns(times->search_error);
    reals[SM_LINES_INNER_SEARCH_ERROR] = to_ns(times->inner_search_error);
    row[SM_LINES_FLAGS] = line->at_most ? AT_MOST : 0;
    row[SM_LINES_AWAITS] = (int64_t)times->awaits;
    row[SM_LINES_AWAIT_NS] = (int64_t)to_ns((double)times->await_ticks);
    sm_off_add(&open.off, &times->off);
    row[SM_LINES_WAIT_NS] = (int64_t)to_ns((double)open.off.all);
    row[SM_LINES_READY_NS] = (int64_t)to_ns((double)open.off.ready);
    row[SM_LINES_LOCK_NS] = (int64_t)to_ns((double)open.off.lock);
    reals[SM_LINES_WAIT_SQ] = to_ns(to_ns(times->off_sq));
    sm_young_save(&times->young, row, reals, SM_LINES_YOUNG);
    sm_writer_row(output->writer, SM_LINES, row, reals);
}

/* Grows with every change but those of inner times, which change with them or with another line's: hence `inner`. */
static uint64_t changes(const sm_line *line) {
    const sm_line_times *times = &line->times;
    return line->hits + line->more + times->timed + times->sampled + times->ticked + times->awaits + times->off.all +
           times->young.count + (uint64_t)(int64_t)times->inner + 1;
}

/* What the segments that are being timed have got so far, by line: there are as many as threads. */
static sm_so_far open_ticks(const sm_line *line, uint64_t now) {
    sm_so_far all = {0, {0}};
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        const sm_lines_thread *state = sm_lines_of(thread);
        if (thread->session != sm_engine.session || state->segments.open != line)
            continue;
        sm_so_far one = sm_segments_so_far(thread, &state->segments, now);
        all.ticks += one.ticks;
        sm_off_add(&all.off, &one.off);
    }
    return all;
}

/* Marks the lines whose segments are open, so that not every line has to look at every thread. */
static void mark_open(bool open) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        sm_lines_thread *state = sm_lines_of(thread);
        sm_line *line = state->segments.open;
        if (thread->session == sm_engine.session && line != NULL && state->segments.open_step == SM_SEGMENT_ALWAYS)
            line->is_open = open;
    }
}

/* A frame that runs has taken what went by until now, or until its recording was stopped. */
static void tell_pending(sm_thread *thread, uint64_t now) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (thread->end_ns != 0)
        now = thread->end_ticks;
    if (state->segments.pauses)
        now = state->segments.paused;
    sm_lines_add_pending(state, (now > state->segments.seen ? now : state->segments.seen) - state->lost);
}

void sm_linetimes_save(sm_output *output) {
    uint64_t now = sm_clock_read(&sm_engine.clock);
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session)
            tell_pending(thread, now);
    }
    mark_open(true);
    for (sm_line_block *block = sm_lines.blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->used; i++) {
            sm_line *line = &block->lines[i];
            uint64_t sum = changes(line);
            sm_so_far open = {0, {0}};
            if (line->is_open)
                open = open_ticks(line, now);
            if (!sm_output_all(output) && open.ticks + open.off.all == 0 && sum == line->saved)
                continue;
            save_line(output, line, open);
            if (!output->whole)
                line->saved = sum;
        }
    }
    mark_open(false);
    if (sm_engine.settings.opcodes)
        sm_lines_save_instructions(output);
    if (output->whole || sm_lines.stopped)
        sm_output_sources(output, sm_lines.folder[0] ? sm_lines.folder : NULL);
    sm_output_loss(output, "lines-outside", sm_lines.outside, -1,
                   "hits of lines that a function's line table has no room for, counted on one of its lines");
}
int sm_linetimes_calibrate(void) { return 0; }
