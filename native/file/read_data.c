/* What the reader and its checks do to the result: report a problem, add a string, free it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "file/reader.h"

void sm_read_problem(sm_read_data *data, uint64_t offset, const char *format, ...) {
    if (data->problem == NULL)
        data->problem = sm_calloc(SM_MAX_PROBLEMS, sizeof *data->problem);
    if (data->problem == NULL || data->problems == SM_MAX_PROBLEMS) {
        data->more_problems++;
        return;
    }
    sm_problem *problem = &data->problem[data->problems++];
    problem->offset = offset;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
}

void sm_read_free(sm_read_data *data) {
    sm_free(data->offsets);
    sm_buffer_free(&data->data);
    sm_buffer_free(&data->meta);
    for (int kind = 0; kind < SM_JOURNAL_KINDS; kind++)
        sm_buffer_free(&data->journal[kind]);
    for (int t = 0; t < SM_TABLES; t++) {
        for (int c = 0; c < SM_MAX_COLUMNS; c++)
            sm_free(data->table[t].column[c]);
        sm_free(data->table[t].row_of);
    }
    sm_free(data->problem);
    memset(data, 0, sizeof *data);
}

bool sm_read_reserve_strings(sm_read_data *data, size_t strings) {
    return sm_room(&data->offsets, &data->offsets_room, strings + 1, sizeof *data->offsets);
}

int64_t sm_read_add_string(sm_read_data *data, const char *text) {
    size_t length = strlen(text);
    if (!sm_read_reserve_strings(data, data->strings + 1) || sm_buffer_append(&data->data, text, length) < 0)
        return -1;
    data->offsets[++data->strings] = (int64_t)data->data.size;
    return (int64_t)data->strings - 1;
}
