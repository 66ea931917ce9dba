/* Positions for probes, from the graph of a code object's instructions.
 *
 * The interpreter reports a line when the next instruction has another line than the one before, or is reached by a
 * jump back. So all reports follow from the *edges* of the graph and the line table:
 *
 * - Lines. An edge into an instruction v from another line, from the entry, or into an exception handler is an event of
 *   v's line, which a probe at v reports. All other edges into v come from v's own line, which was reported before.
 * - Steps. An edge from u to v on another line is a step. If all edges into v come from one line, a probe at v reports
 *   it. Otherwise it is reported at u, or by u's way if u is a conditional jump (source/py311/probes/arm.c).
 *   Instructions without a line are skipped.
 * - Exits. RETURN_VALUE is a step out of the code. RAISE_VARARGS, and RERAISE at the end of a `finally`, is one to the
 *   first line of its handler; without a handler the evaluator reports the exit. A frame left by an exception is at the
 *   instruction that raised first, although later `with` statements may have run __exit__: then the exit is from the
 *   line of the outermost of these.
 *
 * Steps from other exceptions to their handlers are not reported: no conditional jump decides them (docs/hooks.md).
 *
 * There is no probe at CALL or behind KW_NAMES, because the interpreter keeps values in C variables between these
 * instructions, at RESUME and SEND, which are read from elsewhere, or behind EXTENDED_ARG. Code that needs one there
 * is *odd* and traced; only wrong line tables do. */
#include "code/probe_points.h"

#if SM_HAS_EVALFRAME

#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "code/exception_table.h"
#include "code/linewalk.h"
#include "compat/quickening.h"

#define NOWHERE UINT32_MAX
#define MANY INT32_MAX /* value of `from` for several lines */

typedef struct {
    uint32_t unit;       /* first unit, which may be EXTENDED_ARG */
    uint32_t on, target; /* instructions that may come next, or NOWHERE */
    uint8_t opcode;
    bool conditional, handler, event, armable;
    int32_t line;
    int32_t from; /* the line of all event edges into it, SM_NO_LINE, or MANY */
} instruction;

typedef struct {
    PyCodeObject *code;
    const uint8_t *bytes;
    uint32_t units, count;
    int32_t *lines;
    instruction *instructions;
    uint32_t *by_unit; /* number of the instruction that begins there, or NOWHERE */
    sm_probe_points *out;
    uint32_t *point; /* by instruction: number of its point + 1, or 0 */
    bool steps;
} graph;

int32_t *sm_probe_lines(PyCodeObject *code, uint32_t units) {
    int32_t *lines = sm_malloc(units * sizeof *lines);
    if (lines == NULL)
        return NULL;
    for (uint32_t i = 0; i < units; i++)
        lines[i] = SM_NO_LINE;
    sm_line_walk walk = sm_line_walk_of(code);
    while (sm_line_next(&walk) && walk.unit < units) {
        bool usable = walk.has_line && walk.line > 0 && walk.line < INT32_MAX;
        for (uint64_t i = walk.unit; usable && i < walk.unit + walk.units && i < units; i++)
            lines[i] = (int32_t)walk.line;
    }
    return lines;
}

bool sm_probe_mend_lines(PyCodeObject *code) {
    uint64_t units = 0;
    sm_line_walk walk = sm_line_walk_of(code);
    while (sm_line_next(&walk))
        units = walk.unit + walk.units;
    if (units == (uint64_t)Py_SIZE(code) || sm_code_has_lines(code))
        return true;
    int32_t *lines = sm_probe_lines(code, (uint32_t)Py_SIZE(code));
    int32_t *made = lines != NULL ? sm_code_make_lines(code) : NULL;
    for (Py_ssize_t i = 0; made != NULL && i < Py_SIZE(code); i++)
        made[i] = lines[i] != SM_NO_LINE ? lines[i] : -1;
    sm_free(lines);
    return made != NULL;
}

/* ---- the graph -------------------------------------------------------------------------------------------------- */

static bool ends(uint8_t opcode) { /* never continues with the next instruction */
    return opcode == RETURN_VALUE || opcode == RAISE_VARARGS || opcode == RERAISE || opcode == JUMP_FORWARD ||
           opcode == JUMP_BACKWARD || opcode == JUMP_BACKWARD_NO_INTERRUPT;
}

typedef enum { NO_JUMP, FORWARD, BACKWARD } direction;

static direction jumps(uint8_t opcode) {
    switch (opcode) {
    case JUMP_FORWARD:
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
    case FOR_ITER:
    case SEND:
        return FORWARD;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
        return BACKWARD;
    default:
        return NO_JUMP;
    }
}

static void read_instructions(graph *graph, uint32_t *targets) {
    uint8_t before = CACHE;
    for (uint32_t unit = 0; unit < graph->units;) {
        instruction *made = &graph->instructions[graph->count];
        *made = (instruction){.unit = unit, .line = graph->lines[unit], .from = SM_NO_LINE};
        graph->by_unit[unit] = graph->count;
        uint64_t argument = graph->bytes[2 * unit + 1];
        while (graph->bytes[2 * unit] == EXTENDED_ARG && unit + 1 < graph->units) {
            unit++;
            argument = (argument << 8 | graph->bytes[2 * unit + 1]) & 0xFFFFFFFF;
        }
        made->opcode = graph->bytes[2 * unit];
        uint64_t next = (uint64_t)unit + 1 + sm_opcode_caches(made->opcode);
        direction direction = jumps(made->opcode);
        uint64_t target = direction == FORWARD ? next + argument : direction == BACKWARD ? next - argument : UINT64_MAX;
        targets[graph->count] = target < graph->units ? (uint32_t)target : NOWHERE;
        made->conditional = direction != NO_JUMP && !ends(made->opcode) && made->opcode != SEND;
        made->armable = made->opcode != CALL && made->opcode != RESUME && made->opcode != SEND &&
                        made->opcode != CACHE && (made->opcode != PRECALL || before != KW_NAMES) &&
                        unit > sm_code_first_unit(graph->code);
        before = made->opcode;
        made->on = !ends(made->opcode) && next < graph->units ? graph->count + 1 : NOWHERE;
        graph->count++;
        unit = next < graph->units ? (uint32_t)next : graph->units;
    }
    for (uint32_t i = 0; i < graph->count; i++)
        graph->instructions[i].target = targets[i] == NOWHERE ? NOWHERE : graph->by_unit[targets[i]];
}

/* Return the unit that handles exceptions of this one, or NOWHERE. */
static uint32_t handler_of(PyCodeObject *code, uint32_t unit) {
    sm_handled found;
    for (const uint8_t *at = NULL; sm_handled_next(code, &at, &found);)
        if (unit >= found.start && unit - found.start < found.size)
            return found.target;
    return NOWHERE;
}

static uint32_t handling_instruction(const graph *graph, uint32_t unit) {
    uint32_t target = handler_of(graph->code, unit);
    return target < graph->units ? graph->by_unit[target] : NOWHERE;
}

static void mark_handlers(graph *graph) {
    sm_handled found;
    for (const uint8_t *at = NULL; sm_handled_next(graph->code, &at, &found);) {
        uint32_t number = found.target < graph->units ? graph->by_unit[found.target] : NOWHERE;
        if (number != NOWHERE)
            graph->instructions[number].handler = graph->instructions[number].event = true;
    }
}

/* Return the RERAISE of a handler that only cleans up (the end of `except` and `except ... as name`) or calls
 * __exit__ of a `with` statement, or NOWHERE. Set *with to the unit of that call, or NOWHERE. */
static uint32_t goes_on_raising(const uint8_t *bytes, uint32_t units, uint32_t at, uint32_t *with) {
    *with = NOWHERE;
    for (uint32_t end = at + 64; at < units && at < end; at += 1 + (uint32_t)sm_opcode_caches(bytes[2 * at])) {
        uint8_t opcode = bytes[2 * at];
        if (opcode == RERAISE)
            return at;
        if (opcode == WITH_EXCEPT_START)
            *with = at;
        bool tidies = opcode == PUSH_EXC_INFO || opcode == COPY || opcode == POP_EXCEPT || opcode == EXTENDED_ARG ||
                      opcode == LOAD_CONST || opcode == STORE_FAST || opcode == STORE_NAME || opcode == STORE_GLOBAL ||
                      opcode == STORE_DEREF || opcode == DELETE_FAST || opcode == DELETE_NAME ||
                      opcode == DELETE_GLOBAL || opcode == DELETE_DEREF;
        if (!tidies && *with == NOWHERE)
            return NOWHERE;
    }
    return NOWHERE;
}

int sm_probe_exit_line(PyCodeObject *code, uint32_t unit) {
    int line = PyCode_Addr2Line(code, (int)unit * 2);
    PyObject *held = PyCode_GetCode(code); /* cached in the code object, so this makes nothing */
    if (held == NULL)
        return line;
    const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(held);
    uint32_t units = (uint32_t)(PyBytes_GET_SIZE(held) / 2), with;
    for (int hops = 0; hops < 64; hops++) {
        uint32_t handler = handler_of(code, unit);
        unit = handler < units ? goes_on_raising(bytes, units, handler, &with) : NOWHERE;
        if (unit == NOWHERE)
            break;
        int reported = PyCode_Addr2Line(code, (int)(with != NOWHERE ? with : handler) * 2);
        line = reported > 0 ? reported : line; /* the end of `finally` has the line of its last statement */
    }
    Py_DECREF(held);
    return line;
}

/* Return the next instruction with a line from `at` on, or NOWHERE. Set *out if that leaves the code first. */
static uint32_t arrival(const graph *graph, uint32_t at, bool *out) {
    *out = false;
    bool raised = false;
    for (int hops = 0; at != NOWHERE && hops < 64; hops++) {
        const instruction *here = &graph->instructions[at];
        if (here->line != SM_NO_LINE)
            return at;
        if (here->opcode == RETURN_VALUE)
            *out = true;
        bool own = here->opcode == POP_JUMP_FORWARD_IF_NOT_NONE; /* tests if except* has an exception left */
        if ((here->conditional && !own) || here->opcode == SEND || here->opcode == YIELD_VALUE)
            return NOWHERE;
        raised = raised || here->opcode == RERAISE; /* a handler of except* has one left */
        at = here->opcode == RERAISE                   ? handling_instruction(graph, here->unit)
             : here->on != NOWHERE && !(own && raised) ? here->on
                                                       : here->target;
    }
    return NOWHERE;
}

static void edge(graph *graph, const instruction *u, uint32_t to) {
    if (to == NOWHERE)
        return;
    instruction *v = &graph->instructions[to];
    if (u->line != v->line)
        v->event = true;
    bool out;
    uint32_t at = u->line != SM_NO_LINE ? arrival(graph, to, &out) : NOWHERE;
    if (u->opcode == RESUME && u->unit == sm_code_first_unit(graph->code)) {
        v->event = true;
        v->from = MANY; /* the entry of the code */
        if (graph->out->entry == SM_NO_LINE && v->line != SM_NO_LINE)
            graph->out->entry = v->line;
        return;
    }
    if (u->line == SM_NO_LINE && v->line != SM_NO_LINE)
        v->from = MANY; /* the previous line is unknown */
    if (at == NOWHERE)
        return;
    v = &graph->instructions[at];
    if (v->line == u->line) {
        v->from = MANY; /* also reached without a step */
        return;
    }
    v->event = true;
    v->from = v->handler || (v->from != SM_NO_LINE && v->from != u->line) ? MANY : u->line;
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

static sm_probe_point *point_of(graph *graph, uint32_t number) {
    if (graph->point[number] != 0)
        return &graph->out->points[graph->point[number] - 1];
    const instruction *here = &graph->instructions[number];
    uint32_t before = number > 0 ? number - 1 : 0, before_that = before > 0 ? before - 1 : 0;
    sm_probe_point *made = &graph->out->points[graph->out->count];
    *made = (sm_probe_point){.unit = here->unit,
                             .line = SM_NO_LINE,
                             .opcode = here->opcode,
                             .before = graph->instructions[before].unit,
                             .before_that = graph->instructions[before_that].unit,
                             .next = graph->out->count};
    for (int i = 0; i < 2; i++)
        made->steps[i].from = made->ways[i].from = SM_NO_LINE;
    graph->point[number] = ++graph->out->count;
    return made;
}

static void add_step(sm_probe_point *point, int32_t from, int32_t to) {
    for (int i = 0; i < 2; i++) {
        if (point->steps[i].from == from && point->steps[i].to == to)
            return;
        if (point->steps[i].from == SM_NO_LINE) {
            point->steps[i] = (sm_probe_step){from, to};
            return;
        }
    }
}

/* Add the step of an instruction's way (0 falling, 1 jumping), if it is reported here. */
static void leave(graph *graph, uint32_t number, int way) {
    const instruction *u = &graph->instructions[number];
    uint32_t next = way == 0 ? u->on : u->target;
    bool out;
    uint32_t at = arrival(graph, next, &out);
    int32_t to = at != NOWHERE ? graph->instructions[at].line : -graph->code->co_firstlineno;
    if ((at == NOWHERE && !out) || to == u->line || !u->armable)
        return;
    if (at != NOWHERE && graph->instructions[at].from == u->line)
        return; /* reported at that point */
    sm_probe_point *point = point_of(graph, number);
    if (u->conditional)
        point->ways[way] = (sm_probe_step){u->line, to};
    else
        add_step(point, u->line, to);
}

static void find_steps(graph *graph, uint32_t number) {
    const instruction *here = &graph->instructions[number];
    int first = graph->code->co_firstlineno;
    if (here->line == SM_NO_LINE || !here->armable)
        return;
    if (here->from != SM_NO_LINE && here->from != MANY)
        add_step(point_of(graph, number), here->from, here->line);
    if (here->opcode == RETURN_VALUE)
        add_step(point_of(graph, number), here->line, -first);
    bool out;
    bool raises = here->opcode == RAISE_VARARGS || here->opcode == RERAISE;
    uint32_t handler = raises ? handling_instruction(graph, here->unit) : NOWHERE;
    uint32_t handled = handler != NOWHERE ? arrival(graph, handler, &out) : NOWHERE;
    if (handled != NOWHERE)
        add_step(point_of(graph, number), here->line, graph->instructions[handled].line);
    if (here->on != NOWHERE)
        leave(graph, number, 0);
    if (here->target != NOWHERE)
        leave(graph, number, 1);
}

static void finish_point(graph *graph, uint32_t number) {
    if (graph->point[number] == 0)
        return;
    const instruction *here = &graph->instructions[number];
    sm_probe_point *point = point_of(graph, number);
    if (here->conditional) {
        point->on = here->on != NOWHERE ? graph->instructions[here->on].unit : 0;
        point->jump = here->target != NOWHERE ? graph->instructions[here->target].unit : 0;
        point->backward = point->jump <= point->unit;
        if (here->on == NOWHERE || here->target == NOWHERE) /* invalid code, which never runs */
            point->ways[0].from = point->ways[1].from = SM_NO_LINE;
    }
}

static int by_line(const void *left, const void *right) {
    const sm_probe_point *a = *(const sm_probe_point *const *)left, *b = *(const sm_probe_point *const *)right;
    return a->line != b->line ? (a->line < b->line ? -1 : 1) : (a->unit > b->unit) - (a->unit < b->unit);
}

static bool tie_rings(sm_probe_points *out) {
    sm_probe_point **sorted = sm_malloc(out->count * sizeof(sm_probe_point *));
    if (sorted == NULL)
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        sorted[i] = &out->points[i];
    qsort(sorted, out->count, sizeof *sorted, by_line);
    for (uint32_t i = 0; i < out->count;) {
        uint32_t end = i + 1;
        while (sorted[i]->line != SM_NO_LINE && end < out->count && sorted[end]->line == sorted[i]->line)
            end++;
        for (uint32_t k = i; k < end; k++)
            sorted[k]->next = (uint32_t)(sorted[k + 1 < end ? k + 1 : i] - out->points);
        i = end;
    }
    sm_free(sorted);
    return true;
}

static bool find_points(graph *graph) {
    uint32_t *targets = sm_malloc(graph->units * sizeof *targets);
    if (targets == NULL)
        return false;
    read_instructions(graph, targets);
    sm_free(targets);
    graph->out->points = sm_malloc(graph->count * sizeof *graph->out->points);
    graph->point = sm_calloc(graph->count, sizeof *graph->point);
    if (graph->out->points == NULL || graph->point == NULL)
        return false;
    mark_handlers(graph);
    for (uint32_t i = 0; i < graph->count; i++) {
        const instruction *u = &graph->instructions[i];
        edge(graph, u, u->on);
        edge(graph, u, u->target);
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        instruction *here = &graph->instructions[i];
        if (here->event && here->line != SM_NO_LINE && here->unit > sm_code_first_unit(graph->code)) {
            if (here->armable)
                point_of(graph, i)->line = here->line;
            else if (here->opcode != RESUME)
                graph->out->odd = true;
        }
        if (graph->steps)
            find_steps(graph, i);
        finish_point(graph, i);
    }
    return tie_rings(graph->out);
}

bool sm_probe_points_find(sm_probe_points *found, PyCodeObject *code, bool steps) {
    *found = (sm_probe_points){.units = (uint32_t)Py_SIZE(code), .entry = SM_NO_LINE};
    PyObject *bytes = PyCode_GetCode(code); /* the compiler's bytes, cached in the code object from here on */
    if (bytes == NULL) {
        PyErr_Clear();
        return false;
    }
    graph graph = {.code = code, .units = found->units, .out = found, .steps = steps};
    graph.bytes = (const uint8_t *)PyBytes_AS_STRING(bytes);
    graph.lines = sm_probe_lines(code, found->units);
    graph.instructions = sm_malloc(found->units * sizeof *graph.instructions);
    graph.by_unit = sm_malloc(found->units * sizeof *graph.by_unit);
    bool done = false;
    if (graph.lines != NULL && graph.instructions != NULL && graph.by_unit != NULL) {
        memset(graph.by_unit, 0xFF, found->units * sizeof *graph.by_unit);
        done = find_points(&graph);
    }
    sm_free(graph.lines);
    sm_free(graph.instructions);
    sm_free(graph.by_unit);
    sm_free(graph.point);
    Py_DECREF(bytes);
    if (!done)
        sm_probe_points_clear(found);
    return done;
}

void sm_probe_points_clear(sm_probe_points *points) {
    sm_free(points->points);
    *points = (sm_probe_points){.entry = SM_NO_LINE};
}

sm_probe_point *sm_probe_point_at(const sm_probe_points *points, uint32_t unit) {
    uint32_t at = 0;
    SM_BISECT(at, points->count, points->points[middle].unit < unit);
    return at < points->count && points->points[at].unit == unit ? &points->points[at] : NULL;
}

#endif
