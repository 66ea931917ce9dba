/* What a journal tells: calls, and what happened, in time. No Python.h. */
#ifndef SM_TRACE_CALL_H
#define SM_TRACE_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "trace/path_dictionary.h"
#include "trace/pieces.h"

/* What is known of a call beside its times. Without a flag that says how, it ended by a return. */
enum {
    SM_CALL_BEFORE = 1,       /* began before what was read: start is where reading began */
    SM_CALL_AFTER = 2,        /* ends after what was read: end is where reading ended */
    SM_CALL_BEGAN_UNSEEN = 4, /* somewhere between start and the event before it */
    SM_CALL_ENDED_UNSEEN = 8,
    SM_CALL_YIELDED = 16,  /* paused: a generator's or coroutine's step */
    SM_CALL_UNWOUND = 32,  /* an exception left it */
    SM_CALL_OPEN = 64,     /* still ran when its stream ended */
    SM_CALL_RESUMED = 128, /* a step that is not its call's first */
    SM_CALL_UNSURE = 256,  /* several were paused on this node: which of them went on is a guess */
    SM_CALL_GAP = 512,     /* events are missing inside: it may be several calls */
};

#define SM_CALL_NONE UINT64_MAX

typedef struct {
    int64_t start, end;             /* ns */
    int64_t start_bound, end_bound; /* ns that these may be off by; -1: not known */
    uint64_t number;                /* in its stream, in the order of beginnings, from what was read on */
    uint64_t parent;                /* number of the call below on the stack; SM_CALL_NONE */
    uint64_t call;                  /* number of the first step of the same call; SM_CALL_NONE: not known */
    uint32_t node, depth, flags;
} sm_call;

typedef struct {
    int64_t time, bound;
    uint64_t kind, in; /* in: number of the innermost open call; SM_CALL_NONE */
    const uint8_t *bytes;
    size_t length;
} sm_instant;

/* An event with its time, in the order of events. */
typedef enum { SM_HAPPENED_START, SM_HAPPENED_END, SM_HAPPENED_INSTANT, SM_HAPPENED_OTHER, SM_HAPPENED_LAST } sm_what;

typedef struct {
    sm_what what;              /* LAST: the stream ended in order; OTHER: a path without events */
    const sm_call *call;       /* of a start or an end; of a start, it has no end yet */
    const sm_instant *instant; /* of an instant */
    int64_t time, bound;       /* ns; -1: not known */
    int64_t before, after;     /* readings of the clock around it; after: -1: there is none */
} sm_happened;

/* What went by. Each function may be NULL; they return nonzero to stop. The counts, by node, may be NULL. */
typedef struct {
    void *receiver;
    int (*event)(void *receiver, const sm_stream *stream, const sm_happened *event);
    int (*call)(void *receiver, const sm_stream *stream, const sm_call *call);
    int (*instant)(void *receiver, const sm_stream *stream, const sm_instant *instant);
    int (*gap)(void *receiver, const sm_stream *stream, int64_t from, int64_t to);
    int64_t *calls, *resumes, *exceptions;
    int64_t *left_out[3]; /* the same three, by place: of what is below it and has no events */
    size_t look_back;     /* bytes of tokens that are searched for when calls began that were open before; 0: none */
} sm_sink;

/* What was wrong, in numbers of places. */
typedef struct {
    uint64_t damaged;  /* blocks that a missing or damaged piece ends */
    uint64_t unknown;  /* ... a node that the file does not hold */
    uint64_t reserved; /* ... a token that makes no sense */
    uint64_t deep;     /* ... more open calls than can be */
    uint64_t below;    /* ends of calls that nobody had begun */
    uint64_t untold;   /* blocks that were read, with instants of which the chunks of heads say nothing */
} sm_wrong;

typedef struct {
    const sm_index *index;
    const sm_dictionary *dictionary;
    const double *weight;  /* by node: ns that a segment of it takes; NULL: all are alike */
    const int64_t *origin; /* by thread: when its process started */
    const int64_t *end;    /* by thread: when it ended; -1: not known */
} sm_trace;

#endif
