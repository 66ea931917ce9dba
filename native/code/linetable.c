#include "code/linetable.h"

#include <stdbool.h>

/* The table is a list of entries, each for one to eight units of code. Only the first byte of an entry has the highest
 * bit set; the next four bits are the form, the last three the number of units minus one. The forms:
 *   0 to 9   the same line; one byte with a short range of columns
 *   10 to 12 0 to 2 lines further; a byte for each column
 *   13       a line difference, no columns
 *   14       line difference, end line, both columns, as numbers of 6 bits a byte, the lowest first
 *   15       no location
 * Any bytes are accepted: every read is checked, impossible lines are dropped, and 64-bit sums cannot overflow. */

enum { SHORT_FORMS = 10, NO_COLUMNS = 13, LONG = 14, NOTHING = 15 };

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

static int64_t read_difference(cursor *at) {
    uint32_t number = read_number(at);
    return (number & 1u) != 0 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

static int32_t as_line(int64_t line) {
    return line > 0 && line < INT32_MAX ? (int32_t)line : 0;
}

/* Decode an optional number, stored as value + 1; 0 means unknown. */
static int32_t as_column(uint32_t number) {
    return number > 0 && number <= INT32_MAX ? (int32_t)number - 1 : -1;
}

static sm_location read_entry(cursor *at, unsigned form, int64_t *line) {
    sm_location location = {.column = -1, .end_line = -1, .end_column = -1};
    if (form == NOTHING)
        return location;
    int64_t end_line;
    if (form < SHORT_FORMS) {
        uint32_t columns = read_byte(at);
        location.column = (int32_t)(form << 3 | (columns >> 4 & 7u));
        location.end_column = location.column + (int32_t)(columns & 15u);
        end_line = *line;
    } else if (form < NO_COLUMNS) {
        end_line = *line += form - SHORT_FORMS;
        location.column = (int32_t)read_byte(at);
        location.end_column = (int32_t)read_byte(at);
    } else if (form == NO_COLUMNS) {
        *line += read_difference(at);
        end_line = 0;
    } else {
        *line += read_difference(at);
        end_line = *line + read_number(at);
        location.column = as_column(read_number(at));
        location.end_column = as_column(read_number(at));
    }
    location.line = as_line(*line);
    if (location.line != 0 && as_line(end_line) != 0)
        location.end_line = as_line(end_line);
    return location;
}

void sm_locations(const uint8_t *table, size_t size, int first_line, sm_location *locations, size_t units) {
    cursor at = {table, table + size};
    int64_t line = first_line;
    size_t unit = 0;
    while (unit < units && at.next < at.end) {
        uint32_t head = *at.next++;
        cursor entry = at;
        while (at.next < at.end && (*at.next & 128u) == 0)
            at.next++;
        entry.end = at.next;
        sm_location location = read_entry(&entry, head >> 3 & 15u, &line);
        for (uint32_t i = 0; i <= (head & 7u) && unit < units; i++)
            locations[unit++] = location;
    }
    while (unit < units)
        locations[unit++] = (sm_location){.column = -1, .end_line = -1, .end_column = -1};
}
