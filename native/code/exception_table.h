/* A walk over a code object's exception table (co_exceptiontable), in which code.replace() accepts any bytes. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct { /* instructions with a handler; all in units of 2 bytes */
    uint32_t start, size, target;
} sm_handled;

/* Read a number of 6 bits a byte, the highest first. */
static inline uint32_t sm_handled_number(const uint8_t **at, const uint8_t *end) {
    uint32_t value = 0;
    for (bool more = true; more && *at < end; (*at)++) {
        value = value << 6 | (**at & 63u);
        more = (**at & 64) != 0;
    }
    return value;
}

/* Read the next entry. *at: NULL at first. Return false if there is none. */
static inline bool sm_handled_next(PyCodeObject *code, const uint8_t **at, sm_handled *found) {
    const uint8_t *start = (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable);
    const uint8_t *end = start + PyBytes_GET_SIZE(code->co_exceptiontable);
    *at = *at != NULL ? *at : start;
    if (*at >= end)
        return false;
    found->start = sm_handled_number(at, end);
    found->size = sm_handled_number(at, end);
    found->target = sm_handled_number(at, end);
    (void)sm_handled_number(at, end); /* depth of the stack */
    return true;
}
