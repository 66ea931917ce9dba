#include "file/tables.h"

#define SM_COLUMN_ENTRY(TABLE, COLUMN, name, TYPE) {name, SM_TYPE_##TYPE},
static const sm_column columns_PROCESSES[] = {SM_COLUMNS_PROCESSES(SM_COLUMN_ENTRY)};
static const sm_column columns_THREADS[] = {SM_COLUMNS_THREADS(SM_COLUMN_ENTRY)};
static const sm_column columns_FUNCTIONS[] = {SM_COLUMNS_FUNCTIONS(SM_COLUMN_ENTRY)};
static const sm_column columns_NODES[] = {SM_COLUMNS_NODES(SM_COLUMN_ENTRY)};
static const sm_column columns_LOSSES[] = {SM_COLUMNS_LOSSES(SM_COLUMN_ENTRY)};
static const sm_column columns_LINES[] = {SM_COLUMNS_LINES(SM_COLUMN_ENTRY)};
static const sm_column columns_ARCS[] = {SM_COLUMNS_ARCS(SM_COLUMN_ENTRY)};
static const sm_column columns_BRANCHES[] = {SM_COLUMNS_BRANCHES(SM_COLUMN_ENTRY)};
static const sm_column columns_CONTEXTS[] = {SM_COLUMNS_CONTEXTS(SM_COLUMN_ENTRY)};
static const sm_column columns_CONTEXT_HITS[] = {SM_COLUMNS_CONTEXT_HITS(SM_COLUMN_ENTRY)};
static const sm_column columns_INSTRUCTIONS[] = {SM_COLUMNS_INSTRUCTIONS(SM_COLUMN_ENTRY)};
static const sm_column columns_SOURCES[] = {SM_COLUMNS_SOURCES(SM_COLUMN_ENTRY)};
static const sm_column columns_TYPES[] = {SM_COLUMNS_TYPES(SM_COLUMN_ENTRY)};
static const sm_column columns_OBJECTS[] = {SM_COLUMNS_OBJECTS(SM_COLUMN_ENTRY)};
static const sm_column columns_LIFETIMES[] = {SM_COLUMNS_LIFETIMES(SM_COLUMN_ENTRY)};
static const sm_column columns_OBJECT_TIMES[] = {SM_COLUMNS_OBJECT_TIMES(SM_COLUMN_ENTRY)};
static const sm_column columns_OBJECT_SPANS[] = {SM_COLUMNS_OBJECT_SPANS(SM_COLUMN_ENTRY)};
static const sm_column columns_OBJECT_SURVIVORS[] = {SM_COLUMNS_OBJECT_SURVIVORS(SM_COLUMN_ENTRY)};
static const sm_column columns_HOLDERS[] = {SM_COLUMNS_HOLDERS(SM_COLUMN_ENTRY)};
static const sm_column columns_MARKS[] = {SM_COLUMNS_MARKS(SM_COLUMN_ENTRY)};

#define SM_TABLE_ENTRY(TABLE, name) {name, SM_##TABLE##_COLUMNS, columns_##TABLE},
const sm_table sm_tables[SM_TABLES] = {SM_TABLE_LIST(SM_TABLE_ENTRY)};

_Static_assert(SM_PROCESSES_COLUMNS <= SM_MAX_COLUMNS, "raise SM_MAX_COLUMNS");
_Static_assert(SM_NODES_COLUMNS <= SM_MAX_COLUMNS, "raise SM_MAX_COLUMNS");
_Static_assert(SM_LINES_COLUMNS <= SM_MAX_COLUMNS, "raise SM_MAX_COLUMNS");
