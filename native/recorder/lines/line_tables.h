/* The memory of the lines recorder: tables, lines, entries. For the files of this folder. */
#ifndef SM_RECORDER_LINES_LINE_TABLES_H
#define SM_RECORDER_LINES_LINE_TABLES_H

#include "engine/engine.h"
#include "recorder/awaits.h"

typedef struct sm_line_table sm_line_table;

/* Guard: the GIL, except where noted; a save reads counters meanwhile. */
typedef struct sm_line {
    uint64_t hits;
    sm_line_table *table;
    struct sm_line *next_elsewhere; /* of the table's lines that are out of its range */
    int32_t number;                 /* 0: none */
    uint32_t id;                    /* in the recording */
    uint64_t saved;                 /* with the engine's lock: sum of its counters when it was saved last */
    uint64_t awaits, await_ticks;
    /* The sampler's, with its lock. */
    uint64_t looks, ticks; /* that it ran */
    double square;         /* of the looks' ticks */
    double inner, inner_square;
    sm_off off;
    double off_square;
    uint64_t look; /* number of the last look that found it on the stack */
} sm_line;

/* Of a function; never moves, lives as long as the recording. Guard: the GIL. */
struct sm_line_table {
    sm_function *function;
    int32_t first;
    uint32_t count;
    bool awaits;                  /* a coroutine or asynchronous generator: its suspensions are timed */
    sm_line *outside;             /* lines that are not in first .. first + count: the line table has lied */
    struct sm_line_place *places; /* where frames were found suspended, by offset */
    uint32_t places_count, places_size;
    sm_line *lines[]; /* NULL: not hit yet */
};

/* Of a frame. Guard: its thread's, with the GIL; another frame's with the sampler's lock as well. The sampler reads it
 * at any time: `line` is one that has run, or NULL. */
typedef struct {
    const void *frame; /* the interpreter's, an address; NULL: none */
    const void *previous;
    const void *code;
    sm_line_table *table;
    sm_line *line;  /* NULL: the frame is no part of the recording */
    uint32_t below; /* the caller's entry; 0: there is none */
} sm_line_entry;

/* Guard: its thread's, with the GIL, except where noted. */
typedef struct {
    sm_line_entry *entries; /* owned; moved with the sampler's lock. The first: see sm_lines_add_elsewhere() */
    uint32_t size;
    uint32_t open;    /* atomic: the size while the fast path may be taken, else 0 */
    uint32_t top;     /* SM_LINES_BY_ENDS: of the running frame */
    uint32_t held;    /* pauses; they nest */
    sm_awaits awaits; /* suspended coroutines, of the lines that they wait in */
} sm_lines_thread;

typedef enum { SM_LINES_BY_DEPTH, SM_LINES_BY_ENDS } sm_lines_way;

static inline sm_lines_thread *sm_lines_of(sm_thread *thread) {
    return (sm_lines_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

typedef struct sm_line_place { /* an instruction at which frames were found. Guard: the GIL */
    int32_t offset;
    sm_line *line;
} sm_line_place;

typedef struct sm_line_block { /* guard: the GIL, but for what is atomic */
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
    sm_line *elsewhere;    /* what ran while no frame of the recording did; NULL: out of memory */
    uint64_t outside;      /* hits of lines that a lying line table had no room for */
    uint64_t looks;        /* the sampler's, with its lock: a number for each */
    double cost;           /* ticks of the probes, a hit */
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
