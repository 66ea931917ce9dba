/* The reader, second half: makes what the chunks gave sound.
 *
 * First each table is put into the order of its ids and the ids made dense (a lost chunk leaves gaps), then values and
 * references are checked, table by table, so that a reference always meets a table that is done. A thread whose process
 * is missing, or a node whose function or thread is missing, gets a stand-in row, for its numbers are still good; a
 * node whose parent is missing, comes later, or is on another thread has no place in the tree and is dropped, with what
 * is below it. Since a parent's id is smaller than its children's, one pass in the order of ids finds them all, and no
 * cycle can remain.
 */
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "file/reader.h"

static const double LARGEST = 1e40; /* more than the square of all nanoseconds there were; sums of such stay finite */

typedef struct {
    sm_read_data *data;
    uint64_t size; /* of the file; where problems of the whole are put */
} checker;

/* Puts the rows in the order of their ids; row_of becomes old id -> new id + 1. */
static bool order_table(sm_read_table *table, int columns) {
    bool ordered = true;
    size_t rows = 0;
    for (size_t id = 0; id < table->ids; id++) {
        if (table->row_of[id]) {
            ordered = ordered && table->row_of[id] == id + 1 && rows == id;
            rows++;
        }
    }
    if (ordered) {
        return true;
    }
    for (int c = 0; c < columns; c++) {
        int64_t *from = table->column[c], *to = sm_malloc(rows * sizeof *to);
        if (to == NULL) {
            return false;
        }
        size_t row = 0;
        for (size_t id = 0; id < table->ids; id++) {
            if (table->row_of[id]) {
                to[row++] = from[table->row_of[id] - 1];
            }
        }
        table->column[c] = to;
        sm_free(from);
    }
    table->room = rows;
    uint32_t row = 0;
    for (size_t id = 0; id < table->ids; id++) {
        if (table->row_of[id]) {
            table->row_of[id] = ++row;
        }
    }
    for (size_t i = 0; i < rows; i++) {
        table->column[0][i] = (int64_t)i;
    }
    return true;
}

static uint64_t check_column(const sm_read_data *data, int64_t *values, size_t rows, sm_column_type type) {
    uint64_t wrong = 0;
    int64_t strings = (int64_t)data->strings;
    switch (type) {
    case SM_TYPE_INT:
        break;
    case SM_TYPE_COUNT:
        for (size_t i = 0; i < rows; i++) {
            if (values[i] < 0) {
                values[i] = 0;
                wrong++;
            }
        }
        break;
    case SM_TYPE_STR:
        for (size_t i = 0; i < rows; i++) {
            if (values[i] < 0 || values[i] >= strings) {
                values[i] = 0;
                wrong++;
            }
        }
        break;
    case SM_TYPE_REAL:
        for (size_t i = 0; i < rows; i++) {
            double number;
            memcpy(&number, &values[i], sizeof number);
            if (!(number >= 0 && number < LARGEST)) { /* NaN too */
                values[i] = 0;                        /* the bits of 0.0 */
                wrong++;
            }
        }
        break;
    }
    return wrong;
}

static void check_values(checker *check, int kind) {
    const sm_table *about = &sm_tables[kind];
    sm_read_table *table = &check->data->table[kind];
    for (int c = 1; c < about->columns; c++) {
        uint64_t wrong = check_column(check->data, table->column[c], table->rows, about->column[c].type);
        if (wrong) {
            sm_read_problem(check->data, check->size, "%s.%s: %llu impossible values were made 0", about->name,
                            about->column[c].name, (unsigned long long)wrong);
        }
    }
}

/* Appends a row that stands for the missing ones. Returns its id, or -1 when out of memory. */
static int64_t stand_in(sm_read_data *data, sm_table_kind kind) {
    sm_read_table *table = &data->table[kind];
    size_t row = table->rows;
    for (int c = 0; c < sm_tables[kind].columns; c++) {
        int64_t *column = sm_realloc(table->column[c], (row + 1) * sizeof *column);
        if (column == NULL) {
            return -1;
        }
        column[row] = 0;
        table->column[c] = column;
    }
    table->rows = table->room = row + 1;
    table->column[0][row] = (int64_t)row;
    if (kind != SM_FUNCTIONS) {
        return (int64_t)row;
    }
    int64_t name = sm_read_add_string(data, "<missing>");
    table->column[SM_FUNCTIONS_KIND][row] = 2;
    table->column[SM_FUNCTIONS_QUALNAME][row] = name;
    return name < 0 ? -1 : (int64_t)row;
}

/* Turns the references in `values` from written ids into dense ones. */
static bool check_references(checker *check, int64_t *values, size_t rows, const char *what, sm_table_kind to) {
    sm_read_table *target = &check->data->table[to];
    uint64_t missing = 0;
    int64_t other = -1;
    for (size_t i = 0; i < rows; i++) {
        uint64_t id = (uint64_t)values[i];
        if (id < target->ids && target->row_of[id]) {
            values[i] = target->row_of[id] - 1;
            continue;
        }
        if (other < 0 && (other = stand_in(check->data, to)) < 0) {
            return false;
        }
        values[i] = other;
        missing++;
    }
    if (missing) {
        sm_read_problem(check->data, check->size,
                        "%s: %llu rows name one of %s that is missing; a nameless one stands in", what,
                        (unsigned long long)missing, sm_tables[to].name);
    }
    return true;
}

/* Drops the nodes that have no place in the tree. */
static void check_parents(checker *check) {
    sm_read_table *nodes = &check->data->table[SM_NODES];
    int64_t *parents = nodes->column[SM_NODES_PARENT], *threads = nodes->column[SM_NODES_THREAD];
    size_t kept = 0;
    /* row_of: written id -> new id + 1, or 0 for what is dropped; walked together with the rows, which are in id order
     */
    size_t row = 0;
    for (size_t id = 0; id < nodes->ids; id++) {
        if (nodes->row_of[id] == 0) {
            continue;
        }
        int64_t parent = parents[row];
        if (parent >= 0) {
            bool known = (uint64_t)parent < id && nodes->row_of[parent];
            parent = known ? (int64_t)nodes->row_of[parent] - 1 : -2;
            if (known && threads[parent] != threads[row]) {
                parent = -2;
            }
        }
        if (parent < -1) {
            nodes->row_of[id] = 0;
            row++;
            continue;
        }
        if (kept != row) {
            for (int c = 1; c < SM_NODES_COLUMNS; c++) {
                nodes->column[c][kept] = nodes->column[c][row];
            }
        }
        parents[kept] = parent;
        nodes->row_of[id] = (uint32_t)++kept;
        row++;
    }
    if (kept < nodes->rows) {
        sm_read_problem(check->data, check->size, "%zu nodes of the call tree were dropped: their parents are missing",
                        nodes->rows - kept);
        nodes->rows = kept;
    }
}

/* Which column refers to which table, but for the tree's own parents. */
static const struct {
    sm_table_kind table;
    int column;
    sm_table_kind to;
} references[] = {
    {SM_NODES, SM_NODES_THREAD, SM_THREADS},
    {SM_NODES, SM_NODES_FUNCTION, SM_FUNCTIONS},
    {SM_THREADS, SM_THREADS_PROCESS, SM_PROCESSES},
    {SM_LINES, SM_LINES_FUNCTION, SM_FUNCTIONS},
    {SM_ARCS, SM_ARCS_FUNCTION, SM_FUNCTIONS},
    {SM_BRANCHES, SM_BRANCHES_FUNCTION, SM_FUNCTIONS},
    {SM_CONTEXT_HITS, SM_CONTEXT_HITS_CONTEXT, SM_CONTEXTS},
    {SM_INSTRUCTIONS, SM_INSTRUCTIONS_FUNCTION, SM_FUNCTIONS},
};

/* What ran in a context names lines and arcs by blocks of 64 ids: with gaps among those it would name others. */
static void check_contexts(checker *check) {
    sm_read_data *data = check->data;
    static const sm_table_kind named[] = {SM_LINES, SM_ARCS};
    for (int i = 0; i < 2; i++) {
        const sm_read_table *rows = &data->table[named[i]];
        sm_read_table *hits = &data->table[SM_CONTEXT_HITS];
        if (rows->rows == 0 ? rows->ids == 0 : rows->row_of[rows->rows - 1] == rows->rows)
            continue; /* the last of n rows is n - 1: no gaps */
        size_t kept = 0;
        for (size_t row = 0; row < hits->rows; row++) {
            if (hits->column[SM_CONTEXT_HITS_KIND][row] == i)
                continue;
            for (int c = 1; c < SM_CONTEXT_HITS_COLUMNS; c++)
                hits->column[c][kept] = hits->column[c][row];
            kept++;
        }
        if (kept < hits->rows)
            sm_read_problem(data, check->size, "what ran in which context is dropped: some %s are missing",
                            sm_tables[named[i]].name);
        hits->rows = kept;
    }
}

int sm_read_check(sm_read_data *data, uint64_t size) {
    checker check = {.data = data, .size = size};
    for (int t = 0; t < SM_TABLES; t++) {
        if (!order_table(&data->table[t], sm_tables[t].columns)) {
            return 0;
        }
        check_values(&check, t);
    }
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        sm_read_table *table = &data->table[references[i].table];
        if (!check_references(&check, table->column[references[i].column], table->rows,
                              sm_tables[references[i].table].name, references[i].to)) {
            return 0;
        }
    }
    check_contexts(&check);
    check_parents(&check);
    for (int t = 0; t < SM_TABLES; t++) {
        sm_free(data->table[t].row_of);
        data->table[t].row_of = NULL;
    }
    return 1;
}
