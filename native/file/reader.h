/* Reads a recording from memory and trusts nothing in it. No Python.h.
 *
 * What can be kept is kept: a bad chunk, row or value costs itself and what hangs on it, and is named in `problems`.
 * What comes out is sound: ids are dense from 0, every reference is in range, a node's parent comes before it and is on
 * the same thread, counts are not negative, float64 values are finite, string indexes are in range. Only the strings'
 * UTF-8 is left unchecked. */
#ifndef SM_FILE_READER_H
#define SM_FILE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "file/tables.h"

typedef struct {
    uint64_t offset; /* bytes from the start of the file; its size for what concerns the whole */
    char text[120];
} sm_problem;

typedef struct {
    size_t rows;
    size_t room;                     /* rows allocated */
    int64_t *column[SM_MAX_COLUMNS]; /* owned; REAL columns hold the bits of doubles */
    uint32_t *row_of;                /* owned, while reading: id -> row + 1 */
    size_t ids;                      /* length of row_of */
} sm_read_table;

typedef struct {
    unsigned version;
    int finished;        /* the last chunk was an END */
    int behind;          /* whoever wrote it could not write all that it had */
    size_t strings;      /* with string 0 */
    int64_t *offsets;    /* owned; strings + 1 of them: where each begins in string_data */
    size_t offsets_room; /* allocated */
    sm_buffer data;      /* the strings' bytes */
    sm_buffer meta;      /* JSON texts, each with its uvarint length in front */
    sm_read_table table[SM_TABLES];
    size_t sound[SM_TABLES]; /* ids below are the written ones: no row before was missing or dropped */
    sm_buffer journal;       /* offset in the file and length of each payload of the kind JRNL, as pairs of int64 */
    sm_buffer levels;        /* the same of the kind LEVL */
    sm_buffer longest;       /* the same of the kind LONG */
    sm_buffer heads;         /* the same of the kind HEAD, and after each how many of the kind JRNL come before it */
    sm_problem *problem;     /* owned */
    size_t problems;         /* at most SM_MAX_PROBLEMS */
    size_t more_problems;    /* that found no room */
} sm_read_data;

enum { SM_MAX_PROBLEMS = 100 };

typedef enum {
    SM_READ_OK,
    SM_READ_FOREIGN, /* no recording of ours */
    SM_READ_FUTURE,  /* version says which */
    SM_READ_NO_MEMORY
} sm_read_status;

/* Fills *data, which the caller frees with sm_read_free whatever the status. */
sm_read_status sm_read(const uint8_t *bytes, size_t size, sm_read_data *data);
void sm_read_free(sm_read_data *data);

/* Used among the reader's files: notes a problem (printf-like). */
void sm_read_problem(sm_read_data *data, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a string and returns its index; -1: out of memory. */
int64_t sm_read_add_string(sm_read_data *data, const char *text);
/* Makes what the chunks gave sound (reader_check.c). False: out of memory. */
int sm_read_check(sm_read_data *data, uint64_t size);

#endif
