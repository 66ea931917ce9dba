/* The coverage recorder's memory and file. Shared by the files of this folder only. */
#ifndef SM_RECORDER_COVERAGE_STORE_H
#define SM_RECORDER_COVERAGE_STORE_H

#include "engine/output.h"
#include "recorder/coverage/places.h"

enum { SM_COVER_LINES, SM_COVER_STEPS, SM_COVER_KINDS }; /* as context_hits.kind in the file */

typedef struct { /* rows of a table that were hit in the present context */
    uint64_t *bits;
    uint32_t *blocks; /* those of bits that are not 0, in the order in which they became so */
    uint32_t size, count;
} sm_cover_hits;

/* What the flush touches: under the lock. */
typedef struct {
    sm_output output;
    sm_output fresh; /* of a file that is to take its place (rewrite.c): whatever is put into one is put into both */
    sm_cover_function *functions; /* all, newest first */
    sm_cover_function **by_id;    /* by sm_function.id */
    uint32_t by_id_size, functions_count;
    uint32_t rows[SM_COVER_KINDS]; /* of lines and of arcs */
    uint32_t branch_rows, context_rows, hit_rows;
    uint32_t fresh_hit_rows;
    uint32_t context; /* the present one's number, from 1; 0: none, or nothing was hit in it yet */
    char *context_name;
    char *given_name; /* what the context was called from outside; a test's own name follows it. NULL: nothing */
    sm_cover_hits hits[SM_COVER_KINDS];
    bool changed;            /* since the last flush */
    bool behind;             /* the file lacks something that is not new: the disk was full */
    struct sm_filter *where; /* held: what is wanted at all; NULL: all. With the GIL, as is */
    char *hide;              /* owned: files that are not, a list as sm_text_lists takes it */
    uint64_t rearmed;
} sm_cover_store_state;

extern sm_cover_store_state sm_cover_store;

/* The lock. Its holder calls nothing that could wait for the GIL, and takes no other lock. */
void sm_cover_lock(void);
void sm_cover_unlock(void);
/* For who writes the file, or looks into it: with the lock, and after any write that is on its way. */
void sm_cover_lock_file(void);
void sm_cover_unlock_file(void);

/* With the lock: */
void sm_cover_put_line(sm_cover_function *of, uint32_t index);
void sm_cover_put_step(sm_cover_function *of, sm_cover_step *step);
void sm_cover_put_jump(sm_cover_function *of, uint32_t number);
void sm_cover_note(int kind, uint32_t row); /* a row (from 1) was hit in the present context */
void sm_cover_changed(void);                /* something is to be flushed */
void sm_cover_end_context(void);

void sm_cover_write_counts(void);           /* what has grown since they were written */
void sm_cover_write_all(sm_output *output); /* another output, from the beginning; without contexts */
void sm_cover_forget_contexts(void);
/* Rows of contexts and of what was hit in them. False: they were not taken in, for want of memory. */
bool sm_cover_put_context(sm_output *output, uint32_t id, const char *name, size_t size);
bool sm_cover_put_hit(sm_output *output, uint32_t id, int64_t context, int kind, int64_t base, uint64_t bits);

/* The file anew (rewrite.c). Each with the lock of the file, and all but `read` with that of the rows. */
/* If it is time: `fresh` has all but the contexts. To be followed by: what is pending of the old file is sent, */
bool sm_cover_anew_begin(const sm_about *about);
void sm_cover_anew_read(uint32_t contexts); /* contexts: so many are in the old file, */
bool sm_cover_anew_gather(void);            /* `fresh` has all; false: it is given up */
/* after it has been sent: whether it is the recording's file now. */
bool sm_cover_anew_end(void);

bool sm_cover_table(sm_cover_function *of, PyCodeObject *code); /* takes the lock; makes the branches */
bool sm_cover_after_news(sm_cover_code *code);
void sm_cover_new_stamp(void);
void sm_cover_rearm(void); /* after it is another, or all is forgotten */
void sm_cover_switched_on(sm_cover_code *code);
void sm_cover_code_died(sm_code_entry *entry);
void sm_cover_release_codes(void); /* frees the records */
void sm_cover_forget(void);        /* frees all functions; the records are gone already */
bool sm_cover_check_branches(const sm_cover_function *of);

/* The flush and its thread (flush.c). */
bool sm_cover_flush_init(void); /* once per process; false: out of memory */
/* gather: makes bytes of what is new, with the lock; false: there is nothing. send: writes them, with the file's lock
 * alone. go_on: after that, with the lock: whether there is more to send. All on any thread. */
typedef struct {
    bool (*gather)(void);
    void (*send)(void);
    bool (*go_on)(void);
} sm_cover_steps;
/* always: to be asked in every period, changed or not. */
void sm_cover_flush_begin(uint64_t period_ns, bool always, const sm_cover_steps *steps);
void sm_cover_flush_now(void);
void sm_cover_flush_end(void); /* without the lock: no flush is on its way after this */

#endif
