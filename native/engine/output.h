/* What every kind of recording has in its tables. A function is written when a row first names it.
 *
 * An output has no guard: the caller keeps other threads away from it. It touches no Python object. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "code/function.h"
#include "file/writer.h"

typedef struct {
    uint64_t module, qualname, file;
    uint32_t number; /* its number in this output, from 1, or 0 if not written */
    uint32_t flags;
} sm_output_function;

/* A file or memory image being written. Guard: the engine's lock. */
typedef struct {
    sm_writer *writer;             /* owned */
    sm_output_function *functions; /* owned; by sm_function.id */
    uint32_t functions_size, functions_count;
    sm_map texts;                                    /* of modules and files */
    uint64_t host, argv, interpreter, clock, source; /* string numbers */
    uint32_t context_hits;                           /* rows, which are never replaced */
    uint32_t losses;
    uint64_t noted; /* a bit for each of the first 64 losses that the file has */
    uint64_t lost;  /* functions dropped for want of memory */
    bool whole;     /* an image: has everything, and nothing is remembered */
    bool gil;       /* saved with the GIL, so the interpreter stands still */
    bool anew;      /* a new file, or one that lacks rows: the next save has everything, and it is remembered */
    uint32_t since; /* a save writes paths from this number on, or 0 for all; the caller holds `disk` (flush.c) */
} sm_output;

/* Return the number of rows that were dropped for want of memory. */
static inline uint64_t sm_output_lost(const sm_output *output) {
    return output->lost + sm_writer_lost(output->writer);
}

static inline bool sm_output_all(const sm_output *output) {
    return output->whole || output->anew;
}

/* The facts of the process. Borrowed during a call; NULL if unknown. */
typedef struct {
    const char *meta;
    const char *host, *argv, *interpreter, *clock, *source, *waits, *exit;
    int64_t start_ns, end_ns;
    int64_t boot_ns, unix_bound_ns, time_bound_ns; /* of start_ns, and of the time since: see base/time.h */
    int64_t stop_ns;     /* of waiting for the start of the stopped world, of all threads together */
    const double *costs; /* real columns of the process row, by column number; NULL for zeros */
} sm_about;

/* Return the number of a text in an output, or 0 for NULL. */
uint64_t sm_output_text(sm_output *output, const char *text);

/* Open an output, and take the writer over, also on failure. Return false if out of memory. */
bool sm_output_open(sm_output *output, sm_writer *writer, bool whole, const sm_about *about);
void sm_output_close(sm_output *output); /* writes nothing; idempotent */

/* Rewrite an outdated file (file/writer_renew.c). sm_output_renew: return a writer with which `fresh` is opened and
 * saved with everything, or NULL if it is not time. by_rows: rows are outdated by later ones. sm_output_take_place:
 * then return true if `fresh` is the output now; otherwise it is closed. */
sm_writer *sm_output_renew(const sm_output *output, bool by_rows);
bool sm_output_take_place(sm_output *fresh, sm_output *output);

/* Write the row of the process, which replaces an earlier one. */
void sm_output_process(sm_output *output, const sm_about *about);

/* Return the number of a function in an output, after writing it if necessary, or UINT32_MAX if out of memory. */
uint32_t sm_output_function_number(sm_output *output, const sm_function *function);

/* Note that the recording has no end yet, for readers of what a killed program left. false: it has. */
void sm_output_unended(sm_output *output, bool unended);

/* Write the row of a loss, which replaces an earlier one at the same place. Set output->losses to 0 first. */
void sm_output_loss(sm_output *output, const char *kind, uint64_t count, int64_t thread, const char *detail);

/* Write the state of the source files of written Python functions, at the end. folder: of relative names, or NULL. */
void sm_output_sources(sm_output *output, const char *folder);
