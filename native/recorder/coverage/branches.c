/* Branches, and the steps between lines to which they lead.
 *
 * The branches of a code object are a table that code/jumps.h makes of its bytes. What was taken is kept on the
 * function, by the same numbers. Each way leads to a *step* (an arc in the file), from the branch's line to the way's
 * target; ways may share a step. On 3.11 steps come from consecutive line events.
 *
 * On 3.12 and 3.13 one event serves both ways of a branch. So it is disabled only when neither way has news left: each
 * was taken, or a LINE event to which nothing else leads will report it. Otherwise it stays enabled, and a loop that
 * ends only by `return` keeps reporting. */

#include "base/alloc.h"
#include "recorder/coverage/store.h"

/* Return the slot of a step. It takes 4 bytes, since most functions have few steps, and there are many functions. */
static uint32_t *slot_of(const sm_cover_function *of, int from, int to) {
    uint64_t hash = ((uint64_t)(uint32_t)from << 32 | (uint32_t)to) * 0x9E3779B97F4A7C15u;
    for (uint64_t i = hash >> 32;; i++) {
        uint32_t *slot = &of->steps_index[i & (of->index_size - 1)];
        if (*slot == 0 || (of->steps[*slot - 1].from == from && of->steps[*slot - 1].to == to))
            return slot;
    }
}

static bool grow_steps(sm_cover_function *of) {
    if (!sm_grow(&of->steps, of->steps_count, &of->steps_size, sizeof *of->steps, 8))
        return false;
    if ((of->steps_count + 1) * 2 <= of->index_size)
        return true;
    uint32_t size = of->index_size ? of->index_size * 2 : 16;
    uint32_t *index = sm_calloc(size, sizeof *index);
    if (index == NULL)
        return false;
    sm_free(of->steps_index);
    of->steps_index = index;
    of->index_size = size;
    for (uint32_t i = 0; i < of->steps_count; i++)
        *slot_of(of, of->steps[i].from, of->steps[i].to) = i + 1;
    return true;
}

/* Return the step's number, from 1, and make it if it is new, or 0 if out of memory. With the lock. */
static uint32_t step_of(sm_cover_function *of, int from, int to) {
    if (!grow_steps(of)) {
        sm_beside.lost_memory++;
        return 0;
    }
    uint32_t *slot = slot_of(of, from, to);
    if (*slot == 0) {
        of->steps[of->steps_count] = (sm_cover_step){.from = from, .to = to, .place.stamp = SM_COVER_FRESH};
        *slot = ++of->steps_count;
    }
    return *slot;
}

static bool hit_step(sm_cover_function *of, uint32_t number) {
    if (number == 0)
        return false;
    sm_cover_hit(of, &of->steps[number - 1].place, SM_COVER_STEPS);
    return true;
}

bool sm_cover_arc_seen(const sm_cover_code *code, int from, int to) {
    const sm_cover_function *of = code->of;
    const uint32_t *slot = of->index_size != 0 ? slot_of(of, from, to) : NULL;
    return slot != NULL && *slot != 0 && of->steps[*slot - 1].place.stamp == sm_cover.stamp;
}

bool sm_cover_arc(sm_cover_code *code, int from, int to) {
    sm_cover_function *of = code->of;
    if (SM_UNLIKELY(!sm_beside.running || sm_beside.forked || of == NULL))
        return false;
    uint32_t *slot = of->index_size != 0 ? slot_of(of, from, to) : NULL;
    if (slot != NULL && *slot != 0) {
        sm_cover_step *step = &of->steps[*slot - 1];
        step->count += sm_cover.counts;
        if (step->place.stamp == sm_cover.stamp)
            return sm_cover_wasted(code);
    }
    sm_engine_lock();
    uint32_t number = step_of(of, from, to);
    if (number != 0 && (slot == NULL || of->steps[number - 1].place.row == 0))
        of->steps[number - 1].count = sm_cover.counts ? 1 : 0;
    bool hit = hit_step(of, number);
    sm_engine_unlock();
    return hit && sm_cover_after_news(code);
}

bool sm_cover_table(sm_cover_function *of, PyCodeObject *code) {
    SM_CORE_GUARD;
    if (of->table != NULL || of->no_table)
        return of->table != NULL;
    sm_branches *table = sm_branches_new(code);
    sm_cover_jump *jumps = table != NULL ? sm_calloc(table->count, sizeof *jumps) : NULL;
    if (jumps == NULL) {
        sm_branches_free(table);
        of->no_table = true;
        sm_beside.lost_memory++;
        return false;
    }
    sm_engine_lock();
    of->jumps = jumps;
    __atomic_store_n(&of->table, table, __ATOMIC_RELEASE);
    sm_cover_number_jumps(of);
    sm_engine_unlock();
    return true;
}

/* Return true if the event has no more news of this way, and of the other if it serves both. */
static inline bool has_reported_all(const sm_cover_code *code, const sm_branch *branch, const sm_cover_jump *jump,
                                    int other) {
    return !sm_cover.source->both_ways || branch->apart || sm_cover_is_current(&jump->stamp[other]) ||
           (code->line_events && branch->line_events[other] >= 0) || (branch->silent >> other & 1) != 0;
}

static bool jump_news(sm_cover_code *code, uint32_t number, int way) {
    if (SM_UNLIKELY(!sm_beside.running || sm_beside.forked))
        return false;
    sm_cover_function *of = code->of;
    const sm_branch *branch = &of->table->branches[number];
    sm_cover_jump *jump = &of->jumps[number];
    bool hit = true;
    sm_engine_lock();
    if (!sm_cover.counts && jump->taken[way] == 0) {
        jump->taken[way] = 1;
        of->news = true;
        sm_engine_stir(&sm_beside);
    }
    if (branch->from_line != 0 && branch->to_line[way] != 0) {
        if (jump->step[way] == 0)
            jump->step[way] = step_of(of, branch->from_line, branch->to_line[way]);
        hit = hit_step(of, jump->step[way]);
    }
    if (hit)
        __atomic_store_n(&jump->stamp[way], sm_cover.stamp, __ATOMIC_RELAXED);
    sm_engine_unlock();
    return hit && has_reported_all(code, branch, jump, !way) && sm_cover_after_news(code);
}

static inline bool way_taken(sm_cover_code *code, const sm_branch *branch, int way) {
    sm_cover_function *of = code->of;
    uint32_t number = (uint32_t)(branch - of->table->branches);
    sm_cover_jump *jump = &of->jumps[number];
    if (sm_cover.counts) {
        SM_COUNT(jump->taken[way]);
        if (SM_UNLIKELY(!sm_cover_is_current(&jump->stamp[way])))
            (void)jump_news(code, number, way);
        return false;
    }
    if (SM_UNLIKELY(!sm_cover_is_current(&jump->stamp[way])))
        return jump_news(code, number, way);
    return has_reported_all(code, branch, jump, !way) && sm_cover_wasted(code);
}

bool sm_cover_branch(sm_cover_code *code, Py_ssize_t from, Py_ssize_t to) {
    sm_cover_function *of = code->of;
    const sm_branches *table = of != NULL ? __atomic_load_n(&of->table, __ATOMIC_ACQUIRE) : NULL;
    if (SM_UNLIKELY(table == NULL)) {
        if (of == NULL || !sm_cover_table(of, code->code))
            return !sm_cover.counts;
        table = of->table;
    }
    const sm_branch *branch = sm_branches_at(table, from);
    int way = branch != NULL ? sm_branch_way(branch, to) : -1;
    if (SM_UNLIKELY(way < 0)) {
        /* 3.14 and later take every arrival at a POP_ITER for the end of its loop, and report a branch from the
         * instruction before. any() and all() of a generator, which are loops there, jump to it early: an echo of that
         * jump, which was reported. Disabling the echo would disable the jump. */
        bool echo = branch != NULL && to == (Py_ssize_t)branch->to[SM_JUMPED] + 2;
        if (!echo)
            SM_COUNT(sm_cover.odd_branches);
        return !echo || !sm_cover.counts;
    }
    bool done = way_taken(code, branch, way);
    if (SM_UNLIKELY(branch->unreported_line != 0 && way == SM_JUMPED))
        done = sm_cover_line(code, branch->unreported_line) && done;
    return done;
}

bool sm_cover_instruction(sm_cover_code *code, Py_ssize_t offset) {
    sm_way way;
    const sm_branch *branch = code->of->table != NULL ? sm_branch_apart(code->of->table, offset, &way) : NULL;
    return branch == NULL || sm_cover_branch(code, (Py_ssize_t)branch->offset, (Py_ssize_t)branch->to[way]);
}

void sm_cover_tell(sm_cover_code *code, Py_ssize_t offset) {
    const sm_line_event *line_event = code->of->table != NULL ? sm_branches_line_event(code->of->table, offset) : NULL;
    if (line_event != NULL && !sm_cover_is_current(&code->of->jumps[line_event->branch].stamp[line_event->way]))
        (void)jump_news(code, line_event->branch, (int)line_event->way);
}

bool sm_cover_check_branches(const sm_cover_function *of) {
    if (of->steps_count > of->steps_size || (of->steps_count != 0 && of->steps_count * 2 > of->index_size))
        return false;
    for (uint32_t i = 0; i < of->steps_count; i++) {
        if (*slot_of(of, of->steps[i].from, of->steps[i].to) != i + 1 ||
            of->steps[i].place.row > sm_cover_store.rows[SM_COVER_STEPS])
            return false;
    }
    for (uint32_t i = 0; of->table != NULL && i < of->table->count; i++) {
        const sm_cover_jump *jump = &of->jumps[i];
        if (jump->step[0] > of->steps_count || jump->step[1] > of->steps_count ||
            jump->row > sm_cover_store.rows[SM_COVER_BRANCHES])
            return false;
    }
    return true;
}
