/* The serialized form of an expression, by src/seismo/expression/compiler.py. All numbers are little-endian.
 *
 *     "smfl", u32 version, u32 instructions, u32 size of the data
 *     instructions, 8 bytes each: u8 operation, u8 fact, u16 count, u32 at
 *     data
 *
 * Instructions are in postfix order: a term pushes a value; NOT, AND and OR pop `count` values and push one.
 *     KIND    at: a set of SM_EVENT_BIT()s
 *     TEXT    fact; count patterns in the data from `at`, each a u32 size and that many bytes of UTF-8
 *     RANGE   fact; count pairs of i64 in the data from `at`: least and most, both inclusive
 *     PYTHON  SM_FACT_ARG or SM_FACT_VALUE; one name in the data at `at`. They are numbered in order, from 0.
 *
 * The loader makes an array of nodes, with operands in runs of child indices, the cheapest first. */
#pragma once

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
    uint8_t cost;        /* cost of its most expensive fact */
    uint16_t count;      /* patterns, ranges or operands */
    int16_t bit;         /* its bit in sm_filter_code.terms, or -1 */
    uint32_t number;     /* KIND: the bits; PYTHON: the term's number */
    uint32_t first;      /* the first operand's index in children */
    const uint8_t *data; /* data of the term */
} sm_filter_node;

struct sm_filter {
    uint32_t references;
    uint32_t facts;        /* 1 << sm_fact of all terms */
    uint32_t root;         /* index of the last node */
    sm_filter_node *nodes; /* owned, like the next two */
    uint32_t *children;
    uint8_t *data;
};

/* Return true if any pattern of the term matches any of these texts, some of which may be NULL. */
bool sm_filter_any(const sm_filter_node *node, const char *const *texts, int count);
bool sm_filter_exception(const sm_filter_node *node, PyObject *exception);
bool sm_filter_inside(const sm_filter_node *node, int64_t value);

/* Set *any if some, and *all if all of the code's lines are in the term's ranges (code_facts.c). */
void sm_filter_lines(const sm_filter_node *node, PyCodeObject *code, bool *any, bool *all);
bool sm_filter_has_variable(const sm_filter_node *node, PyCodeObject *code);
