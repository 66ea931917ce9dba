/* The slow paths of the lines recorder: unknown frames, ends, the sampler's looks. See lines.h first. */
#include "recorder/lines/lines.h"

#include <assert.h>

#include "base/alloc.h"
#include "recorder/frame_depths.h"

#define MOST_STEPS 1000 /* frames that are followed down a stack before the search gives up */
#define LEAST_LEFT 0.1  /* smallest part of a look's time that remains without the probes' cost */

static uint32_t depth_of(const sm_thread *thread) {
    return (uint32_t)sm_tstate_depth(thread->tstate);
}

static void set_gate(sm_lines_thread *state, bool closed) {
    __atomic_store_n(&state->open, closed ? 0 : state->size, __ATOMIC_SEQ_CST);
}

/* Wake the sampler or the flush worker, at an event that took the slow path. */
static void attend(sm_thread *thread) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->open != 0 || state->held > 0)
        return;
    SM_EVENT_GUARD;
    sm_timing *timing = &thread->timing;
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (__atomic_load_n(&timing->idle, __ATOMIC_RELAXED))
        sm_sampler_attend(timing, now);
    if (sm_engine_is_unattended()) {
        sm_timing_end(timing, now);
        sm_engine_attend();
        sm_timing_begin(timing, SM_TIME_SAMPLED, NULL);
    }
    set_gate(state, false);
    if (__atomic_load_n(&timing->idle, __ATOMIC_SEQ_CST) || sm_engine_is_unattended())
        set_gate(state, true);
}

static void hold(sm_thread *thread, bool on) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (!on) {
        if (--state->held == 0)
            sm_timing_begin(&thread->timing, SM_TIME_SAMPLED, NULL);
        return;
    }
    if (state->held++ > 0)
        return;
    uint64_t now = sm_clock_read(&sm_engine.clock);
    if (__atomic_load_n(&thread->timing.idle, __ATOMIC_RELAXED))
        sm_sampler_attend(&thread->timing, now);
    sm_timing_end(&thread->timing, now);
}

static bool is_at(sm_thread *thread, const void *frame, int64_t depth) {
    const sm_lines_thread *state = sm_lines_of(thread);
    return depth > 0 && depth < state->size && __atomic_load_n(&state->entries[depth].frame, __ATOMIC_RELAXED) == frame;
}

/* Return the entry of the running frame, entry 0 if no recorded frame runs, or NULL if it is unknown. */
static const sm_line_entry *find_running(sm_thread *thread) {
    const sm_lines_thread *state = sm_lines_of(thread);
    if (sm_lines.way == SM_LINES_BY_ENDS)
        return &state->entries[__atomic_load_n(&state->top, __ATOMIC_RELAXED)];
    int64_t depth;
    return sm_frame_find(thread, is_at, &depth) ? &state->entries[depth] : NULL;
}

static sm_line *line_of(const sm_line_entry *entry) {
    return __atomic_load_n(&entry->line, __ATOMIC_RELAXED);
}

/* Return the number of the running entry, from 1, since the entries may be moved before the look is added. */
static void *current(const sm_timing *timing) {
    sm_thread *thread = sm_thread_of(timing);
    const sm_line_entry *entries = sm_lines_of(thread)->entries, *entry = find_running(thread);
    if (entry != NULL && line_of(entry) == NULL)
        entry = entries;
    return entry != NULL && line_of(entry) != NULL ? (void *)(uintptr_t)(entry - entries + 1) : NULL;
}

static void add_own(sm_line *line, const sm_look *look) {
    double ran = (double)look->ran, off = (double)look->off.all;
    line->looks++;
    line->ticks += look->ran;
    line->square += ran * ran;
    sm_off_add(&line->off, &look->off);
    line->off_square += look->certain ? 0 : off * off;
}

static double without_probes(const sm_line *line, uint64_t ran) {
    double cost = (double)__atomic_load_n(&line->hits, __ATOMIC_RELAXED) * sm_lines.cost,
           time = (double)line->ticks + (double)ran;
    double left = time > 0 ? 1 - cost / time : 1;
    return (double)ran * (left > LEAST_LEFT ? left : LEAST_LEFT);
}

static void add(sm_timing *timing, void *of, const sm_look *look) {
    const sm_lines_thread *state = sm_lines_of(sm_thread_of(timing));
    uintptr_t place = (uintptr_t)of - 1;
    const sm_line_entry *entry = place < state->size ? &state->entries[place] : NULL;
    sm_line *line = entry != NULL ? line_of(entry) : NULL;
    if (line == NULL)
        return;
    uint64_t number = ++sm_lines.looks;
    double ran = without_probes(line, look->ran), off = (double)look->off.all;
    double doubtful = look->certain ? ran : ran + off;
    add_own(line, look);
    line->look = number;
    for (uint32_t at = entry->below, left = state->size; at != 0 && at < state->size && left > 0; left--) {
        const sm_line_entry *below = &state->entries[at];
        sm_line *there = line_of(below);
        if (there == NULL)
            break;
        if (there->look != number) {
            there->look = number;
            there->inner += ran + off;
            there->inner_square += doubtful * doubtful;
        }
        at = below->below < at ? below->below : 0;
    }
}

static void wake(sm_thread *thread) {
    set_gate(sm_lines_of(thread), true);
}

static void wake_idle(sm_timing *timing) {
    wake(sm_thread_of(timing));
}

static const sm_sampled clocked = {current, add, wake_idle, NULL};

/* Return the entry of the innermost known caller of the running frame, or 0. */
static uint32_t caller_of(sm_thread *thread, uint32_t depth) {
#if SM_HAS_MONITORING
    const sm_lines_thread *state = sm_lines_of(thread);
    const sm_frame_head *frame = sm_tstate_frame(thread->tstate);
    for (int steps = 0; steps < MOST_STEPS && depth > 1 && (frame = frame->previous) != NULL; steps++) {
        PyCodeObject *code = sm_frame_code_of(frame);
        if (code == NULL && !sm_frame_is_counted(frame))
            continue;
        depth--;
        if (code != NULL && is_at(thread, frame, depth) && state->entries[depth].code == code)
            return depth;
    }
#else
    (void)thread, (void)depth;
#endif
    return 0;
}

static void put(sm_lines_thread *state, uint32_t at, const void *frame, const void *code, sm_line_table *table,
                sm_line *line, uint32_t below) {
    sm_line_entry *entry = &state->entries[at];
    sm_sampler_lock();
    *entry = (sm_line_entry){frame, sm_lines.way == SM_LINES_BY_DEPTH ? sm_frame_below(frame) : NULL, code, table, line,
                             below};
    sm_sampler_unlock();
}

static uint32_t find(const sm_lines_thread *state, const void *frame, const void *code) {
    for (uint32_t at = state->top; at > 0; at--) {
        if (state->entries[at].frame == frame)
            return state->entries[at].code == code ? at : 0;
    }
    return 0;
}

/* By ends: return true if this frame was called from the topmost known frame, perhaps through other frames. */
static bool is_called_from_top(const sm_lines_thread *state, const void *frame) {
    const void *known = state->top > 0 ? state->entries[state->top].frame : NULL;
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

/* By ends: make `top` the entry of this frame or of its caller. Return false if the event belongs to another frame. */
static bool find_top(sm_thread *thread, const void *frame, const void *code) {
    sm_lines_thread *state = sm_lines_of(thread);
    if (state->entries[state->top].frame != frame && is_called_from_top(state, frame))
        return true;
    if (!sm_frame_runs(frame, code))
        return false;
    uint32_t at = find(state, frame, code);
    sm_engine.repaired += at != 0 && state->top > at;
    if (at != 0)
        SM_WRITE(state->top, at);
    else
        sm_engine_repair(thread, true);
    return true;
}

/* Note that the running frame is at this line. Return false if it has no entry. */
static bool go_to(sm_thread *thread, const void *frame, const void *code, sm_line_table *table, sm_line *to) {
    sm_lines_thread *state = sm_lines_of(thread);
    bool by_ends = sm_lines.way == SM_LINES_BY_ENDS;
    if (by_ends && !find_top(thread, frame, code))
        return false;
    uint32_t at = by_ends ? state->top : depth_of(thread);
    bool known = at < state->size && at > 0 && state->entries[at].frame == frame && state->entries[at].code == code;
    if (known && (by_ends || state->entries[at].previous == sm_frame_below(frame))) {
        __atomic_store_n(&state->entries[at].line, to, __ATOMIC_RELAXED);
        return true;
    }
    at += by_ends;
    if (!sm_lines_reserve(state, at))
        return false;
    put(state, at, frame, code, table, to, by_ends ? at - 1 : caller_of(thread, at));
    SM_WRITE(state->top, by_ends ? at : 0);
    return true;
}

bool sm_lines_line_slow(sm_thread *thread, const void *code, const void *frame, int number) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    attend(thread);
    sm_line_store *store = sm_lines_store(sm_lines_of(thread));
    sm_line_table *table = sm_lines_known(store, code);
    if (SM_UNLIKELY(table == NULL)) {
        table = sm_lines_table(store, code, PyEval_GetGlobals());
        if (table == NULL)
            return !sm_lines_hides(code);
    }
    sm_line *to = sm_lines_at(table, number);
    if (to != NULL && go_to(thread, frame, code, table, to))
        SM_OWN_COUNT(to->hits);
    return true;
}

static void suspended(sm_lines_thread *state, const void *frame, sm_line *line) {
    if (!sm_awaits_begin(&state->awaits, frame, line, sm_clock_read(&sm_engine.clock)))
        SM_COUNT(sm_main.lost_memory);
}

static void awaited(sm_lines_thread *state, const void *frame, sm_line *line) {
    uint64_t since = sm_awaits_end(&state->awaits, frame, line);
    if (since == 0)
        return;
    SM_OWN_COUNT(line->awaits);
    uint64_t ticks = line->await_ticks + sm_ticks_since(since, sm_clock_read(&sm_engine.clock));
    __atomic_store_n(&line->await_ticks, ticks, __ATOMIC_RELAXED);
}

bool sm_lines_resume(sm_thread *thread, const void *code, const void *frame, int offset) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    attend(thread);
    sm_line_table *table = sm_lines_table(sm_lines_store(sm_lines_of(thread)), code, NULL);
    if (table == NULL)
        return !sm_lines_hides(code);
    sm_line *to = sm_lines_place(table, code, offset);
    if (to == NULL || !go_to(thread, frame, code, table, to))
        return true;
    if (table->awaits)
        awaited(sm_lines_of(thread), frame, to);
    return true;
}

bool sm_lines_leave(sm_thread *thread, const void *code, const void *frame, sm_leaving how) {
    assert(thread == sm_this_thread && code != NULL && frame != NULL);
    sm_lines_thread *state = sm_lines_of(thread);
    bool by_ends = sm_lines.way == SM_LINES_BY_ENDS;
    const sm_line_table *table = sm_lines_known(sm_lines_store(state), code);
    if (table == NULL)
        return !sm_lines_hides(code);
    uint32_t at = by_ends ? find(state, frame, code) : depth_of(thread);
    bool known = at > 0 && at < state->size && state->entries[at].frame == frame && state->entries[at].code == code;
    if (known && how == SM_BY_YIELD && table->awaits && state->entries[at].line != NULL)
        suspended(state, frame, state->entries[at].line);
    if (!by_ends)
        return table->awaits && how == SM_BY_YIELD;
    if (at == 0)
        return true;
    sm_engine.repaired += state->top > at;
    __atomic_store_n(&state->top, at - 1, __ATOMIC_RELAXED);
    return true;
}

static void start(void) {
    sm_lines_free();
    sm_lines.way = SM_HAS_MONITORING && !sm_main.settings.narrow ? SM_LINES_BY_DEPTH : SM_LINES_BY_ENDS;
    sm_lines.cost = sm_engine.costs.python.inside;
    sm_lines_add_elsewhere(&sm_lines.store);
}

#if SM_FREE_THREADED
/* Add the counts of a thread that ends to those of all. */
static void take_home(const sm_line_store *store) {
    sm_sampler_lock();
    for (sm_line_block *block = store->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->used; i++)
            sm_line_add(block->lines[i].home, &block->lines[i]);
    }
    sm_sampler_unlock();
}
#endif

/* Free the data of a thread that ends, or make it for one that begins. */
static bool follow_thread(sm_thread *thread, sm_thread_step step) {
    sm_lines_thread *state = sm_lines_of(thread);
#if SM_FREE_THREADED
    if (step != SM_THREAD_BEGINS)
        take_home(&state->store);
#endif
    sm_lines_free_thread(state);
    if (step == SM_THREAD_ENDS)
        return true;
    if (!sm_lines_reserve(state, 0))
        return false;
    sm_line_store *store = sm_lines_store(state);
    if (store != &sm_lines.store)
        sm_lines_add_elsewhere(store);
    state->entries[0].line = store->elsewhere;
    sm_timing_begin(&thread->timing, SM_TIME_SAMPLED, NULL);
    set_gate(state, false);
    return true;
}

/* Make the entries of the frames on the stack. Return true if they were right; by depth, this is always true. */
static bool resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count) {
    sm_lines_thread *state = sm_lines_of(thread);
    bool by_ends = sm_lines.way == SM_LINES_BY_ENDS;
    uint32_t depth = by_ends ? 0 : depth_of(thread), at = 0, *depths = NULL;
    if (!by_ends && (depths = sm_frame_depths(thread, frames, count, is_at)) == NULL && count > 0) {
        sm_main.lost_memory++;
        return true;
    }
    if (!sm_lines_reserve(state, by_ends ? (uint32_t)count : depth)) {
        sm_free(depths);
        return true;
    }
    uint32_t last = 0;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        sm_line_table *table = sm_lines_table(sm_lines_store(state), frames[i].code, frames[i].globals);
        if (table == NULL || (by_ends && i < below)) /* frames below may not be the program's (hub/hidden_frames.h) */
            continue;
        at = by_ends ? at + 1 : depths[i];
        if (at == 0 || at >= state->size)
            continue;
        const sm_line_entry *there = &state->entries[at];
        if (there->frame != frames[i].frame || there->code != frames[i].code || there->below != last) {
            sm_line *line = i < below ? NULL : sm_lines_place(table, frames[i].code, frames[i].offset);
            put(state, at, frames[i].frame, frames[i].code, table, line, last);
            same = false;
        }
        last = at;
    }
    sm_free(depths);
    same = same && (!by_ends || state->top == last);
    SM_WRITE(state->top, by_ends ? last : 0);
    return same || !by_ends;
}

static void end(bool forget) {
    if (forget)
        sm_lines_free();
}

static double hits_in(const sm_line_store *store) {
    double hits = 0;
    for (const sm_line_block *block = store->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->used; i++)
            hits += (double)block->lines[i].hits;
    }
    return hits;
}

/* Add up the calibration's lines, which only this thread runs. */
static void sum(double sums[2]) {
    sums[0] = hits_in(&sm_lines.store);
    sums[1] = 0;
#if SM_FREE_THREADED
    for (sm_thread *thread = sm_engine.threads; thread != NULL; thread = thread->next)
        sums[0] += hits_in(&sm_lines_of(thread)->store);
#endif
}

bool sm_lines_check(void) {
    SM_EACH_THREAD (thread) {
        const sm_lines_thread *state = sm_lines_of(thread);
        for (uint32_t i = 1; !thread->ended && i < state->size; i++) {
            const sm_line_entry *entry = &state->entries[i];
            if (entry->frame != NULL &&
                (entry->below >= i || (entry->line != NULL && entry->line->table != entry->table)))
                return false;
        }
    }
    return true;
}

_Static_assert(sizeof(sm_lines_thread) <= SM_RECORDER_ROOM, "raise SM_RECORDER_ROOM");

static const sm_thread_states threads = {.step = follow_thread, .resync = resync};

const sm_recorder sm_lines_recorder = {
    .name = "linetimes",
    .counts_lines = true,
    .without_gil = true,
    .keeps_sources = true,
    .threads = &threads,
    .clock = &clocked,
    .start = start,
    .hold = hold,
    .wake = wake,
    .save = sm_lines_save,
    .sum = sum,
    .end = end,
};
