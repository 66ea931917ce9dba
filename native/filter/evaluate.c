/* Evaluation of a filter: once per code object for all event kinds, then per event if undecided.
 *
 * For a code object, each node has two sets of kinds: `yes`, for which it is true, and `able`, for which it may be.
 * A term that the function decides is in both or neither; others are able for the kinds with their fact. AND and OR
 * intersect and unite both sets, NOT swaps and complements them. An event has one kind, and its walk stops at the
 * operand that decides. */
#include "filter/filter.h"

#include <assert.h>
#include <string.h>

#include "filter/program.h"

#define C_EVENTS (SM_EVENT_BIT(SM_EVENT_C_CALL) | SM_EVENT_BIT(SM_EVENT_C_RETURN) | SM_EVENT_BIT(SM_EVENT_C_RAISE))
/* Events at a location inside a function; the others concern the function as a whole. */
#define PLACE_EVENTS                                                                                                   \
    (C_EVENTS | SM_EVENT_BIT(SM_EVENT_LINE) | SM_EVENT_BIT(SM_EVENT_RAISE) | SM_EVENT_BIT(SM_EVENT_STOP_ITERATION) |   \
     SM_EVENT_BIT(SM_EVENT_OPCODE))

/* Return the kinds of events that have a fact; those of a call are known at its end. src/seismo/expression/terms.py has
 * the same table. */
static uint32_t available(sm_fact fact) {
    switch (fact) {
    case SM_FACT_CALLEE:
        return C_EVENTS;
    case SM_FACT_EXCEPTION:
        return SM_EVENT_BIT(SM_EVENT_CALL) | SM_EVENT_BIT(SM_EVENT_THROW) | SM_EVENT_BIT(SM_EVENT_UNWIND) |
               SM_EVENT_BIT(SM_EVENT_RAISE) | SM_EVENT_BIT(SM_EVENT_STOP_ITERATION) | SM_EVENT_BIT(SM_EVENT_C_CALL) |
               SM_EVENT_BIT(SM_EVENT_C_RAISE);
    case SM_FACT_DURATION:
    case SM_FACT_OWN:
        return C_EVENTS | SM_EVENT_BIT(SM_EVENT_CALL) | SM_EVENT_BIT(SM_EVENT_RETURN) | SM_EVENT_BIT(SM_EVENT_UNWIND);
    default:
        return SM_EVENT_ALL;
    }
}

/* Return true if a pattern matches "module.qualname" or "module:qualname", which is cut to fit the stack. */
static bool any_full(const sm_filter_node *node, const char *module, const char *qualname) {
    char full[2048];
    size_t head = strlen(module), tail = strlen(qualname);
    if (head == 0 || head > sizeof full / 2)
        return false;
    if (tail > sizeof full - head - 2)
        tail = sizeof full - head - 2;
    memcpy(full, module, head);
    full[head] = '.';
    memcpy(full + head + 1, qualname, tail);
    full[head + 1 + tail] = '\0';
    const char *text = full;
    if (sm_filter_any(node, &text, 1))
        return true;
    full[head] = ':';
    return sm_filter_any(node, &text, 1);
}

/* Return true if a pattern of the term matches the function's text for a fact up to SM_FACT_CALLEE. */
static bool text_matches(const sm_filter_node *node, const sm_function *function) {
    const char *dot = strrchr(function->qualname, '.'), *last = dot ? dot + 1 : function->qualname;
    switch ((sm_fact)node->fact) {
    case SM_FACT_MODULE:
        return sm_filter_any(node, (const char *const *)&function->module, 1);
    case SM_FACT_FUNCTION:
        return sm_filter_any(node, &last, 1);
    case SM_FACT_QUALNAME:
        return sm_filter_any(node, (const char *const *)&function->qualname, 1);
    case SM_FACT_FILE:
        return sm_filter_any(node, (const char *const *)&function->file, 1);
    default: { /* NAME, CALLEE */
        const char *texts[] = {function->qualname, last};
        return sm_filter_any(node, texts, 2) || any_full(node, function->module, function->qualname);
    }
    }
}

/* ---- a code object ---- */

typedef struct {
    uint32_t yes, able; /* `yes` is a subset of `able` */
} kinds;

typedef struct {
    const sm_filter *filter;
    const sm_function *function; /* NULL for any */
    PyCodeObject *code;
    uint64_t terms;
} question;

static kinds lines_of_code(question *asked, const sm_filter_node *node) {
    bool first = sm_filter_inside(node, asked->function->line), any = true, all = false;
    kinds of = {first ? SM_EVENT_ALL : 0, first ? SM_EVENT_ALL : 0};
    if (asked->function->kind != SM_PYTHON)
        return of;
    if (asked->code != NULL)
        sm_filter_lines(node, asked->code, &any, &all);
    of.yes = (of.yes & ~PLACE_EVENTS) | (all ? SM_EVENT_BIT(SM_EVENT_LINE) : 0);
    of.able = (of.able & ~PLACE_EVENTS) | (any ? PLACE_EVENTS : 0);
    return of;
}

static kinds term_of_code(question *asked, const sm_filter_node *node) {
    const sm_function *function = asked->function;
    kinds undecided = {0, available((sm_fact)node->fact)};
    if (node->operation == SM_FILTER_KIND)
        return (kinds){node->number, node->number};
    if (function == NULL)
        return undecided;
    bool is;
    if (node->operation == SM_FILTER_PYTHON)
        is = function->kind == SM_PYTHON && (asked->code == NULL || sm_filter_has_variable(node, asked->code));
    else if (node->fact <= SM_FACT_FILE || (node->fact == SM_FACT_CALLEE && function->kind == SM_C))
        is = text_matches(node, function);
    else
        return node->fact == SM_FACT_LINE ? lines_of_code(asked, node) : undecided;
    if (is && node->bit >= 0)
        asked->terms |= (uint64_t)1 << node->bit;
    if (!is)
        return (kinds){0, 0};
    return (kinds){node->operation == SM_FILTER_PYTHON ? 0 : undecided.able, undecided.able};
}

static kinds of_code(question *asked, uint32_t index) {
    const sm_filter_node *node = &asked->filter->nodes[index];
    if (node->operation < SM_FILTER_NOT)
        return term_of_code(asked, node);
    const uint32_t *operand = &asked->filter->children[node->first];
    kinds of = of_code(asked, operand[0]);
    if (node->operation == SM_FILTER_NOT)
        return (kinds){SM_EVENT_ALL & ~of.able, SM_EVENT_ALL & ~of.yes};
    for (uint32_t i = 1; i < node->count; i++) { /* without stopping early, because each term's bit is needed */
        kinds next = of_code(asked, operand[i]);
        if (node->operation == SM_FILTER_AND)
            of = (kinds){of.yes & next.yes, of.able & next.able};
        else
            of = (kinds){of.yes | next.yes, of.able | next.able};
    }
    return of;
}

sm_filter_code sm_filter_of_code(const sm_filter *filter, const sm_function *function, PyCodeObject *code) {
    question asked = {.filter = filter, .function = function, .code = code};
    kinds of = of_code(&asked, filter->root);
    return (sm_filter_code){.yes = of.yes, .maybe = of.able & ~of.yes, .terms = asked.terms};
}

uint32_t sm_filter_kinds(const sm_filter *filter) {
    sm_filter_code any = sm_filter_of_code(filter, NULL, NULL);
    return any.yes | any.maybe;
}

bool sm_filter_needs(const sm_filter *filter, sm_fact fact) {
    return (filter->facts >> fact & 1) != 0;
}

/* ---- an event ---- */

static inline sm_verdict verdict(bool is) {
    return is ? SM_YES : SM_NO;
}

static sm_verdict text_of_event(const sm_filter_node *node, const sm_filter_code *of, const sm_thread_facts *facts) {
    const char *text;
    switch ((sm_fact)node->fact) {
    case SM_FACT_CALLEE:
        return facts->callee == NULL ? SM_UNKNOWN : verdict(text_matches(node, facts->callee));
    case SM_FACT_THREAD:
    case SM_FACT_TASK:
        text = facts->text != NULL ? facts->text(facts->context, (sm_fact)node->fact) : NULL;
        return text == NULL ? SM_UNKNOWN : verdict(*text != '\0' && sm_filter_any(node, &text, 1));
    case SM_FACT_EXCEPTION:
        if (facts->exception == NULL)
            return SM_UNKNOWN;
        return verdict(facts->exception != Py_None && sm_filter_exception(node, facts->exception));
    default:
        if (node->bit >= 0)
            return verdict((of->terms >> node->bit & 1) != 0);
        return facts->function == NULL ? SM_UNKNOWN : verdict(text_matches(node, facts->function));
    }
}

static sm_verdict number_of_event(const sm_filter_node *node, const sm_thread_facts *facts) {
    int64_t value = facts->line;
    if (node->fact == SM_FACT_LINE) {
        bool placed = (PLACE_EVENTS & SM_EVENT_BIT(facts->kind)) != 0;
        if (facts->function != NULL && (!placed || facts->function->kind != SM_PYTHON))
            value = facts->function->line;
        else if (value == 0)
            return SM_UNKNOWN;
    } else if (facts->number == NULL || !facts->number(facts->context, (sm_fact)node->fact, &value)) {
        return SM_UNKNOWN;
    }
    return verdict(sm_filter_inside(node, value));
}

static sm_verdict term_of_event(const sm_filter_node *node, const sm_filter_code *of, const sm_thread_facts *facts) {
    uint32_t bit = SM_EVENT_BIT(facts->kind);
    switch ((sm_filter_operation)node->operation) {
    case SM_FILTER_KIND:
        return verdict((node->number & bit) != 0);
    case SM_FILTER_PYTHON:
        if (node->bit >= 0 && (of->terms >> node->bit & 1) == 0)
            return SM_NO; /* the function has no such variable */
        return facts->python != NULL ? facts->python(facts->context, node->number) : SM_UNKNOWN;
    default:
        break;
    }
    if ((available((sm_fact)node->fact) & bit) == 0)
        return SM_NO;
    return node->operation == SM_FILTER_TEXT ? text_of_event(node, of, facts) : number_of_event(node, facts);
}

static sm_verdict of_event(const sm_filter *filter, uint32_t index, const sm_filter_code *of,
                           const sm_thread_facts *facts) {
    const sm_filter_node *node = &filter->nodes[index];
    if (node->operation < SM_FILTER_NOT)
        return term_of_event(node, of, facts);
    const uint32_t *operand = &filter->children[node->first];
    if (node->operation == SM_FILTER_NOT) {
        sm_verdict inner = of_event(filter, operand[0], of, facts);
        return inner == SM_UNKNOWN ? SM_UNKNOWN : verdict(inner == SM_NO);
    }
    sm_verdict decisive = node->operation == SM_FILTER_AND ? SM_NO : SM_YES;
    bool unknown = false;
    for (uint32_t i = 0; i < node->count; i++) {
        sm_verdict next = of_event(filter, operand[i], of, facts);
        if (next == decisive)
            return decisive;
        unknown |= next == SM_UNKNOWN;
    }
    return unknown ? SM_UNKNOWN : verdict(decisive == SM_NO);
}

sm_verdict sm_filter_of_event(const sm_filter *filter, const sm_filter_code *of, const sm_thread_facts *facts) {
    assert(facts->kind < SM_EVENT_KINDS);
    return of_event(filter, filter->root, of, facts);
}

static sm_filter *of_functions; /* held, or NULL if all functions are wanted */

static bool wants_function(const sm_function *function) {
    sm_event_kind kind = function->kind == SM_C ? SM_EVENT_C_CALL : SM_EVENT_CALL;
    return (sm_filter_of_code(of_functions, function, NULL).yes & SM_EVENT_BIT(kind)) != 0;
}

void sm_filter_functions(sm_filter *filter) {
    sm_filter *before = of_functions;
    of_functions = sm_filter_hold(filter);
    sm_functions_want(filter != NULL ? wants_function : NULL);
    sm_filter_release(before);
}
