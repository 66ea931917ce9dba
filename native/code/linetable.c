#include "code/linetable.h"

#include "code/linewalk.h"

/* Beside the line (linewalk.h), some forms of entries have columns. In forms 0 to 9, a byte has a short range of
 * columns. In forms 10 to 12, there is a byte for each column. Form 14 has, after the line's difference, the end line
 * and both columns, as numbers of 6 bits a byte, the lowest first.
 *
 * Any bytes are accepted. Every read is checked, and impossible lines are dropped. */

enum { SHORT_FORMS = 10, NO_COLUMNS = 13, LONG = 14 };

typedef struct {
    const uint8_t *next, *end;
} cursor;

static uint32_t read_byte(cursor *at) {
    return at->next < at->end ? *at->next++ : 0;
}

static uint32_t read_number(cursor *at) {
    uint32_t value = 0;
    for (unsigned shift = 0; at->next < at->end; shift += 6) {
        uint32_t byte = *at->next++;
        if (shift < 32)
            value |= (byte & 63u) << shift;
        if ((byte & 64u) == 0)
            break;
    }
    return value;
}

static int32_t as_line(int64_t line) {
    return line > 0 && line < INT32_MAX ? (int32_t)line : 0;
}

/* Decode an optional number, stored as value + 1; 0 means unknown. */
static int32_t as_column(uint32_t number) {
    return number > 0 && number <= INT32_MAX ? (int32_t)number - 1 : -1;
}

static sm_location read_entry(cursor *at, unsigned form, int64_t line) {
    sm_location location = {.line = as_line(line), .column = -1, .end_line = -1, .end_column = -1};
    int64_t end_line = line;
    if (form < SHORT_FORMS) {
        uint32_t columns = read_byte(at);
        location.column = (int32_t)(form << 3 | (columns >> 4 & 7u));
        location.end_column = location.column + (int32_t)(columns & 15u);
    } else if (form < NO_COLUMNS) {
        location.column = (int32_t)read_byte(at);
        location.end_column = (int32_t)read_byte(at);
    } else if (form == NO_COLUMNS) {
        end_line = 0;
    } else {
        (void)read_number(at); /* the line's difference */
        end_line = (int64_t)((uint64_t)line + read_number(at));
        location.column = as_column(read_number(at));
        location.end_column = as_column(read_number(at));
    }
    if (location.line != 0 && as_line(end_line) != 0)
        location.end_line = as_line(end_line);
    return location;
}

void sm_locations(PyCodeObject *code, sm_location *locations, size_t units) {
    size_t unit = 0;
    sm_line_walk walk = sm_line_walk_of(code);
    for (const uint8_t *head = walk.at; unit < units && sm_line_next(&walk); head = walk.at) {
        cursor entry = {head + 1, walk.at};
        sm_location location = {.column = -1, .end_line = -1, .end_column = -1};
        if (walk.has_line)
            location = read_entry(&entry, *head >> 3 & 15u, walk.line);
        for (uint64_t i = 0; i < walk.units && unit < units; i++)
            locations[unit++] = location;
    }
    while (unit < units)
        locations[unit++] = (sm_location){.column = -1, .end_line = -1, .end_column = -1};
}
