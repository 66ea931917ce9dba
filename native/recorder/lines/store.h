/* The linetimes recorder's memory: tables, lines. Shared by the files of this folder only. */
#ifndef SM_RECORDER_LINES_STORE_H
#define SM_RECORDER_LINES_STORE_H

#include "recorder/lines/linetimes.h"

typedef struct sm_line_place { /* an instruction at which frames were found */
    int32_t offset;
    sm_line *line;
} sm_line_place;

typedef struct sm_line_instructions {
    PyCodeObject *code; /* held: what the texts are made from */
    uint32_t count;     /* in units of two bytes */
    uint32_t *rows;     /* owned; in the recording, from 1, by unit: 0 has none; NULL: none has */
    bool told;          /* texts have been asked for */
    char **texts;       /* owned, each; NULL: an inline cache */
    uint64_t hits[];
} sm_line_instructions;

typedef struct sm_line_block {
    struct sm_line_block *next;
    uint32_t used;
    _Alignas(64) sm_line lines[];
} sm_line_block;

typedef struct {
    sm_line_table **tables; /* by sm_function.id */
    uint32_t tables_size, tables_count;
    uint32_t lines_count;      /* the next id */
    uint32_t instruction_rows; /* given out */
    sm_line_block *blocks;
    sm_line *elsewhere; /* of the time that belongs to no line */
    bool stopped;       /* what is saved now is the last */
    char folder[4096];  /* that relative file names are relative to; "": unknown */
    uint64_t gaps;      /* seeds of the threads' random gaps */
    uint64_t outside;   /* hits of lines that a lying line table had no room for */
    double ticks;       /* of all lines, as far as they are learnt: see young.h */
    double cost[2];     /* ticks of the probes in a segment, by sm_beginning */
} sm_lines_state;

extern sm_lines_state sm_lines;
extern sm_line_table sm_lines_unattributed; /* of frames that are no part of the recording */

#define SM_LINES_BLOCK 256 /* lines that are allocated together */

/* A code object's table. NULL: it is left out, or no code object, or there is no memory (counted). */
sm_line_table *sm_lines_table(const void *code, PyObject *globals);
/* The same, none made. */
sm_line_table *sm_lines_known(const void *code);
bool sm_lines_hides(const void *code);                                       /* left out, and not for want of memory */
sm_line *sm_line_new(sm_line_table *table, int number);                      /* NULL: no memory */
sm_line *sm_lines_at(sm_line_table *table, int number);                      /* NULL: no memory (counted) */
sm_line *sm_lines_place(sm_line_table *table, const void *code, int offset); /* NULL as above */
bool sm_lines_push(sm_lines_thread *state, const void *frame, const void *code, sm_line_table *table, sm_line *line);
void sm_lines_pop(sm_lines_thread *state, const uint64_t *at); /* as sm_lines_give_total */
void sm_lines_free_thread(sm_lines_thread *state);             /* what it owns: zero again */
void sm_lines_free(void);

void sm_linetimes_save(sm_output *output);
int sm_linetimes_calibrate(void);
/* totals.c. at: by the thread's own clock. */
void sm_lines_entered(sm_lines_thread *state, uint64_t at); /* the clock was read when the topmost frame was */
void sm_lines_note_timed(sm_lines_thread *state, sm_line *line, const sm_segment *ended, double cost);
/* Time that lies in no timed segment: it waited, or was long. */
void sm_lines_note_more(sm_lines_thread *state, sm_line *line, double ticks, double var);
void sm_lines_note_search(sm_lines_thread *state, const sm_line *line, double error); /* of what was taken out */
void sm_lines_add_pending(sm_lines_thread *state, uint64_t at); /* the times of frames that still run, so far */

/* instructions.c */
void sm_lines_add_instructions(sm_line_table *table, PyCodeObject *code);
void sm_lines_disassemble(void); /* runs Python code, unseen */
void sm_lines_free_instructions(sm_line_table *table);
void sm_lines_save_instructions(sm_output *output);

#endif
