/* The coverage recorder's rows of lines, arcs and branches. All with the engine's lock. */
#include <string.h>

#include "recorder/coverage/store.h"

enum { FLAG_NOT_COUNTED = 1, FLAG_SILENT = 2 };

static uint64_t count_of(const sm_cover_function *of, uint32_t line) {
    return of->counts != NULL ? __atomic_load_n(&of->counts[line], __ATOMIC_RELAXED) : 0;
}

static bool is_line_new(const sm_cover_function *of, uint32_t line) {
    return of->lines[line].row > sm_cover_store.saved[SM_COVER_LINES] ||
           (of->counts != NULL && count_of(of, line) != of->saved[line]);
}

static bool is_step_new(const sm_cover_step *step) {
    return step->place.row > sm_cover_store.saved[SM_COVER_STEPS] || step->count != step->saved;
}

static uint64_t taken(const sm_cover_jump *jump, int way) {
    return __atomic_load_n(&jump->taken[way], __ATOMIC_RELAXED);
}

static bool is_jump_new(const sm_cover_jump *jump) {
    return jump->row > sm_cover_store.saved[SM_COVER_BRANCHES] || taken(jump, 0) + taken(jump, 1) != jump->saved;
}

static uint32_t jumps_of(const sm_cover_function *of) {
    return of->table != NULL ? of->table->count : 0;
}

static bool has_new_counts(const sm_cover_function *of) {
    bool has = false;
    for (uint32_t i = 0; i < of->size && !has; i++)
        has = is_line_new(of, i);
    for (uint32_t i = 0; i < jumps_of(of) && !has; i++)
        has = is_jump_new(&of->jumps[i]);
    for (uint32_t i = 0; i < of->steps_count && !has; i++)
        has = is_step_new(&of->steps[i]);
    return has;
}

bool sm_cover_has_news(void) {
    bool has = false;
    if (!sm_cover.counts)
        return false; /* hits stir the recording up */
    sm_engine_lock();
    for (const sm_cover_function *of = sm_cover_store.functions; of != NULL && !has; of = of->next)
        has = has_new_counts(of);
    sm_engine_unlock();
    return has;
}

static void save_line(sm_output *output, sm_cover_function *of, uint32_t line) {
    uint64_t count = count_of(of, line);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_LINES_ID] = of->lines[line].row - 1;
    row[SM_LINES_FUNCTION] = sm_output_function_number(output, of->function);
    row[SM_LINES_LINE] = of->first + (int64_t)line;
    row[SM_LINES_HITS] = of->counts != NULL ? (int64_t)count : 1;
    row[SM_LINES_FLAGS] = of->counts != NULL ? 0 : FLAG_NOT_COUNTED;
    if (row[SM_LINES_FUNCTION] == UINT32_MAX)
        return;
    sm_writer_row(output->writer, SM_LINES, row, NULL);
    if (of->saved != NULL && !output->whole)
        of->saved[line] = count;
}

static void save_step(sm_output *output, const sm_cover_function *of, sm_cover_step *step) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_ARCS_ID] = step->place.row - 1;
    row[SM_ARCS_FUNCTION] = sm_output_function_number(output, of->function);
    row[SM_ARCS_FROM_LINE] = step->from;
    row[SM_ARCS_TO_LINE] = step->to;
    row[SM_ARCS_HITS] = sm_cover.counts ? (int64_t)step->count : 1;
    row[SM_ARCS_FLAGS] = sm_cover.counts ? 0 : FLAG_NOT_COUNTED;
    if (row[SM_ARCS_FUNCTION] == UINT32_MAX)
        return;
    sm_writer_row(output->writer, SM_ARCS, row, NULL);
    if (!output->whole)
        step->saved = (uint64_t)(sm_cover.counts ? row[SM_ARCS_HITS] : 0);
}

static void save_jump(sm_output *output, const sm_cover_function *of, uint32_t number) {
    const sm_branch *branch = &of->table->branches[number];
    sm_cover_jump *jump = &of->jumps[number];
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_BRANCHES_ID] = jump->row - 1;
    row[SM_BRANCHES_FUNCTION] = sm_output_function_number(output, of->function);
    row[SM_BRANCHES_OFFSET] = branch->offset;
    row[SM_BRANCHES_KIND] = branch->kind;
    row[SM_BRANCHES_LINE] = branch->line;
    row[SM_BRANCHES_COLUMN] = branch->column;
    row[SM_BRANCHES_END_LINE] = branch->end_line;
    row[SM_BRANCHES_END_COLUMN] = branch->end_column;
    row[SM_BRANCHES_FELL] = (int64_t)taken(jump, SM_FELL);
    row[SM_BRANCHES_JUMPED] = (int64_t)taken(jump, SM_JUMPED);
    row[SM_BRANCHES_FLAGS] = (sm_cover.counts ? 0 : FLAG_NOT_COUNTED) | (branch->silent != 0 ? FLAG_SILENT : 0);
    if (row[SM_BRANCHES_FUNCTION] == UINT32_MAX)
        return;
    sm_writer_row(output->writer, SM_BRANCHES, row, NULL);
    if (!output->whole)
        jump->saved = (uint64_t)(row[SM_BRANCHES_FELL] + row[SM_BRANCHES_JUMPED]);
}

/* Set the counts of steps to the sums of what was taken of the branches that lead to each. */
static void sum_steps(sm_cover_function *of) {
    if (!sm_cover.counts || jumps_of(of) == 0)
        return;
    for (uint32_t i = 0; i < of->steps_count; i++)
        of->steps[i].count = 0;
    for (uint32_t i = 0; i < of->table->count; i++) {
        for (int way = 0; way < 2; way++) {
            if (of->jumps[i].step[way] != 0)
                of->steps[of->jumps[i].step[way] - 1].count += taken(&of->jumps[i], way);
        }
    }
}

static void save_function(sm_output *output, sm_cover_function *of) {
    bool all = sm_output_all(output);
    for (uint32_t i = 0; i < of->size; i++) {
        if (of->lines[i].row == 0 && count_of(of, i) > 0)
            of->lines[i].row = ++sm_cover_store.rows[SM_COVER_LINES];
        if (of->lines[i].row != 0 && (all || is_line_new(of, i)))
            save_line(output, of, i);
    }
    sum_steps(of);
    for (uint32_t i = 0; i < of->steps_count; i++) {
        if (of->steps[i].place.row != 0 && (all || is_step_new(&of->steps[i])))
            save_step(output, of, &of->steps[i]);
    }
    for (uint32_t i = 0; i < jumps_of(of); i++) {
        if (of->jumps[i].row != 0 && (all || is_jump_new(&of->jumps[i])))
            save_jump(output, of, i);
    }
    of->news = of->news && output->whole;
}

void sm_cover_number_jumps(sm_cover_function *of) {
    for (uint32_t i = 0; i < jumps_of(of); i++)
        of->jumps[i].row = ++sm_cover_store.rows[SM_COVER_BRANCHES];
    of->news = true;
    sm_engine_stir(&sm_beside);
}

void sm_cover_save(sm_output *output) {
    sm_cover_store_state *store = &sm_cover_store;
    for (sm_cover_function *of = store->functions; of != NULL; of = of->next) {
        if (of->news || sm_cover.counts || sm_output_all(output))
            save_function(output, of);
    }
    if (!output->whole)
        memcpy(store->saved, store->rows, sizeof store->saved);
    sm_cover_save_contexts(output);
    sm_output_loss(output, "odd-lines", sm_cover.odd_lines, -1,
                   "line events with numbers that the code's own line table does not have, or has too far apart");
    sm_output_loss(output, "odd-branches", sm_cover.odd_branches, -1,
                   "branch events at places where the code has no branch that is known");
}
