/* The locations of a code object's instructions, decoded from co_linetable in one pass: PyCode_Addr2Location looks
 * through the table from its beginning for each. */
#ifndef SM_CODE_LINETABLE_H
#define SM_CODE_LINETABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int32_t line;                         /* 0: none */
    int32_t column, end_line, end_column; /* bytes of UTF-8, from 0; -1: unknown */
} sm_location;

/* Fills `units` locations, one for each unit of code (2 bytes). What the table does not say has no line; whatever it
 * says, no line is below 0 and nothing beyond `size` bytes is read. */
void sm_locations(const uint8_t *table, size_t size, int first_line, sm_location *locations, size_t units);

#endif
