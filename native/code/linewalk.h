/* A walk over the lines of a code object's line table (co_linetable); code/linetable.h decodes whole locations.
 *
 * An entry covers a run of instructions. Its first byte has bit 7 set, the form in bits 3 to 6, and the number of
 * code units minus one in bits 0 to 2. The other bytes lack bit 7. Forms 0 to 12 contain the line as a small
 * difference to the previous one; 13 and 14 as a number in chunks of six bits with the sign in the lowest bit; 15
 * has no line. code.replace() accepts any bytes, so lines are numbers of any size, and a walk ends with the bytes. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const uint8_t *at, *end;
    int64_t line;         /* line of this entry, or of the last one that had a line */
    uint64_t unit, units; /* the entry's first unit of code (2 bytes each), and their number */
    bool has_line;
} sm_line_walk;

static inline int64_t sm_line_chunks(const uint8_t *at, const uint8_t *end) {
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 60; shift += 6) {
        value |= (uint64_t)(*at & 0x3F) << shift;
        if ((*at++ & 0x40) == 0)
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Return a walk before the first entry. The table must stay alive. */
static inline sm_line_walk sm_line_walk_of(PyCodeObject *code) {
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    return (sm_line_walk){.at = at, .end = at + PyBytes_GET_SIZE(code->co_linetable), .line = code->co_firstlineno};
}

/* Go to the next entry. Return false at the end. */
static inline bool sm_line_next(sm_line_walk *walk) {
    enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    if (walk->at >= walk->end)
        return false;
    int head = *walk->at++, form = head >> 3 & 15;
    int64_t step = 0;
    if (form == NO_COLUMNS || form == LONG)
        step = sm_line_chunks(walk->at, walk->end);
    else if (form >= ONE_LINE && form < NO_COLUMNS)
        step = form - ONE_LINE;
    walk->line = (int64_t)((uint64_t)walk->line + (uint64_t)step);
    walk->unit += walk->units;
    walk->units = (uint64_t)(head & 7) + 1;
    walk->has_line = form != NONE;
    while (walk->at < walk->end && (*walk->at & 0x80) == 0)
        walk->at++;
    return true;
}

/* Return true if the instruction after the RESUME at this unit is on the same line. RESUME has its own entry, of one
 * unit or of two with its cache. PyCode_Addr2Line has no line for a cache while LINE is enabled. */
static inline bool sm_line_goes_on(PyCodeObject *code, uint64_t unit) {
    bool found = false;
    int64_t line = 0;
    for (sm_line_walk walk = sm_line_walk_of(code); sm_line_next(&walk);) {
        if (found)
            return walk.has_line && walk.line == line;
        if (unit < walk.unit + walk.units) {
            found = true;
            line = walk.line;
            if (walk.unit + walk.units > unit + 2)
                return true; /* shared with other instructions */
        }
    }
    return false;
}
