/* The spans of the objects recorder (span_births.c). Guard: the GIL; rows change with the engine's lock, too. */
#pragma once

#include "recorder/objects/objects.h"

#define SM_OBJECTS_SPAN_ROWS 4096 /* further calls share rows */

/* A span that has not ended. Never freed, so that a thread's old pointer does no harm. Guard: the GIL. */
typedef struct sm_objects_span {
    uint64_t span;                /* its number in the process, from 1, never used again; 0: this record is free */
    uint32_t low;                 /* the part of the number that live entries have */
    uint64_t row;                 /* its number in the recording */
    uint64_t first_serial;        /* the serial of its first birth */
    struct sm_objects_span *next; /* the next in its bucket or in the free list */
} sm_objects_span;

/* Some consecutive calls: 1, 2, 4 and so on. Guard: the GIL; merged with the engine's lock as well. */
typedef struct {
    const sm_function *function; /* the function of the first call */
    uint64_t start_ticks, end_ticks;
    uint64_t first_serial;
    uint64_t born, died; /* died: before the end of their call */
    uint64_t live, saved;
    uint32_t calls, open;
} sm_objects_span_row;

/* Guard: the GIL, and to move or count rows the engine's lock as well; fields of the save: that lock. */
typedef struct {
    sm_objects_span_row *rows; /* owned; by the number of the call >> shift */
    uint32_t rows_count, rows_size;
    uint32_t shift;
    uint32_t folds;  /* times that rows were merged */
    uint64_t before; /* the last number of earlier recordings */
    uint64_t count;
    uint64_t lost;                 /* calls without a row, because memory ran out */
    uint32_t written, folds_saved; /* fields of the save: rows in the file, and `folds` when they were written */
} sm_objects_spans_state;

extern sm_objects_spans_state sm_objects_spans;

/* The functions that receive spans (hub/spans.h). */
uint64_t sm_objects_span_open(const sm_function *function);
void sm_objects_span_close(uint64_t span);
void sm_objects_span_run(uint64_t span);

void sm_objects_spans_start(void);
void sm_objects_spans_forget(void);

/* Return the row of an object with these low bits and this serial, or UINT32_MAX. */
uint32_t sm_objects_span_row_of(uint32_t low, uint64_t serial);
