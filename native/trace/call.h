/* The calls and events of a journal, with their times. No Python.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/path_dictionary.h"
#include "trace/pieces.h"

/* Flags of a call. A call without any flag for its end has returned. */
enum {
    SM_CALL_BEFORE = 1,       /* began earlier: start is where reading began */
    SM_CALL_AFTER = 2,        /* ends later: end is where reading ended */
    SM_CALL_BEGAN_UNSEEN = 4, /* began without an event, after the event before start */
    SM_CALL_ENDED_UNSEEN = 8,
    SM_CALL_YIELDED = 16,  /* paused: a step of a generator or coroutine */
    SM_CALL_UNWOUND = 32,  /* ended by an exception */
    SM_CALL_OPEN = 64,     /* still running when its stream ended */
    SM_CALL_RESUMED = 128, /* a step that is not the first of its call */
    SM_CALL_UNSURE = 256,  /* the step that it continues is a guess: several were paused on this node */
    SM_CALL_GAP = 512,     /* events are missing inside, so it may be several calls */
};

#define SM_CALL_NONE UINT64_MAX

typedef struct {
    int64_t start, end;             /* ns */
    int64_t start_bound, end_bound; /* ns by which these may be off, or -1 if unknown */
    uint64_t number;                /* order of its start in the stream, from where reading began */
    uint64_t parent;                /* number of the caller, or SM_CALL_NONE */
    uint64_t call;                  /* number of the same call's first step, or SM_CALL_NONE if unknown */
    uint32_t node, depth, flags;
} sm_call;

typedef struct {
    int64_t time, bound;
    uint64_t kind, in; /* in: number of the innermost open call, or SM_CALL_NONE */
    const uint8_t *bytes;
    size_t length;
} sm_instant;

/* The kind of an event. OTHER has no data; LAST means that the stream ended in order. */
typedef enum { SM_HAPPENED_START, SM_HAPPENED_END, SM_HAPPENED_INSTANT, SM_HAPPENED_OTHER, SM_HAPPENED_LAST } sm_what;

typedef struct {
    int64_t time, bound;   /* ns; bound: -1 if unknown */
    int64_t before, after; /* clock readings around it; after: -1 if there is none */
} sm_event_time;

typedef struct {
    sm_what what;
    const sm_call *call; /* a start without an end, or an end */
    const sm_instant *instant;
    sm_event_time at;
} sm_happened;

/* Counts by node, and from LEFT_OUT on the same three by place: of events below it that are missing. */
enum { SM_COUNT_CALLS, SM_COUNT_RESUMES, SM_COUNT_EXCEPTIONS, SM_LEFT_OUT, SM_COUNTS = 2 * SM_LEFT_OUT };

/* Receiver of decoded data. A function may be NULL, and returns nonzero to stop. Counts may be NULL. */
typedef struct {
    void *receiver;
    int (*event)(void *receiver, const sm_stream *stream, const sm_happened *event);
    int (*call)(void *receiver, const sm_stream *stream, const sm_call *call);
    int (*instant)(void *receiver, const sm_stream *stream, const sm_instant *instant);
    int (*gap)(void *receiver, const sm_stream *stream, int64_t from, int64_t to);
    int64_t *counts[SM_COUNTS];
    size_t look_back; /* bytes of tokens to search for the starts of calls that were open before, or 0 */
} sm_sink;

typedef struct {
    uint64_t damaged;  /* blocks cut short by a missing or damaged piece */
    uint64_t unknown;  /* blocks cut short by a node that the file lacks */
    uint64_t reserved; /* blocks cut short by an invalid token */
    uint64_t deep;     /* blocks cut short by too many open calls */
    uint64_t below;    /* ends of calls without a start */
    uint64_t unlisted; /* blocks with instants that the chunks of heads do not list */
} sm_wrong;

typedef struct {
    const sm_index *index;
    const sm_dictionary *dictionary;
    const double *weight;  /* by node: ns of a mean segment; NULL if all are alike */
    const int64_t *origin; /* by thread: time at which its process started */
    const int64_t *end;    /* by thread: time at which it ended, or -1 */
} sm_trace;
