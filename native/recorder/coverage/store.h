/* The memory of the coverage recorder. For the files of this folder. */
#pragma once

#include "engine/output.h"
#include "recorder/coverage/places.h"

/* Rows of tables. The first two have contexts, and these numbers are context_hits.kind in the file. */
enum { SM_COVER_LINES, SM_COVER_STEPS, SM_COVER_KINDS, SM_COVER_BRANCHES = SM_COVER_KINDS, SM_COVER_TABLES };

typedef struct { /* rows of a table that were hit in the present context */
    uint64_t *bits;
    uint32_t *blocks; /* those of `bits` that are not 0, in the order of the first hit */
    uint32_t size, count;
} sm_cover_hits;

typedef struct { /* rows that were hit in a context */
    uint32_t context, kind : 1, block : 31;
    uint64_t bits;
} sm_cover_context_hit;

/* Guard: the engine's lock, except as noted. */
typedef struct {
    sm_cover_function *functions;
    sm_cover_function **by_id;
    uint32_t by_id_size, functions_count;
    uint32_t rows[SM_COVER_TABLES];  /* numbers given */
    uint32_t saved[SM_COVER_TABLES]; /* of these, in the file */
    uint32_t contexts;               /* all that there were */
    uint32_t contexts_saved;         /* in the file; also guarded by `disk` */
    char **names;                    /* owned, as they are; of the other contexts */
    uint32_t names_count, names_size;
    sm_cover_context_hit *context_hits; /* those that are not in the file */
    uint32_t context_hits_count, context_hits_size;
    uint32_t context; /* number of the present one, from 1, or 0 before a hit */
    char *context_name;
    char *given_name; /* name of the context from outside, which a test's own name follows, or NULL */
    sm_cover_hits hits[SM_COVER_KINDS];
    struct sm_filter *where; /* held; NULL for all code; guarded by the GIL, like `hide` */
    char *hide;              /* owned; files that are left out, as sm_text_lists takes them */
    uint64_t rearmed;
} sm_cover_store_state;

extern sm_cover_store_state sm_cover_store;

/* The following are called with the engine's lock. */
void sm_cover_hit(sm_cover_function *of, sm_cover_place *place, int kind);
void sm_cover_number_jumps(sm_cover_function *of); /* gives numbers to the rows of its branches */
void sm_cover_end_context(void);
void sm_cover_forget_contexts(void);
void sm_cover_save(sm_output *output);
void sm_cover_save_contexts(sm_output *output);

/* Copy the contexts, of which the memory has no more than news, from one file to another, with `disk` (engine/flush.c)
 * and without the engine's lock. Return false if the old file lacks any. */
bool sm_cover_carry_contexts(sm_output *fresh, const sm_output *old);
/* Write the row of a context, or of hits in it. */
void sm_cover_put_context(sm_output *output, uint32_t id, const char *name, size_t size);
void sm_cover_put_context_hit(sm_output *output, const sm_cover_context_hit *hit);

bool sm_cover_table(sm_cover_function *of, PyCodeObject *code); /* makes the branches; takes the lock */
bool sm_cover_has_news(void);                                   /* takes the lock */
bool sm_cover_after_news(sm_cover_code *code);
void sm_cover_new_stamp(void);
void sm_cover_switched_on(sm_cover_code *code);
void sm_cover_code_died(sm_code_entry *entry);
void sm_cover_release_codes(void);
void sm_cover_forget(void);
bool sm_cover_check_branches(const sm_cover_function *of);
