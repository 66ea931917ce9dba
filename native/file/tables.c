#include "file/tables.h"

#define SM_COLUMN_ENTRY(TABLE, COLUMN, name, TYPE) {name, SM_TYPE_##TYPE},
#define SM_TABLE_COLUMNS(TABLE, name)                                                                                  \
    static const sm_column columns_##TABLE[] = {SM_COLUMNS_##TABLE(SM_COLUMN_ENTRY)};                                  \
    _Static_assert(SM_##TABLE##_COLUMNS <= SM_MAX_COLUMNS, "raise SM_MAX_COLUMNS");
SM_TABLE_LIST(SM_TABLE_COLUMNS)

#define SM_TABLE_ENTRY(TABLE, name) {name, SM_##TABLE##_COLUMNS, columns_##TABLE},
const sm_table sm_tables[SM_TABLES] = {SM_TABLE_LIST(SM_TABLE_ENTRY)};
