/* A walk over the lines of a code object's line table (co_linetable); code/linetable.h decodes whole locations.
 *
 * It holds an entry for each run of instructions: a byte with bit 7 set, bits 3 to 6 of which say in which form the
 * rest is, bits 0 to 2 how many units of code there are, less one; then the rest, bytes without bit 7. Forms 0 to 9 and
 * 10 to 12 give the line as a small difference to the entry before; 13 and 14 as a number in chunks of six bits, the
 * lowest bit its sign; 15 has none. code.replace() takes any bytes for a table, so nothing is taken for granted: lines
 * are numbers of any size, and a walk ends where the bytes end. */
#ifndef SM_CODE_LINEWALK_H
#define SM_CODE_LINEWALK_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const uint8_t *at, *end;
    int64_t line;         /* of the entry at hand, or the last that had one */
    uint64_t unit, units; /* the entry's first unit of code (2 bytes each), and how many */
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

/* The table must stay alive. Stands before the first entry. */
static inline sm_line_walk sm_line_walk_of(PyCodeObject *code) {
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    return (sm_line_walk){.at = at, .end = at + PyBytes_GET_SIZE(code->co_linetable), .line = code->co_firstlineno};
}

/* The next entry; false: there is none. */
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

/* Does the instruction after the one at this unit stand on the same line? For RESUME, which has an entry of the line
 * table for itself: of one unit, or of two with its cache. PyCode_Addr2Line knows no line of a cache while LINE is on.
 */
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
                return true; /* others share its entry */
        }
    }
    return false;
}

#endif
