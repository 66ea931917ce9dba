/* The coverage recorder, as its sources see it (recorder/coverage is the rest): which lines and branches ran, on
 * request how often, and in which context (who tests what).
 *
 * It is no recorder of the engine (engine/engine.h): it needs no thread, no stack and no clock, and must run alongside
 * profiles, watches and hooks of the same process. So it starts and ends by itself, has a tool id and a file of its
 * own, and shares with the engine what both need: functions, filters, the writer.
 *
 * What is kept hangs on *functions*, which are interned by content: code that is made again (exec, reload, templates)
 * goes on where its like stopped, and memory is bounded by the program's text. A function's lines are a dense array of
 * *places*, line minus first line; the ways of its branches lead to *arcs*, which are places as well. A place knows its
 * row in the file and the *stamp* of the last context that it was hit in; with counts, an array next to it has the
 * numbers. Each code object leads to its function's arrays by one probe (code/code_map.h).
 *
 * Nothing is told twice that need not be. Without counts a place has said all at its first hit, so the source switches
 * it off there: a program runs at its own speed once it has been everywhere. With a context, it has said all until the
 * next one; then what was switched off has to be switched on again (*rearm*), which costs some microseconds for a code
 * object, as much as a hundred events that say nothing new. So in a context places stay on until their code object has
 * wasted that much, and only then are switched off as they come: never more than twice the price of knowing the future,
 * whether tests are tiny (nothing is ever switched off or on) or loop a million times.
 *
 * Rows are put into the writer at the first hit, not at the flush: a flush then is only the writer's, touches no Python
 * object and needs no GIL. That is what lets a thread of ours write within a second what was new, also while all of the
 * program sleeps or waits, so that a killed process loses no more. (A pending call would wait for the main thread to
 * wake.) Everything that the flush touches is under one lock, which an event takes only when it has news. Counts are
 * read by the flush while they grow: aligned words, each exact when it is read.
 *
 * Contexts cost memory only while they are current: the rows that were hit in it are a list, and become rows of 64 bits
 * each when the context ends. Of contexts that were there a number is kept, by the hash of the name. The file has a row
 * for each time that one was current, until it is written anew (rewrite.c).
 *
 * What a source calls, with the GIL and no exception set; none of it raises, or runs anything of the program:
 * - sm_cover_known: what is known of a code object: NULL if it was not met, sm_cover_unwanted, or its record;
 * - sm_cover_meet: decides, once for a code object; NULL: unwanted;
 * - sm_cover_line: a line begins. True here and below: the place may be switched off until rearm();
 * - sm_cover_branch: a branch event, by its offsets, and the line that it leads to where no LINE event tells it;
 * - sm_cover_instruction: (3.12, 3.13) the INSTRUCTION event at this offset, which may be a way of an async for;
 * - sm_cover_tell: (3.12, 3.13) the LINE event at this offset, which may tell a branch's way;
 * - sm_cover_arc: a step between lines, where there are no branch events (3.11);
 * - sm_cover_enter and _leave: around each run of a frame whose record says `test`: its context. */
#ifndef SM_RECORDER_COVERAGE_PLACES_H
#define SM_RECORDER_COVERAGE_PLACES_H

#include "code/function.h"
#include "code/jumps.h"
#include "engine/skipped_threads.h"

enum { SM_COVER_NO_LINE = 0, SM_COVER_FRESH = 1, SM_COVER_FIRST_STAMP = 2 };

typedef struct {  /* a line or an arc. Guard: the GIL, and to change it the lock of the rows (store.h) as well */
    uint32_t row; /* of its table, from 1; 0: never hit */
    uint32_t
        stamp; /* of the context that it was last hit in; FRESH: of none; NO_LINE: the line table has no such line */
} sm_cover_place;

typedef struct { /* guard: as of a place; counts: the GIL, and a flush reads them while they grow */
    int32_t from, to;
    sm_cover_place place;
    uint64_t count, saved; /* with counts */
} sm_cover_step;

typedef struct {       /* one of a function's branches; numbered as in its sm_branches. Guard: as of a step */
    uint32_t row;      /* of its table, from 1; 0: not written */
    uint32_t step[2];  /* by way: number in steps, from 1; 0: none */
    uint32_t stamp[2]; /* by way: as a place's */
    uint64_t taken[2]; /* by way: how often; without counts 0 or 1 */
    uint64_t saved;    /* the sum of taken, as written */
} sm_cover_jump;

/* Lives as long as the recording. Guard: the GIL, and to change it the lock of the rows as well. */
typedef struct sm_cover_function {
    const sm_function *function;
    int first;     /* the lowest line of its line table */
    uint32_t size; /* lines from there on */
    sm_cover_place *lines;
    uint64_t *counts, *saved; /* by line; NULL without counts */
    sm_branches *table;       /* NULL: not asked for yet, or none could be had */
    sm_cover_jump *jumps;     /* table->count */
    sm_cover_step *steps;
    uint32_t steps_count, steps_size;
    uint32_t *steps_index; /* by (from, to): open addressing, numbers from 1 */
    uint32_t index_size;   /* a power of two */
    bool no_table;         /* there is none to be had */
    struct sm_cover_function *next;
} sm_cover_function;

typedef struct sm_cover_code { /* of a code object; freed with it, or with the recording. Guard: the GIL */
    uint64_t *counts;          /* of its function; NULL without counts */
    int first;
    uint32_t size;
    uint32_t wasted, wasted_stamp; /* events that said nothing new, in the context of that stamp */
    sm_cover_function *of;         /* NULL: not wanted but for its being a test */
    PyCodeObject *code;            /* borrowed: told when it goes away */
    bool test;                     /* its frames are contexts */
    bool keep_start;               /* the source's: its first line needs the start event (gh-155992) */
    bool untold;      /* without branches: it has lines that no LINE event tells (code/unreported_lines.h) */
    bool off;         /* something of it is switched off: in the list to rearm */
    bool tells;       /* LINE events may tell the ways of its branches */
    uintptr_t source; /* the source's own */
    struct sm_cover_code *next, **link, *next_off, **link_off;
} sm_cover_code;

/* What a source is to this recorder. All are called with the GIL. */
typedef struct {
    const char *name;
    bool both_ways;                     /* a branch is switched off for both ways at once (3.12, 3.13) */
    const char *(*objection)(void);     /* NULL: can be used now; else why not (a plain sentence) */
    int (*start)(void);                 /* -1 with an exception */
    void (*stop)(void);                 /* the records are all still there; no exception is set, none is left */
    void (*rearm)(sm_cover_code *code); /* what was switched off in it is wanted again. May be NULL */
    void (*contexts)(void);             /* contexts begin: all that was switched off anywhere is wanted again */
    void (*switched)(void);             /* sm_cover.stamp is another: nothing has been seen in it. May be NULL */
    void (*died)(sm_cover_code *code);  /* before a record is freed, at the end of the recording too. May be NULL */
    bool (*holds)(void);                /* is the hook still ours? */
    int (*tool_id)(void);               /* -1: none */
} sm_cover_source;

typedef struct {          /* guard: the GIL; `running` and `forked` are changed while the flush's thread is not there */
    bool running, forked; /* forked: a child that has not said yet how it goes on: nothing is kept */
    bool branch, counts, tests;
    bool in_contexts;         /* there has been one */
    sm_skipped_threads apart; /* threads that are left out: sources tell nothing of them */
    uint32_t stamp;           /* of the present context. Another at each switch */
    void *unwanted;           /* what this recording writes on code objects that it does not want */
    const sm_cover_source *source;
    sm_cover_code *codes; /* all records */
    sm_cover_code *off;   /* those with something switched off */
    const void *test;     /* the frame whose context this is; NULL: none */
    uint64_t lost_memory, hook_lost, odd_lines, odd_branches;
} sm_cover_state;

/* One for each kind of interpreter: 3.12 and later, 3.11. */
extern const sm_cover_source sm_cover_source_monitoring, sm_cover_source_trace;

extern sm_cover_state sm_cover;
extern sm_cover_code *const sm_cover_unwanted;

/* Events of a code object that may say nothing new in a context before its places are switched off as they come. */
#define SM_COVER_PATIENCE 100

static inline sm_cover_code *sm_cover_known(PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    void *record = entry != NULL ? entry->of[SM_CODE_COVERAGE] : NULL;
    if (SM_LIKELY(((uintptr_t)record & 1) == 0))
        return record;
    return record == sm_cover.unwanted ? sm_cover_unwanted : NULL; /* or of an earlier recording */
}
sm_cover_code *sm_cover_meet(PyCodeObject *code, PyObject *globals);

/* What is not on the way of an event that says nothing new. Their answers are the events'. */
bool sm_cover_line_news(sm_cover_code *code, int line);
bool sm_cover_wasted(sm_cover_code *code);

static inline bool sm_cover_line(sm_cover_code *code, int line) {
    uint32_t i = (uint32_t)line - (uint32_t)code->first;
    if (SM_UNLIKELY(i >= code->size))
        return sm_cover_line_news(code, line);
    if (code->counts != NULL) {
        code->counts[i]++;
        if (SM_UNLIKELY(sm_cover.in_contexts) && code->of->lines[i].stamp != sm_cover.stamp)
            (void)sm_cover_line_news(code, line);
        return false;
    }
    if (SM_UNLIKELY(code->of->lines[i].stamp != sm_cover.stamp))
        return sm_cover_line_news(code, line);
    return sm_cover_wasted(code);
}

/* Has it been told in this context already? */
static inline bool sm_cover_line_seen(const sm_cover_code *code, int line) {
    uint32_t i = (uint32_t)line - (uint32_t)code->first;
    return i >= code->size || code->of->lines[i].stamp == sm_cover.stamp;
}
bool sm_cover_arc_seen(const sm_cover_code *code, int from, int to);

bool sm_cover_branch(sm_cover_code *code, Py_ssize_t from, Py_ssize_t to);
bool sm_cover_instruction(sm_cover_code *code, Py_ssize_t offset);
void sm_cover_tell(sm_cover_code *code, Py_ssize_t offset);
bool sm_cover_arc(sm_cover_code *code, int from, int to);
void sm_cover_enter(sm_cover_code *code, const void *frame);
void sm_cover_leave(sm_cover_code *code, const void *frame);

#endif
