/* Reads an untrusted recording from memory. A bad chunk, row or value only affects itself and its dependents, and is
 * reported in `problems`. The result is sound: ids are dense from 0, references are in range, a node's parent
 * precedes it on the same thread, counts are not negative, float64 values are finite. Only the strings' UTF-8 is
 * unchecked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "file/tables.h"

typedef struct {
    uint64_t offset; /* bytes from the start of the file, or its size for the whole */
    char text[120];
} sm_problem;

typedef struct {
    size_t rows;
    size_t room;                     /* rows allocated */
    int64_t *column[SM_MAX_COLUMNS]; /* owned; REAL columns hold the bits of doubles */
    uint32_t *row_of;                /* owned; while reading, maps an id to its row + 1 */
    size_t ids;                      /* length of row_of */
} sm_read_table;

typedef struct {
    uint64_t size; /* bytes of the file, which is the offset of problems of the whole */
    unsigned version;
    int finished;        /* the last chunk is an END */
    int behind;          /* the writer could not write everything */
    size_t strings;      /* number of strings, with string 0 */
    int64_t *offsets;    /* owned; strings + 1 of them: beginnings in string_data */
    size_t offsets_room; /* allocated */
    sm_buffer data;      /* the strings' bytes */
    sm_buffer meta;      /* JSON texts, each with its uvarint length in front */
    sm_read_table table[SM_TABLES];
    size_t sound[SM_TABLES]; /* ids below are the written ones: no earlier row was missing or dropped */
    /* Pairs of int64: offset in the file and length of each payload of the kind. Heads have the number of pieces before
     * them as well. */
    sm_buffer journal[SM_JOURNAL_KINDS];
    sm_problem *problem;  /* owned */
    size_t problems;      /* at most SM_MAX_PROBLEMS */
    size_t more_problems; /* further problems, which are not stored */
} sm_read_data;

enum { SM_MAX_PROBLEMS = 100 };

typedef enum {
    SM_READ_OK,
    SM_READ_FOREIGN, /* not a recording */
    SM_READ_FUTURE,  /* written by a newer version; see `version` */
    SM_READ_NO_MEMORY
} sm_read_status;

/* Fill *data, which the caller frees with sm_read_free in any case. */
sm_read_status sm_read(const uint8_t *bytes, size_t size, sm_read_data *data);
void sm_read_free(sm_read_data *data);

/* ---- for the reader's files (read_data.c, reader_check.c) ---- */

/* Report a problem (printf-like). */
void sm_read_problem(sm_read_data *data, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Make room for this number of strings in all. Return false if out of memory. */
bool sm_read_reserve_strings(sm_read_data *data, size_t strings);
/* Add a string and return its index, or -1 if out of memory. */
int64_t sm_read_add_string(sm_read_data *data, const char *text);
/* Make the contents of the chunks sound. Return 0 if out of memory. */
int sm_read_check(sm_read_data *data);
