/* The lines recorder's memory: tables, lines, entries. Shared by the files of this folder only. */
#ifndef SM_RECORDER_LINES_LINE_TABLES_H
#define SM_RECORDER_LINES_LINE_TABLES_H

#include "recorder/lines/lines.h"

typedef struct sm_line_place { /* an instruction at which frames were found */
    int32_t offset;
    sm_line *line;
} sm_line_place;

typedef struct sm_line_block {
    struct sm_line_block *next;
    uint32_t used; /* atomic: lines that have been published */
    _Alignas(64) sm_line lines[];
} sm_line_block;

typedef struct { /* with the GIL, but for what is said */
    sm_lines_way way;
    sm_line_table **tables; /* by sm_function.id; these two change with the engine's lock as well */
    uint32_t tables_size;
    uint32_t lines_count;  /* the next id */
    sm_line_block *blocks; /* atomic; newest first */
    sm_line *elsewhere;    /* what ran while no frame of the recording did; NULL: out of memory */
    bool stopped;          /* what is saved now is the last */
    char folder[4096];     /* that relative file names are relative to; "": unknown */
    uint64_t outside;      /* hits of lines that a lying line table had no room for */
    uint64_t looks;        /* the sampler's: a number for each */
    double cost;           /* ticks of the probes, a hit */
} sm_lines_state;

extern sm_lines_state sm_lines;

#define SM_LINES_BLOCK 256 /* lines that are allocated together */

/* A code object's table. NULL: it is left out, or no code object, or there is no memory (counted). */
sm_line_table *sm_lines_table(const void *code, PyObject *globals);
/* The same, none made. */
sm_line_table *sm_lines_known(const void *code);
bool sm_lines_hides(const void *code); /* left out, and not for want of memory */
void sm_lines_add_elsewhere(void);
sm_line *sm_lines_at(sm_line_table *table, int number);                      /* NULL: no memory (counted) */
sm_line *sm_lines_place(sm_line_table *table, const void *code, int offset); /* NULL as above */
/* Sees to an entry of this number. False: out of memory. */
bool sm_lines_reserve(sm_lines_thread *state, uint32_t number);
void sm_lines_free_thread(sm_lines_thread *state); /* what it owns: zero again */
void sm_lines_free(void);

void sm_lines_save(sm_output *output);

#endif
