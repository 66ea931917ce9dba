/* Filters: which events somebody wants, as an expression that Python compiled (docs/expressions.md, seismo.expression).
 *
 * A filter is a tree of *terms* joined by and, or, not. What is known decides: a term whose fact is not known (yet) is
 * neither true nor false, and the logic has three values: `module("app") and duration > 5ms` is NO in another module
 * though nobody has measured anything. A term about something that an event of this kind does not have (the duration of
 * a line) is false.
 *
 * Two questions, the first asked once for a code object, the second at an event that the first could not decide:
 *
 *     sm_filter_code of = sm_filter_of_code(filter, function, code);
 *     if (of.yes & SM_EVENT_BIT(kind))          wanted
 *     else if (of.maybe & SM_EVENT_BIT(kind))   wanted if sm_filter_of_event(filter, &of, &facts) == SM_YES
 *     else                                      never: the interpreter may be told to say nothing
 *
 * A whole call: for the kind SM_EVENT_CALL the duration, own time and exception are those of the call, which are known
 * when it ends. At its start SM_UNKNOWN is the answer, and whoever wants whole calls asks again at the end, with the
 * same kind and the facts that there are now. What is still SM_UNKNOWN then, nobody wants.
 *
 * Neither question runs Python code, makes a Python object, raises, or touches a pending exception; both need the GIL
 * and may be asked from any thread. A filter never changes; it lives as long as somebody holds it.
 *
 * The program is not trusted: sm_filter_new checks every offset, count and operand, so that no bytes at all can lead an
 * evaluation out of bounds, into a long loop or a deep recursion. program.h has its format. */
#ifndef SM_FILTER_FILTER_H
#define SM_FILTER_FILTER_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/function.h"

/* The kinds of events, numbered as sm_hook_kind is (hub/hub.h). */
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

/* What terms are about. The program has these numbers. */
typedef enum {
    /* text, of the function */
    SM_FACT_MODULE,
    SM_FACT_FUNCTION, /* the last part of the qualified name */
    SM_FACT_QUALNAME,
    SM_FACT_NAME, /* any of MODULE.QUALNAME, QUALNAME, function */
    SM_FACT_FILE, /* the path, or what comes after any of its slashes */
    /* text, of the event */
    SM_FACT_CALLEE, /* as SM_FACT_NAME, of the C function that is called */
    SM_FACT_THREAD,
    SM_FACT_TASK,
    SM_FACT_EXCEPTION, /* the name, or MODULE.NAME, of the class or any of its bases */
    /* numbers */
    SM_FACT_LINE,     /* where a line, raise, opcode or C event is; else the function's first */
    SM_FACT_DEPTH,    /* Python frames on the thread's stack, 1: the outermost */
    SM_FACT_CALLS,    /* of this function since the start, this one included */
    SM_FACT_DURATION, /* ns */
    SM_FACT_OWN,      /* ns */
    /* values that only Python looks at */
    SM_FACT_ARG,
    SM_FACT_VALUE,
    SM_THREAD_FACTS
} sm_fact;

typedef struct sm_filter sm_filter;

/* What is known of an event. What has a function is asked only when the verdict depends on it. */
typedef struct sm_thread_facts {
    sm_event_kind kind;
    const sm_function *function; /* that the event is in */
    int line;                    /* where it is; 0: not known */
    const sm_function *callee;   /* of C events; NULL: not known */
    PyObject *exception;         /* borrowed: an exception or its class; Py_None: there is none; NULL: not known */
    /* Each may be NULL: nothing of the kind is known. false, NULL, SM_UNKNOWN: this is not known. */
    bool (*number)(void *context, sm_fact fact, int64_t *value); /* DEPTH, CALLS, DURATION, OWN */
    const char *(*text)(void *context, sm_fact fact);   /* THREAD, TASK: UTF-8, until the next call; "": none */
    sm_verdict (*python)(void *context, uint32_t term); /* the arg() or value() term of that number */
    void *context;
} sm_thread_facts;

/* What a code object (or a C function) decides. By kind, as SM_EVENT_BIT()s: yes and maybe are disjoint. */
typedef struct {
    uint32_t yes, maybe;
    uint64_t terms; /* of the first 64 terms about the function: which are true. For sm_filter_of_event. */
} sm_filter_code;

/* NULL: error says why in a plain sentence (static), or "" when out of memory. Held once. */
sm_filter *sm_filter_new(const void *program, size_t size, const char **error);
sm_filter *sm_filter_hold(sm_filter *filter); /* NULL-safe, as the next */
void sm_filter_release(sm_filter *filter);

/* Does any kind at all pass? And what it asks for. */
uint32_t sm_filter_kinds(const sm_filter *filter);           /* SM_EVENT_BIT()s that can be SM_YES */
bool sm_filter_needs(const sm_filter *filter, sm_fact fact); /* is there a term about this? */

/* function: the code object's (sm_function_of_code) or a C function. code: for the lines and names of its variables;
 * NULL: not at hand, what depends on them is a maybe. */
sm_filter_code sm_filter_of_code(const sm_filter *filter, const sm_function *function, PyCodeObject *code);

/* of: the verdict of facts->function. */
sm_verdict sm_filter_of_event(const sm_filter *filter, const sm_filter_code *of, const sm_thread_facts *facts);

/* What the filter wants of functions is recorded, and nothing else is; NULL: everything. Held until the next one. */
void sm_filter_functions(sm_filter *filter);

/* Does the text match the pattern (*, ?, [abc], [a-z], [!abc]; case counts)? Both UTF-8. */
bool sm_glob(const char *pattern, size_t pattern_size, const char *text, size_t text_size);

#endif
