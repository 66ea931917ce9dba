/* Lines that begin without a LINE event (3.14 and later).
 *
 * LINE is reported where an instruction's line differs from that of the one before it in the code, except END_FOR,
 * POP_ITER and END_ASYNC_FOR. So a line after a loop that is also before these is not reported at the loop's end:
 *
 *     for x in y:
 *         if x:
 *             break
 *     return z        # the compiler copies it to the `break`
 *
 * BRANCH_RIGHT reports the end of the loop; its destination is the line's first instruction. */
#pragma once

#include "code/code_map.h"

typedef struct sm_unreported {
    uint32_t count;
    struct {
        int32_t to, line; /* to: destination of the event, in bytes */
    } at[];
} sm_unreported;

/* Return the code object's unreported lines, found once and kept with its entry. Leaves no new Python object. */
const sm_unreported *sm_unreported_of(PyCodeObject *code);

/* Return the unreported line at the destination of a BRANCH_RIGHT event, or 0. */
static inline int sm_unreported_line(PyCodeObject *code, Py_ssize_t to) {
    const sm_unreported *unreported = sm_unreported_of(code);
    for (uint32_t i = 0; i < unreported->count; i++)
        if (unreported->at[i].to == to)
            return unreported->at[i].line;
    return 0;
}
