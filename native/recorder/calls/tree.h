/* Nodes of the call tree, and a thread's part of it; calltree.h explains both. */
#pragma once

#include "base/map.h"
#include "compat/core_lock.h"
#include "engine/engine.h"
#include "recorder/awaits.h"

#define SM_TREE_DEPTH 32767 /* the most that sm_node.depth holds */

typedef struct sm_node sm_node;

/* A node's hot part: one cache line with all that an event touches. Guard: that of sm_node_rest. */
struct sm_node {
    const void *key;
    uint32_t calls, resumes; /* modulo 2^32; the rest is in sm_node_more */
    const void *child_key[2];
    sm_node *child[2];
    sm_node *parent;     /* NULL for a thread's root */
    uint32_t more : 24;  /* number of the table of all children if there are more than two, or 0 */
    uint32_t token : 8;  /* in the journal, after its parent (trace/tokens.h); 0 if it takes an operand */
    uint8_t timed;       /* the clock is read at its entries and ends */
    uint16_t awaits : 1; /* its suspensions are timed */
    uint16_t depth : 15;
};

/* A node's cold part. Nodes never move, and are published complete, with their chunk's `used`. Then only their thread
 * changes them, with the GIL, except as noted. Meanwhile the flush worker reads counters. */
typedef struct {
    uint64_t timed, timed_ticks; /* exact pieces: their number, and the ticks that they ran */
    uint64_t sampled_ticks;      /* guarded by the sampler's lock, like the next two */
    double sampled_sq;           /* squares of the looks' weights, ticks squared */
    uint32_t sampled;
    uint32_t entered;
    struct sm_tree_function *function;
    struct sm_node_more *more; /* owned; atomic; NULL if there is none */
    sm_node *same;
    uint32_t exceptions, id;
    uint32_t saved;   /* sum of the counters in the file; guarded by the engine's lock */
    uint32_t before;  /* entries, modulo 2^32, until a place of its function was switched off */
    uint16_t flags;   /* SM_NODE_... of store.h */
    uint8_t children; /* number made, at most UINT8_MAX */
    bool running;     /* set during a save for nodes on running paths; guarded by the engine's lock */
} sm_node_rest;

#define SM_TREE_CHUNK 65536
#define SM_TREE_BLOCK 16 /* chunks per allocation, since a large alignment costs a page */
#define SM_TREE_NODES ((SM_TREE_CHUNK - 64) / (sizeof(sm_node) + sizeof(sm_node_rest)))

/* A chunk is aligned to its size, so that a node finds its cold part. Guard: the GIL, except for atomic fields. */
typedef struct sm_tree_chunk {
    struct sm_tree_chunk *next;
    uint32_t used;  /* atomic */
    uint32_t first; /* true for the first chunk of an allocation */
    uint32_t number;
    _Alignas(64) sm_node nodes[SM_TREE_NODES];
    sm_node_rest rest[SM_TREE_NODES];
} sm_tree_chunk;

_Static_assert(sizeof(sm_node) == 64, "a node's hot part is one cache line");
_Static_assert(sizeof(sm_node_rest) == 88, "with it a path takes 152 bytes");
_Static_assert(sizeof(sm_tree_chunk) <= SM_TREE_CHUNK, "nodes find their chunk by masking their address");

static inline sm_tree_chunk *sm_chunk_of(const sm_node *node) {
    return (sm_tree_chunk *)((uintptr_t)node & ~(uintptr_t)(SM_TREE_CHUNK - 1));
}
static inline sm_node_rest *sm_rest(const sm_node *node) {
    sm_tree_chunk *chunk = sm_chunk_of(node);
    return &chunk->rest[node - chunk->nodes];
}
/* Return the node's rank in its thread; the root's is 0. */
static inline uint32_t sm_node_rank(const sm_node *node) {
    const sm_tree_chunk *chunk = sm_chunk_of(node);
    return chunk->number * (uint32_t)SM_TREE_NODES + (uint32_t)(node - chunk->nodes);
}

/* Flags for the work at an event. They are constants wherever they are passed. */
typedef enum {
    SM_WAY_COUNT = 0,
    SM_WAY_JOURNAL = 1, /* write the journal (trace.h), before the step, which may read the clock */
    SM_WAY_EVERY = 2,   /* time every segment: see sm_tree_stamp() */
    SM_WAY_BARE = 4,    /* count calls without a clock: settings.timing == SM_TIMING_NONE */
} sm_tree_way;

/* Settings of the recording. Guard: the GIL; changed only before a start. */
typedef struct {
    uint64_t max_paths;   /* calls on more paths are counted flat */
    uint64_t trace_depth; /* depth of the deepest calls in a trace, or 0 for all */
    uint64_t trace_least_ns;
} sm_tree_settings;

extern sm_tree_settings sm_tree_chosen;

/* The write position of a thread's journal (trace.h), all NULL without a journal. Guard: its thread. */
typedef struct {
    uint8_t *at;    /* atomic: written with release order */
    uint8_t *limit; /* from here on the slow path adds a mark or another block */
    struct sm_stream *stream;
    uint64_t mark; /* time of the last mark, in units (sm_trace_unit) */
} sm_trace_end;

/* The shadow of a frame (frame_shadows.h). Guard: its thread changes it with the GIL, one word at a time. The sampler
 * may read it meanwhile, and always reads a valid node. */
typedef struct {
    const void *frame; /* address of the interpreter's frame, dereferenced only while it is known to live */
    uintptr_t at;      /* the frame's `executable`, or 0 if it is left out and only its C function is known */
    sm_node *node;
    uintptr_t c_at; /* instruction that called a C function which may still run, or 0 */
    sm_node *c_node;
} sm_shadow;

typedef struct {
    sm_shadow *slots; /* by depth, with two more below; NULL if all ends are reported; moved under the sampler's lock */
    uint32_t size;
    uint32_t open; /* equals `size` while the fast path may be taken, otherwise 0; atomic */
} sm_shadows;

/* Guard: the GIL, and changed by its own thread, except where noted. The sampler, and a flush without the GIL, read
 * `node`, `shadows` and `chunks` meanwhile. */
typedef struct sm_tree_thread {
    sm_node *node; /* current node; with a source of starts the one entered last, which may have ended */
    sm_trace_end journal;
    sm_shadows shadows;
    uint8_t gate;  /* atomic: not 0 if the next event takes the slow path */
    uint32_t held; /* number of nested pauses */
    sm_node *root, *folded;
    sm_node *marked;              /* end of the path marked as running; guarded by the engine's lock */
    struct sm_tree_thread *store; /* the tree that holds its nodes: this one, or its group's */
    struct sm_tree_chunk *chunks; /* atomic; newest first */
    unsigned char *block;
    uint32_t block_left;
    struct sm_fold *fold; /* frames that were entered while folded */
    uint32_t fold_count, fold_size;
    sm_awaits awaits; /* suspended coroutines, with their codes */
    sm_map parked;    /* nodes on its other stacks (stack_paths.c) */
#if SM_FREE_THREADED
    struct sm_node **recent; /* owned: its own cache instead of sm_nodes_recent */
#endif
} sm_tree_thread;

static inline sm_tree_thread *sm_tree_of(sm_thread *thread) {
    return (sm_tree_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

/* Return a child that is only in the node's table, and keep it in the node itself, or return NULL. */
sm_node *sm_node_in_table(sm_node *parent, const void *key);
/* A cache, shared by all threads, of children found recently that are only in their parents' tables: one for each hash
 * of parent and key. Guard: the GIL. */
#define SM_NODES_RECENT 1024
#if SM_FREE_THREADED
#define sm_nodes_recent (sm_tree_of(sm_this_thread)->recent)
#else
extern sm_node *sm_nodes_recent[SM_NODES_RECENT];
#endif
static inline sm_node **sm_node_recent(const sm_node *parent, const void *key) {
    uint64_t hash = ((uintptr_t)parent ^ (uintptr_t)key) * 0x9E3779B97F4A7C15u;
    return &sm_nodes_recent[hash >> 32 & (SM_NODES_RECENT - 1)];
}
