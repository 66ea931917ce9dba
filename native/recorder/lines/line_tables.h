/* The memory of the lines recorder: tables, lines, entries. For files of this folder only.
 *
 * All threads share one store of tables and lines. Without the GIL, each thread has a store of its own, whose lines it
 * counts without a lock. A line there has a *home* in the common store, which names it in the file, and gets its counts
 * at the thread's end; a save adds those of the running threads. */
#pragma once

#include "compat/core_lock.h"
#include "engine/engine.h"
#include "recorder/awaits.h"

typedef struct sm_line_table sm_line_table;

/* A line. Guard: the GIL or its store's owner, except where noted; a save reads counters meanwhile. */
typedef struct sm_line {
    uint64_t hits; /* atomic */
    sm_line_table *table;
    struct sm_line *next_elsewhere; /* the next of its table's lines outside the range */
    int32_t number;                 /* line number, or 0 if unknown */
    uint32_t id;                    /* its number in the recording */
    uint64_t saved;                 /* sum of its counters at the last save; guard: the engine's lock */
    uint64_t awaits, await_ticks;   /* atomic */
    /* The fields of the sampler; guard: its lock. */
    uint64_t looks, ticks; /* looks that found it running, and their ticks */
    double square;         /* sum of squares of the looks' ticks */
    double inner, inner_square;
    sm_off off;
    double off_square;
    uint64_t look; /* the number of the last look that found it on the stack */
#if SM_FREE_THREADED
    struct sm_line *home; /* NULL in the common store */
#endif
} sm_line;

/* A function's lines. Never moves, and lives as long as its store. Guard: the store's. */
struct sm_line_table {
    sm_function *function;
    struct sm_line_store *store;
    sm_line_table *home; /* the function's table in the common store, or NULL if this is in it */
    int32_t first;
    uint32_t count;
    bool awaits;                  /* a coroutine or asynchronous generator, whose suspensions are timed */
    sm_line *outside;             /* lines not in first .. first + count, because the line table is wrong */
    struct sm_line_place *places; /* where frames were found suspended, by offset */
    uint32_t places_count, places_size;
    sm_line *lines[]; /* NULL for a line that was not hit */
};

/* A thread's entry for a frame. Guard: its thread, with the GIL; to use it for another frame, the sampler's lock as
 * well. The sampler reads it at any time: `line` is one that has run, or NULL. */
typedef struct {
    const void *frame; /* address of the interpreter's frame, or NULL */
    const void *previous;
    const void *code;
    sm_line_table *table;
    sm_line *line;  /* atomic; NULL if the frame is not recorded */
    uint32_t below; /* number of the caller's entry, or 0 */
} sm_line_entry;

typedef struct sm_line_block { /* guard: the store's, except for atomic fields */
    struct sm_line_block *next;
    uint32_t used; /* atomic: number of published lines */
    _Alignas(64) sm_line lines[];
} sm_line_block;

/* Guard: the GIL or the core's lock for the common store, else its thread. */
typedef struct sm_line_store {
    sm_line_table **tables; /* by sm_function.id; changed with the engine's lock as well, like its size */
    uint32_t tables_size;
    sm_line_block *blocks; /* atomic; newest first */
    sm_line *elsewhere;    /* stands for all that runs while no recorded frame does; NULL: out of memory */
} sm_line_store;

/* The recorder's data of a thread. Guard: that thread, with the GIL, except where noted. */
typedef struct {
    sm_line_entry *entries; /* owned; moved with the sampler's lock. Entry 0 has sm_lines.elsewhere. */
    uint32_t size;
    uint32_t open;    /* atomic: the size while the fast path may be taken, else 0 */
    uint32_t top;     /* for SM_LINES_BY_ENDS: number of the running frame's entry */
    uint32_t held;    /* depth of nested pauses */
    sm_awaits awaits; /* suspended coroutines, by the lines that they wait in */
#if SM_FREE_THREADED
    sm_line_store store;
#endif
} sm_lines_thread;

typedef enum { SM_LINES_BY_DEPTH, SM_LINES_BY_ENDS } sm_lines_way;

static inline sm_lines_thread *sm_lines_of(sm_thread *thread) {
    return (sm_lines_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

typedef struct sm_line_place { /* an instruction at which frames were found suspended; guard: the GIL */
    int32_t offset;
    sm_line *line;
} sm_line_place;

typedef struct { /* guard: the GIL or the core's lock, except as noted */
    sm_lines_way way;
    sm_line_store store;
    uint32_t lines_count; /* atomic; of the common store */
    uint64_t outside;     /* hits that were counted for another line, because a wrong line table had too many */
    uint64_t looks;       /* number of looks so far; guard: the sampler's lock */
    double cost;          /* cost of the probes in ticks per hit */
} sm_lines_state;

extern sm_lines_state sm_lines;

/* Return the store with the lines that a thread counts. */
static inline sm_line_store *sm_lines_store(sm_lines_thread *state) {
#if SM_FREE_THREADED
    return &state->store;
#else
    (void)state;
    return &sm_lines.store;
#endif
}

#define SM_LINES_BLOCK 256

/* Return a code object's table, or NULL if it is left out, is no code object, or memory ran out (counted). */
sm_line_table *sm_lines_table(sm_line_store *store, const void *code, PyObject *globals);
/* Return a code object's table if it exists, or NULL. */
sm_line_table *sm_lines_known(const sm_line_store *store, const void *code);
bool sm_lines_hides(const void *code); /* true if its function is left out */
void sm_lines_add_elsewhere(sm_line_store *store);
sm_line *sm_lines_at(sm_line_table *table, int number); /* NULL if out of memory (counted) */
sm_line *sm_lines_place(sm_line_table *table, const void *code, int offset);
/* Ensure that the entry of this number exists. Return false if out of memory. */
bool sm_lines_reserve(sm_lines_thread *state, uint32_t number);
void sm_lines_free_thread(sm_lines_thread *state);
/* Add the counters of a line to those of another. With the sampler's lock. */
void sm_line_add(sm_line *to, const sm_line *from);
void sm_lines_free(void);

void sm_lines_save(sm_output *output);
