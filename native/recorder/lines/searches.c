/* Some interpreters search for the line of each LINE event that is far from the beginning of its code object, twice,
 * from the beginning of the line table (compat/linesearch.h): 14 us in a module of 2,000 lines, in which the line
 * itself takes 50 ns. That is in the segment that ends with the event, and is no time of the program.
 *
 * What it takes is known well. A search goes through the table's entries one by one, so it takes as long as there are
 * entries before the instruction. How long an entry takes is measured for each code object, as the interpreter has it:
 * the same searches are done again by us, right after an event, where no segment is open. That is done the less often
 * the more events there were (after the first, second, fourth, eighth, ...).
 *
 * How many searches there were is known mostly. A segment that ends with a line of the same frame holds two, one for
 * the instruction at hand and one for the instruction before. But instructions to which a line jumps in itself have
 * LINE events, too, of which nobody is told since the line is the same: the second value of `a if b else c`, and what
 * follows it. So the ways are followed that lead from where the segment began to where it ended, through instructions
 * of its line only: mostly there is one, or all have the same number of such events. Where some have more, the middle
 * is taken, and the difference is error. Where a line goes round in itself (a comprehension, a loop in one line), there
 * is no telling how often it did: then only what is known is taken out, and the line's time is said to be an upper
 * bound.
 *
 * Lines that are searched for are timed always: that costs a hundredth of the search, and so nothing of it is in the
 * time that is known of samples only. */
#include "recorder/lines/searches.h"

#include <string.h>

#include "base/alloc.h"
#include "code/linewalk.h"
#include "compat/opcodes.h"
#include "recorder/lines/store.h"

#define ERROR 0.15      /* of what searches took: how well it is known */
#define OFTEN 64        /* a power of two: one event in so many is measured, in the long run; that costs 3 % of them */
#define SMOOTH 4        /* as many measurements as a mean has */
#define TOLD 2          /* searches for an event, one right after the other */
#define SURE 3          /* so many measurements give the shortest of them */
#define MOST_PENDING 16 /* ways that are followed at a time, */
#define MOST_STEPS 400  /* and instructions on them */
#define NOWHERE UINT32_MAX

typedef struct {      /* of code */
    uint32_t entries; /* of the line table before it */
    int32_t line;     /* 0: none */
    uint32_t target;  /* of a jump; NOWHERE: it is none, or one to nowhere */
    uint8_t does;     /* sm_op_class */
    bool tells;       /* it has a LINE event */
    uint8_t found;    /* sm_unit_line */
} unit;

typedef struct sm_line_searches {
    PyCodeObject *code; /* borrowed: the serial says whether it still is this one */
    uint32_t serial, units;
    uint64_t events; /* told */
    uint32_t measured;
    double rate; /* ticks for an entry */
    unit unit[];
} searches;

void sm_lines_free_searches(sm_line_table *table) {
    sm_free(table->searches);
    table->searches = NULL;
}

/* ---- a code object ---- */

static void read_lines(searches *of) {
    uint32_t entries = 0;
    for (sm_line_walk walk = sm_line_walk_of(of->code); sm_line_next(&walk); entries++) {
        bool there = walk.has_line && walk.line > 0 && walk.line < INT32_MAX;
        for (uint64_t i = walk.unit; i < walk.unit + walk.units && i < of->units; i++) {
            of->unit[i].entries = entries;
            of->unit[i].line = there ? (int32_t)walk.line : 0;
        }
    }
}

static void read_jumps(searches *of, const uint8_t *bytes) {
    uint32_t argument = 0;
    for (uint32_t at = 0, next; at < of->units; at = next) {
        unit *here = &of->unit[at];
        argument = argument << 8 | bytes[2 * at + 1];
        here->does = (uint8_t)sm_op_class_of(bytes[2 * at]);
        here->tells = sm_unit_has_line_event(of->code, at);
        here->found = (uint8_t)sm_unit_line_of(of->code, at);
        here->target = NOWHERE;
        for (next = at + 1; next < of->units && bytes[2 * next] == 0 && here->does != SM_OP_EXTENDED; next++) {
            of->unit[next].does = SM_OP_CACHE;
            of->unit[next].target = NOWHERE;
            of->unit[next].found = here->found; /* a frame that has called is at one of them */
        }
        uint64_t target = NOWHERE;
        if (here->does == SM_OP_BACKWARD)
            target = argument <= next ? next - argument : NOWHERE;
        else if (here->does >= SM_OP_FORWARD && here->does <= SM_OP_SEND && here->does != SM_OP_ASYNC_END)
            target = (uint64_t)next + argument;
        if (target < of->units)
            here->target = (uint32_t)target;
        if (here->does != SM_OP_EXTENDED)
            argument = 0;
    }
}

static searches *made(PyCodeObject *code, uint32_t serial) {
    uint32_t units = (uint32_t)Py_SIZE(code);
    searches *of = sm_calloc(1, sizeof *of + units * sizeof of->unit[0]);
    PyObject *bytes = of ? PyCode_GetCode(code) : NULL;
    if (bytes == NULL) {
        PyErr_Clear();
        sm_free(of);
        sm_engine.lost_memory++;
        return NULL;
    }
    of->code = code;
    of->serial = serial;
    of->units = units;
    read_lines(of);
    if (PyBytes_GET_SIZE(bytes) >= 2 * (Py_ssize_t)units)
        read_jumps(of, (const uint8_t *)PyBytes_AS_STRING(bytes));
    Py_DECREF(bytes);
    return of;
}

/* What is known of this code. NULL: nothing. may_make: no exception is under way. */
static searches *searches_of(sm_line_table *table, const void *code, bool may_make) {
    const sm_code_entry *entry = sm_code_entry_of_any(code);
    if (entry == NULL)
        return NULL;
    if (table->searches != NULL && table->searches->serial == entry->serial)
        return table->searches;
    if (!may_make)
        return NULL;
    sm_lines_free_searches(table);
    return table->searches = made(entry->code, entry->serial);
}

static void measure(searches *of, uint32_t at) {
    uint32_t entries = of->unit[at].entries;
    uint64_t events = ++of->events;
    if ((events < OFTEN ? events & (events - 1) : events % OFTEN) != 0 || entries == 0)
        return;
    uint64_t before = sm_clock_read(&sm_engine.clock);
    for (int i = 0; i < TOLD; i++)
        (void)PyCode_Addr2Line(of->code, (int)(2 * at));
    double ticks = (double)sm_ticks_since(before, sm_clock_read(&sm_engine.clock)) - sm_engine.clock.read_ticks;
    double rate = ticks > 0 ? ticks / TOLD / entries : 0;
    if (of->measured++ == 0 || (of->measured <= SURE && rate < of->rate))
        of->rate = rate;
    else if (of->measured > SURE && rate < 2 * of->rate) /* else something came in between */
        of->rate += (rate - of->rate) / SMOOTH;
}

/* ---- the ways through a line ---- */

typedef struct {
    uint32_t at, before;  /* and the instruction from which it is reached */
    uint32_t least, most; /* events that nobody is told of */
} way;

typedef struct {
    way pending[MOST_PENDING];
    uint32_t count;
    bool lost; /* it goes round, or there is too much of it */
} ways;

static void add(ways *all, uint32_t at, const way *from) {
    for (uint32_t i = 0; i < all->count; i++) {
        way *known = &all->pending[i];
        if (known->at == at) {
            known->least = known->least < from->least ? known->least : from->least;
            known->most = known->most > from->most ? known->most : from->most;
            return;
        }
    }
    if (all->count < MOST_PENDING)
        all->pending[all->count++] = (way){at, from->at, from->least, from->most};
    else
        all->lost = true;
}

/* The one that is least far in the code, so that ways that join have done so. */
static way take(ways *all) {
    uint32_t first = 0;
    for (uint32_t i = 1; i < all->count; i++)
        first = all->pending[i].at < all->pending[first].at ? i : first;
    way taken = all->pending[first];
    all->pending[first] = all->pending[--all->count];
    return taken;
}

static void go_on(const searches *of, ways *all, const way *from, int32_t line) {
    const unit *here = &of->unit[from->at];
    bool back = here->does == SM_OP_BACKWARD, jumps = here->target != NOWHERE;
    if (jumps && back && of->unit[here->target].line == line && of->unit[here->target].does != SM_OP_SEND) {
        all->lost = true; /* an await goes round, too, but each time it is told */
        return;
    }
    if (jumps)
        add(all, here->target, from);
    if (back || here->does == SM_OP_FORWARD || here->does == SM_OP_RETURN || here->does == SM_OP_RAISE ||
        here->does == SM_OP_RERAISE)
        return;
    uint32_t next = from->at + 1;
    while (next < of->units && of->unit[next].does == SM_OP_CACHE)
        next++;
    if (next < of->units)
        add(all, next, from);
}

/* From one instruction to another, through those of its line. found->at is the latter, if there is a way. */
static bool follow(const searches *of, uint32_t from, uint32_t to, way *found) {
    ways all = {.pending = {{from, from, 0, 0}}, .count = 1};
    int32_t line = of->unit[from].line;
    *found = (way){.at = NOWHERE};
    for (uint32_t steps = 0; all.count > 0 && steps < MOST_STEPS && !all.lost; steps++) {
        way one = take(&all);
        const unit *here = &of->unit[one.at];
        bool same = here->line == line;
        if (one.at != from && same && here->tells && here->found != SM_SEARCHED_ALONE)
            one.least++, one.most++;
        if (one.at == to && one.at != from) {
            if (found->at == to) {
                one.least = one.least < found->least ? one.least : found->least;
                one.most = one.most > found->most ? one.most : found->most;
            }
            *found = one;
        } else if (same || here->line == 0) {
            go_on(of, &all, &one, line);
        }
    }
    return !all.lost && all.count == 0;
}

/* ---- segments ---- */

static void add_searches(sm_line_search *all, const searches *of, uint32_t at, double count, double error) {
    if (of->unit[at].found != SM_FOUND) {
        all->ticks += count * of->rate * of->unit[at].entries;
        all->error += error * of->rate * of->unit[at].entries;
    }
}

/* Of a segment that began at one instruction (NOWHERE: unknown) and ended at another. told: with an event of that one.
 */
static sm_line_search held(const searches *of, uint32_t from, uint32_t to, bool told) {
    sm_line_search all = {0, 0, false};
    way one = {.at = NOWHERE};
    if (from != NOWHERE)
        all.more = !follow(of, from, to, &one) && of->unit[from].found != SM_FOUND;
    bool there = one.at != NOWHERE;
    if (there)
        add_searches(&all, of, from, one.least + one.most, (double)(one.most - one.least));
    if (told) {
        add_searches(&all, of, to, 1, 0);
        if (of->unit[to].found == SM_SEARCHED)
            add_searches(&all, of, there ? one.before : from != NOWHERE ? from : to, 1, 0);
    }
    all.error += ERROR * all.ticks;
    return all;
}

#define MOST_BELOW 100 /* frames that are looked at: those between are of C functions, or left out */

static bool is_below(const void *running, const void *frame) {
    for (int i = 0; running != NULL && i < MOST_BELOW; i++, running = sm_frame_below(running)) {
        if (running == frame)
            return true;
    }
    return false;
}

/* Where the segment begins: in the frame that runs on after the event. */
static void begin(sm_lines_thread *state, sm_beginning how, const void *running) {
    const sm_line_entry *top = state->top;
    const void *frame = running;
    PyCodeObject *code = NULL;
    if (how == SM_BY_LINE || running != top->frame)
        code = sm_frame_code_of(running);
    else if (top > state->stack && (top - 1)->frame != NULL && is_below(running, frame = (top - 1)->frame))
        code = sm_frame_code_of(frame);
    state->open_code = code;
    state->open_at = code != NULL ? sm_frame_at(frame, code) : 0;
}

sm_line_search sm_lines_search(sm_lines_thread *state, sm_beginning how) {
    sm_line_search found = {0, 0, false};
    const sm_line_entry *top = state->top;
    const void *running = sm_tstate_frame(PyThreadState_Get()), *code = top->code;
    bool told = how == SM_BY_LINE && top->frame == running;
    if (code != NULL && top->frame != NULL && is_below(running, top->frame) && sm_frame_runs(top->frame, code)) {
        uint32_t to = sm_frame_at(top->frame, (PyCodeObject *)(uintptr_t)code);
        bool searched = told && sm_unit_line_of((PyCodeObject *)(uintptr_t)code, to) != SM_FOUND;
        searches *of = searched || top->table->searches != NULL ? searches_of(top->table, code, searched) : NULL;
        if (of != NULL && to < of->units) {
            if (searched)
                measure(of, to);
            bool known = state->open_code == code && state->open_at < of->units;
            found = held(of, known ? state->open_at : NOWHERE, to, told);
        }
    }
    begin(state, how, running);
    return found;
}
