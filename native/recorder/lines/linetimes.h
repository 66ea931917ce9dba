/* The linetimes recorder: every hit of every line counted, time measured on segments and given to lines.
 *
 * Shape. A *table* belongs to a function: its lines, by number less the first one's, so that a line is one load away.
 * Lines are shared by all threads (the GIL makes their counters exact). A thread has a *stack* of entries, one for each
 * frame that it knows: the frame's address, its code, its table and the line it is at. The topmost entry's line is the
 * *current* one. Frames are known by their address, which the interpreter has at hand, so no event of a call is needed:
 * the first line of a frame that is not the topmost one is that call. What is left out (hidden functions, those that
 * where= does not want, C functions) has no entry: its time is part of the line that called it.
 *
 * Own time. A *segment* is the time between two consecutive events of a thread; it belongs to the line that was
 * current. A line has a segment for each hit, and one more each time that a function it called returns to it, or that
 * it goes on after a yield (`more`). Which segments are timed is decided by line (recorder/segments.h): always, while
 * it has had fewer than SM_LINES_FIRST of them or its mean segment is worth the clock.
 *
 * Inner time: that a line spent in the Python functions it called, to any depth: totals.c has how a frame's
 * time is known. When an entry is taken off, it goes to the line below. Under recursion a line may be on the stack
 * several times. Its whole time is the time that it is there at all, so the outermost activation alone may count:
 *  - a frame's time is given to a line only if no entry further out is at that line, too;
 *  - a segment of a line that is also further out is taken off its inner time, which will get it from there.
 * Each entry knows the next one further out of the same function (`same`), so programs that do not recurse do not
 * search.
 *
 * Invariants (check): entry 0 is an unattributed frame, at the line `elsewhere`; the topmost entry's line is current;
 * `same` leads to a smaller index and the same table, and the thread's `innermost` of a table is the largest such
 * index; and that of segments.
 *
 * Loss and repair. A leaving of a frame that is not topmost takes off what lies above it (a leaving that was not
 * reported, counted as a repair). A line of a frame that is neither topmost nor called from below the topmost one is on
 * another stack, or something was not reported: the engine walks the frames. Memory that is not to be had costs that
 * event, counted; the stack is right again at the next one, because frames are told apart by address.
 *
 * Sources call the inline functions below. Each answers whether the place is wanted: false, never tell of it again. */
#ifndef SM_RECORDER_LINES_LINETIMES_H
#define SM_RECORDER_LINES_LINETIMES_H

#include "recorder/awaits.h"
#include "recorder/young.h"

#define SM_LINES_FIRST 32

typedef struct sm_line_table sm_line_table;

typedef struct { /* what is measured; slow paths only */
    uint64_t timed, timed_ticks;
    uint64_t sampled, sampled_ticks;
    uint64_t ticked, ticked_ticks;
    uint64_t awaits, await_ticks;
    sm_off off;
    double off_sq;                           /* ticks squared: of what may be another line's */
    double timed_sq, sampled_sq, ticked_var; /* ticks squared */
    double sampled_most;                     /* see sm_sample_var */
    double inner, inner_var;                 /* ticks, ticks squared */
    double inner_cost;                       /* of the probes: taken off `inner` */
    double search_error, inner_search_error; /* ticks: see searches.c; of `inner` */
    sm_young young;
    sm_past past;
} sm_line_times;

typedef struct sm_line { /* the first cache line is all that an event touches */
    uint64_t hits;
    uint64_t more; /* segments that began without a hit */
    sm_line_table *table;
    int32_t number; /* the line; 0: none */
    int32_t step;
    uint32_t id;                    /* in the recording */
    bool is_open;                   /* while it is saved: some thread is timing it */
    bool searched, at_most;         /* see searches.c: it is timed always; its time holds searches */
    uint64_t saved;                 /* sum of its counters when it was saved last */
    struct sm_line *next_elsewhere; /* of the table's lines that are out of its range */
    _Alignas(64) sm_line_times times;
} sm_line;

struct sm_line_table { /* of a function; never moves, lives as long as the recording */
    sm_function *function;
    uint32_t id; /* dense, from 1 */
    int32_t first;
    uint32_t count;
    bool far;                     /* some of its lines may be searched for: see searches.c */
    bool awaits;                  /* a coroutine or asynchronous generator: its suspensions are timed */
    sm_line *outside;             /* lines that are not in first .. first + count: the line table has lied */
    struct sm_line_place *places; /* where frames were found suspended, by offset */
    uint32_t places_count, places_size;
    struct sm_line_instructions *instructions; /* with opcodes, or NULL */
    struct sm_line_searches *searches;         /* see searches.c; NULL: none are made */
    sm_line *lines[];                          /* NULL: not hit yet */
};

typedef struct {
    const void *frame; /* the interpreter's frame; NULL: unattributed */
    const void *code;
    sm_line_table *table; /* of no lines: a frame that is no part of the recording */
    sm_line *line;
    uint32_t same; /* index of the next entry further out of the same table; 0: none */
    bool known;    /* something is known of its time: the thread's `known` has it */
} sm_line_entry;

typedef struct {          /* of a frame's time, see totals.c. Times are of the thread's own clock */
    uint64_t entered;     /* if was_read */
    uint64_t first, last; /* the first timed segment's end, the last one's start */
    double first_worth, last_worth, first_var, last_var;
    double before, before_var;        /* ticks before the first that are known otherwise */
    double after;                     /* the same since the last */
    double cost, cost_var;            /* of the probes */
    double search_error;              /* see searches.c */
    double told, told_var, told_cost; /* what the line below has been given already */
    double told_search_error;
    uint8_t count; /* of timed segments: 0, 1, more */
    bool was_read; /* the clock, when the frame was entered */
} sm_line_known;

typedef struct { /* of the current thread only, but read by a flush */
    sm_line_entry *top;
    sm_segments segments;
    double open_cost;      /* ticks of the probes in the open segment */
    const void *open_code; /* where it began (never looked into), and at which unit; NULL: unknown; searches.c */
    uint32_t open_at;
    uint64_t lost;              /* ticks in no segment: the own clock is `seen` less these */
    uint64_t event, opened;     /* by that clock: when it was read last, and when the open segment began */
    sm_line_entry *stack, *end; /* owned; one past its last place */
    sm_line_known *known;       /* owned; of each place of the stack */
    uint32_t *innermost;        /* owned: by table id, the index of the innermost entry; 0: none */
    uint32_t innermost_size;
    sm_awaits awaits; /* suspended coroutines, of the lines that they wait in */
} sm_lines_thread;

extern const sm_recorder sm_linetimes;

/* How a segment begins: what the probes cost in it depends on that. */
typedef enum { SM_BY_LINE, SM_BY_COMING_BACK } sm_beginning;

static inline sm_lines_thread *sm_lines_of(sm_thread *thread) {
    return (sm_lines_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

/* For a source: does the recording want this code's events at all? (It may be no code object.) */
bool sm_lines_wants(PyObject *code, PyObject *globals);

/* The slow paths. */
bool sm_lines_enter(sm_thread *thread, const void *code, const void *frame, int number);
bool sm_lines_elsewhere(sm_thread *thread, const void *code, int number); /* of the topmost frame: not known yet */
bool sm_lines_leave_slow(sm_thread *thread, const void *code, const void *frame, sm_leaving how);
/* A frame is left: its time is inner time of the line below. at: when, by the thread's own clock; NULL: not known. */
void sm_lines_give_total(sm_lines_thread *state, sm_line_entry *left, const uint64_t *at);
void sm_lines_suspended(sm_thread *thread, const void *frame, sm_line *line);
bool sm_lines_count_instruction(sm_thread *thread, const void *code, uint32_t offset);

/* What the clock has told at an event, of a frame that begins or ends with it: see totals.c. */
typedef enum { SM_NOT_READ, SM_READ_ENTRY = 1, SM_READ_LEAVING = 2 } sm_line_reading;

sm_line_reading sm_lines_clock(sm_thread *thread, sm_line *to, sm_beginning how, uint64_t now);

/* The current segment ends, and one of this line begins. The stack is still as it was. */
static inline sm_line_reading sm_lines_step(sm_thread *thread, sm_line *to, sm_beginning how) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (SM_LIKELY((state->segments.countdown -= to->step) > 0))
        return SM_NOT_READ;
    return sm_lines_clock(thread, to, how, sm_clock_read(&sm_engine.clock));
}

/* A line begins. code: the code object; frame: sm_tstate_frame(), the address of the interpreter's frame that runs. */
static inline bool sm_lines_line(sm_thread *thread, const void *code, const void *frame, int number) {
    sm_line_entry *top = sm_lines_of(thread)->top;
    if (SM_UNLIKELY(top->frame != frame || top->code != code))
        return sm_lines_enter(thread, code, frame, number);
    const sm_line_table *table = top->table;
    uint32_t index = (uint32_t)number - (uint32_t)table->first;
    sm_line *to = SM_LIKELY(index < table->count) ? table->lines[index] : NULL;
    if (SM_UNLIKELY(to == NULL))
        return sm_lines_elsewhere(thread, code, number);
    to->hits++;
    (void)sm_lines_step(thread, to, SM_BY_LINE);
    top->line = to;
    return true;
}

/* A generator or coroutine goes on (also by throw), behind the instruction at this offset (bytes). */
bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset);

/* A frame is left; it is still the one that runs. */
static inline bool sm_lines_leave(sm_thread *thread, const void *code, const void *frame, sm_leaving how) {
    sm_lines_thread *state = sm_lines_of(thread);
    sm_line_entry *top = state->top;
    if (SM_UNLIKELY(top->frame != frame || top->code != code))
        return sm_lines_leave_slow(thread, code, frame, how);
    sm_line *to = (top - 1)->line;
    to->more++;
    if (how == SM_BY_YIELD && SM_UNLIKELY(top->table->awaits))
        sm_lines_suspended(thread, frame, top->line);
    sm_line_reading read = sm_lines_step(thread, to, SM_BY_COMING_BACK);
    if (SM_UNLIKELY(top->known))
        sm_lines_give_total(state, top, read & SM_READ_LEAVING ? &state->event : NULL);
    state->innermost[top->table->id] = top->same;
    state->top = top - 1;
    return true;
}

/* An instruction is about to run, with opcodes. */
static inline bool sm_lines_instruction(sm_thread *thread, const void *code, uint32_t offset) {
    return sm_lines_count_instruction(thread, code, offset);
}

#endif
