/* The coverage recorder's rows, and the contexts that wait to become rows. All with the lock. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/map.h"
#include "recorder/coverage/store.h"

enum { FLAG_NOT_COUNTED = 1, FLAG_SILENT = 2 };

static bool put(sm_writer *writer, sm_table_kind table, const int64_t *row) {
    uint64_t lost = sm_writer_lost(writer);
    sm_writer_row(writer, table, row, NULL);
    sm_cover_changed();
    return sm_writer_lost(writer) == lost;
}

static void write_line(sm_output *output, const sm_cover_function *of, uint32_t index, uint32_t id) {
    uint32_t number = sm_output_function_number(output, of->function);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_LINES_ID] = id;
    row[SM_LINES_FUNCTION] = number;
    row[SM_LINES_LINE] = of->first + (int64_t)index;
    row[SM_LINES_HITS] = of->counts != NULL ? (int64_t)of->counts[index] : 1;
    row[SM_LINES_FLAGS] = of->counts != NULL ? 0 : FLAG_NOT_COUNTED;
    if (number == UINT32_MAX || !put(output->writer, SM_LINES, row) || output->whole)
        return;
    of->lines[index].row = id + 1;
    if (of->saved != NULL)
        of->saved[index] = (uint64_t)row[SM_LINES_HITS];
}

static void write_step(sm_output *output, const sm_cover_function *of, sm_cover_step *step, uint32_t id) {
    uint32_t number = sm_output_function_number(output, of->function);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_ARCS_ID] = id;
    row[SM_ARCS_FUNCTION] = number;
    row[SM_ARCS_FROM_LINE] = step->from;
    row[SM_ARCS_TO_LINE] = step->to;
    row[SM_ARCS_HITS] = sm_cover.counts ? (int64_t)step->count : 1;
    row[SM_ARCS_FLAGS] = sm_cover.counts ? 0 : FLAG_NOT_COUNTED;
    if (number == UINT32_MAX || !put(output->writer, SM_ARCS, row) || output->whole)
        return;
    step->place.row = id + 1;
    step->saved = step->count;
}

static void write_jump(sm_output *output, const sm_cover_function *of, uint32_t i, uint32_t id) {
    const sm_branch *branch = &of->table->branches[i];
    sm_cover_jump *jump = &of->jumps[i];
    uint32_t number = sm_output_function_number(output, of->function);
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_BRANCHES_ID] = id;
    row[SM_BRANCHES_FUNCTION] = number;
    row[SM_BRANCHES_OFFSET] = branch->offset;
    row[SM_BRANCHES_KIND] = branch->kind;
    row[SM_BRANCHES_LINE] = branch->line;
    row[SM_BRANCHES_COLUMN] = branch->column;
    row[SM_BRANCHES_END_LINE] = branch->end_line;
    row[SM_BRANCHES_END_COLUMN] = branch->end_column;
    row[SM_BRANCHES_FELL] = (int64_t)jump->taken[SM_FELL];
    row[SM_BRANCHES_JUMPED] = (int64_t)jump->taken[SM_JUMPED];
    row[SM_BRANCHES_FLAGS] = (sm_cover.counts ? 0 : FLAG_NOT_COUNTED) | (branch->silent != 0 ? FLAG_SILENT : 0);
    if (number == UINT32_MAX || !put(output->writer, SM_BRANCHES, row) || output->whole)
        return;
    jump->row = id + 1;
    jump->saved = (uint64_t)(row[SM_BRANCHES_FELL] + row[SM_BRANCHES_JUMPED]);
}

/* Write a line's row. If out of memory, the place stays without a row, and the next row gets the number. */
void sm_cover_put_line(sm_cover_function *of, uint32_t index) {
    uint32_t *rows = &sm_cover_store.rows[SM_COVER_LINES];
    write_line(&sm_cover_store.output, of, index, *rows);
    if (sm_cover_store.fresh.writer != NULL)
        write_line(&sm_cover_store.fresh, of, index, *rows);
    *rows += of->lines[index].row == *rows + 1;
}

void sm_cover_put_step(sm_cover_function *of, sm_cover_step *step) {
    uint32_t *rows = &sm_cover_store.rows[SM_COVER_STEPS];
    write_step(&sm_cover_store.output, of, step, *rows);
    if (sm_cover_store.fresh.writer != NULL)
        write_step(&sm_cover_store.fresh, of, step, *rows);
    *rows += step->place.row == *rows + 1;
}

void sm_cover_put_jump(sm_cover_function *of, uint32_t number) {
    sm_cover_jump *jump = &of->jumps[number];
    bool known = jump->row != 0;
    uint32_t id = known ? jump->row - 1 : sm_cover_store.branch_rows;
    write_jump(&sm_cover_store.output, of, number, id);
    if (sm_cover_store.fresh.writer != NULL)
        write_jump(&sm_cover_store.fresh, of, number, id);
    sm_cover_store.branch_rows += !known && jump->row != 0;
}

static void sum_steps(sm_cover_function *of) { /* sums of what was taken of the branches that lead to each */
    if (of->table == NULL || of->table->count == 0)
        return;
    for (uint32_t i = 0; i < of->steps_count; i++)
        of->steps[i].count = 0;
    for (uint32_t i = 0; i < of->table->count; i++) {
        for (int way = 0; way < 2; way++) {
            if (of->jumps[i].step[way] != 0)
                of->steps[of->jumps[i].step[way] - 1].count += of->jumps[i].taken[way];
        }
    }
}

void sm_cover_write_counts(void) {
    if (!sm_cover.counts)
        return;
    for (sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next) {
        for (uint32_t i = 0; i < of->size; i++) {
            if (__atomic_load_n(&of->counts[i], __ATOMIC_RELAXED) == of->saved[i])
                continue;
            if (of->lines[i].row == 0)
                sm_cover_put_line(of, i);
            else
                write_line(&sm_cover_store.output, of, i, of->lines[i].row - 1);
        }
        sum_steps(of);
        for (uint32_t i = 0; i < of->steps_count; i++) {
            if (of->steps[i].place.row != 0 && of->steps[i].count != of->steps[i].saved)
                write_step(&sm_cover_store.output, of, &of->steps[i], of->steps[i].place.row - 1);
        }
        for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++) {
            if (of->jumps[i].taken[0] + of->jumps[i].taken[1] != of->jumps[i].saved)
                sm_cover_put_jump(of, i);
        }
    }
}

/* The numbers of all contexts by the hashes of their names, so that one that returns (a test's setup, body and
 * teardown) is the same. */
typedef struct {
    uint64_t hash;
    uint32_t number;
} known_context;

static sm_map known; /* of known_context; guarded by the lock */

void sm_cover_forget_contexts(void) {
    sm_map_free(&known);
    sm_cover_store.context = 0;
    for (int kind = 0; kind < SM_COVER_KINDS; kind++) {
        sm_cover_hits *hits = &sm_cover_store.hits[kind];
        sm_free(hits->bits);
        sm_free(hits->blocks);
        memset(hits, 0, sizeof *hits);
    }
}

bool sm_cover_put_context(sm_output *output, uint32_t id, const char *name, size_t size) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_CONTEXTS_ID] = id;
    row[SM_CONTEXTS_NAME] = (int64_t)sm_writer_string(output->writer, name, size);
    return row[SM_CONTEXTS_NAME] != 0 && put(output->writer, SM_CONTEXTS, row);
}

bool sm_cover_put_hit(sm_output *output, uint32_t id, int64_t context, int kind, int64_t base, uint64_t bits) {
    int64_t row[SM_MAX_COLUMNS] = {0};
    row[SM_CONTEXT_HITS_ID] = id;
    row[SM_CONTEXT_HITS_CONTEXT] = context;
    row[SM_CONTEXT_HITS_KIND] = kind;
    row[SM_CONTEXT_HITS_BASE] = base;
    memcpy(&row[SM_CONTEXT_HITS_BITS], &bits, sizeof bits);
    return put(output->writer, SM_CONTEXT_HITS, row);
}

static bool number_context(void) {
    sm_cover_store_state *store = &sm_cover_store;
    const char *name = store->context_name;
    uint64_t hash = sm_hash_text(SM_HASH_START, name) | 1;
    known_context *context = sm_map_find(&known, hash, sizeof *context);
    if (context != NULL) {
        store->context = context->number;
        return true;
    }
    if (!sm_cover_put_context(&store->output, store->context_rows, name, strlen(name)))
        return false;
    if (store->fresh.writer != NULL)
        sm_cover_put_context(&store->fresh, store->context_rows, name, strlen(name));
    store->context = ++store->context_rows;
    context = sm_map_make(&known, hash, sizeof *context, 64);
    if (context != NULL)
        context->number = store->context;
    return true;
}

static bool grow_hits(sm_cover_hits *hits, uint32_t block) {
    uint32_t size = block + block / 2 + 64;
    uint64_t *bits = sm_realloc(hits->bits, size * sizeof *bits);
    if (bits != NULL)
        hits->bits = bits;
    uint32_t *blocks = bits != NULL ? sm_realloc(hits->blocks, size * sizeof *blocks) : NULL;
    if (blocks == NULL)
        return false;
    hits->blocks = blocks;
    memset(bits + hits->size, 0, (size - hits->size) * sizeof *bits);
    hits->size = size;
    return true;
}

void sm_cover_note(int kind, uint32_t row) {
    sm_cover_hits *hits = &sm_cover_store.hits[kind];
    uint32_t block = (row - 1) / 64;
    if (sm_cover_store.context_name == NULL)
        return;
    if ((sm_cover_store.context == 0 && !number_context()) || (block >= hits->size && !grow_hits(hits, block))) {
        sm_cover.lost_memory++;
        return;
    }
    if (hits->bits[block] == 0)
        hits->blocks[hits->count++] = block;
    hits->bits[block] |= (uint64_t)1 << (row - 1) % 64;
    sm_cover_changed();
}

void sm_cover_end_context(void) {
    sm_cover_store_state *store = &sm_cover_store;
    for (int kind = 0; kind < SM_COVER_KINDS; kind++) {
        sm_cover_hits *hits = &store->hits[kind];
        for (uint32_t i = 0; i < hits->count; i++) {
            int64_t base = (int64_t)hits->blocks[i] * 64;
            uint64_t bits = hits->bits[hits->blocks[i]];
            store->hit_rows += sm_cover_put_hit(&store->output, store->hit_rows, store->context - 1, kind, base, bits);
            if (store->fresh.writer != NULL)
                sm_cover_put_hit(&store->fresh, store->fresh_hit_rows++, store->context - 1, kind, base, bits);
            hits->bits[hits->blocks[i]] = 0;
        }
        hits->count = 0;
    }
}

void sm_cover_write_all(sm_output *output) {
    for (sm_cover_function *of = sm_cover_store.functions; of != NULL; of = of->next) {
        for (uint32_t i = 0; i < of->size; i++) {
            if (of->lines[i].row != 0)
                write_line(output, of, i, of->lines[i].row - 1);
        }
        for (uint32_t i = 0; i < of->steps_count; i++) {
            if (of->steps[i].place.row != 0)
                write_step(output, of, &of->steps[i], of->steps[i].place.row - 1);
        }
        for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++) {
            if (of->jumps[i].row != 0)
                write_jump(output, of, i, of->jumps[i].row - 1);
        }
    }
}
