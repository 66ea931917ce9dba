/* The linetimes' slow paths: a frame never met, a stack that does not fit, the clock. linetimes.h tells the story. */
#include "recorder/linetimes.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/random.h"
#include "compat/frame.h"
#include "event/ticker.h"
#include "recorder/linetimes_store.h"

/* ---- the clock ---- */

/* A line is timed always while little is known of it, or while its mean segment is worth the clock. */
static int32_t step_for(const sm_line *line) {
    const sm_line_times *times = &line->times;
    if (sm_engine.settings.time_every || times->timed + times->sampled < SM_LINES_FIRST)
        return SM_LINES_ALWAYS;
    double samples = (double)times->sampled * SM_SAMPLE_PERIOD;
    double ticks = (double)(times->timed_ticks + times->ticked_ticks) + (double)times->sampled_ticks * SM_SAMPLE_PERIOD;
    double count = (double)(times->timed + times->ticked) + samples;
    return ticks >= count * (double)sm_engine.threshold_ticks ? SM_LINES_ALWAYS : 1;
}

/* The clock ticks from which on a segment is long. There is no ticker beside a simulated clock. */
static uint64_t long_ticks(void) {
    if (sm_engine.clock.kind == SM_CLOCK_SIMULATED)
        return UINT64_MAX;
    return (uint64_t)(SM_LONG_NS / sm_engine.clock.ns_per_tick);
}

/* Is an entry further out at this line, too? */
static bool is_further_out(const sm_lines_thread *state, const sm_line_entry *entry, const sm_line *line) {
    for (uint32_t i = entry->same; SM_UNLIKELY(i > 0); i = state->stack[i].same) {
        if (state->stack[i].line == line)
            return true;
    }
    return false;
}

/* What a segment of the topmost entry's line stands for is time in all that is below. */
static void add_worth(sm_lines_thread *state, sm_line *line, double worth, double variance) {
    sm_line_entry *top = state->top;
    if (top->line != line || line == sm_lines.elsewhere)
        return;
    top->total += worth;
    top->total_var += variance;
    if (is_further_out(state, top, line)) {
        line->times.inner -= worth;
        line->times.inner_var -= variance;
    }
}

void sm_lines_give_total(sm_lines_thread *state, sm_line_entry *left) {
    sm_line_entry *below = left - 1;
    sm_line *line = below->line;
    if (line != sm_lines.elsewhere && !is_further_out(state, below, line)) {
        line->times.inner += left->total;
        line->times.inner_var += left->total_var;
    }
    below->total += left->total;
    below->total_var += left->total_var;
    left->total = left->total_var = 0.0;
}

/* A long segment of a line that is not timed always; or the share of such ones that it stands for. */
static void account_long(sm_lines_thread *state, sm_line *line, uint64_t ticks, double cost) {
    double tick = SM_TICK_NS / sm_engine.clock.ns_per_tick, doubt = (double)ticks < tick ? (double)ticks : tick;
    line->times.ticked++;
    line->times.ticked_ticks += ticks;
    line->step = step_for(line);
    add_worth(state, line, (double)ticks - cost, doubt * doubt);
}

/* The timed segment that is open ends, so long after its beginning. */
static void account(sm_lines_thread *state, uint64_t ticks) {
    sm_line *line = state->open;
    sm_line_times *times = &line->times;
    double worth = (double)ticks - state->open_cost;
    if (state->open_always) {
        times->timed++;
        times->timed_ticks += ticks;
        times->timed_sq += (double)ticks * (double)ticks;
        add_worth(state, line, worth, 0.0);
    } else if (ticks >= long_ticks()) {
        account_long(state, line, ticks, state->open_cost);
    } else {
        uint64_t extra = sm_engine.sampled_extra < ticks ? sm_engine.sampled_extra : ticks;
        ticks -= extra;
        worth -= (double)extra;
        times->sampled++;
        times->sampled_ticks += ticks;
        times->sampled_sq += (double)ticks * (double)ticks;
        add_worth(state, line, SM_SAMPLE_PERIOD * worth, SM_SAMPLE_PERIOD * (SM_SAMPLE_PERIOD - 1.0) * worth * worth);
    }
    line->step = step_for(line);
    if (line->step == 1)
        sm_ticker_want();
}

/* The ticker asked this event to look at the clock. Where the last look was long ago, the segment that ends here is a
 * long one: see ticker.c. */
static void look_for_long(sm_lines_thread *state, uint64_t now) {
    uint64_t ticks = now > state->seen ? now - state->seen : 0,
             tick = (uint64_t)(SM_TICK_NS / sm_engine.clock.ns_per_tick);
    if (ticks >= long_ticks())
        account_long(state, state->top->line, ticks > tick ? ticks : tick, 0.0);
}

void sm_lines_clock(sm_thread *thread, sm_line *to, sm_beginning how, uint64_t now) {
    sm_lines_thread *state = sm_lines_of(thread);
    int32_t left;
    if (state->open != NULL) {
        /* The counter of another processor may lag by a few ticks: never let a segment become huge. */
        uint64_t ticks = now > state->opened ? now - state->opened : 0;
        thread->rest_ticks += state->open_always ? 0 : ticks;
        account(state, ticks);
        state->open = NULL;
        state->seen = now;
        left = state->left;
        if (sm_engine_due(now)) {
            sm_engine_tick(thread);
            state->seen = sm_clock_read(&sm_engine.clock);
        }
    } else {
        left = state->countdown + to->step; /* before this event */
        if (left == 0) {                    /* the ticker's doing; gaps have no memory, so another is as good */
            look_for_long(state, now);
            left = sm_gap(&state->random) + 1;
        }
        thread->rest_ticks += now > state->seen ? now - state->seen : 0;
        state->seen = now;
    }
    bool always = to->step == SM_LINES_ALWAYS;
    if (!always && --left > 0) {
        state->countdown = left;
        return;
    }
    state->left = always ? left : sm_gap(&state->random);
    state->countdown = 0;
    state->open_always = always;
    state->open_cost = sm_lines.cost[how];
    state->open = to;
    state->seen = state->opened = sm_clock_read(&sm_engine.clock);
}

static void poke(sm_thread *thread) {
    __atomic_store_n(&sm_lines_of(thread)->countdown, 0, __ATOMIC_RELAXED);
}

static void hold(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->pauses++ > 0)
        return;
    state->paused = sm_clock_read(&sm_engine.clock);
    if (state->open == NULL && state->paused > state->seen) {
        thread->rest_ticks += state->paused - state->seen;
        state->seen = state->paused;
    }
}

static void go_on(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->pauses == 0 || --state->pauses > 0)
        return;
    uint64_t away = sm_clock_read(&sm_engine.clock) - state->paused;
    state->opened += away;
    state->seen += away;
}

/* Ends the open segment without an event, while the thread is held: its stack is about to be another one. */
static void close_segment(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->open == NULL || state->pauses == 0)
        return;
    uint64_t ticks = state->paused > state->opened ? state->paused - state->opened : 0;
    thread->rest_ticks += state->open_always ? 0 : ticks;
    account(state, ticks);
    state->open = NULL;
    state->seen = state->paused;
    state->countdown = state->left > 0 ? state->left : sm_gap(&state->random);
}

void sm_lines_tell_pending(sm_lines_thread *state) {
    for (sm_line_entry *entry = state->top; entry > state->stack; entry--)
        sm_lines_give_total(state, entry);
    if (state->stack != NULL)
        state->stack->total = state->stack->total_var = 0.0;
}

/* ---- frames ---- */

#define MOST_STEPS 1000 /* frames between two that are known; more are taken for granted */

/* Was this frame called from the topmost one that is known, directly or through others? */
static bool is_called_from_top(const sm_lines_thread *state, const void *frame) {
    const void *known = state->top->frame;
    if (known == NULL)
        return true;
    for (int i = 0; i < MOST_STEPS; i++) {
        frame = sm_frame_below(frame);
        if (frame == known)
            return true;
        if (frame == NULL)
            return false;
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
        sm_lines_pop(state);
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

bool sm_lines_enter(sm_thread *thread, const void *code, const void *frame, int number) {
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
    sm_lines_step(thread, to, SM_BY_LINE);
    if (state->top->frame == frame && state->top->code == code)
        state->top->line = to;
    else
        (void)sm_lines_push(state, frame, code, table, to);
    return true;
}

bool sm_lines_elsewhere(sm_thread *thread, const void *code, int number) {
    sm_lines_thread *state = sm_lines_of(thread);
    (void)code;
    if (state->top->table == &sm_lines_nobodys)
        return true;
    sm_line *to = sm_lines_at(state->top->table, number);
    if (to == NULL)
        return true;
    to->hits++;
    sm_lines_step(thread, to, SM_BY_LINE);
    state->top->line = to;
    return true;
}

bool sm_lines_leave_slow(sm_thread *thread, const void *code, const void *frame, sm_leaving how) {
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
    line->times.await_ticks += sm_clock_read(&sm_engine.clock) - since;
}

bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset) {
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
    sm_lines_step(thread, to, SM_BY_COMING_BACK);
    if (state->top->frame == frame && state->top->code == code)
        state->top->line = to;
    else
        (void)sm_lines_push(state, frame, code, table, to);
    return true;
}

/* ---- the recorder's interface ---- */

static void start(const sm_settings *settings) {
    (void)settings;
    double cost[2] = {sm_engine.python.inside, sm_engine.resume.inside};
    sm_lines_free();
    bool simulated = sm_engine.clock.kind == SM_CLOCK_SIMULATED; /* then tests want the same gaps every time */
    sm_lines.gaps = (simulated ? sm_simulated_ticks : sm_monotonic_ns()) ^ 0x9E3779B97F4A7C15u;
    memcpy(sm_lines.cost, cost, sizeof cost);
    if (getcwd(sm_lines.folder, sizeof sm_lines.folder) == NULL)
        sm_lines.folder[0] = '\0';
}

/* The line of what is no line of the program that is recorded: time outside of it all. */
static bool make_elsewhere(void) {
    sm_function *name = sm_lines.elsewhere ? NULL : sm_function_synthetic("<elsewhere>");
    if (name == NULL)
        return sm_lines.elsewhere != NULL;
    sm_lines_nobodys.function = name;
    sm_lines.elsewhere = sm_line_new(&sm_lines_nobodys, 0);
    return sm_lines.elsewhere != NULL;
}

static bool thread_start(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    sm_free(state->stack);
    sm_free(state->innermost);
    sm_awaits_free(&state->awaits);
    memset(state, 0, sizeof *state);
    if (!make_elsewhere() || !sm_lines_push(state, NULL, NULL, &sm_lines_nobodys, sm_lines.elsewhere))
        return false;
    state->random = sm_lines.gaps += 0x9E3779B97F4A7C15u;
    state->countdown = sm_gap(&state->random);
    state->seen = sm_clock_read(&sm_engine.clock);
    return true;
}

static void thread_end(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    hold(thread);
    if (state->open != NULL && !state->open_always)
        state->open = NULL;
    close_segment(thread);
    sm_lines_tell_pending(state);
    while (state->top > state->stack)
        sm_lines_pop(state);
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

static bool settle(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_lines_thread *state = sm_lines_of(thread);
    size_t keep = common(state, frames, count), place = 0;
    bool same = state->top == state->stack + keep;
    if (!same)
        close_segment(thread);
    while (state->top > state->stack + keep)
        sm_lines_pop(state);
    for (size_t i = 0; i < count; i++) {
        sm_line_table *table = sm_lines_table(frames[i].code, frames[i].globals);
        if (table == NULL || place++ < keep)
            continue;
        if (same)
            close_segment(thread);
        same = false;
        if (i < below)
            table = &sm_lines_nobodys;
        sm_line *line = i < below ? sm_lines.elsewhere : sm_lines_place(table, frames[i].code, frames[i].offset);
        if (line != NULL)
            (void)sm_lines_push(state, frames[i].frame, frames[i].code, table, line);
    }
    return same;
}

static void code_died(sm_function *function, const void *code) {
    (void)function;
    (void)code; /* no table has the address of one; entries' codes are held by their frames */
}

static void stop(void) {
    sm_lines.stopped = true;
    if (sm_engine.settings.opcodes)
        sm_lines_disassemble();
}

static void timed(const sm_function *function, double sums[3]) {
    sums[0] = sums[1] = sums[2] = 0.0;
    for (sm_line_block *block = sm_lines.blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->used; i++) {
            const sm_line *line = &block->lines[i];
            if (line->table->function != function)
                continue;
            sums[0] += (double)line->times.timed_ticks;
            sums[1] += (double)line->times.sampled_ticks;
            sums[2] += (double)line->times.sampled;
        }
    }
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
    return state->stack->line == sm_lines.elsewhere && (state->open != NULL) == (state->countdown <= 0);
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
    .settle = settle,
    .code_died = code_died,
    .poke = poke,
    .pause = hold,
    .go_on = go_on,
    .save = sm_linetimes_save,
    .stop = stop,
    .forget = sm_lines_free,
    .calibrate = sm_linetimes_calibrate,
    .timed = timed,
    .check = check,
};
