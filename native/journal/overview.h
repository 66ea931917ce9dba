/* What a picture of a journal draws: for each stream and depth the runs of calls in some time, no more than its columns
 * can show. No Python.h.
 *
 * A *run* is one call, or calls of one depth that follow each other in a stream and are too short to be told apart in
 * the picture: they begin and end within the width of a column. */
#ifndef SM_JOURNAL_OVERVIEW_H
#define SM_JOURNAL_OVERVIEW_H

#include "base/buffer.h"
#include "journal/decode.h"

typedef struct {
    int64_t start, end; /* ns: of the first call, and of the last */
    int64_t busy;       /* ns in which one of them was open */
    int64_t most;       /* ns of these, at least, in the function of which node is one */
    int64_t bound;      /* of one call: ns that start or end may be off by; -1: not known, or several calls */
    uint64_t calls;
    uint64_t stream;             /* in the index */
    uint32_t node, depth, flags; /* flags: of one call; SM_CALL_... */
} sm_run;

typedef struct {
    int64_t from, to;                 /* ns */
    uint32_t columns;                 /* of the picture, from 1 */
    uint32_t first_depth, last_depth; /* depths in [first, last) are wanted */
    const uint8_t *wanted;            /* by thread, or NULL: all */
    const int64_t *function;          /* borrowed; by node */
} sm_overview_asked;

typedef struct {
    sm_buffer runs; /* of sm_run; by stream, depth and start */
    sm_buffer gaps; /* of sm_window_gap */
    sm_wrong wrong;
} sm_overview;

/* 0, or -1 when out of memory; sm_overview_free whatever comes of it. */
int sm_overview_fill(sm_overview *overview, const sm_journal *journal, const sm_overview_asked *asked);
void sm_overview_free(sm_overview *overview);

#endif
