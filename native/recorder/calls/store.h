/* The memory of the calltree, for the files of this folder. Guard: the GIL, except as noted. */
#pragma once

#include "recorder/calls/tree.h"

/* The recorder's facts about a function, shared by all threads and used on slow paths only. Guard: the GIL. */
typedef struct sm_tree_function {
    sm_function *function;
    bool young;      /* the clock is read at its entries and ends */
    bool several;    /* it has had more code objects than `first`, or `first` died */
    bool first_gone; /* `first` died, so its address may be reused */
    bool unlisted;   /* a list of nodes by code object lacks some, because memory ran out */
    bool sites_off;  /* it has a place that reports no C functions (lower_bounds.c); guarded by the engine's lock */
    uint64_t entries, pieces, ticks, longest; /* timed entries; exact pieces, their ticks, and the longest */
    sm_node *nodes;                           /* the first of its nodes; sm_node_rest.same links them */
    const void *first;                        /* key of all nodes while there is only one, or NULL */
} sm_tree_function;

enum { /* flags of a node; the first four are as in the file */
       SM_NODE_LOWER_BOUND = 1,
       SM_NODE_FOLDED = 2,
       SM_NODE_SEEDED = 4,
       SM_NODE_RUNNING = 8,       /* only in the file; see sm_node_rest.running */
       SM_NODE_BY_FUNCTION = 128, /* its parent's table has it by its function */
       SM_NODE_ROOT = 64,
       SM_NODE_LISTED = 256, /* set only while a list is cleared */
       SM_NODE_BEFORE = 1024 /* sm_node_rest.before is valid */
};

typedef struct sm_node_more {
    sm_off off;                /* time off the CPU in exact pieces; guarded by the GIL */
    sm_off seen;               /* time off the CPU by looks; guarded by the sampler's lock, like the next */
    double seen_sq;            /* ticks squared */
    uint64_t compared, beside; /* ticks that it ran by looks, and that other threads ran meanwhile; the same guard */
    uint64_t await_ticks;
    uint32_t awaits;
    uint32_t calls_high, resumes_high; /* high parts of sm_node's counts */
} sm_node_more;

/* All children of a node, in an open-addressed table without tombstones. A child is found by its key, which is in the
 * node. If its code object died, it is found by its function, so that equal code made later continues it. A child whose
 * function has had several code objects, which may live and take turns, has two slots: by its key and by its function.
 * Guard: the GIL. */
typedef struct {
    uint32_t mask, count;
    uintptr_t slots[]; /* 0 if free, or a node, plus SM_BY_FUNCTION if it is there by its function */
} sm_children;
#define SM_BY_FUNCTION 1
#define SM_KEY_DEAD ((const void *)1) /* key of a node whose code object died */

typedef struct sm_fold {
    const void *key;
    sm_node *bucket;
} sm_fold;

/* The state of the recorder. Guard: the GIL, except for atomic fields. */
typedef struct {
    sm_tree_function **functions;
    uint32_t functions_size;
    uint32_t nodes;       /* atomic; number without roots; nodes with smaller ids are published */
    uint64_t folded;      /* calls counted in buckets */
    sm_children **tables; /* by sm_node.more, from 1 */
    uint32_t tables_size, tables_count;
} sm_tree_state;

extern sm_tree_state sm_tree;

static inline sm_children *sm_more(const sm_node *node) {
    return node->more ? sm_tree.tables[node->more] : NULL;
}

sm_tree_function *sm_tree_function_of(sm_function *function); /* NULL if out of memory */
/* Make a child of parent, or a root if it is NULL. Return NULL if out of memory. */
sm_node *sm_node_new(sm_tree_thread *tree, sm_node *parent, const void *key, sm_tree_function *function);
sm_node *sm_node_child(sm_node *parent, const void *key); /* NULL if there is none */
/* Give the child of this function, known by another code object so far, the new key. Return NULL if there is none. */
sm_node *sm_node_rekey(sm_node *parent, const void *key, const sm_tree_function *function);
/* Remove a dying code object's key from the nodes of its function. */
void sm_node_code_died(sm_code_entry *entry, sm_tree_function *function);
/* Note that the node has this key now, for a function with several code objects. */
void sm_node_note_key(const void *key, sm_node *node);
void sm_node_forget_lists(void);
bool sm_tree_check_nodes(const sm_tree_thread *tree);
uint64_t sm_tree_bytes(const sm_tree_thread *tree);
/* Return the node's rare data, which any thread makes if missing, or NULL if out of memory. */
sm_node_more *sm_node_has(sm_node *node);
void sm_tree_free(void);                      /* frees all but what threads own */
void sm_tree_forget_recent(sm_node **recent); /* an empty cache of SM_NODES_RECENT children */

void sm_calltree_save(sm_output *output);
void sm_calltree_announce(const sm_thread *thread, const sm_node *node); /* writes a new node's row */
void sm_tree_settle(void); /* sets each thread's node according to its frames, with the GIL */
/* Mark or unmark a path as running, with the engine's lock. The node may be NULL. */
void sm_tree_mark(sm_node *node, bool running);
/* Mark the path that runs now. gil: the GIL is held, and the thread is settled. */
void sm_tree_mark_running(sm_thread *thread, bool gil, bool running);

extern const sm_sampled sm_tree_clocked;
void sm_tree_hold(sm_thread *thread, bool on);
void sm_tree_wake(sm_thread *thread);
/* End a thread's time, and give its nodes what it has so far. For any thread, with the GIL. */
void sm_tree_end_time(sm_thread *thread);
/* Return the node that the thread runs, as the sampler finds it, or NULL. With the sampler's or the engine's lock. */
sm_node *sm_tree_running(sm_thread *thread);

typedef sm_node *(*sm_tree_seed)(sm_thread *thread, sm_node *parent, PyCodeObject *code, PyObject *globals);
bool sm_tree_resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count, sm_tree_seed seed);
void sm_tree_mark_parked(sm_thread *thread, bool running); /* like sm_tree_mark_running, for its other stacks */

/* Note that a place in this code, which has called this C function, is switched off. Return false if the function is
 * left out. */
bool sm_tree_note_site(const void *code, const void *key, PyObject *callable);
bool sm_tree_is_bound(const sm_node *node); /* true if calls may be missing from it */
void sm_tree_bounds_free(void);
