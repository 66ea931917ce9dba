/* Lines that begin without the interpreter telling so (3.14 and later).
 *
 * A line is told where an instruction begins another line than the one before it in the code. 3.14 passes over END_FOR,
 * POP_ITER and END_ASYNC_FOR when it looks for the one before, so the line that follows a loop is not told at the
 * loop's end if the same line stands before these, too. The compiler puts it there where it copies a short end of the
 * function behind a `break`:
 *
 *     for x in y:
 *         if x:
 *             break
 *     return z        # told after `break`, and not after the last x
 *
 * That the loop ended is told: by BRANCH_RIGHT, whose destination is the line's first instruction. */
#ifndef SM_CODE_UNREPORTED_LINES_H
#define SM_CODE_UNREPORTED_LINES_H

#include "code/code_map.h"

typedef struct sm_unreported {
    uint32_t count;
    struct {
        int32_t to, line; /* to: bytes, the destination of the event */
    } at[];
} sm_unreported;

/* Those of a code object: made when it is asked for first, kept with its entry. No Python object is left. Where there
 * is no entry, or no memory: none. */
const sm_unreported *sm_unreported_of(PyCodeObject *code);

/* The line that begins at the destination of a BRANCH_RIGHT event and is not told; 0: none. */
static inline int sm_unreported_line(PyCodeObject *code, Py_ssize_t to) {
    const sm_unreported *untold = sm_unreported_of(code);
    for (uint32_t i = 0; i < untold->count; i++) {
        if (untold->at[i].to == to)
            return untold->at[i].line;
    }
    return 0;
}

#endif
