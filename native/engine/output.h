/* From what was kept to the tables of a recording: what every kind of recording has. Functions are written when the
 * first row names them, so a recording has those that it needs and no others.
 *
 * Needs no engine. Nothing here touches a Python object; the caller sees to it that no two threads write to the same
 * output at a time. */
#ifndef SM_ENGINE_OUTPUT_H
#define SM_ENGINE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"
#include "file/writer.h"

typedef struct {                     /* what has gone into the output already */
    uint64_t module, qualname, file; /* string numbers */
    uint32_t number;                 /* the function's number in this output, from 1; 0: not written yet */
    uint32_t flags;                  /* as written */
} sm_output_function;

/* A file or memory image being written. Guard: its owner's: of the engine's, the engine's lock; of coverage's, the lock
 * of its rows. */
typedef struct {
    sm_writer *writer;             /* owned */
    sm_output_function *functions; /* by sm_function.id */
    uint32_t functions_size, functions_count;
    uint64_t host, argv, interpreter, clock, source; /* string numbers */
    uint32_t losses;
    uint64_t noted; /* of the first 64 losses: a bit for each that the file has */
    uint64_t lost;  /* functions not taken in for want of memory */
    bool whole;     /* an image: everything, not only what changed since the last flush, and nothing is remembered */
    bool gil;       /* who saves holds it: the interpreter and the live objects stand still */
    bool anew;      /* the file begins once more: everything, and it is remembered. What was is in another file */
} sm_output;

static inline bool sm_output_all(const sm_output *output) {
    return output->whole || output->anew;
}

/* What a recording tells of its process. Borrowed while a call lasts; NULL: unknown. */
typedef struct {
    const char *meta; /* a JSON object */
    const char *host, *argv, *interpreter, *clock, *source, *waits, *exit;
    int64_t start_ns, end_ns;       /* Unix time */
    int64_t boot_ns, unix_bound_ns; /* of start_ns: see base/time.h */
    const double *costs;            /* the process row's real columns, by column number; NULL: all 0 */
} sm_about;

/* writer: taken over, also on failure. False: out of memory. */
bool sm_output_open(sm_output *output, sm_writer *writer, bool whole, const sm_about *about);
void sm_output_close(sm_output *output); /* writes nothing; may be called again */

/* The file anew, when most of it is out of date (file/writer_renew.c). sm_output_renew: `fresh` is to be opened with
 * the writer that it returns and to be saved with everything; NULL: not now. by_rows: what is out of date of it are
 * rows that later ones replace. sm_output_take_place: after that. True:
 * `fresh` is the output now; false: it is closed, and the old one goes on. */
sm_writer *sm_output_renew(const sm_output *output, bool by_rows);
bool sm_output_take_place(sm_output *fresh, sm_output *output);

/* The one row of the process; a later one replaces it. */
void sm_output_process(sm_output *output, const sm_about *about);

/* The number of a function in an output; writes the function first if it must. UINT32_MAX: out of memory. */
uint32_t sm_output_function_number(sm_output *output, const sm_function *function);

/* That the recording has no end yet, so that a reader of what a killed program left can say since when something is
 * missing: since the end of the process row. false: this is the end. */
void sm_output_unended(sm_output *output, bool unended);

/* One row a kind, which a later one replaces when losses come in the same order: set output->losses to 0 first. */
void sm_output_loss(sm_output *output, const char *kind, uint64_t count, int64_t thread, const char *detail);
void sm_output_interpreters(sm_output *output, uint64_t count); /* the loss that other interpreters are */

/* At the end: the source files of the Python functions that were written, as they are now (source_files.c). folder:
 * what relative names are relative to; NULL: unknown. Reads each file, without the GIL as far as that goes. */
void sm_output_sources(sm_output *output, const char *folder);

#endif
