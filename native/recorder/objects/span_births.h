/* The spans of the objects recorder (span_births.c). Guard: the GIL; rows change with the engine's lock, too. */
#ifndef SM_RECORDER_OBJECTS_SPAN_BIRTHS_H
#define SM_RECORDER_OBJECTS_SPAN_BIRTHS_H

#include "recorder/objects/objects.h"

#define SM_OBJECTS_SPAN_ROWS 4096 /* calls beyond share rows */

typedef struct sm_objects_span { /* an open one; never freed, so that a thread's old pointer does no harm */
    uint64_t span;               /* its number in the process, from 1, never reused; 0 if this record is free */
    uint32_t low;
    uint64_t row;
    uint64_t first_serial;        /* of the first birth that may be its */
    struct sm_objects_span *next; /* in its bucket, or free */
} sm_objects_span;

typedef struct {                 /* 1, 2, 4 ... consecutive calls */
    const sm_function *function; /* of the first */
    uint64_t start_ticks, end_ticks;
    uint64_t first_serial;
    uint64_t born, died; /* died: before its end */
    uint64_t live, saved;
    uint32_t calls, open;
} sm_objects_span_row;

typedef struct {
    sm_objects_span_row *rows; /* owned; by number of the call >> shift */
    uint32_t rows_count, rows_size;
    uint32_t shift;
    uint32_t folds;  /* times that rows were merged */
    uint64_t before; /* numbers of earlier recordings */
    uint64_t count;
    uint64_t lost;                 /* calls without memory */
    uint32_t written, folds_saved; /* of the save: rows in the file; folds then */
} sm_objects_spans_state;

extern sm_objects_spans_state sm_objects_spans;

/* The functions of a receiver of spans (hub/spans.h). */
uint64_t sm_objects_span_open(const sm_function *function);
void sm_objects_span_close(uint64_t span);
void sm_objects_span_run(uint64_t span);

void sm_objects_spans_start(void);
void sm_objects_spans_forget(void);

/* Return the row of an object with these low bits and this serial, or UINT32_MAX. */
uint32_t sm_objects_span_row_of(uint32_t low, uint64_t serial);

#endif
