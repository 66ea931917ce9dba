/* The memory and the file of the coverage recorder. For the files of this folder. */
#ifndef SM_RECORDER_COVERAGE_STORE_H
#define SM_RECORDER_COVERAGE_STORE_H

#include "engine/output.h"
#include "recorder/coverage/places.h"

enum { SM_COVER_LINES, SM_COVER_STEPS, SM_COVER_KINDS }; /* as context_hits.kind in the file */

typedef struct { /* rows of a table that were hit in the present context */
    uint64_t *bits;
    uint32_t *blocks; /* those of `bits` that are not 0, in the order of the first hit */
    uint32_t size, count;
} sm_cover_hits;

/* What the flush touches. Guard: sm_cover_lock(), except as noted. */
typedef struct {
    sm_output output;
    sm_output fresh; /* of a file that is to replace it (rewrite.c); every row goes into both */
    sm_cover_function *functions;
    sm_cover_function **by_id;
    uint32_t by_id_size, functions_count;
    uint32_t rows[SM_COVER_KINDS];
    uint32_t branch_rows, context_rows, hit_rows;
    uint32_t fresh_hit_rows;
    uint32_t context; /* number of the present one, from 1, or 0 before a hit */
    char *context_name;
    char *given_name; /* name of the context from outside, which a test's own name follows, or NULL */
    sm_cover_hits hits[SM_COVER_KINDS];
    bool changed;            /* since the last flush */
    bool behind;             /* the file lacks old rows, since the disk was full */
    struct sm_filter *where; /* held; NULL for all code; guarded by the GIL, like `hide` */
    char *hide;              /* owned; files that are left out, as sm_text_lists takes them */
    uint64_t rearmed;
} sm_cover_store_state;

extern sm_cover_store_state sm_cover_store;

/* Take the lock. Its holder calls nothing that could wait for the GIL, and takes no other lock. */
void sm_cover_lock(void);
void sm_cover_unlock(void);
/* Take the lock after any write that is in progress, to write the file or to look into it. */
void sm_cover_lock_file(void);
void sm_cover_unlock_file(void);

/* The following are called with the lock. */
void sm_cover_put_line(sm_cover_function *of, uint32_t index);
void sm_cover_put_step(sm_cover_function *of, sm_cover_step *step);
void sm_cover_put_jump(sm_cover_function *of, uint32_t number);
void sm_cover_note(int kind, uint32_t row); /* notes a hit of a row (from 1) in the present context */
void sm_cover_changed(void);                /* something is to be flushed */
void sm_cover_end_context(void);

void sm_cover_write_counts(void);
void sm_cover_write_all(sm_output *output); /* into another output, without contexts */
void sm_cover_forget_contexts(void);
/* Write the row of a context, or of hits in it. Return false if out of memory. */
bool sm_cover_put_context(sm_output *output, uint32_t id, const char *name, size_t size);
bool sm_cover_put_hit(sm_output *output, uint32_t id, int64_t context, int kind, int64_t base, uint64_t bits);

/* The steps of a rewrite (rewrite.c), with the lock of the file, and all but `read` with that of the rows. */
/* Return true if it is time, with all but the contexts in `fresh`. Then news of the old file are sent. */
bool sm_cover_anew_begin(const sm_about *about);
void sm_cover_anew_read(uint32_t contexts); /* contexts: in the old file */
bool sm_cover_anew_gather(void);            /* completes `fresh`; false if the rewrite is given up */
/* Return true if `fresh`, which was sent, is the recording's file now. */
bool sm_cover_anew_end(void);

bool sm_cover_table(sm_cover_function *of, PyCodeObject *code); /* makes the branches; takes the lock */
bool sm_cover_after_news(sm_cover_code *code);
void sm_cover_new_stamp(void);
void sm_cover_rearm(void);
void sm_cover_switched_on(sm_cover_code *code);
void sm_cover_code_died(sm_code_entry *entry);
void sm_cover_release_codes(void);
void sm_cover_forget(void);
bool sm_cover_check_branches(const sm_cover_function *of);

bool sm_cover_flush_init(void); /* once per process; false if out of memory */
/* The steps of a flush, on any thread. gather: makes bytes of news, with the lock; false if none. send: writes them,
 * with the file's lock. go_on: then, with the lock, returns true if there is more to send. */
typedef struct {
    bool (*gather)(void);
    void (*send)(void);
    bool (*go_on)(void);
} sm_cover_steps;
/* Start flushes. always: gather in every period, changed or not. */
void sm_cover_flush_begin(uint64_t period_ns, bool always, const sm_cover_steps *steps);
void sm_cover_flush_now(void);
void sm_cover_flush_end(void); /* without the lock; no flush is running after this */

#endif
