/* The memory of the lines recorder: tables, lines, entries. For the files of this folder. */
#ifndef SM_RECORDER_LINES_LINE_TABLES_H
#define SM_RECORDER_LINES_LINE_TABLES_H

#include "recorder/lines/lines.h"

typedef struct sm_line_place { /* an instruction at which frames were found */
    int32_t offset;
    sm_line *line;
} sm_line_place;

typedef struct sm_line_block {
    struct sm_line_block *next;
    uint32_t used; /* atomic: published lines */
    _Alignas(64) sm_line lines[];
} sm_line_block;

typedef struct { /* guarded by the GIL, except as noted */
    sm_lines_way way;
    sm_line_table **tables; /* by sm_function.id; changed with the engine's lock, too, like its size */
    uint32_t tables_size;
    uint32_t lines_count;
    sm_line_block *blocks; /* atomic; newest first */
    sm_line *elsewhere;    /* what ran outside of recorded frames, or NULL if out of memory */
    bool stopped;          /* the next save is the last */
    char folder[4096];
    uint64_t outside; /* hits of lines that a wrong line table had no room for */
    uint64_t looks;   /* number of looks; the sampler's */
    double cost;      /* ticks of the probes per hit */
} sm_lines_state;

extern sm_lines_state sm_lines;

#define SM_LINES_BLOCK 256

/* Return a code object's table. Return NULL if it is left out, is no code object, or out of memory (counted). */
sm_line_table *sm_lines_table(const void *code, PyObject *globals);
/* Do the same without making one. */
sm_line_table *sm_lines_known(const void *code);
bool sm_lines_hides(const void *code); /* true if it is left out */
void sm_lines_add_elsewhere(void);
sm_line *sm_lines_at(sm_line_table *table, int number); /* NULL if out of memory (counted) */
sm_line *sm_lines_place(sm_line_table *table, const void *code, int offset);
/* Make sure of an entry of this number. Return false if out of memory. */
bool sm_lines_reserve(sm_lines_thread *state, uint32_t number);
void sm_lines_free_thread(sm_lines_thread *state);
void sm_lines_free(void);

void sm_lines_save(sm_output *output);

#endif
