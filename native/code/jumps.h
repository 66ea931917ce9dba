/* The conditional jumps of a code object: offsets, destinations and conditions, as the BRANCH events (3.12, 3.13) or
 * BRANCH_LEFT and BRANCH_RIGHT events (3.14 and later) report them. 3.11 has none, so its tables are empty.
 *
 * A table is made at the first branch event, because a third of all functions have no conditional jump and many others
 * never reach one. It is immutable and may outlive the code object.
 *
 * On 3.12 and 3.13, one BRANCH event serves both ways, so it stays enabled until both were seen. If a way begins
 * with the first instruction of a line, before anything can fail or join it, the LINE event *at that location*
 * (sm_line_offset()) reports the way too (`sm_line_event`). BRANCH may then be disabled for that way, as long as that
 * LINE event is enabled. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/frame.h"

typedef enum { SM_FELL, SM_JUMPED } sm_way;

typedef enum { /* the value on which it jumps, as in the file */
               SM_BRANCH_FALSE,
               SM_BRANCH_TRUE,
               SM_BRANCH_NONE,
               SM_BRANCH_NOT_NONE,
               SM_BRANCH_EXHAUSTED, /* for and async for: falls into the body, jumps at the end */
               SM_BRANCH_OTHER,
} sm_branch_kind;

typedef struct {
    uint32_t offset;         /* bytes, as in the events */
    uint32_t also[2];        /* bytes; other offsets of its events (3.14 and later), or `offset` */
    uint32_t to[2];          /* by way: destination in bytes, as in the events */
    int32_t to_line[2];      /* by way: the line to which it leads, -co_firstlineno for an exit, or 0 without an arc */
    int32_t line_events[2];  /* by way: offset in bytes of the LINE event that reports it, or -1 */
    int32_t unreported_line; /* line of the jumping way that LINE omits (code/unreported_lines.h), or 0 */
    int32_t from_line;       /* the line where its arcs begin; 0 without arcs */
    int32_t line, column, end_line, end_column; /* of the condition, in bytes; line 0: none; others -1: unknown */
    uint8_t kind;
    uint8_t silent; /* bit by way: no event reports it */
    bool apart;     /* an async for of 3.12 and 3.13: INSTRUCTION events report it, at two offsets */
} sm_branch;

enum { SM_SEARCH = UINT16_MAX }; /* branches from this number on need a search */

typedef struct {
    int32_t offset; /* offset of a LINE event in bytes */
    uint32_t branch;
    sm_way way;
} sm_line_event;

typedef struct {
    uint32_t count, line_events_count, units; /* units of code (2 bytes each), or 0 without branches */
    bool apart;                               /* true if some branch is `apart` */
    sm_branch *branches;                      /* by offset */
    sm_line_event *line_events;               /* by offset */
    uint16_t *at;                             /* by unit: number of the branch + 1, at most SM_SEARCH; or 0 */
} sm_branches;

/* Return a new table, valid for any bytes, or NULL if out of memory. Sets no exception. */
sm_branches *sm_branches_new(PyCodeObject *code);
void sm_branches_free(sm_branches *table); /* accepts NULL */

const sm_branch *sm_branches_search(const sm_branches *table, Py_ssize_t offset);

/* Return the branch of an event's offset in bytes, or NULL. */
static inline const sm_branch *sm_branches_at(const sm_branches *table, Py_ssize_t offset) {
    size_t unit = (size_t)offset / 2;
    uint32_t number = offset >= 0 && unit < table->units ? table->at[unit] : 0;
    if (number == SM_SEARCH)
        return sm_branches_search(table, offset);
    return number != 0 ? &table->branches[number - 1] : NULL;
}

/* Return the way of an event's destination, or -1 to ignore it: 3.14 reports a jump out of any() and the like twice. */
static inline int sm_branch_way(const sm_branch *branch, Py_ssize_t destination) {
    return destination == (Py_ssize_t)branch->to[SM_JUMPED] ? SM_JUMPED
           : destination == (Py_ssize_t)branch->to[SM_FELL] ? SM_FELL
                                                            : -1;
}

/* Return the branch whose way an INSTRUCTION event at this offset reports, or NULL. */
static inline const sm_branch *sm_branch_apart(const sm_branches *table, Py_ssize_t offset, sm_way *way) {
    const sm_branch *branch = table->apart ? sm_branches_at(table, offset) : NULL;
    if (branch == NULL || !branch->apart)
        return NULL;
    *way = offset == (Py_ssize_t)branch->offset ? SM_FELL : SM_JUMPED;
    return branch;
}

/* Return the entry of `line_events` for a LINE event's offset, or NULL. */
const sm_line_event *sm_branches_line_event(const sm_branches *table, Py_ssize_t offset);

/* Return the offset in bytes of the running frame's instruction, in a callback. */
static inline Py_ssize_t sm_line_offset(PyThreadState *tstate) {
    return sm_tstate_last(tstate);
}
