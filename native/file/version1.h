/* Reads the columns of a file of version 1 as those that they are today. No Python.h. */
#ifndef SM_FILE_VERSION1_H
#define SM_FILE_VERSION1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int column;    /* of the same table today; -1: its meaning is gone */
    int also;      /* another one that it is added to; -1: none */
    double factor; /* that its values are worth there */
} sm_version1_column;

sm_version1_column sm_version1_find(int table, unsigned column);

/* Adds values times the factor to `to`. REAL columns hold the bits of doubles. */
void sm_version1_add(int64_t *to, bool to_real, const int64_t *values, bool real, double factor, size_t rows);

#endif
