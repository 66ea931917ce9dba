/* Find the starts of calls that were open where reading begins.
 *
 * A block's head names the open calls, but not their starts. So the blocks before it are scanned backwards. A scan
 * follows only the depth, which costs a fraction of decoding. A block is decoded only if the depth falls below that of
 * the calls sought, or the path is exchanged.
 *
 * The search ends with the outermost call, at a gap, at a damaged block, after `look_back` bytes, or where depths or
 * nodes disagree, as on a folded path. */
#include "trace/call_starts.h"

#include "base/alloc.h"
#include "base/varint.h"
#include "trace/compression.h"

typedef struct {
    int64_t lowest, end; /* relative to the depth at the block's beginning */
    bool sound, jumps;   /* jumps: there is a change of path */
} way;

static way follow(const uint8_t *at, const uint8_t *end) {
    way of = {.sound = true};
    while (at != NULL && at < end) {
        unsigned token = *at++;
        if (token <= SM_TOKEN_UNWIND) {
            of.end--;
            of.lowest = of.end < of.lowest ? of.end : of.lowest;
        } else if ((token >= SM_TOKEN_CALL_CHILD && token < SM_TOKEN_END) || token >= SM_TOKEN_RESUME_CHILD) {
            of.end++;
        } else if (token <= SM_TOKEN_INSTANT) {
            at = sm_behind_operands(at - 1, end);
            of.end += token == SM_TOKEN_CALL || token == SM_TOKEN_RESUME;
            of.jumps |= token == SM_TOKEN_GOTO;
        } else {
            at = NULL;
        }
    }
    of.sound = at != NULL;
    return of;
}

/* Return the number of calls that are open at a block's beginning, or -1 if its node is missing. */
static int64_t depth_at(const sm_machine *m, const sm_piece *head) {
    const sm_dictionary *d = m->journal->dictionary;
    int64_t depth = 0, place = sm_dictionary_rank(d, m->stream->thread, head->rank);
    if (place < 0)
        return -1;
    for (; place >= 0 && (size_t)place < d->nodes && depth < SM_MACHINE_DEEPEST; place = d->parent[place])
        depth++;
    return depth;
}

/* Decode a block, and take the starts of those of the `sought` outermost calls that began in it. Return how many are
 * still sought, or -1 if the search is over. */
static int64_t take_beginnings(sm_machine *m, size_t block, const uint8_t *bytes, size_t size, int64_t sought) {
    sm_sink sink = {.receiver = NULL};
    sm_wrong wrong = {0};
    sm_machine inner = {.journal = m->journal, .stream = m->stream, .sink = &sink, .wrong = &wrong};
    const sm_piece *head = sm_machine_head(m, block);
    bool whole = true;
    int64_t left = -1;
    inner.steps_left = SM_MACHINE_STEPS;
    inner.place = sm_machine_root(&inner);
    if (!sm_machine_enter(&inner, head, false))
        goto end;
    sm_machine_read(&inner, bytes, size, head->unit, &whole);
    if (!whole || inner.failed || !sm_machine_enter(&inner, sm_machine_head(m, block + 1), true) ||
        (int64_t)inner.depth < sought) {
        goto end;
    }
    for (left = sought; left > 0; left--) {
        const sm_call *found = &inner.pool[inner.stack[left - 1]].call;
        sm_call *call = &m->pool[m->stack[left - 1]].call;
        if (found->node != call->node) {
            left = -1;
            break;
        }
        if (found->flags & SM_CALL_BEFORE)
            break;
        call->start = found->start;
        call->start_bound = found->start_bound;
        call->flags = (call->flags & ~(uint32_t)SM_CALL_BEFORE) |
                      (found->flags & (SM_CALL_BEGAN_UNSEEN | SM_CALL_RESUMED | SM_CALL_UNSURE));
        if (call->flags & SM_CALL_RESUMED)
            call->call = SM_CALL_NONE;
    }
end:
    m->failed |= inner.failed;
    sm_machine_free(&inner);
    return left;
}

void sm_look_back(sm_machine *m, size_t block) {
    int64_t sought = (int64_t)m->depth;
    size_t budget = m->sink->look_back, size;
    uint8_t *bytes = sought && budget ? sm_malloc(SM_BLOCK_MOST) : NULL;
    while (bytes != NULL && sought > 0 && block > 0 && budget > 0 && !m->failed) {
        const sm_piece *head = sm_machine_head(m, block), *before = sm_machine_head(m, block - 1);
        const sm_index *index = m->journal->index;
        const sm_block *at = &index->block[m->stream->first + block];
        if (!sm_block_follows(index, at) || !sm_block_load(index, at - 1, bytes, &size))
            break;
        block--;
        budget -= size < budget ? size : budget;
        way of = follow(bytes, bytes + size);
        int64_t depth = depth_at(m, before);
        if (!of.sound || depth < 0 || (!of.jumps && depth + of.end != depth_at(m, head)))
            break;
        if (of.jumps || depth + of.lowest < sought)
            sought = take_beginnings(m, block, bytes, size, sought);
    }
    sm_free(bytes);
}
