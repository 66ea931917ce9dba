/* A part of a journal as a journal: excerpt.c tells the story. No Python.h. */
#ifndef SM_TRACE_EXCERPT_H
#define SM_TRACE_EXCERPT_H

#include "trace/call.h"
#include "trace/write.h"

/* How a call was left, for a choice. */
enum { SM_CUT_RETURNED, SM_CUT_UNWOUND, SM_CUT_YIELDED, SM_CUT_UNENDED, SM_CUT_HOWS };

/* What decides on a call: its node's class, in which cells of numbers its duration, own time and depth lie, and how it
 * was left. bounds: where each cell but the first begins, ascending. table: by class, duration, own, depth, how: 1 if
 * the call is chosen. All borrowed. */
enum { SM_CUT_DURATION, SM_CUT_OWN, SM_CUT_DEPTH, SM_CUT_FACTS };

typedef struct {
    const int64_t *class_of; /* by node */
    const int64_t *python;   /* by node: it is a Python function's */
    const uint8_t *table;
    size_t classes;
    const int64_t *bounds[SM_CUT_FACTS];
    size_t count[SM_CUT_FACTS];
} sm_cut_choice;

enum { SM_CUT_ON_PATH = 1, SM_CUT_BEGAN_BEFORE = 2, SM_CUT_RUNS_ON = 4 }; /* of a node */

/* By node, what the part has of it; arrays of the caller, zero at first. */
typedef struct {
    int64_t *calls, *resumes, *exceptions, *segments, *ns, *seen;
    double *ns_sq, *ns_var; /* ns squared; var: of ns, for the doubt about where segments end */
} sm_cut_counts;

typedef struct {
    uint64_t edges;    /* events that may lie on the other side of an end of the window */
    uint64_t gaps;     /* stretches of which events are missing */
    uint64_t left_out; /* calls and resumes that a filter of the recorder left out, and so are in no count */
    uint64_t damaged;  /* blocks that end early */
    uint64_t streams;  /* that something is there of */
} sm_cut_notes;

typedef struct {
    int64_t from, to;            /* ns */
    const sm_cut_choice *choice; /* NULL: every call */
    const int64_t *node;         /* by node: its number in what is written, -1: it has none; NULL: nothing is written */
    const int64_t *thread;       /* the same of threads */
} sm_cut_order;

/* Goes through what is ordered and counts it (counts not NULL), or writes it. 0; -1 when out of memory; 1 when the
 * writer's receiver stopped. */
int sm_cut(const sm_trace *journal, const sm_cut_order *order, sm_cut_counts *counts, sm_trace_writer *writer,
           sm_cut_notes *notes);

#endif
