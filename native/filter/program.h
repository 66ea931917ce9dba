/* The flat form of an expression, as src/seismo/expression/program.py writes it. All numbers are little-endian.
 *
 *     "smfl", u32 version, u32 instructions, u32 size of the data
 *     instructions, 8 bytes each: u8 operation, u8 fact, u16 count, u32 at
 *     data
 *
 * The instructions are in postfix order: each term pushes a value, NOT, AND and OR take `count` of them and push one.
 * At the end there is one.
 *
 *     KIND    at: a set of SM_EVENT_BIT()s
 *     TEXT    fact; count patterns in the data from `at`, each a u32 size and that many bytes of UTF-8
 *     RANGE   fact; count pairs of i64 in the data from `at`: least and most, both inside
 *     PYTHON  SM_FACT_ARG or SM_FACT_VALUE; one name in the data at `at`. They are numbered in order, from 0.
 *
 * The loader turns this into an array of nodes, each operator's operands in a run of child indices, the cheapest first:
 * an evaluation stops at the operand that decides, and a thread's depth should not be counted where the module is
 * another one. Limits: SM_FILTER_NODES instructions, SM_FILTER_HEIGHT operators on the way from the root to a term,
 * which bounds the recursion. */
#ifndef SM_FILTER_PROGRAM_H
#define SM_FILTER_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/filter.h"

#define SM_FILTER_VERSION 1
#define SM_FILTER_NODES 4096
#define SM_FILTER_HEIGHT 128

typedef enum {
    SM_FILTER_KIND,
    SM_FILTER_TEXT,
    SM_FILTER_RANGE,
    SM_FILTER_PYTHON,
    SM_FILTER_NOT,
    SM_FILTER_AND,
    SM_FILTER_OR,
    SM_FILTER_OPERATIONS
} sm_filter_operation;

typedef struct {
    uint8_t operation, fact;
    uint8_t height;
    uint8_t cost;        /* of the dearest fact in it */
    uint16_t count;      /* patterns, ranges or operands */
    int16_t bit;         /* in sm_filter_code.terms; -1: none */
    uint32_t number;     /* KIND: the bits; PYTHON: of the term */
    uint32_t first;      /* of the operands, in children */
    const uint8_t *data; /* of the term */
} sm_filter_node;

struct sm_filter {
    uint32_t references;
    uint32_t kinds, facts; /* SM_EVENT_BIT()s that can pass; 1 << sm_fact of what there are terms about */
    uint32_t root;         /* the last of */
    sm_filter_node *nodes; /* owned, as are */
    uint32_t *children;
    uint8_t *data;
};

/* Does any pattern of the term match any of these texts? NULL ones are passed over. */
bool sm_filter_any(const sm_filter_node *node, const char *const *texts, int count);
bool sm_filter_exception(const sm_filter_node *node, PyObject *exception);
bool sm_filter_inside(const sm_filter_node *node, int64_t value);

/* code_facts.c: what a code object says of a term. Of its lines, is any in one of the term's ranges, and are all? */
void sm_filter_lines(const sm_filter_node *node, PyCodeObject *code, bool *any, bool *all);
/* May this code have a parameter (SM_FACT_ARG) or variable of the term's name? */
bool sm_filter_has_variable(const sm_filter_node *node, PyCodeObject *code);

#endif
