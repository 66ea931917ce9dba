/* Loading of an untrusted program (program.h). */
#include "filter/program.h"

#include <string.h>

#include "base/alloc.h"
#include "base/varint.h"
#include "compat/core_lock.h"

#define HEADER 16
#define INSTRUCTION 8

typedef struct {
    sm_filter *filter;
    uint32_t data_size;
    uint32_t stack[SM_FILTER_NODES]; /* nodes without an operator so far */
    uint32_t depth, children, bits, python;
    const char *error;
} loading;

/* Return a fact's approximate cost: small, a few calls of the interpreter, or unbounded. */
static uint8_t cost_of(const sm_filter_node *node) {
    static const uint8_t costs[SM_THREAD_FACTS] = {[SM_FACT_CALLEE] = 2,    [SM_FACT_THREAD] = 2,   [SM_FACT_TASK] = 3,
                                                   [SM_FACT_EXCEPTION] = 2, [SM_FACT_LINE] = 1,     [SM_FACT_DEPTH] = 4,
                                                   [SM_FACT_CALLS] = 1,     [SM_FACT_DURATION] = 2, [SM_FACT_OWN] = 2,
                                                   [SM_FACT_ARG] = 9,       [SM_FACT_VALUE] = 9};
    return node->operation == SM_FILTER_KIND ? 0 : costs[node->fact];
}

/* Return true if the data from `at` has `count` strings or pairs of numbers. */
static bool data_fits(const loading *load, const sm_filter_node *node, uint32_t at) {
    uint64_t left = load->data_size - (uint64_t)at;
    if (at > load->data_size)
        return false;
    if (node->operation == SM_FILTER_RANGE)
        return (uint64_t)node->count * 16 <= left;
    const uint8_t *data = load->filter->data + at;
    for (uint32_t i = 0; i < node->count; i++) {
        if (left < 4 || sm_get_u32(data) > left - 4)
            return false;
        uint32_t size = sm_get_u32(data);
        data += 4 + (size_t)size;
        left -= 4 + (uint64_t)size;
    }
    return true;
}

static bool fact_fits(const sm_filter_node *node) {
    switch ((sm_filter_operation)node->operation) {
    case SM_FILTER_TEXT:
        return node->fact <= SM_FACT_EXCEPTION;
    case SM_FILTER_RANGE:
        return node->fact >= SM_FACT_LINE && node->fact <= SM_FACT_OWN;
    default: /* PYTHON */
        return (node->fact == SM_FACT_ARG || node->fact == SM_FACT_VALUE) && node->count == 1;
    }
}

static const char *load_term(loading *load, sm_filter_node *node, uint32_t at) {
    if (node->operation == SM_FILTER_KIND) {
        node->number = at & SM_EVENT_ALL;
        return NULL;
    }
    if (!fact_fits(node))
        return "a term of the program asks for a fact that this kind of term does not have";
    if (!data_fits(load, node, at))
        return "a term of the program points outside of its data";
    node->data = load->filter->data + at;
    load->filter->facts |= 1u << node->fact;
    if (node->operation == SM_FILTER_PYTHON)
        node->number = load->python++;
    bool of_function = node->operation == SM_FILTER_TEXT && node->fact <= SM_FACT_FILE;
    if ((of_function || node->operation == SM_FILTER_PYTHON) && load->bits < 64)
        node->bit = (int16_t)load->bits++;
    return NULL;
}

/* Pop the operator's operands from the stack and sort them, the cheapest first. */
static const char *load_operator(loading *load, sm_filter_node *node) {
    sm_filter *filter = load->filter;
    if (node->count < 1 || node->count > load->depth || (node->operation == SM_FILTER_NOT && node->count != 1))
        return "an operator of the program does not have as many operands as it states";
    load->depth -= node->count;
    node->first = load->children;
    load->children += node->count;
    uint32_t *children = &filter->children[node->first];
    for (uint32_t i = 0; i < node->count; i++) {
        uint32_t operand = load->stack[load->depth + i], place = i;
        const sm_filter_node *about = &filter->nodes[operand];
        while (place > 0 && filter->nodes[children[place - 1]].cost > about->cost) {
            children[place] = children[place - 1];
            place--;
        }
        children[place] = operand;
        if (about->cost > node->cost)
            node->cost = about->cost;
        if (about->height >= node->height)
            node->height = (uint8_t)(about->height + 1);
    }
    return node->height > SM_FILTER_HEIGHT ? "the program is nested too deeply" : NULL;
}

static const char *load_all(loading *load, const uint8_t *program, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *at = program + (size_t)i * INSTRUCTION;
        sm_filter_node *node = &load->filter->nodes[i];
        *node = (sm_filter_node){.operation = at[0], .fact = at[1], .count = (uint16_t)(at[2] | at[3] << 8), .bit = -1};
        if (node->operation >= SM_FILTER_OPERATIONS)
            return "the program has an unknown operation";
        const char *error =
            node->operation < SM_FILTER_NOT ? load_term(load, node, sm_get_u32(at + 4)) : load_operator(load, node);
        if (error != NULL)
            return error;
        if (node->operation < SM_FILTER_NOT)
            node->cost = cost_of(node);
        load->stack[load->depth++] = i;
    }
    return load->depth == 1 ? NULL : "the program does not have exactly one result";
}

static bool make_room(sm_filter *filter, const uint8_t *data, uint32_t count, uint32_t size) {
    filter->nodes = sm_calloc(count, sizeof *filter->nodes);
    filter->children = sm_calloc(count, sizeof *filter->children); /* each node is an operand once at most */
    filter->data = sm_malloc(size ? size : 1);
    if (filter->nodes == NULL || filter->children == NULL || filter->data == NULL)
        return false;
    memcpy(filter->data, data, size);
    return true;
}

static void filter_free(sm_filter *filter) {
    sm_free(filter->nodes);
    sm_free(filter->children);
    sm_free(filter->data);
    sm_free(filter);
}

sm_filter *sm_filter_new(const void *program, size_t size, const char **error) {
    const uint8_t *bytes = program;
    if (size < HEADER || memcmp(bytes, "smfl", 4) != 0 || sm_get_u32(bytes + 4) != SM_FILTER_VERSION) {
        *error = "these bytes are not a filter's program, or are one of another version";
        return NULL;
    }
    uint32_t count = sm_get_u32(bytes + 8), data_size = sm_get_u32(bytes + 12);
    if (count < 1 || count > SM_FILTER_NODES || size != HEADER + (uint64_t)count * INSTRUCTION + data_size) {
        *error = "the program is shorter or longer than it states, or too long";
        return NULL;
    }
    *error = "";
    sm_filter *filter = sm_calloc(1, sizeof *filter);
    loading *load = sm_calloc(1, sizeof *load);
    if (filter != NULL && load != NULL &&
        make_room(filter, bytes + HEADER + (size_t)count * INSTRUCTION, count, data_size)) {
        load->filter = filter;
        load->data_size = data_size;
        load->error = load_all(load, bytes + HEADER, count);
        *error = load->error;
        if (load->error == NULL) {
            filter->root = count - 1;
            filter->references = 1;
            sm_free(load);
            return filter;
        }
    }
    sm_free(load);
    if (filter != NULL)
        filter_free(filter);
    return NULL;
}

sm_filter *sm_filter_hold(sm_filter *filter) {
    SM_CORE_GUARD;
    if (filter != NULL)
        filter->references++;
    return filter;
}

void sm_filter_release(sm_filter *filter) {
    SM_CORE_GUARD;
    if (filter != NULL && --filter->references == 0)
        filter_free(filter);
}
