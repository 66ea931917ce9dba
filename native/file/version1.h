/* Maps the columns of version 1 files to today's. No Python.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int column;    /* column of the same table, or -1 if its meaning is gone */
    int also;      /* another column to which they are added, or -1 */
    double factor; /* factor for its values */
} sm_version1_column;

sm_version1_column sm_version1_find(int table, unsigned column);

/* Add values times the factor to `to`. REAL columns hold the bits of doubles. */
void sm_version1_add(int64_t *to, bool to_real, const int64_t *values, bool real, double factor, size_t rows);
