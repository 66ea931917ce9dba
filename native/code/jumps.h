/* The conditional jumps of a code object: where each stands, where its two ways lead, and what it decides by.
 *
 * What is told is what the interpreter's BRANCH events (3.12, 3.13) or BRANCH_LEFT and BRANCH_RIGHT events (3.14 and
 * later) report of the same jump, so that a callback finds the jump by the event's offset and the way by its
 * destination. 3.11 has no such events: its tables are empty.
 *
 * A table is made once for a code object, is not changed afterwards, and refers to the code object in nothing: it may
 * outlive it. Making it costs one pass over the bytes and some over the line table, with the GIL; no Python object is
 * made but the bytes that PyCode_GetCode keeps or copies. To make it at the first branch event is cheaper than at the
 * first call: a third of the functions of a program have no conditional jump, and of the others many are left before
 * one is reached.
 *
 * Line tells (3.12 and 3.13, where one BRANCH event serves both ways and so stays on until both were seen): if the way
 * begins, before anything can fail and before any other way joins it, with the first instruction of a line, then the
 * first LINE event *of that location* says that the way was taken. The BRANCH event need not stay on for that way: a
 * branch whose other way was seen, or is told as well, may be disabled. It takes the location of a LINE event, which
 * sm_line_offset() gives, and a LINE event that is still on at that location when the way is first taken. */
#ifndef SM_CODE_JUMPS_H
#define SM_CODE_JUMPS_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "compat/frame.h"

typedef enum { SM_FELL, SM_JUMPED } sm_way;

typedef enum { /* it jumps if its value is; the file stores them as they are */
               SM_BRANCH_FALSE,
               SM_BRANCH_TRUE,
               SM_BRANCH_NONE,
               SM_BRANCH_NOT_NONE,
               SM_BRANCH_EXHAUSTED, /* for and async for: falls into the body, jumps when there is no more */
               SM_BRANCH_OTHER,
} sm_branch_kind;

typedef struct {
    uint32_t offset;    /* bytes, as the events have it */
    uint32_t also[2];   /* bytes: other offsets that events may have for it (3.14 and later); else `offset` again */
    uint32_t to[2];     /* by way: the destination, bytes, as the events have it */
    int32_t to_line[2]; /* by way: the line that it leads to; -co_firstlineno: out of the code; 0: to no other line, or
                           to another conditional jump first, which tells by itself: no arc */
    int32_t tells[2];   /* by way: the offset in bytes of the LINE event that says that it was taken; -1: none does */
    int32_t untold; /* the line that the jumping way comes to, where no LINE event tells it (code/unreported_lines.h);
                       else 0 */
    int32_t from_line; /* of the jump itself: where its arcs begin; 0: it has none, and no arcs */
    int32_t line, column, end_line, end_column; /* what it decides by: line 0: none; the others -1: unknown. Columns are
                                                   bytes of UTF-8, from 0 */
    uint8_t kind;
    uint8_t silent; /* bit by way: no event ever reports it */
    bool apart;     /* an async for of 3.12 and 3.13: told by INSTRUCTION events, each way at an offset of its own */
} sm_branch;

enum { SM_SEARCH = UINT16_MAX }; /* from this branch on they have to be searched for */

typedef struct {
    int32_t offset; /* bytes: of a LINE event */
    uint32_t branch;
    sm_way way;
} sm_tell;

typedef struct {
    uint32_t count, tells_count, units; /* units: of code, 2 bytes each; 0 if it has no branch */
    bool apart;                         /* some of its branches are */
    sm_branch *branches;                /* by offset */
    sm_tell *tells;                     /* by offset */
    uint16_t *at;                       /* by unit: number of the branch + 1, at most SM_SEARCH; 0: none */
} sm_branches;

/* NULL: out of memory; no exception is left. A code object that lies (code.replace) gives a table as senseless as it
 * is, never one whose lines, offsets or ways are outside of what is promised above. */
sm_branches *sm_branches_new(PyCodeObject *code);
void sm_branches_free(sm_branches *table); /* NULL: nothing */

const sm_branch *sm_branches_search(const sm_branches *table, Py_ssize_t offset);

/* The branch of an event's offset in bytes; NULL: the table does not know it. */
static inline const sm_branch *sm_branches_at(const sm_branches *table, Py_ssize_t offset) {
    size_t unit = (size_t)offset / 2;
    uint32_t number = offset >= 0 && unit < table->units ? table->at[unit] : 0;
    if (number == SM_SEARCH)
        return sm_branches_search(table, offset);
    return number != 0 ? &table->branches[number - 1] : NULL;
}

/* By which way an event left it; -1: by none that the table knows, and nothing is to be made of it (3.14 and later: a
 * jump out of any(), all() or tuple() over a generator expression is reported again with where its end leads). */
static inline int sm_branch_way(const sm_branch *branch, Py_ssize_t destination) {
    return destination == (Py_ssize_t)branch->to[SM_JUMPED] ? SM_JUMPED
           : destination == (Py_ssize_t)branch->to[SM_FELL] ? SM_FELL
                                                            : -1;
}

/* The branch that an INSTRUCTION event at this offset tells a way of; NULL: none. */
static inline const sm_branch *sm_branch_apart(const sm_branches *table, Py_ssize_t offset, sm_way *way) {
    const sm_branch *branch = table->apart ? sm_branches_at(table, offset) : NULL;
    if (branch == NULL || !branch->apart)
        return NULL;
    *way = offset == (Py_ssize_t)branch->offset ? SM_FELL : SM_JUMPED;
    return branch;
}

/* The tell of a LINE event's offset; NULL: it tells nothing. */
const sm_tell *sm_branches_tell(const sm_branches *table, Py_ssize_t offset);

/* In a callback: the offset in bytes of the instruction that the thread's running frame is at. */
static inline Py_ssize_t sm_line_offset(PyThreadState *tstate) {
    return sm_tstate_last(tstate);
}

#endif
