/* How long frames took, from first to last: the inner time of the lines that called them.
 *
 * A frame's time is what its segments sum up to, and most are not timed. But whenever the clock is read, it is read in
 * all frames on the stack, and from one reading to the next the time is known exactly, whatever ran. So of a frame
 * that lasts, nearly all is known: what is not is the time before the first reading that fell into it and behind the
 * last. Let A be the time from its entry to the end of its first timed segment, C that from the start of its last one
 * to its leaving. If a segment that takes t is timed with a chance of 1 in w, then w * t of the first one is, on
 * average, A; w * t of the last one is C; and 0, where there is none, makes up for it. (The sum over all segments of
 * t * P(no earlier one was timed) is both the mean of w * t of the first and that of A, of which a frame without any is
 * a part; so for C; and where only one was timed, which is first and last, w * t of it once makes the whole come out
 * even.) So a frame's time is
 *
 *     w1 * t1 + (from the end of the first to the start of the last) + wk * tk     w1 * t1 if that is all
 *
 * which is unbiased whatever the chances are, as long as they follow from what came before. Its error does not grow
 * with the frame's length. Where the clock was read at the entry itself, or at the leaving, that side is exact, but
 * only if it would have been read whatever chance had drawn in the frame: at the entry because the segment that ended
 * there was timed, at the leaving because the one that begins there is, or because either is timed always. A line that
 * has run a few times has been timed always, so what its first calls took is measured.
 *
 * What a thread waited is in what was read; before the first reading and behind the last it is added (`before`,
 * `after`), and so are the long segments that the ticker found there.
 *
 * The probes' cost in a frame is what it is in the segments that were timed, by their weights.
 *
 * Frames pass on what they know when they are left: the frame below has the same first and last segments unless it had
 * one of its own before. That is one addition a call, and none for a frame into which no reading fell. Under recursion
 * (see linetimes.h) a line's own segments inside of its outermost activation are taken off its inner time.
 *
 * Times here are those of the thread's *own clock*: ticks less those that lie in no segment, which our slow paths and
 * pauses took. */
#include <string.h>

#include "recorder/lines/store.h"

sm_lines_state sm_lines;
sm_line_table sm_lines_unattributed;

static sm_line_known *known_of(sm_lines_thread *state, sm_line_entry *entry) {
    sm_line_known *known = &state->known[entry - state->stack];
    if (!entry->known) {
        memset(known, 0, sizeof *known);
        entry->known = true;
    }
    return known;
}

void sm_lines_entered(sm_lines_thread *state, uint64_t at) {
    sm_line_known *known = known_of(state, state->top);
    known->was_read = true;
    known->entered = at;
}

/* Is an entry further out at this line, too? */
static bool is_further_out(const sm_lines_thread *state, const sm_line_entry *entry, const sm_line *line) {
    for (uint32_t i = entry->same; SM_UNLIKELY(i > 0); i = state->stack[i].same) {
        if (state->stack[i].line == line)
            return true;
    }
    return false;
}

static bool is_current(const sm_lines_thread *state, const sm_line *line) {
    return state->top->line == line && line != sm_lines.elsewhere;
}

void sm_lines_note_timed(sm_lines_thread *state, sm_line *line, const sm_segment *ended, double cost) {
    if (!is_current(state, line))
        return;
    double weight = ended->weight, ticks = (double)ended->ticks, var = weight * (weight - 1.0);
    double worth = weight * ticks + (double)ended->excess;
    sm_line_known *known = known_of(state, state->top);
    if (known->count == 0) {
        known->first = state->event;
        known->first_worth = worth;
        known->first_var = var * ticks * ticks;
    }
    known->count += known->count < 2;
    known->last = state->opened;
    known->last_worth = worth;
    known->last_var = var * ticks * ticks;
    known->after = 0.0;
    known->cost += weight * cost;
    known->cost_var += var * cost * cost;
    if (is_further_out(state, state->top, line)) {
        line->times.inner -= worth - weight * cost;
        line->times.inner_var += var * (ticks - cost) * (ticks - cost);
        line->times.inner_cost -= weight * cost;
    }
}

void sm_lines_note_more(sm_lines_thread *state, sm_line *line, double ticks, double var) {
    if (!is_current(state, line))
        return;
    sm_line_known *known = known_of(state, state->top);
    if (known->count == 0)
        known->before += ticks, known->before_var += var;
    else
        known->after += ticks;
    if (is_further_out(state, state->top, line)) {
        line->times.inner -= ticks;
        line->times.inner_var += var;
    }
}

void sm_lines_note_search(sm_lines_thread *state, const sm_line *line, double error) {
    if (is_current(state, line))
        known_of(state, state->top)->search_error += error;
}

typedef struct {
    double ticks, var, cost;
} total;

/* The time of a frame, until its leaving if the clock was read then. */
static total total_of(const sm_line_known *known, const uint64_t *left) {
    total all = {0.0, known->cost_var, known->cost};
    uint64_t from = known->was_read ? known->entered : known->first;
    bool only = known->count == 1 && !known->was_read;
    if (!known->was_read) {
        all.ticks += known->first_worth + known->before;
        all.var += known->first_var + known->before_var;
    }
    if (left != NULL && (known->was_read || known->count > 0)) {
        all.ticks += (double)sm_ticks_since(from, *left);
    } else if (known->count > 0 && !only) {
        all.ticks += (double)sm_ticks_since(from, known->last) + known->last_worth + known->after;
        all.var += known->last_var;
    } else {
        all.ticks += only ? known->after : known->was_read ? known->before : 0.0;
    }
    all.ticks -= all.cost; /* below 0 too: sums of many are right */
    return all;
}

/* What is known of a frame is known of the one below. */
static void pass_on(sm_line_known *below, const sm_line_known *left) {
    if (below->count == 0) {
        below->first = left->first;
        below->first_worth = left->first_worth;
        below->first_var = left->first_var;
        below->before += left->before;
        below->before_var += left->before_var;
    } else if (left->count == 0) {
        below->after += left->before;
    }
    if (left->count > 0) {
        below->last = left->last;
        below->last_worth = left->last_worth;
        below->last_var = left->last_var;
        below->after = left->after;
    }
    below->count = below->count + left->count < 2 ? below->count + left->count : 2;
    below->cost += left->cost;
    below->cost_var += left->cost_var;
    below->search_error += left->search_error;
}

static void tell(sm_lines_thread *state, sm_line_entry *below, const total *all, const sm_line_known *told) {
    sm_line *line = below->line;
    if (line == sm_lines.elsewhere || is_further_out(state, below, line))
        return;
    line->times.inner += all->ticks - told->told;
    line->times.inner_var += all->var - told->told_var;
    line->times.inner_cost += all->cost - told->told_cost;
    line->times.inner_search_error += told->search_error - told->told_search_error;
}

void sm_lines_give_total(sm_lines_thread *state, sm_line_entry *left, const uint64_t *at) {
    const sm_line_known *known = known_of(state, left);
    total all = total_of(known, at);
    tell(state, left - 1, &all, known);
    if (known->count > 0 || known->before != 0.0)
        pass_on(known_of(state, left - 1), known);
    left->known = false;
}

void sm_lines_add_pending(sm_lines_thread *state, uint64_t at) {
    sm_line_known sum = {0};
    for (sm_line_entry *entry = state->top; entry > state->stack; entry--) {
        sm_line_known *known = known_of(state, entry), all = *known;
        pass_on(&all, &sum);
        total so_far = total_of(&all, &at);
        tell(state, entry - 1, &so_far, &all);
        known->told = so_far.ticks;
        known->told_var = so_far.var;
        known->told_cost = so_far.cost;
        known->told_search_error = all.search_error;
        sum = all;
    }
    if (state->stack != NULL)
        state->stack->known = false;
}
