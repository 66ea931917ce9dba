/* The linetimes' slow paths: a frame never met, a stack that does not fit, the clock. linetimes.h tells the story. */
#include "recorder/lines/linetimes.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compat/frame.h"
#include "recorder/lines/searches.h"
#include "recorder/lines/store.h"

/* ---- the clock ---- */

/* How often its segments are timed from now on. */
static void learnt(sm_line *line) {
    line->step = SM_LINES_SEARCHED && line->searched ? SM_SEGMENT_ALWAYS
                                                     : sm_past_step(&line->times.past, SM_LINES_FIRST, sm_lines.ticks);
    if (line->step != SM_SEGMENT_ALWAYS)
        sm_ticker_want();
}

static void add_sample(sm_line_times *times, const sm_segment *ended) {
    double most = sm_sample_var(ended);
    times->sampled_most = most > times->sampled_most ? most : times->sampled_most;
    if (ended->weight != SM_SAMPLE_PERIOD) {
        sm_young_add(&times->young, ended);
        return;
    }
    times->sampled++;
    times->sampled_ticks += ended->ticks;
    times->sampled_sq += (double)ended->ticks * (double)ended->ticks;
}

/* A segment of a line has ended. cost: ticks of the probes in it. */
static void account(sm_lines_thread *state, sm_line *line, const sm_segment *ended, double cost) {
    sm_line_times *times = &line->times;
    uint64_t ticks = ended->ticks;
    if (ended->kind == SM_SEGMENT_TIMED) {
        times->timed++;
        times->timed_ticks += ticks;
        times->timed_sq += (double)ticks * (double)ticks;
        sm_lines_note_timed(state, line, ended, cost);
    } else if (ended->kind == SM_SEGMENT_SAMPLED) {
        add_sample(times, ended);
        times->ticked += ended->excess > 0;
        times->ticked_ticks += ended->excess;
        sm_lines_note_timed(state, line, ended, cost);
    } else {
        times->ticked++;
        times->ticked_ticks += ticks;
        times->ticked_var += ended->var;
        sm_lines_note_more(state, line, (double)ticks, ended->var);
    }
    sm_past_learn(&times->past, ended, &sm_lines.ticks);
    if (sm_past_tells(&times->past, ended))
        learnt(line);
}

/* Time off the CPU is a line's, and inner time of the lines below. */
static void note_off(sm_lines_thread *state, sm_line *line, const sm_segment *ended) {
    double off = (double)ended->off->all, square = ended->guessed ? off * off : 0.0;
    sm_off_add(&line->times.off, ended->off);
    line->times.off_sq += square;
    sm_past_waited(&line->times.past, ended->off);
    learnt(line);
    sm_lines_note_more(state, line, off, square);
}

/* What the interpreter searched in the segment that has ended is none of its line's time, nor of the thread's clock. */
static void take_out_searches(sm_lines_thread *state, sm_segment *ended, sm_beginning how) {
    sm_line_search held = sm_lines_search(state, how);
    sm_line *line = ended->owner;
    if (line == NULL || (held.ticks == 0 && !held.more))
        return;
    line->searched = true;
    if (ended->kind != SM_SEGMENT_TIMED)
        return;
    uint64_t out = (uint64_t)held.ticks, left = sm_ticks_since(out, ended->ticks);
    line->times.timed_ticks -= out - (ended->ticks - left); /* sums may be short of it meanwhile, and wrap */
    line->times.search_error += held.error;
    line->at_most = line->at_most || held.more;
    ended->ticks = left;
    state->lost += out;
    sm_lines_note_search(state, line, held.error);
}

sm_line_reading sm_lines_clock(sm_thread *thread, sm_line *to, sm_beginning how, uint64_t now) {
    assert(thread == sm_this_thread && thread->session == sm_engine.session && to != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    sm_segment ended = sm_segments_end(thread, &state->segments, to->step, now);
    uint64_t seen = state->segments.seen;
    if (SM_LINES_SEARCHED && SM_UNLIKELY(state->top->table->far || to->table->far))
        take_out_searches(state, &ended, how);
    state->event = seen - state->lost;
    if (ended.kind != SM_SEGMENT_UNTIMED)
        account(state, ended.owner != NULL ? ended.owner : state->top->line, &ended,
                ended.owner != NULL ? state->open_cost : 0.0);
    if (SM_UNLIKELY(ended.off != NULL))
        note_off(state, ended.owner != NULL ? ended.owner : state->top->line, &ended);
    if (sm_segments_begin(thread, &state->segments, &ended, to, to->step))
        state->open_cost = sm_lines.cost[how];
    state->opened = state->event;
    state->lost += state->segments.seen - seen;
    unsigned told = ended.owner != NULL ? SM_READ_ENTRY : SM_READ_LEAVING;
    if (to->step == SM_SEGMENT_ALWAYS || ended.kind == SM_SEGMENT_TIMED)
        told = SM_READ_ENTRY | SM_READ_LEAVING;
    return (sm_line_reading)told;
}

static void poke(sm_thread *thread) {
    sm_segments_poke(thread, &sm_lines_of(thread)->segments);
}

static void hold(sm_thread *thread) {
    sm_segments_hold(thread, &sm_lines_of(thread)->segments);
}

static void go_on(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    uint64_t seen = state->segments.seen;
    sm_segments_go_on(&state->segments);
    state->lost += state->segments.seen - seen;
}

/* Ends the open segment without an event, while the thread is held: its stack is about to be another one. */
static void close_segment(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->segments.open == NULL || state->segments.pauses == 0)
        return;
    sm_segment ended = sm_segments_close(thread, &state->segments);
    state->event = state->segments.seen - state->lost;
    if (ended.kind != SM_SEGMENT_UNTIMED)
        account(state, ended.owner, &ended, state->open_cost);
    if (ended.off != NULL)
        note_off(state, ended.owner, &ended);
}

/* ---- frames ---- */

#define MOST_STEPS 1000 /* frames between two that are known; more are taken for granted */

/* Was this frame called from the topmost one that is known, directly or through others? What a recorded program calls
 * leads to no frame below the program (hub/bottom.h). */
static bool is_called_from_top(const sm_lines_thread *state, const void *frame) {
    const void *known = state->top->frame;
    if (known == NULL)
        return true;
    for (int i = 0; i < MOST_STEPS; i++) {
        frame = sm_frame_below(frame);
        if (frame == known)
            return true;
        if (frame == NULL)
            return state->top->table == &sm_lines_unattributed;
    }
    return true;
}

static sm_line_entry *find(const sm_lines_thread *state, const void *frame, const void *code) {
    for (sm_line_entry *entry = state->top; entry > state->stack; entry--) {
        if (entry->frame == frame)
            return entry->code == code ? entry : NULL;
    }
    return NULL;
}

/* Takes off what lies above: it was left without an event. */
static void pop_to(sm_lines_thread *state, const sm_line_entry *entry) {
    if (state->top > entry)
        sm_engine.repaired++;
    while (state->top > entry)
        sm_lines_pop(state, NULL);
}

/* Makes the topmost entry the frame's, or its caller's. False: the event is none of this frame's (code-like objects of
 * Cython have no frames). */
static bool find_caller(sm_thread *thread, const void *frame, const void *code) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (SM_LIKELY(state->top->frame != frame) && SM_LIKELY(is_called_from_top(state, frame)))
        return true;
    if (!sm_frame_runs(frame, code))
        return false;
    sm_line_entry *entry = find(state, frame, code);
    if (entry != NULL)
        pop_to(state, entry);
    else
        sm_engine_repair(thread, true);
    return true;
}

/* The topmost frame is at this line, or a frame that it has called. */
static inline void go_to(sm_lines_thread *state, const void *frame, const void *code, sm_line_table *table, sm_line *to,
                         sm_line_reading read) {
    if (state->top->frame == frame && state->top->code == code)
        state->top->line = to;
    else if (sm_lines_push(state, frame, code, table, to) && (read & SM_READ_ENTRY))
        sm_lines_entered(state, state->event);
}

bool sm_lines_enter(sm_thread *thread, const void *code, const void *frame, int number) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    sm_line_table *table = sm_lines_known(code);
    if (SM_UNLIKELY(table == NULL)) {
        table = sm_lines_table(code, PyEval_GetGlobals());
        if (table == NULL)
            return !sm_lines_hides(code);
    }
    if (!find_caller(thread, frame, code))
        return true;
    sm_line *to = sm_lines_at(table, number);
    if (to == NULL)
        return true;
    to->hits++;
    go_to(state, frame, code, table, to, sm_lines_step(thread, to, SM_BY_LINE));
    return true;
}

bool sm_lines_elsewhere(sm_thread *thread, const void *code, int number) {
    assert(thread == sm_this_thread && code != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    (void)code;
    if (state->top->table == &sm_lines_unattributed)
        return true;
    sm_line *to = sm_lines_at(state->top->table, number);
    if (to == NULL)
        return true;
    to->hits++;
    (void)sm_lines_step(thread, to, SM_BY_LINE);
    state->top->line = to;
    return true;
}

bool sm_lines_leave_slow(sm_thread *thread, const void *code, const void *frame, sm_leaving how) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    if (sm_lines_known(code) == NULL)
        return !sm_lines_hides(code);
    sm_line_entry *entry = find(state, frame, code);
    if (entry == NULL)
        return true; /* no line of it was told */
    pop_to(state, entry);
    return sm_lines_leave(thread, code, frame, how);
}

/* ---- suspended coroutines ---- */

void sm_lines_suspended(sm_thread *thread, const void *frame, sm_line *line) {
    if (!sm_awaits_begin(&sm_lines_of(thread)->awaits, frame, line, sm_clock_read(&sm_engine.clock)))
        sm_engine.lost_memory++;
}

static void awaited(sm_lines_thread *state, const void *frame, sm_line *line) {
    uint64_t since = sm_awaits_end(&state->awaits, frame, line);
    if (since == 0)
        return;
    line->times.awaits++;
    line->times.await_ticks += sm_ticks_since(since, sm_clock_read(&sm_engine.clock));
}

bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    sm_line_table *table = sm_lines_table(code, NULL);
    if (table == NULL)
        return !sm_lines_hides(code);
    if (!find_caller(thread, frame, code))
        return true;
    sm_line *to = sm_lines_place(table, code, offset);
    if (to == NULL)
        return true;
    to->more++;
    if (table->awaits)
        awaited(state, frame, to);
    go_to(state, frame, code, table, to, sm_lines_step(thread, to, SM_BY_COMING_BACK));
    return true;
}

/* ---- the recorder's interface ---- */

static void start(const sm_settings *settings) {
    (void)settings;
    double cost[2] = {sm_engine.python.inside, sm_engine.resume.inside};
    sm_lines_free();
    sm_lines.gaps = sm_segments_seed();
    memcpy(sm_lines.cost, cost, sizeof cost);
    if (getcwd(sm_lines.folder, sizeof sm_lines.folder) == NULL)
        sm_lines.folder[0] = '\0';
}

/* The line of what is no line of the program that is recorded: time outside of it all. */
static bool make_elsewhere(void) {
    sm_function *name = sm_lines.elsewhere ? NULL : sm_function_synthetic("<elsewhere>");
    if (name == NULL)
        return sm_lines.elsewhere != NULL;
    sm_lines_unattributed.function = name;
    sm_lines.elsewhere = sm_line_new(&sm_lines_unattributed, 0);
    return sm_lines.elsewhere != NULL;
}

/* Now, by the thread's own clock. */
static uint64_t own_clock(const sm_lines_thread *state) {
    return (state->segments.pauses ? state->segments.paused : state->segments.seen) - state->lost;
}

static bool thread_start(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    sm_lines_free_thread(state);
    if (!make_elsewhere() || !sm_lines_push(state, NULL, NULL, &sm_lines_unattributed, sm_lines.elsewhere))
        return false;
    sm_segments_start(thread, &state->segments, sm_lines.gaps += SM_SEED_STEP);
    return true;
}

static void thread_end(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    hold(thread);
    if (state->segments.open_step != SM_SEGMENT_ALWAYS)
        state->segments.open = NULL;
    close_segment(thread);
    sm_lines_add_pending(state, own_clock(state));
    sm_lines_free_thread(state); /* nothing of its own is kept: lines are all threads' */
}

/* The frames that are known, from the outermost: how many of them are on the stack in this order already? */
static size_t common(const sm_lines_thread *state, const sm_walked_frame *frames, size_t count) {
    size_t same = 0, known = (size_t)(state->top - state->stack);
    for (size_t i = 0; i < count && same < known; i++) {
        if (sm_lines_known(frames[i].code) == NULL)
            continue;
        const sm_line_entry *entry = &state->stack[same + 1];
        if (entry->frame != frames[i].frame || entry->code != frames[i].code)
            break;
        same++;
    }
    return same;
}

static bool resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_lines_thread *state = sm_lines_of(thread);
    size_t keep = common(state, frames, count), place = 0;
    bool same = state->top == state->stack + keep;
    if (!same)
        close_segment(thread);
    uint64_t now = own_clock(state);
    while (state->top > state->stack + keep)
        sm_lines_pop(state, &now);
    for (size_t i = 0; i < count; i++) {
        sm_line_table *table = sm_lines_table(frames[i].code, frames[i].globals);
        if (table == NULL || place++ < keep)
            continue;
        if (same)
            close_segment(thread);
        same = false;
        if (i < below)
            table = &sm_lines_unattributed;
        sm_line *line = i < below ? sm_lines.elsewhere : sm_lines_place(table, frames[i].code, frames[i].offset);
        if (line != NULL && sm_lines_push(state, frames[i].frame, frames[i].code, table, line))
            sm_lines_entered(state, now);
    }
    return same;
}

static void code_died(sm_code_entry *entry) {
    (void)entry; /* no table has the address of one; entries' codes are held by their frames */
}

static void stop(void) {
    sm_lines.stopped = true;
    if (sm_engine.settings.opcodes)
        sm_lines_disassemble();
}

static bool check_thread(const sm_lines_thread *state) {
    for (sm_line_entry *entry = state->top; entry > state->stack; entry--) {
        uint32_t id = entry->table->id, index = (uint32_t)(entry - state->stack);
        if (entry->line == NULL || entry->line->table != entry->table || entry->frame == NULL)
            return false;
        if (id != 0 && (entry->same >= index || (entry->same > 0 && state->stack[entry->same].table != entry->table)))
            return false;
        if (id != 0 && state->innermost[id] < index)
            return false;
    }
    return state->stack->line == sm_lines.elsewhere &&
           (state->segments.open != NULL) == (state->segments.countdown <= 0);
}

static bool check(void) {
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next) {
        if (thread->session == sm_engine.session && !thread->ended && !check_thread(sm_lines_of(thread)))
            return false;
    }
    return true;
}

_Static_assert(sizeof(sm_lines_thread) <= SM_RECORDER_ROOM, "raise SM_RECORDER_ROOM");

const sm_recorder sm_linetimes = {
    .name = "linetimes",
    .start = start,
    .thread_start = thread_start,
    .thread_end = thread_end,
    .thread_again = thread_start,
    .resync = resync,
    .code_died = code_died,
    .poke = poke,
    .pause = hold,
    .go_on = go_on,
    .save = sm_linetimes_save,
    .stop = stop,
    .forget = sm_lines_free,
    .calibrate = sm_linetimes_calibrate,
    .check = check,
};
