#include "code/jumps.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "code/exception_table.h"
#include "code/linetable.h"
#include "compat/exception.h"
#include "compat/opcodes.h"

/* Making a table.
 *
 * 1. `decode` records each unit's operation (compat/opcodes.h), the next instruction and the target of a jump. Events
 *    have the offset of the instruction itself, jumps lead to its EXTENDED_ARG.
 * 2. Locations come from the line table (linetable.h), handlers from the exception table.
 * 3. Each conditional jump becomes a branch; `leads_to` and `find_line_event` follow its ways.
 *
 * Events differ from the jump in some cases:
 * - A for loop jumps to END_FOR, but the event has an instruction after it: the interpreter skips END_FOR and the one
 *   that pops the iterator, or (3.14) reports the event at the latter.
 * - 3.14 reports the falling way at the NOT_TAKEN after each conditional jump. Without one, that way is silent.
 * - 3.14 reports async for, which ends with an exception: the body at the NOT_TAKEN after END_SEND, with END_SEND's
 *   offset; the end at END_ASYNC_FOR, with its target, END_SEND or the CLEANUP_THROW right before. In a comprehension,
 *   the body is silent. `offset` is END_SEND's, `also` has the others.
 * - 3.12 and 3.13 report async for only by INSTRUCTION events, at END_SEND for the body and at END_ASYNC_FOR for the
 *   end.
 * - An instruction with a LINE event is the source of events for a jump right before it.
 *
 * A way's arc leads to the first instruction on another line, along unconditional jumps, unless another conditional
 * jump comes first. A return leaves the code; a raise leads to its handler, or out. Some lines still belong to the
 * branch's statement and are skipped, or there would be an arc from a line to itself:
 * - A store that is not jumped to is the target of a for loop or a name in a case pattern.
 * - Instructions that drop values and continue with others on a line above belong to a case pattern.
 * - Falling never reaches a statement above the branch, but may reach values of a case pattern, the return of a value
 *   that was spread over lines, and the target of a for loop.
 *
 * LINE reports a way if its instructions up to one on another line can only be entered from the previous one and cannot
 * fail. `entries` counts a unit's entries: jumps, falling, and exceptions, which count twice.
 *
 * For any bytes of code.replace(), units beyond the code are ignored, and a budget of steps bounds cycles. */

typedef struct {
    uint8_t does;    /* sm_op_class */
    uint8_t entries; /* saturates at 2 */
    bool not_taken;
    bool pops_iterator;
    bool decides;     /* makes a value for a condition */
    bool awaits;      /* an async for gets its next value here */
    uint32_t next;    /* unit of the next instruction */
    uint32_t target;  /* unit of the target, or NOWHERE */
    uint32_t handler; /* unit of the handler of exceptions raised here, or NOWHERE */
    uint32_t before;  /* unit of the previous instruction + 1, or 0 */
} unit;

#define NOWHERE UINT32_MAX

typedef struct {
    uint32_t units;
    int32_t first_line;
    bool expression; /* a generator expression, whose body has no statement */
    unit *unit;
    sm_location *location;
    uint64_t budget;
} code_map;

static void enter(code_map *map, uint32_t at, int times) {
    if (at < map->units)
        map->unit[at].entries = (uint8_t)(map->unit[at].entries + times > 2 ? 2 : map->unit[at].entries + times);
}

static bool is_conditional(uint8_t does) {
    return (does >= SM_OP_IF_FALSE && does <= SM_OP_IF_NOT_NONE) || does == SM_OP_FOR;
}

static bool goes_on(uint8_t does) {
    return does < SM_OP_FORWARD || is_conditional(does) || does == SM_OP_ASYNC_END || does == SM_OP_SEND;
}

static uint32_t target_of(const code_map *map, uint8_t does, uint32_t next, uint32_t argument) {
    uint64_t target = NOWHERE;
    if (does == SM_OP_FORWARD || does == SM_OP_SEND || is_conditional(does))
        target = (uint64_t)next + argument;
    else if ((does == SM_OP_BACKWARD || does == SM_OP_ASYNC_END) && argument <= next)
        target = next - argument;
    return target < map->units ? (uint32_t)target : NOWHERE;
}

static void decode(code_map *map, const uint8_t *bytes) {
    uint32_t argument = 0, before = 0;
    for (uint32_t at = 0; at < map->units;) {
        unit *here = &map->unit[at];
        argument = argument << 8 | bytes[2 * at + 1];
        here->does = (uint8_t)sm_op_class_of(bytes[2 * at]);
        here->not_taken = sm_op_is_not_taken(bytes[2 * at]);
        here->pops_iterator = sm_op_pops_iterator(bytes[2 * at]);
        here->handler = NOWHERE;
        uint32_t next = at + 1;
        for (; next < map->units && bytes[2 * next] == 0 && here->does != SM_OP_EXTENDED; next++)
            map->unit[next] = (unit){.does = SM_OP_CACHE, .next = next + 1, .target = NOWHERE, .handler = NOWHERE};
        here->next = next;
        here->decides = sm_op_decides(bytes[2 * at]);
        here->before = before;
        if (here->does != SM_OP_EXTENDED)
            before = at + 1;
        here->target = target_of(map, here->does, next, argument);
        if (here->does != SM_OP_EXTENDED)
            argument = 0;
        at = next;
    }
}

static void count_entries(code_map *map) {
    enter(map, 0, 2);
    for (uint32_t at = 0; at < map->units; at = map->unit[at].next) {
        const unit *here = &map->unit[at];
        if (goes_on(here->does))
            enter(map, here->next, 1);
        if (here->target != NOWHERE && here->does != SM_OP_ASYNC_END)
            enter(map, here->target, 1);
    }
}

static void find_handlers(code_map *map, PyCodeObject *code) {
    sm_handled found;
    for (const uint8_t *at = NULL; sm_handled_next(code, &at, &found);) {
        if (found.target >= map->units)
            continue;
        enter(map, found.target, 2);
        uint64_t end = (uint64_t)found.start + found.size;
        for (uint64_t i = found.start; i < end && i < map->units && map->budget > 0; i++, map->budget--)
            map->unit[i].handler = found.target;
    }
}

/* Return true if the instructions from here on drop values until one of them is on a line above. */
static bool drops_upwards(code_map *map, uint32_t at) {
    int32_t line = map->location[at].line;
    for (; at < map->units && map->unit[at].does == SM_OP_POP && map->budget > 0; map->budget--) {
        if (map->location[at].line != line)
            return map->location[at].line > 0 && map->location[at].line < line;
        at = map->unit[at].next;
    }
    return false;
}

/* Return true if this instruction on another line is part of the branch's statement. fell_on: without a jump back. */
static bool same_statement(code_map *map, const sm_branch *branch, sm_way way, uint32_t at, bool fell_on) {
    uint8_t does = map->unit[at].does;
    int32_t line = map->location[at].line;
    if (way == SM_FELL && (does == SM_OP_KEEP || does == SM_OP_STORE))
        return true;
    if (drops_upwards(map, at))
        return true;
    return fell_on && line < branch->from_line &&
           (does == SM_OP_POP || does == SM_OP_QUIET || does == SM_OP_FORWARD || does == SM_OP_RETURN ||
            (way == SM_FELL && branch->kind == SM_BRANCH_EXHAUSTED));
}

static int32_t leads_to(code_map *map, const sm_branch *branch, sm_way way) {
    bool fell_on = true, raised = false;
    uint32_t at = branch->to[way] / 2;
    for (; branch->from_line > 0 && at < map->units && map->budget > 0; map->budget--) {
        const unit *here = &map->unit[at];
        int32_t line = map->location[at].line;
        if (here->does == SM_OP_CACHE || here->does == SM_OP_EXTENDED) {
            at = here->next;
            continue;
        }
        if (line > 0 && line != branch->from_line &&
            !same_statement(map, branch, way, at, fell_on && line < branch->from_line))
            return line;
        bool raises = here->does == SM_OP_RAISE || here->does == SM_OP_RERAISE;
        if (here->does == SM_OP_RETURN || (raises && here->handler == NOWHERE))
            return map->first_line > 0 ? -map->first_line : 0;
        bool own = here->does == SM_OP_IF_NOT_NONE && line <= 0; /* tests if except* has an exception left */
        if ((is_conditional(here->does) && !own) || here->does == SM_OP_ASYNC_END || here->awaits)
            return 0;
        if (here->does == SM_OP_BACKWARD)
            fell_on = false;
        if (raises)
            at = here->handler, raised = true; /* a handler of except* has one left */
        else if ((own && raised) || here->does == SM_OP_FORWARD || here->does == SM_OP_BACKWARD ||
                 here->does == SM_OP_SEND)
            at = here->target;
        else
            at = here->next;
    }
    return 0;
}

static int32_t find_line_event(code_map *map, const sm_branch *branch, sm_way way, uint32_t start) {
    uint32_t destination = branch->to[way] / 2, at = start;
    bool arrived = false;
    for (; branch->from_line > 0 && at < map->units && map->budget > 0; map->budget--) {
        const unit *here = &map->unit[at];
        int32_t line = map->location[at].line;
        arrived = arrived || at == destination;
        if (here->entries != 1 || (arrived && line <= 0))
            return -1;
        if (arrived && line != branch->from_line)
            return here->does == SM_OP_LINELESS || here->does == SM_OP_ASYNC_END || at > INT32_MAX / 2
                       ? -1
                       : (int32_t)at * 2;
        if (here->does == SM_OP_FORWARD)
            at = here->target;
        else if (here->does == SM_OP_QUIET || here->does == SM_OP_POP || here->does == SM_OP_KEEP ||
                 here->does == SM_OP_LINELESS || here->does == SM_OP_EXTENDED)
            at = here->next;
        else
            return -1;
    }
    return -1;
}

static uint8_t kind_of(uint8_t does) {
    switch (does) {
    case SM_OP_IF_FALSE:
        return SM_BRANCH_FALSE;
    case SM_OP_IF_TRUE:
        return SM_BRANCH_TRUE;
    case SM_OP_IF_NONE:
        return SM_BRANCH_NONE;
    case SM_OP_IF_NOT_NONE:
        return SM_BRANCH_NOT_NONE;
    case SM_OP_FOR:
    case SM_OP_ASYNC_END:
        return SM_BRANCH_EXHAUSTED;
    default:
        return SM_BRANCH_OTHER;
    }
}

/* Return the unit where an async for gets its next value, from the one of its end (3.12, 3.13): the SEND of the
 * awaited value leads to the former, and its exceptions to the latter. */
static uint32_t async_source(code_map *map, uint32_t end) {
    for (uint32_t at = 0; at < map->units && map->budget > 0; at = map->unit[at].next, map->budget--)
        if (map->unit[at].does == SM_OP_SEND && map->unit[at].handler == end)
            return map->unit[at].target;
    return NOWHERE;
}

/* Set the branch's offset and destinations as in the events. Return false if there is no branch or no destination. */
static bool place(code_map *map, uint32_t at, sm_branch *branch) {
    const unit *here = &map->unit[at];
    uint32_t source = at, fell = here->next, jumped = here->target;
    uint32_t also[2] = {at, at};
    bool silent = false, apart = SM_ONE_BRANCH_EVENT && here->does == SM_OP_ASYNC_END;
    if (here->target == NOWHERE && !apart)
        return false;
    if (apart) {
        source = async_source(map, at);
        if (source >= map->units || at == 0)
            return false;
        also[0] = source;
        jumped = here->next;
        fell = map->unit[source].next;
    } else if (here->does == SM_OP_ASYNC_END) {
        source = also[0] = here->target;
        if (map->unit[source].does != SM_OP_LINELESS)
            source = map->unit[source].next;
        jumped = here->next;
        fell = source + 1;
        silent = fell >= map->units || !map->unit[fell].not_taken;
        also[1] = silent ? also[0] : fell;
        fell++;
    } else if (here->does == SM_OP_FOR) {
        jumped += SM_FOR_SKIPS;
        also[0] = also[1] = SM_ONE_BRANCH_EVENT ? source : jumped - 1;
    } else if (!is_conditional(here->does)) {
        return false;
    } else if (!SM_ONE_BRANCH_EVENT) {
        silent = fell >= map->units || !map->unit[fell].not_taken;
        fell += !silent;
    }
    if (source >= map->units || fell >= map->units || jumped >= map->units)
        return false;
    *branch = (sm_branch){.offset = 2 * source,
                          .also = {2 * also[0], 2 * also[1]},
                          .to = {2 * fell, 2 * jumped},
                          .line_events = {-1, -1},
                          .kind = kind_of(here->does),
                          .silent = silent ? 1u << SM_FELL : 0,
                          .apart = apart};
    return true;
}

/* Return the location of the previous instruction, as the interpreter determines it for LINE events. */
static const sm_location *location_before(const code_map *map, uint32_t at) {
    while (map->unit[at].before > 0) {
        at = map->unit[at].before - 1;
        uint8_t does = map->unit[at].does;
        if (does != SM_OP_LINELESS && does != SM_OP_ASYNC_END && !map->unit[at].pops_iterator)
            return &map->location[at];
    }
    return NULL;
}

/* Return the line that LINE omits (code/unreported_lines.h), or 0. An instruction that other jumps or exceptions reach
 * always begins a line. No statement follows the loop of a comprehension. */
static int32_t find_unreported_line(const code_map *map, const sm_branch *branch) {
    uint32_t to = branch->to[SM_JUMPED] / 2;
    const sm_location *before = location_before(map, to);
    int32_t line = map->location[to].line;
    uint8_t does = map->unit[to].does;
    bool is_reported = before == NULL || before->line != line || map->unit[to].entries > 1;
    bool goes_on =
        map->expression || does == SM_OP_QUIET || does == SM_OP_KEEP || does == SM_OP_STORE || does == SM_OP_BACKWARD;
    return is_reported || goes_on || line <= 0 || line == map->location[branch->offset / 2].line ? 0 : line;
}

static bool contains(const sm_location *outer, const sm_location *inner) {
    bool begins = outer->line < inner->line || (outer->line == inner->line && outer->column <= inner->column);
    bool ends = outer->end_line > inner->end_line ||
                (outer->end_line == inner->end_line && outer->end_column >= inner->end_column);
    return begins && ends;
}

/* Set the branch's lines and condition. A jump that the compiler inverted has the location of what it jumps over, so
 * the condition may be taken from the instruction before it. */
static void describe(code_map *map, uint32_t at, sm_branch *branch) {
    const unit *here = &map->unit[at];
    const sm_location *location = &map->location[branch->offset / 2];
    branch->from_line = location->line;
    if (here->before > 0 && is_conditional(here->does)) {
        const sm_location *value = &map->location[here->before - 1];
        bool misplaced = here->does == SM_OP_IF_NONE || here->does == SM_OP_IF_NOT_NONE;
        misplaced = misplaced && !contains(location, value);
        if (value->line > 0 && (misplaced || map->unit[here->before - 1].decides))
            location = value;
    }
    branch->line = location->line;
    branch->column = location->column;
    branch->end_line = location->end_line;
    branch->end_column = location->end_column;
    for (sm_way way = SM_FELL; way <= SM_JUMPED; way++)
        branch->to_line[way] = leads_to(map, branch, way);
    if (SM_LOOP_ENDS_HIDE_LINES && branch->kind == SM_BRANCH_EXHAUSTED)
        branch->unreported_line = find_unreported_line(map, branch);
    if (SM_ONE_BRANCH_EVENT && !branch->apart) {
        branch->line_events[SM_FELL] = find_line_event(map, branch, SM_FELL, here->next);
        branch->line_events[SM_JUMPED] = find_line_event(map, branch, SM_JUMPED, here->target);
    }
}

static int compare_branches(const void *left, const void *right) {
    uint32_t a = ((const sm_branch *)left)->offset, b = ((const sm_branch *)right)->offset;
    return (a > b) - (a < b);
}

static int compare_line_events(const void *left, const void *right) {
    int32_t a = ((const sm_line_event *)left)->offset, b = ((const sm_line_event *)right)->offset;
    return (a > b) - (a < b);
}

/* Return a table in one block of memory with its arrays, or NULL if out of memory. */
static sm_branches *allocate(uint32_t branches, uint32_t units) {
    size_t bytes = sizeof(sm_branches) + branches * (sizeof(sm_branch) + 2 * sizeof(sm_line_event));
    sm_branches *table = sm_malloc(bytes + units * sizeof(uint16_t));
    if (table == NULL)
        return NULL;
    *table = (sm_branches){.units = units, .branches = (sm_branch *)(table + 1)};
    table->line_events = (sm_line_event *)(table->branches + branches);
    table->at = (uint16_t *)(table->line_events + 2 * (size_t)branches);
    memset(table->at, 0, units * sizeof(uint16_t));
    return table;
}

/* Map the other offsets of a branch's events, unless another branch is there. Not for branches beyond SM_SEARCH. */
static void note_also(sm_branches *table, uint32_t number) {
    for (int i = 0; i < 2 && number + 1 < SM_SEARCH; i++) {
        uint16_t *at = &table->at[table->branches[number].also[i] / 2];
        if (*at == 0)
            *at = (uint16_t)(number + 1);
    }
}

static sm_branches *collect(code_map *map) {
    uint32_t count = 0;
    sm_branch branch;
    for (uint32_t at = 0; at < map->units; at = map->unit[at].next) {
        if (!place(map, at, &branch))
            continue;
        count++;
        if (map->unit[at].does == SM_OP_ASYNC_END)
            map->unit[branch.offset / 2].awaits = true;
    }
    sm_branches *table = allocate(count, count != 0 ? map->units : 0);
    if (table == NULL || count == 0)
        return table;
    for (uint32_t at = 0; at < map->units; at = map->unit[at].next)
        if (place(map, at, &branch) && table->at[branch.offset / 2] == 0) {
            describe(map, at, &branch);
            table->branches[table->count++] = branch;
            table->apart = table->apart || branch.apart;
            table->at[branch.offset / 2] = 1;
        }
    qsort(table->branches, table->count, sizeof branch, compare_branches);
    for (uint32_t i = 0; i < table->count; i++)
        table->at[table->branches[i].offset / 2] = (uint16_t)(i + 1 < SM_SEARCH ? i + 1 : SM_SEARCH);
    for (uint32_t i = 0; i < table->count; i++) {
        note_also(table, i);
        for (sm_way way = SM_FELL; way <= SM_JUMPED; way++)
            if (table->branches[i].line_events[way] >= 0)
                table->line_events[table->line_events_count++] =
                    (sm_line_event){table->branches[i].line_events[way], i, way};
    }
    qsort(table->line_events, table->line_events_count, sizeof *table->line_events, compare_line_events);
    return table;
}

static sm_branches *map_and_collect(PyCodeObject *code, PyObject *bytes) {
    size_t units = (size_t)PyBytes_GET_SIZE(bytes) / 2;
    if (units == 0 || units > INT32_MAX / 4)
        return allocate(0, 0);
    code_map map = {.units = (uint32_t)units,
                    .first_line = code->co_firstlineno,
                    .expression = PyUnicode_CompareWithASCIIString(code->co_name, "<genexpr>") == 0,
                    .budget = 1000 + 64 * (uint64_t)units};
    map.unit = sm_calloc(units, sizeof(unit));
    map.location = sm_malloc(units * sizeof(sm_location));
    sm_branches *table = NULL;
    if (map.unit != NULL && map.location != NULL) {
        decode(&map, (const uint8_t *)PyBytes_AS_STRING(bytes));
        count_entries(&map);
        find_handlers(&map, code);
        sm_locations(code, map.location, units);
        table = collect(&map);
    }
    sm_free(map.unit);
    sm_free(map.location);
    return table;
}

sm_branches *sm_branches_new(PyCodeObject *code) {
    if (!SM_HAS_MONITORING)
        return allocate(0, 0);
    SM_EXCEPTION_GUARD;
    PyObject *bytes = sm_code_bytes(code);
    sm_branches *table = NULL;
    if (bytes == NULL)
        PyErr_Clear();
    else
        table = map_and_collect(code, bytes);
    Py_XDECREF(bytes);
    return table;
}

void sm_branches_free(sm_branches *table) {
    sm_free(table);
}

const sm_branch *sm_branches_search(const sm_branches *table, Py_ssize_t offset) {
    if (offset < 0 || offset > UINT32_MAX)
        return NULL;
    sm_branch key = {.offset = (uint32_t)offset};
    return bsearch(&key, table->branches, table->count, sizeof key, compare_branches);
}

const sm_line_event *sm_branches_line_event(const sm_branches *table, Py_ssize_t offset) {
    uint32_t at = 0;
    SM_BISECT(at, table->line_events_count, table->line_events[middle].offset < offset);
    return at < table->line_events_count && table->line_events[at].offset == offset ? &table->line_events[at] : NULL;
}
