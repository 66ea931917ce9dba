/* The locations of a code object's instructions, decoded from co_linetable in one pass. */
#pragma once

#include <Python.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int32_t line;                         /* 0 if there is none */
    int32_t column, end_line, end_column; /* bytes of UTF-8, from 0; -1 if unknown */
} sm_location;

/* Fill a location for each unit of code (2 bytes); units without an entry have no line. */
void sm_locations(PyCodeObject *code, sm_location *locations, size_t units);
