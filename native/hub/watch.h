/* A watch: a tool that matches events against a filter, counts the matches and reports them to its maker.
 *
 * A match is an event or, if the filter needs facts of a call's end (duration, own time, exception), a whole call. A
 * call's duration is from its start to its end, with all waiting. Its own time excludes callees and waiting; a
 * filter on own time has to see all calls, so it makes all code wanted. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "filter/filter.h"
#include "hub/hub.h"

/* The moment of a match at which a report is made. */
typedef enum {
    SM_MATCH_EVENT, /* the event itself; for SM_EVENT_CALL the call's start */
    SM_MATCH_WHOLE, /* a call that has just ended */
    SM_MATCH_END,   /* the end of a call whose start was reported */
    SM_MATCH_LINE,  /* a line of such a call */
} sm_match_moment;

typedef struct {
    sm_match_moment moment;
    sm_event_kind kind;         /* the kind that matched */
    const sm_hook_event *event; /* the current event */
    const sm_function *function;
    uint64_t call;               /* number of the call, from 1; 0 if it is not kept */
    uint32_t nesting;            /* reported calls around this one, on this thread */
    int64_t duration_ns, own_ns; /* -1 if unknown */
    uint64_t calls;              /* calls of this function since the start */
} sm_match;

/* Durations in steps of 1, 2, 5: bucket 0 is below 100 ns, the last from 1000 s. */
#define SM_WATCH_BUCKETS 32

typedef struct {
    sm_filter_code verdict;
    const sm_function *function;
    bool hidden;  /* never watched */
    bool opcodes; /* instruction events are enabled in its code */
    uint64_t calls;
    uint64_t matches; /* matches of any kind */
    uint64_t timed;   /* matched calls that have ended */
    double sum_ns, min_ns, max_ns;
    double own_ns;     /* time of the matches, excluding matched calls inside them */
    uint32_t *buckets; /* owned; SM_WATCH_BUCKETS, or NULL if unused */
} sm_watched;

typedef struct sm_watch {
    sm_tool tool;
    /* The maker sets these before sm_watch_start, and never changes them. */
    sm_filter *filter; /* held */
    uint32_t kinds;    /* SM_EVENT_BIT()s to match */
    bool ends;         /* report the ends of matched calls */
    bool lines;        /* report the lines of matched calls */
    bool tracks;       /* number and nest reported calls */
    bool keeps_all;    /* number all calls of wanted code */
    bool times;        /* keep durations, for a histogram or a recording */
    uint64_t limit;    /* most matches; UINT64_MAX for no limit */
    bool machinery;    /* watch the import system too */
    const char *hide;  /* skip code whose file has this prefix; outlives the watch */
    /* Reports a match, or NULL to count only. Returns -1 with an exception to raise in the program. */
    int (*report)(struct sm_watch *watch, const sm_match *match);
    /* Evaluates a term in Python, or NULL. */
    sm_verdict (*python)(struct sm_watch *watch, uint32_t term);
    void (*done)(struct sm_watch *watch); /* the hub is done with it */

    /* Private. */
    sm_watched **functions; /* owned, with its items; by sm_function.id */
    uint32_t functions_size;
    bool unwinds_by_raise; /* only RAISE has the exception of an unwinding frame */
    bool all_calls;        /* the filter uses own time */
    PyObject *raised;      /* owned; an exception class that `python` wants raised, or NULL */
    uint64_t matched, lost;
    uint64_t open;    /* running calls whose start was reported */
    uint64_t numbers; /* calls kept so far */
    sm_map suspended; /* suspended calls, by frame */
} sm_watch;

/* Saves counts after a match when SM_SAFE_WATCHES is due, or NULL. Returns -1 with an exception to raise in the
 * program. */
extern int (*sm_watch_keep)(void);

/* Start the watch. Return -1 with an exception set. */
int sm_watch_start(sm_watch *watch);
/* Release all but the struct, after `done` or without a start. */
void sm_watch_release(sm_watch *watch);

/* Return the lower end of a bucket of durations, in ns. */
double sm_watch_bucket(int bucket);

/* Add a matched call's times to its function's, or to `lost` if out of memory. */
void sm_watch_time(sm_watch *watch, sm_watched *of, double ns, double own_ns);
