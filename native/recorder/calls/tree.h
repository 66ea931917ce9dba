/* A node of the call tree, and what a thread has of it. calltree.h tells the story. */
#ifndef SM_RECORDER_CALLS_TREE_H
#define SM_RECORDER_CALLS_TREE_H

#include "base/map.h"
#include "engine/engine.h"
#include "recorder/awaits.h"

#define SM_TREE_DEPTH 32767 /* below, nodes' depths are not told apart */

typedef struct sm_node sm_node;

/* One cache line: all that an event touches. Guard: the same as of sm_node_rest. */
struct sm_node {
    const void *key;
    uint32_t calls, resumes; /* modulo 2^32: the rest is in sm_node_rest */
    const void *child_key[2];
    sm_node *child[2];
    sm_node *parent;     /* NULL: a thread's root */
    uint32_t more : 24;  /* number of the table of all children, once there are more than two; 0: none */
    uint32_t token : 8;  /* what the journal calls it, from its parent: trace/tokens.h. 0: it takes an operand */
    uint8_t timed;       /* the clock is read where it is entered and left */
    uint16_t awaits : 1; /* a coroutine or asynchronous generator: its suspensions are timed */
    uint16_t depth : 15; /* in the tree; no deeper than SM_TREE_DEPTH */
};

/* Guard. Nodes never move, and one is published complete: with its chunk's `used`. From then on its thread, with the
 * GIL, changes what is not said to be another's; the flush worker reads counters meanwhile, which only grow. */
typedef struct {                 /* a node's cold part */
    uint64_t timed, timed_ticks; /* exact pieces: how many, and for how long they ran */
    uint64_t sampled_ticks;      /* these three are the sampler's */
    double sampled_sq;           /* of the looks' weights, ticks squared */
    uint32_t sampled;
    uint32_t entered; /* so many entries were timed */
    struct sm_tree_function *function;
    struct sm_node_more *more; /* owned; atomic. NULL: it has none */
    sm_node *same;
    uint32_t exceptions, id;
    uint32_t saved;   /* with the engine's lock */
    uint32_t before;  /* entries, modulo 2^32, before its function had a place switched off */
    uint16_t flags;   /* SM_NODE_... of store.h */
    uint8_t children; /* so many have been made; of more, the first UINT8_MAX */
    bool running;     /* with the engine's lock: while somebody looks, whether it is on a path that runs */
} sm_node_rest;

#define SM_TREE_CHUNK 65536
#define SM_TREE_BLOCK 16 /* chunks that are allocated together: a large alignment costs a page */
#define SM_TREE_NODES ((SM_TREE_CHUNK - 64) / (sizeof(sm_node) + sizeof(sm_node_rest)))

/* Aligned to its size, so that a node finds its cold part. Guard: the GIL, but for what is atomic or complete. */
typedef struct sm_tree_chunk {
    struct sm_tree_chunk *next;
    uint32_t used;   /* atomic */
    uint32_t first;  /* of its block: the one to free */
    uint32_t number; /* in its thread, from 0 */
    _Alignas(64) sm_node nodes[SM_TREE_NODES];
    sm_node_rest rest[SM_TREE_NODES];
} sm_tree_chunk;

_Static_assert(sizeof(sm_node) == 64, "a node's hot part is one cache line");
_Static_assert(sizeof(sm_node_rest) == 88, "with it a path takes 152 bytes");
_Static_assert(sizeof(sm_tree_chunk) <= SM_TREE_CHUNK, "nodes find their chunk by masking their address");

static inline sm_node_rest *sm_rest(const sm_node *node) {
    sm_tree_chunk *chunk = (sm_tree_chunk *)((uintptr_t)node & ~(uintptr_t)(SM_TREE_CHUNK - 1));
    return &chunk->rest[node - chunk->nodes];
}

/* What is done with an event: flags, and constants wherever they are given. */
typedef enum {
    SM_WAY_COUNT = 0,
    SM_WAY_JOURNAL = 1, /* it goes into the journal, too (trace.h), before the step, which may read the clock */
    SM_WAY_EVERY = 2,   /* every segment is timed, as the settings have it: see sm_tree_stamp() */
    SM_WAY_BARE = 4,    /* calls are counted, and no clock is read: settings.timing == SM_TIMING_NONE */
} sm_tree_way;

/* Of the recording. Guard: the GIL, and changed only before a start. */
typedef struct {
    uint64_t max_paths;      /* calls on more paths are counted flat */
    uint32_t trace_depth;    /* of the deepest calls in a trace; 0: any */
    uint64_t trace_least_ns; /* of the shortest */
} sm_tree_settings;
#define SM_MAX_PATHS 1000000u /* where nothing else is said */

extern sm_tree_settings sm_tree_chosen;

/* Where the journal of a thread goes on: trace.h. All NULL: there is none. Guard: its thread's own, with the GIL. */
typedef struct {
    uint8_t *at;    /* atomic: written with release order */
    uint8_t *limit; /* from here on the slow path is taken: it is time for a mark, or for another block */
    struct sm_stream *stream;
    uint64_t mark; /* units of the clock (sm_trace_unit) at the last mark */
} sm_trace_end;

/* Of a frame: frame_shadows.h. Guard: its thread changes it, with the GIL, a word at a time; the sampler reads it
 * meanwhile, and what it reads is a node in any case. */
typedef struct {
    const void *frame; /* the interpreter's: an address, followed only where it is known to be alive */
    uintptr_t at;      /* its `executable`; 0: it is left out, and only the C function that it is in is known */
    sm_node *node;
    uintptr_t c_at;  /* the instruction at which it has called a C function that may still run; 0: none */
    sm_node *c_node; /* that function's */
} sm_shadow;

typedef struct {
    sm_shadow
        *slots;    /* by depth; there are two below the first. NULL: every end is told. Moved with the sampler's lock */
    uint32_t size; /* of the depths that there are slots for */
    uint32_t open; /* the same while the fast path may be taken, else 0; atomic */
} sm_shadows;

/* Guard: the GIL, and changed by its own thread, but for what is said. The sampler, and a flush without the GIL, read
 * `node`, `shadows` and `chunks` meanwhile. */
typedef struct sm_tree_thread {
    sm_node *node; /* from a source of starts: that was entered last, and may have ended */
    sm_trace_end journal;
    sm_shadows shadows;
    uint8_t gate;  /* atomic: not 0: the next event takes the slow path */
    uint32_t held; /* pauses; they nest */
    sm_node *root, *folded;
    sm_node *marked;              /* with the engine's lock: whose path is marked as running */
    struct sm_tree_thread *store; /* where its paths are made: its own, or those of the group it is folded into */
    struct sm_tree_chunk *chunks; /* atomic; newest first */
    unsigned char *block;         /* what is left of the newest block of chunks */
    uint32_t block_left;
    struct sm_fold *fold; /* while folded: the frames since */
    uint32_t fold_count, fold_size;
    sm_awaits awaits; /* suspended coroutines, of their codes */
    sm_map parked;    /* where the thread was on its other stacks: see stack_paths.c */
} sm_tree_thread;

static inline sm_tree_thread *sm_tree_of(sm_thread *thread) {
    return (sm_tree_thread *)__builtin_assume_aligned(thread->recorder, 64);
}

/* A node's child that it does not hold itself; NULL: none. From then on it does. */
sm_node *sm_node_in_table(sm_node *parent, const void *key);
/* The children that were looked for of late though their parents do not hold them themselves, of all threads: there is
 * one for each hash, and it says whose it is. Guard: the GIL. */
#define SM_NODES_RECENT 1024
extern sm_node *sm_nodes_recent[SM_NODES_RECENT];
static inline sm_node **sm_node_recent(const sm_node *parent, const void *key) {
    uint64_t hash = ((uintptr_t)parent ^ (uintptr_t)key) * 0x9E3779B97F4A7C15u;
    return &sm_nodes_recent[hash >> 32 & (SM_NODES_RECENT - 1)];
}

#endif
