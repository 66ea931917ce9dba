/* The coverage recorder, as its sources see it: which lines and branches ran, on request how often and in which context
 * (which test).
 *
 * It needs no thread, stack or clock, and must run beside other recorders. So its recording is the engine's second one
 * (sm_beside), with a tool id of its own.
 *
 * Data is kept by *function*, interned by content. So code that is made again (exec, reload, templates) continues where
 * its like stopped, and the program's text bounds the memory. A function's lines are a dense array of *places*; the
 * ways of its branches lead to *arcs*, which are places, too. A place has its row in the file and the *stamp* of the
 * last context in which it was hit; with counts, an array has the numbers.
 *
 * Disabling: Without counts a place has no more news after its first hit, so the source disables it. With contexts, it
 * has news in the next one, and must be enabled again (*rearm*), which takes some microseconds per code object, as much
 * as a hundred events without news. So in a context places stay enabled until their code object has wasted that much.
 * This costs at most twice the best choice.
 *
 * A place gets the number of its row at the first hit. A save writes what has a number since the last one, and counts
 * that have grown: aligned words, read while they grow. An event takes the engine's lock only with news.
 *
 * Contexts cost memory only until a save: the rows that were hit are a list, and become rows of 64 bits each at the
 * end. The file has a row for each time that one was current, until it is rewritten (carry_contexts.c).
 *
 * Without the GIL, events of several threads meet at one place. A stamp is an atomic word that shows whether there is
 * news, and news are noted with the engine's lock, so they are noted once. Counts are added atomically. To disable a
 * place stops all threads, which may cost more than thousands of events, so it has to pay (sm_cover_pays).
 *
 * Sources call these with the GIL and no exception set; none raises, or runs code of the program:
 *
 * - sm_cover_known: return a code object's record, sm_cover_unwanted, or NULL before it was met;
 * - sm_cover_meet: decide, once for a code object, with the core's lock; return NULL if it is unwanted;
 * - sm_cover_publish: make the record known, once the code object's events are on;
 * - sm_cover_line: a line begins. Return true, here and below, if the place may be disabled until rearm();
 * - sm_cover_branch: a branch event, by its offsets, with the line to which it leads if no LINE event reports it;
 * - sm_cover_instruction: (3.12, 3.13) the INSTRUCTION event at this offset, perhaps a way of an async for;
 * - sm_cover_tell: (3.12, 3.13) the LINE event at this offset, perhaps a branch's way;
 * - sm_cover_arc: a step between lines, without branch events (3.11);
 * - sm_cover_enter and _leave: around each run of a frame whose record has `test`: its context. */
#pragma once

#include "code/function.h"
#include "code/jumps.h"
#include "compat/core_lock.h"
#include "engine/engine.h"

enum { SM_COVER_NO_LINE = 0, SM_COVER_FRESH = 1, SM_COVER_FIRST_STAMP = 2 };

typedef struct {    /* a line or an arc. Guard: the engine's lock */
    uint32_t row;   /* of its table, from 1; 0: never hit */
    uint32_t stamp; /* of the context that it was last hit in; FRESH: of none; NO_LINE: the line table has no such line;
                       read without the lock */
} sm_cover_place;

typedef struct { /* guard: as of a place; counts: the GIL or atomic, and a flush reads them while they grow */
    int32_t from, to;
    sm_cover_place place;
    uint64_t count, saved;
} sm_cover_step;

typedef struct {       /* one of a function's branches; numbered as in its sm_branches. Guard: as of a step */
    uint32_t row;      /* of its table, from 1 */
    uint32_t step[2];  /* by way: number in steps, from 1; 0: none */
    uint32_t stamp[2]; /* by way: as a place's */
    uint64_t taken[2]; /* by way: how often; without counts 0 or 1 */
    uint64_t saved;    /* the sum of taken, as written */
} sm_cover_jump;

/* Lives as long as the recording. Guard: the engine's lock; counts: the GIL or atomic. */
typedef struct sm_cover_function {
    const sm_function *function;
    int first; /* lowest line of its line table */
    uint32_t size;
    sm_cover_place *lines;
    uint64_t *counts, *saved; /* by line; NULL without counts */
    sm_branches *table;       /* atomic; NULL before it is needed, or if there is none */
    sm_cover_jump *jumps;
    sm_cover_step *steps;
    uint32_t steps_count, steps_size;
    uint32_t *steps_index; /* by (from, to): open addressing, numbers from 1 */
    uint32_t index_size;
    bool no_table;
    bool news; /* since the last save */
    struct sm_cover_function *next;
} sm_cover_function;

typedef struct sm_cover_code { /* a code object's record, freed with it or with the recording; guarded by the core's
                                  lock */
    uint64_t *counts;
    int first;
    uint32_t size;
    uint32_t wasted, wasted_stamp; /* atomic; events without news in the context of that stamp */
    sm_cover_function *of;         /* NULL if it is wanted only as a test */
    PyCodeObject *code;            /* borrowed until it dies */
    bool test;                     /* its frames are contexts */
    bool keep_start;               /* the source's: its first line needs the start event (gh-155992) */
    bool has_unreported_lines; /* without branches: it has lines that no LINE event reports (code/unreported_lines.h) */
    bool off;                  /* atomic; it is in the list to rearm */
    bool line_events;          /* LINE events may report the ways of its branches */
    uintptr_t source;          /* atomic */
    struct sm_cover_code *next, **link, *next_off, **link_off;
} sm_cover_code;

/* What this recorder asks of its source. All functions are called with the GIL; any may be NULL. */
typedef struct {
    bool both_ways;                     /* a branch is disabled for both ways at once (3.12, 3.13) */
    void (*rearm)(sm_cover_code *code); /* enables its disabled events again */
    void (*contexts)(void);             /* contexts begin: enables everything again */
    void (*switched)(void);             /* sm_cover.stamp has changed */
    void (*died)(sm_cover_code *code);  /* before a record is freed, at the end, too */
} sm_cover_source;

typedef struct {                /* guard: the core's lock */
    bool branch, counts, tests; /* settings */
    bool in_contexts;           /* atomic; there has been one */
    uint32_t stamp;             /* atomic; of the present context; changes at each switch */
    void *unwanted;             /* this recording's mark on code objects that it does not want */
    const sm_cover_source *source;
    sm_cover_code *codes;
    sm_cover_code *off;
    const void *test;                 /* the frame whose context this is, or NULL */
    uint64_t odd_lines, odd_branches; /* atomic */
} sm_cover_state;

extern sm_cover_state sm_cover;
extern sm_cover_code *const sm_cover_unwanted;

/* Events without news in a context, after which a code object's places are disabled as they come. */
#define SM_COVER_PATIENCE 100

static inline bool sm_cover_in_contexts(void) {
    return __atomic_load_n(&sm_cover.in_contexts, __ATOMIC_RELAXED);
}
/* Return true if a place's stamp, or a way's, is of the present context. */
static inline bool sm_cover_is_current(const uint32_t *stamp) {
    return __atomic_load_n(stamp, __ATOMIC_RELAXED) == __atomic_load_n(&sm_cover.stamp, __ATOMIC_RELAXED);
}

static inline sm_cover_code *sm_cover_known(PyCodeObject *code) {
    const sm_code_entry *entry = sm_code_entry_of(code);
    void *record = entry != NULL ? __atomic_load_n(&entry->of[SM_CODE_COVERAGE], __ATOMIC_ACQUIRE) : NULL;
    if (SM_LIKELY(((uintptr_t)record & 1) == 0))
        return record;
    return record == sm_cover.unwanted ? sm_cover_unwanted : NULL; /* or an earlier recording's mark */
}
sm_cover_code *sm_cover_meet(PyCodeObject *code, PyObject *globals);
void sm_cover_publish(sm_cover_code *record);
#if SM_FREE_THREADED
bool sm_cover_pays(void); /* true if the place of this event may be disabled now; asked once for an event */
#else
static inline bool sm_cover_pays(void) {
    return true;
}
#endif
void sm_cover_rearm(void); /* after a switch of contexts, and when a forked child records again */

/* The slow paths of events. They return what the events return. */
bool sm_cover_line_news(sm_cover_code *code, int line);
bool sm_cover_wasted(sm_cover_code *code);

static inline bool sm_cover_line(sm_cover_code *code, int line) {
    uint32_t i = (uint32_t)line - (uint32_t)code->first;
    if (SM_UNLIKELY(i >= code->size))
        return sm_cover_line_news(code, line);
    if (code->counts != NULL) {
        SM_COUNT(code->counts[i]);
        if (SM_UNLIKELY(sm_cover_in_contexts()) && !sm_cover_is_current(&code->of->lines[i].stamp))
            (void)sm_cover_line_news(code, line);
        return false;
    }
    if (SM_UNLIKELY(!sm_cover_is_current(&code->of->lines[i].stamp)))
        return sm_cover_line_news(code, line);
    return sm_cover_wasted(code);
}

/* Return true if the line was reported in this context. */
static inline bool sm_cover_line_seen(const sm_cover_code *code, int line) {
    uint32_t i = (uint32_t)line - (uint32_t)code->first;
    return i >= code->size || sm_cover_is_current(&code->of->lines[i].stamp);
}
bool sm_cover_arc_seen(const sm_cover_code *code, int from, int to);

bool sm_cover_branch(sm_cover_code *code, Py_ssize_t from, Py_ssize_t to);
bool sm_cover_instruction(sm_cover_code *code, Py_ssize_t offset);
void sm_cover_tell(sm_cover_code *code, Py_ssize_t offset);
bool sm_cover_arc(sm_cover_code *code, int from, int to);
void sm_cover_enter(sm_cover_code *code, const void *frame);
void sm_cover_leave(const void *frame);
