/* Filters on events, from an expression that Python compiled (docs/expressions.md, seismo.expression).
 *
 * A filter is a tree of *terms* joined by and, or, not. A term on an unknown fact is neither true nor false, so the
 * logic has three values. A term on a fact that this kind of event lacks is false. Evaluation for a code object comes
 * first:
 *
 *     sm_filter_code of = sm_filter_of_code(filter, function, code);
 *     if (of.yes & SM_EVENT_BIT(kind))          wanted
 *     else if (of.maybe & SM_EVENT_BIT(kind))   wanted if sm_filter_of_event(filter, &of, &facts) == SM_YES
 *     else                                      never wanted: the event can be disabled
 *
 * For SM_EVENT_CALL, the duration, own time and exception are unknown until the call ends, so users evaluate it again.
 *
 * Evaluation runs no Python code, makes no Python object and preserves the current exception. With the GIL, from any
 * thread. A filter is immutable. sm_filter_new checks every offset, count and operand. */
#pragma once

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"

/* The kinds of events, numbered like sm_hook_kind (hub/hub.h). */
typedef enum {
    SM_EVENT_CALL,
    SM_EVENT_RESUME,
    SM_EVENT_THROW,
    SM_EVENT_RETURN,
    SM_EVENT_YIELD,
    SM_EVENT_UNWIND,
    SM_EVENT_C_CALL,
    SM_EVENT_C_RETURN,
    SM_EVENT_C_RAISE,
    SM_EVENT_LINE,
    SM_EVENT_RAISE,
    SM_EVENT_STOP_ITERATION,
    SM_EVENT_OPCODE,
    SM_EVENT_KINDS
} sm_event_kind;

#define SM_EVENT_BIT(kind) (1u << (kind))
#define SM_EVENT_ALL (SM_EVENT_BIT(SM_EVENT_KINDS) - 1)

typedef enum { SM_NO, SM_YES, SM_UNKNOWN } sm_verdict;

/* The facts that terms are about, numbered as in the program. */
typedef enum {
    /* texts of the function */
    SM_FACT_MODULE,
    SM_FACT_FUNCTION, /* the last part of the qualified name */
    SM_FACT_QUALNAME,
    SM_FACT_NAME, /* any of MODULE.QUALNAME, QUALNAME, function */
    SM_FACT_FILE, /* the path, or its part after any slash */
    /* texts of the event */
    SM_FACT_CALLEE, /* like SM_FACT_NAME, of the called C function */
    SM_FACT_THREAD,
    SM_FACT_TASK,
    SM_FACT_EXCEPTION, /* the name, or MODULE.NAME, of the class or any of its bases */
    /* numbers */
    SM_FACT_LINE,     /* line of a line, raise, opcode or C event, or the function's first line */
    SM_FACT_DEPTH,    /* Python frames on the thread's stack */
    SM_FACT_CALLS,    /* number of calls of this function since the start, with this one */
    SM_FACT_DURATION, /* ns */
    SM_FACT_OWN,      /* ns */
    /* values that only Python evaluates */
    SM_FACT_ARG,
    SM_FACT_VALUE,
    SM_THREAD_FACTS
} sm_fact;

typedef struct sm_filter sm_filter;

/* The facts of an event. Functions are only called if the verdict depends on them. */
typedef struct sm_thread_facts {
    sm_event_kind kind;
    const sm_function *function; /* the function whose code the event is in */
    int line;                    /* line of the event; 0 if unknown */
    const sm_function *callee;   /* callee of a C event; NULL if unknown */
    PyObject *exception;         /* borrowed: an exception or its class; Py_None if none; NULL if unknown */
    /* Each may be NULL, and returns false, NULL or SM_UNKNOWN for an unknown fact. */
    bool (*number)(void *context, sm_fact fact, int64_t *value); /* DEPTH, CALLS, DURATION, OWN */
    const char *(*text)(void *context, sm_fact fact);   /* THREAD, TASK: UTF-8, until the next call; "" if none */
    sm_verdict (*python)(void *context, uint32_t term); /* the arg() or value() term of that number */
    void *context;
} sm_thread_facts;

/* The verdict on a code object or C function: disjoint sets of SM_EVENT_BIT()s. */
typedef struct {
    uint32_t yes, maybe;
    uint64_t terms; /* a bit for each of the first 64 terms on the function, for sm_filter_of_event */
} sm_filter_code;

/* Return a new filter, held once, or NULL with *error set to a static sentence, or "" if out of memory. */
sm_filter *sm_filter_new(const void *program, size_t size, const char **error);
sm_filter *sm_filter_hold(sm_filter *filter); /* accepts NULL, like the next function */
void sm_filter_release(sm_filter *filter);

uint32_t sm_filter_kinds(const sm_filter *filter);           /* SM_EVENT_BIT()s that can be SM_YES */
bool sm_filter_needs(const sm_filter *filter, sm_fact fact); /* true if a term uses the fact */

/* Evaluate a filter for a function. With a NULL `code`, terms on lines and variables stay undecided. */
sm_filter_code sm_filter_of_code(const sm_filter *filter, const sm_function *function, PyCodeObject *code);

sm_verdict sm_filter_of_event(const sm_filter *filter, const sm_filter_code *of, const sm_thread_facts *facts);

/* Record only the functions that the filter wants, or all for NULL. Held until the next call. */
void sm_filter_functions(sm_filter *filter);

/* Return true if the text matches the pattern (*, ?, [abc], [a-z], [!abc]; case-sensitive). Both are UTF-8. */
bool sm_glob(const char *pattern, size_t pattern_size, const char *text, size_t text_size);
