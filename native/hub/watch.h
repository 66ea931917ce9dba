/* A watch: a tool of the hub that matches events against a filter, counts what matches and hands it to whoever made it.
 *
 * What matches is an event (a line, a raise, a call at its start) or a whole call, when the filter asks for what is
 * only known at its end (its duration, own time or exception). So the calls of wanted code that are under way are kept,
 * a stack for each thread; those of generators and coroutines that are suspended are kept aside until they go on.
 *
 * Times. The duration of a call is from its start to its end, with all that a generator or coroutine waited between:
 * what code that awaits it sees. Its own time is what it ran itself: without its callees and without the waiting.
 * A filter that asks for own time must see all calls, and then every code object is wanted. */
#ifndef SM_HUB_WATCH_H
#define SM_HUB_WATCH_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "filter/filter.h"
#include "hub/hub.h"

/* How what is handed over stands to the match. */
typedef enum {
    SM_MATCH_EVENT, /* the event itself; for SM_EVENT_CALL the call's start */
    SM_MATCH_WHOLE, /* a call that has just ended */
    SM_MATCH_END,   /* the end of a call whose start was handed over */
    SM_MATCH_LINE,  /* a line of such a call */
} sm_match_moment;

typedef struct {
    sm_match_moment moment;
    sm_event_kind kind;         /* what the filter said yes to */
    const sm_hook_event *event; /* at hand */
    const sm_function *function;
    uint64_t call;               /* number of the call, from 1; 0: none that is kept */
    uint32_t nesting;            /* calls handed over that this one is inside of, on this thread */
    int64_t duration_ns, own_ns; /* -1: not known */
    uint64_t calls;              /* of this function since the start */
} sm_match;

/* Durations in steps of 1, 2, 5: bucket 0 is below 100 ns, the last from 1000 s. */
#define SM_WATCH_BUCKETS 32

typedef struct {
    sm_filter_code verdict;
    const sm_function *function;
    bool hidden;      /* not to be watched */
    bool opcodes;     /* are asked for in its code */
    uint64_t calls;   /* seen */
    uint64_t matches; /* of any kind */
    uint64_t timed;   /* matched calls that have ended */
    double sum_ns, min_ns, max_ns;
    double own_ns;     /* they ran, without what matched calls inside them ran */
    uint32_t *buckets; /* owned; SM_WATCH_BUCKETS of them, NULL until one is needed */
} sm_watched;

typedef struct sm_watch {
    sm_tool tool;
    /* Set by the maker before sm_watch_start, fixed from then on. */
    sm_filter *filter; /* held */
    uint32_t kinds;    /* SM_EVENT_BIT()s that are wanted of those the filter can say yes to */
    bool ends;         /* hand the ends of matched calls over, too */
    bool lines;        /* and their lines */
    bool tracks;       /* number and nest the calls that are handed over */
    bool keeps_all;    /* number all calls of wanted code, those that do not match, too */
    bool times;        /* keep durations: a histogram, a recording */
    uint64_t limit;    /* matches; UINT64_MAX: none */
    bool machinery;    /* watch what imports modules, too */
    const char *hide;  /* code whose file begins so is not watched; outlives the watch */
    /* Hands a match over. NULL: only count. 0; -1 with an exception: it is raised in the program. */
    int (*report)(struct sm_watch *watch, const sm_match *match);
    /* What Python alone can say of a term; NULL: never asked. */
    sm_verdict (*python)(struct sm_watch *watch, uint32_t term);
    void (*done)(struct sm_watch *watch); /* the hub is done with it */

    /* Its own. */
    sm_watched **functions; /* by sm_function.id; owned, and so are they */
    uint32_t functions_size;
    bool unwinds_by_raise; /* an unwinding frame's exception is known by its RAISE only */
    bool all_calls;        /* the filter asks for own time */
    PyObject *raised;      /* owned: a class that `python` wants raised in the program; NULL: none */
    uint64_t matched, lost;
    uint64_t open;    /* calls under way whose start was handed over */
    uint64_t numbers; /* of calls kept so far */
    sm_map suspended; /* calls, by frame */
} sm_watch;

/* Called with a match when SM_SAFE_WATCHES is due (hooks/safepoint.h): 0, or -1 with an exception that is the
 * program's. NULL: what watches count is not kept. */
extern int (*sm_watch_keep)(void);

/* -1 with an exception. */
int sm_watch_start(sm_watch *watch);
void sm_watch_stop(sm_watch *watch); /* idempotent */
/* After done, or when it never started. Releases all but the struct. */
void sm_watch_release(sm_watch *watch);

/* The lower end of a bucket of durations, in ns. */
double sm_watch_bucket(int bucket);

/* Adds a matched call's times to its function's. Counts as lost what there is no memory for. */
void sm_watch_time(sm_watch *watch, sm_watched *of, double ns, double own_ns);

#endif
