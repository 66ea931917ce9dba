/* Writes a part of a journal as another journal; excerpt.c explains how. No Python.h. */
#pragma once

#include "trace/call.h"
#include "trace/write.h"

enum { SM_CUT_RETURNED, SM_CUT_UNWOUND, SM_CUT_YIELDED, SM_CUT_UNENDED, SM_CUT_HOWS };

/* A call is chosen by its node's class, by how it was left, and by the cell in which each of these facts lies. bounds:
 * ascending beginnings of all cells but the first. table: 1 for a chosen call, by class, cells, and how it was left. */
enum { SM_CUT_DURATION, SM_CUT_OWN, SM_CUT_DEPTH, SM_CUT_FACTS };

typedef struct {
    const int64_t *class_of; /* borrowed; by node */
    const int64_t *python;   /* borrowed; by node: 1 for a Python function */
    const uint8_t *table;
    size_t classes;
    const int64_t *bounds[SM_CUT_FACTS];
    size_t count[SM_CUT_FACTS];
} sm_cut_choice;

enum { SM_CUT_ON_PATH = 1, SM_CUT_BEGAN_BEFORE = 2, SM_CUT_RUNS_ON = 4 }; /* flags of a node */

/* The part's counts by node, in arrays that the caller has cleared. */
typedef struct {
    int64_t *calls, *resumes, *exceptions, *segments, *ns, *seen;
    double *ns_sq, *ns_var; /* ns squared; ns_var: for the uncertainty of segment ends */
} sm_cut_counts;

typedef struct {
    uint64_t edges;    /* events perhaps on the other side of a window's edge */
    uint64_t gaps;     /* stretches of missing events */
    uint64_t left_out; /* calls and resumes that the recorder's filter left out of all counts */
    uint64_t damaged;
    uint64_t streams;
} sm_cut_notes;

typedef struct {
    int64_t from, to;
    const sm_cut_choice *choice; /* NULL for all calls */
    const int64_t *node;         /* by node: its number in the output, or -1; NULL to write nothing */
    const int64_t *thread;
} sm_cut_order;

/* Count the part if counts is not NULL, or write it. Return 0, -1 if out of memory, or 1 if the writer was stopped. */
int sm_cut(const sm_trace *journal, const sm_cut_order *order, sm_cut_counts *counts, sm_trace_writer *writer,
           sm_cut_notes *notes);
