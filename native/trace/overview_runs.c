/* Merge calls into the runs that a picture can show.
 *
 * Each depth of a stream has one open run. The next call or run joins it if both together are no wider than a column.
 * Otherwise a new one begins. So a depth has at most 2 * columns + 1 runs. */
#include "trace/overview_runs.h"

#include "base/alloc.h"

static void hand_on(sm_run_painter *p, sm_paint_slot *s) {
    unsigned most = 0;
    for (unsigned i = 1; i < s->shares; i++)
        most = s->of[i].ns > s->of[most].ns ? i : most;
    int64_t span = s->run.end - s->run.start; /* calls of the journal may overlap those of levels */
    s->run.busy = s->run.busy < span ? s->run.busy : span;
    s->run.most = s->of[most].ns < s->run.busy ? s->of[most].ns : s->run.busy;
    s->run.node = s->of[most].node;
    p->failed |= sm_buffer_append(p->runs, &s->run, sizeof s->run) < 0;
    s->run.calls = 0;
}

static void add_share(sm_paint_slot *s, const sm_painted_share *more) {
    unsigned least = 0;
    for (unsigned i = 0; i < s->shares; i++) {
        sm_painted_share *known = &s->of[i];
        if (known->function == more->function) {
            known->ns += more->ns;
            if (more->node == known->node) {
                known->node_ns += more->node_ns;
            } else if (more->node_ns > known->node_ns) {
                known->node = more->node;
                known->node_ns = more->node_ns;
            }
            return;
        }
        least = known->ns < s->of[least].ns ? i : least;
    }
    if (s->shares < SM_PAINT_SHARES)
        s->of[s->shares++] = *more;
    else if (more->ns > s->of[least].ns)
        s->of[least] = *more;
}

static sm_paint_slot *slot_of(sm_run_painter *p, uint32_t depth) {
    size_t at = depth - p->asked->first_depth;
    if (!sm_room(&p->slots, &p->room, at + 1, sizeof *p->slots)) {
        p->failed = true;
        return NULL;
    }
    return &p->slots[at];
}

void sm_paint_run(sm_run_painter *p, const sm_run *run, const sm_share *shares, unsigned count) {
    const sm_overview_asked *a = p->asked;
    if (run->end < a->from || run->start >= a->to || run->depth < a->first_depth || run->depth >= a->last_depth)
        return;
    sm_paint_slot *s = slot_of(p, run->depth);
    if (s == NULL)
        return;
    if (s->run.calls && (run->start < s->run.start || run->end - s->run.start > p->width))
        hand_on(p, s);
    if (s->run.calls == 0) {
        s->run = *run;
        s->shares = 0;
    } else {
        s->run.end = run->end > s->run.end ? run->end : s->run.end;
        s->run.busy += run->busy;
        s->run.calls += run->calls;
        s->run.flags = 0;
        s->run.bound = -1;
    }
    for (unsigned i = 0; i < count; i++) {
        uint32_t node = shares[i].rank;
        add_share(s, &(sm_painted_share){
                         .function = a->function[node], .ns = shares[i].ns, .node_ns = shares[i].ns, .node = node});
    }
}

void sm_paint_call(sm_run_painter *p, const sm_call *call, uint64_t stream) {
    int64_t took = call->end - call->start, bound = -1;
    if (call->start_bound >= 0 && call->end_bound >= 0)
        bound = call->start_bound > call->end_bound ? call->start_bound : call->end_bound;
    sm_run run = {.start = call->start,
                  .end = call->end,
                  .busy = took,
                  .bound = bound,
                  .calls = 1,
                  .stream = stream,
                  .depth = call->depth,
                  .flags = call->flags};
    sm_paint_run(p, &run, &(sm_share){.rank = call->node, .ns = took}, 1);
}

void sm_paint_end(sm_run_painter *p) {
    for (size_t i = 0; i < p->room && !p->failed; i++)
        if (p->slots[i].run.calls)
            hand_on(p, &p->slots[i]);
}
