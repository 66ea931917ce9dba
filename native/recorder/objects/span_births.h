/* The spans of the objects recorder (span_births.c). Guard: the GIL; rows change with the engine's lock, too. */
#ifndef SM_RECORDER_OBJECTS_SPAN_BIRTHS_H
#define SM_RECORDER_OBJECTS_SPAN_BIRTHS_H

#include "recorder/objects/objects.h"

#define SM_OBJECTS_SPAN_ROWS 4096 /* calls beyond share rows */

/* One that has not ended. Never freed, so that a thread's old pointer does no harm. Guard: the GIL. */
typedef struct sm_objects_span {
    uint64_t span;                /* its number in the process, from 1, never used again; 0: this record is free */
    uint32_t low;                 /* what live entries have of it */
    uint64_t row;                 /* its number in the recording */
    uint64_t first_serial;        /* births before this one are not its */
    struct sm_objects_span *next; /* in its bucket, or of the free ones */
} sm_objects_span;

/* 1, 2, 4 ... calls that began one after the other. Guard: the GIL; put together with the engine's lock as well. */
typedef struct {
    const sm_function *function; /* of the first */
    uint64_t start_ticks, end_ticks;
    uint64_t first_serial;
    uint64_t born, died; /* died: before its end */
    uint64_t live, saved;
    uint32_t calls, open;
} sm_objects_span_row;

/* Guard: the GIL, and to move or count rows the engine's lock as well; what is of the save, that lock. */
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
