/* The reader, second half: makes the contents of the chunks sound.
 *
 * Each table is sorted by id and its ids made dense. Then values and references are checked, in the order of tables.
 * A missing process, function, type or thread gets a stand-in row, since the counts that refer to it are still
 * valid. A node whose parent is missing, comes later, or is on another thread is dropped with its descendants. One pass
 * is enough, because parents have smaller ids. A writer withdraws a row by a count of 0 (losses, survivors, a span's
 * calls). */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32.h"
#include "file/reader.h"

enum { SM_LONGEST_STRING = (1 << 14) + 128 }; /* bytes; fits what recorders cut at 4,096 characters */

static const double LARGEST = 1e40; /* beyond the square of any time in ns, with finite sums */

/* Sort the rows by id; row_of becomes old id -> new id + 1. */
static bool order_table(sm_read_table *table, int columns) {
    bool ordered = true;
    size_t rows = 0;
    for (size_t id = 0; id < table->ids; id++) {
        if (table->row_of[id]) {
            ordered = ordered && table->row_of[id] == id + 1 && rows == id;
            rows++;
        }
    }
    if (ordered)
        return true;
    for (int c = 0; c < columns; c++) {
        int64_t *from = table->column[c], *to = sm_malloc(rows * sizeof *to);
        if (to == NULL)
            return false;
        size_t row = 0;
        for (size_t id = 0; id < table->ids; id++)
            if (table->row_of[id])
                to[row++] = from[table->row_of[id] - 1];
        table->column[c] = to;
        sm_free(from);
    }
    table->room = rows;
    uint32_t row = 0;
    for (size_t id = 0; id < table->ids; id++)
        if (table->row_of[id])
            table->row_of[id] = ++row;
    for (size_t i = 0; i < rows; i++)
        table->column[0][i] = (int64_t)i;
    return true;
}

static bool is_possible(const sm_read_data *data, int64_t value, sm_column_type type) {
    double number;
    memcpy(&number, &value, sizeof number);
    switch (type) {
    case SM_TYPE_COUNT:
        return value >= 0;
    case SM_TYPE_STR:
        return value >= 0 && value < (int64_t)data->strings;
    case SM_TYPE_REAL:
        return number >= 0 && number < LARGEST; /* also false for NaN */
    default:
        return true;
    }
}

/* Replace impossible values by 0, whose bits are also those of 0.0. Return their number. */
static uint64_t check_column(const sm_read_data *data, int64_t *values, size_t rows, sm_column_type type) {
    uint64_t wrong = 0;
    for (size_t i = 0; type != SM_TYPE_INT && i < rows; i++) {
        if (!is_possible(data, values[i], type)) {
            values[i] = 0;
            wrong++;
        }
    }
    return wrong;
}

/* Return the string, or a cut and marked copy of a long one, which `cut` remembers, or -1 if out of memory. */
static int64_t cut_string(sm_read_data *data, int64_t *cut, int64_t string) {
    int64_t begin = data->offsets[string], size = data->offsets[string + 1] - begin;
    if (size <= SM_LONGEST_STRING)
        return string;
    if (cut[string] != 0)
        return cut[string];
    char text[SM_LONGEST_STRING + 64];
    size_t kept = SM_LONGEST_STRING;
    memcpy(text, data->data.bytes + begin, kept);
    while (kept > 0 && ((unsigned char)text[kept - 1] & 0xC0) == 0x80) /* keep characters whole */
        kept--;
    kept -= kept > 0 && (unsigned char)text[kept - 1] >= 0xC0;
    for (size_t i = 0; i < kept; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i]; /* the text is added as a C string */
    sm_crc32 crc;
    sm_crc32_init(&crc);
    snprintf(text + kept, sizeof text - kept, "\xE2\x80\xA6[+%lld bytes, %08x]", (long long)size - (long long)kept,
             (unsigned)sm_crc32_update(&crc, 0, data->data.bytes + begin, (size_t)size));
    return cut[string] = sm_read_add_string(data, text);
}

/* Cut names that are too long to read. Arguments and details of losses are few and stay. */
static bool cut_strings(sm_read_data *data) {
    size_t strings = data->strings, many = 0;
    for (size_t i = 0; i < strings; i++)
        many += data->offsets[i + 1] - data->offsets[i] > SM_LONGEST_STRING;
    if (many == 0)
        return true;
    int64_t *cut = sm_calloc(strings, sizeof *cut);
    bool good = cut != NULL;
    for (int t = 0; good && t < SM_TABLES; t++) {
        for (int c = 1; good && c < sm_tables[t].columns && t != SM_PROCESSES && t != SM_LOSSES; c++) {
            int64_t *values = data->table[t].column[c];
            for (size_t i = 0; good && sm_tables[t].column[c].type == SM_TYPE_STR && i < data->table[t].rows; i++)
                good = (values[i] = cut_string(data, cut, values[i])) >= 0;
        }
    }
    many = 0;
    for (size_t i = 0; good && i < strings; i++)
        many += cut[i] != 0;
    if (many)
        sm_read_problem(data, data->size, "%zu names of more than %d bytes were cut", many, SM_LONGEST_STRING);
    sm_free(cut);
    return good;
}

static void check_values(sm_read_data *data, int kind) {
    const sm_table *about = &sm_tables[kind];
    sm_read_table *table = &data->table[kind];
    for (int c = 1; c < about->columns; c++) {
        uint64_t wrong = check_column(data, table->column[c], table->rows, about->column[c].type);
        if (wrong) {
            sm_read_problem(data, data->size, "%s.%s: %llu impossible values were made 0", about->name,
                            about->column[c].name, (unsigned long long)wrong);
        }
    }
}

/* Append a row to which references to missing rows can point. Return its id, or -1 if out of memory. */
static int64_t stand_in(sm_read_data *data, sm_table_kind kind) {
    sm_read_table *table = &data->table[kind];
    size_t row = table->rows;
    for (int c = 0; c < sm_tables[kind].columns; c++) {
        int64_t *column = sm_realloc(table->column[c], (row + 1) * sizeof *column);
        if (column == NULL)
            return -1;
        column[row] = 0;
        table->column[c] = column;
    }
    table->rows = table->room = row + 1;
    table->column[0][row] = (int64_t)row;
    if (kind != SM_FUNCTIONS && kind != SM_TYPES)
        return (int64_t)row;
    int64_t name = sm_read_add_string(data, "<missing>");
    if (kind == SM_FUNCTIONS)
        table->column[SM_FUNCTIONS_KIND][row] = 2;
    table->column[kind == SM_FUNCTIONS ? (int)SM_FUNCTIONS_QUALNAME : (int)SM_TYPES_NAME][row] = name;
    return name < 0 ? -1 : (int64_t)row;
}

/* Convert the references in `values` from written ids to dense ones. optional: negative ones become -1. */
static bool check_references(sm_read_data *data, int64_t *values, size_t rows, const char *what, sm_table_kind to,
                             bool optional) {
    sm_read_table *target = &data->table[to];
    uint64_t missing = 0;
    int64_t other = -1;
    for (size_t i = 0; i < rows; i++) {
        uint64_t id = (uint64_t)values[i];
        if (id < target->ids && target->row_of[id]) {
            values[i] = target->row_of[id] - 1;
            continue;
        }
        if (optional && values[i] < 0) {
            values[i] = -1;
            continue;
        }
        if (other < 0 && (other = stand_in(data, to)) < 0)
            return false;
        values[i] = other;
        missing++;
    }
    if (missing) {
        sm_read_problem(data, data->size, "%s: %llu rows name one of %s that is missing; a nameless one stands in",
                        what, (unsigned long long)missing, sm_tables[to].name);
    }
    return true;
}

/* References whose missing targets get a stand-in. */
static const struct {
    sm_table_kind table;
    int column;
    sm_table_kind to;
    bool optional; /* true if it may be -1 */
} references[] = {
    {SM_NODES, SM_NODES_THREAD, SM_THREADS, false},
    {SM_NODES, SM_NODES_FUNCTION, SM_FUNCTIONS, false},
    {SM_THREADS, SM_THREADS_PROCESS, SM_PROCESSES, false},
    {SM_LINES, SM_LINES_FUNCTION, SM_FUNCTIONS, false},
    {SM_ARCS, SM_ARCS_FUNCTION, SM_FUNCTIONS, false},
    {SM_BRANCHES, SM_BRANCHES_FUNCTION, SM_FUNCTIONS, false},
    {SM_CONTEXT_HITS, SM_CONTEXT_HITS_CONTEXT, SM_CONTEXTS, false},
    {SM_INSTRUCTIONS, SM_INSTRUCTIONS_FUNCTION, SM_FUNCTIONS, false},
    {SM_OBJECTS, SM_OBJECTS_TYPE, SM_TYPES, false},
    {SM_OBJECTS, SM_OBJECTS_FUNCTION, SM_FUNCTIONS, true},
    {SM_OBJECT_SPANS, SM_OBJECT_SPANS_FUNCTION, SM_FUNCTIONS, true},
    {SM_OBJECT_SPANS, SM_OBJECT_SPANS_PROCESS, SM_PROCESSES, false},
    {SM_MARKS, SM_MARKS_PROCESS, SM_PROCESSES, false},
};

/* ---- dropping rows ---- */

/* Return the row of a written id, or -1. */
static int64_t row_of(const sm_read_data *data, sm_table_kind kind, int64_t id) {
    const sm_read_table *table = &data->table[kind];
    return id >= 0 && (uint64_t)id < table->ids ? (int64_t)table->row_of[id] - 1 : -1;
}

/* Drop the rows with an id of -1 and renumber the others. Return the number of dropped ones. */
static size_t drop_marked(sm_read_data *data, sm_table_kind kind) {
    sm_read_table *table = &data->table[kind];
    size_t row = 0, kept = 0;
    for (size_t id = 0; id < table->ids; id++) {
        if (table->row_of[id] == 0)
            continue;
        bool keeps = table->column[0][row] >= 0;
        for (int c = 1; keeps && kept < row && c < sm_tables[kind].columns; c++)
            table->column[c][kept] = table->column[c][row];
        if (keeps)
            table->column[0][kept] = (int64_t)kept;
        kept += keeps;
        table->row_of[id] = keeps ? (uint32_t)kept : 0;
        row++;
    }
    size_t dropped = table->rows - kept;
    table->rows = kept;
    return dropped;
}

static void drop(sm_read_data *data, sm_table_kind kind, const char *why) {
    size_t dropped = drop_marked(data, kind);
    if (dropped)
        sm_read_problem(data, data->size, "%s: %zu rows were dropped: %s", sm_tables[kind].name, dropped, why);
}

/* Mark rows whose parent is missing, comes later, or has another value in the column `same`. */
static void mark_without_parent(sm_read_data *data, sm_table_kind kind, int parent_column, int same) {
    sm_read_table *table = &data->table[kind];
    int64_t *ids = table->column[0], *parents = table->column[parent_column], *values = table->column[same];
    int64_t kept = 0;
    for (int64_t row = 0; row < (int64_t)table->rows; row++) {
        int64_t above = row_of(data, kind, parents[row]);
        bool is_held = parents[row] == -1;
        if (above >= 0 && above < row && ids[above] >= 0) {
            is_held = values[above] == values[row];
            parents[row] = ids[above];
        }
        ids[row] = is_held && ids[row] >= 0 ? kept++ : -1; /* the id that drop_marked() will assign */
    }
}

/* Contexts refer to lines and arcs by blocks of 64 ids, so with gaps among those they would be wrong. */
static void check_contexts(sm_read_data *data) {
    static const sm_table_kind named[] = {SM_LINES, SM_ARCS};
    for (int i = 0; i < 2; i++) {
        const sm_read_table *rows = &data->table[named[i]], *hits = &data->table[SM_CONTEXT_HITS];
        if (rows->rows == 0 ? rows->ids == 0 : rows->row_of[rows->rows - 1] == rows->rows)
            continue; /* the last of n rows is n - 1: no gaps */
        for (size_t row = 0; row < hits->rows; row++)
            if (hits->column[SM_CONTEXT_HITS_KIND][row] == i)
                hits->column[0][row] = -1;
        if (drop_marked(data, SM_CONTEXT_HITS))
            sm_read_problem(data, data->size, "what ran in which context is dropped: some %s are missing",
                            sm_tables[named[i]].name);
    }
}

/* Drop the rows with 0 in this column, which the writer withdrew, before references to them are checked. */
static void drop_taken_back(sm_read_data *data, sm_table_kind kind, int column) {
    const sm_read_table *table = &data->table[kind];
    for (size_t row = 0; row < table->rows; row++)
        if (table->column[column][row] == 0)
            table->column[0][row] = -1;
    (void)drop_marked(data, kind);
}

/* Drop the rows that refer to a missing row, and convert the column. */
static void drop_orphans(sm_read_data *data, sm_table_kind kind, int column, sm_table_kind to) {
    const sm_read_table *table = &data->table[kind];
    for (size_t row = 0; row < table->rows; row++) {
        int64_t *id = &table->column[column][row];
        *id = row_of(data, to, *id);
        if (*id < 0)
            table->column[0][row] = -1;
    }
    drop(data, kind, "they name rows that are missing");
}

/* Drop holders whose parent or row of objects is missing, and those whose parent belongs to another row of objects. */
static void check_holders(sm_read_data *data) {
    const sm_read_table *holders = &data->table[SM_HOLDERS];
    for (size_t row = 0; row < holders->rows; row++)
        if (row_of(data, SM_OBJECTS, holders->column[SM_HOLDERS_OBJECT][row]) < 0)
            holders->column[0][row] = -1;
    mark_without_parent(data, SM_HOLDERS, SM_HOLDERS_PARENT, SM_HOLDERS_OBJECT);
    drop(data, SM_HOLDERS, "what they hold is missing");
    drop_orphans(data, SM_HOLDERS, SM_HOLDERS_OBJECT, SM_OBJECTS); /* only converts, since no orphans remain */
}

/* Check the tables of objects, after those of nodes. */
static void check_objects(sm_read_data *data) {
    sm_read_table *objects = &data->table[SM_OBJECTS], *lifetimes = &data->table[SM_LIFETIMES];
    int64_t *nodes = objects->column[SM_OBJECTS_NODE];
    size_t lost = 0;
    for (size_t row = 0; row < objects->rows; row++) {
        int64_t node = nodes[row] < 0 ? -1 : row_of(data, SM_NODES, nodes[row]);
        lost += nodes[row] >= 0 && node < 0;
        nodes[row] = node;
    }
    if (lost)
        sm_read_problem(data, data->size, "objects: the call paths of %zu rows are missing", lost);
    for (size_t row = 0; row < lifetimes->rows; row++) {
        if (lifetimes->column[SM_LIFETIMES_UNIT][row] > 1 ||
            lifetimes->column[SM_LIFETIMES_BUCKET][row] > SM_LIFETIMES_LAST_BUCKET) {
            lifetimes->column[0][row] = -1;
        }
    }
    drop(data, SM_LIFETIMES, "nothing lives that long");
    drop_orphans(data, SM_LIFETIMES, SM_LIFETIMES_OBJECT, SM_OBJECTS);
    drop_orphans(data, SM_OBJECT_SURVIVORS, SM_OBJECT_SURVIVORS_SPAN, SM_OBJECT_SPANS);
    drop_orphans(data, SM_OBJECT_SURVIVORS, SM_OBJECT_SURVIVORS_OBJECT, SM_OBJECTS);
    check_holders(data);
}

int sm_read_check(sm_read_data *data) {
    for (int t = 0; t < SM_TABLES; t++) {
        if (!order_table(&data->table[t], sm_tables[t].columns))
            return 0;
        check_values(data, t);
    }
    if (!cut_strings(data))
        return 0;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        sm_read_table *table = &data->table[references[i].table];
        if (!check_references(data, table->column[references[i].column], table->rows,
                              sm_tables[references[i].table].name, references[i].to, references[i].optional)) {
            return 0;
        }
    }
    drop_taken_back(data, SM_LOSSES, SM_LOSSES_COUNT);
    drop_taken_back(data, SM_OBJECT_SPANS, SM_OBJECT_SPANS_CALLS);
    drop_taken_back(data, SM_OBJECT_SURVIVORS, SM_OBJECT_SURVIVORS_COUNT);
    check_contexts(data);
    mark_without_parent(data, SM_NODES, SM_NODES_PARENT, SM_NODES_THREAD);
    size_t dropped = drop_marked(data, SM_NODES);
    if (dropped)
        sm_read_problem(data, data->size, "%zu nodes of the call tree were dropped: their parents are missing",
                        dropped);
    check_objects(data);
    for (int t = 0; t < SM_TABLES; t++) {
        const sm_read_table *table = &data->table[t];
        size_t *sound = &data->sound[t];
        while (*sound < table->ids && table->row_of[*sound] == *sound + 1)
            ++*sound;
        sm_free(data->table[t].row_of);
        data->table[t].row_of = NULL;
    }
    return 1;
}
