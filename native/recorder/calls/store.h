/* The calltree's memory: nodes, children, functions. Shared by the files of this folder only. */
#ifndef SM_RECORDER_CALLS_STORE_H
#define SM_RECORDER_CALLS_STORE_H

#include "recorder/calls/tree.h"

/* What the recorder knows of a function; shared by threads, slow paths only. Guard: the GIL, but for what is said. */
typedef struct sm_tree_function {
    sm_function *function;
    bool young;      /* the clock is read at its entries and ends */
    bool several;    /* there have been more code objects than `first`, or that is gone */
    bool first_gone; /* that is; what is at its address now is another */
    bool unlisted;   /* a list of nodes by code object lacks some, for want of memory */
    bool sites_off;  /* with the engine's lock: it has a place that no longer tells which C function it calls:
                        lower_bounds.c */
    uint64_t entries, pieces, ticks, longest; /* timed ones; the ticks of these in all, and of the longest */
    sm_node *nodes;                           /* its nodes, through sm_node_rest.same */
    const void *first; /* the code object that all of its nodes have as key while there is only one; NULL: none yet */
} sm_tree_function;

enum { /* the first as in the file */
       SM_NODE_LOWER_BOUND = 1,
       SM_NODE_FOLDED = 2,
       SM_NODE_SEEDED = 4,
       SM_NODE_RUNNING = 8,       /* in the file alone: see sm_node_rest.running */
       SM_NODE_BY_FUNCTION = 128, /* it is in its parent's table by its function */
       SM_NODE_ROOT = 64,
       SM_NODE_LISTED = 256, /* while a list is looked through */
       SM_NODE_BEFORE = 1024 /* sm_node_rest.before holds */
};

typedef struct sm_node_more { /* of the few nodes that have any of this. Guard: the GIL, but for what is said */
    sm_off off;               /* of exact pieces */
    sm_off seen;              /* of looks; these two are the sampler's */
    double seen_sq;           /* ticks squared */
    uint64_t await_ticks;
    uint32_t awaits;
    uint32_t calls_high, resumes_high; /* sm_node's are modulo 2^32 */
} sm_node_more;

/* All children of a node: open addressing, a deletion moves back what stands behind it. Each is there by its key, which
 * is in the node. One whose code object is gone has none; it is there by its function, so that code made again takes it
 * over. So is one whose function has had several code objects, which may all be alive and take turns: such a child has
 * two slots. (One whose function has had a single code object is found by that.) Guard: the GIL. */
typedef struct {
    uint32_t mask, count; /* slots less one; of them in use */
    uintptr_t slots[];    /* 0: free; a node's address: by its key; with SM_BY_FUNCTION added: by its function */
} sm_children;
#define SM_BY_FUNCTION 1
#define SM_KEY_DEAD ((const void *)1) /* of a node whose code object is gone */

typedef struct sm_fold { /* a frame entered while folded; its thread's own */
    const void *key;
    sm_node *bucket;
} sm_fold;

/* Guard: the GIL, but for what is atomic. */
typedef struct {
    sm_tree_function **functions; /* by sm_function.id */
    uint32_t functions_size;
    uint32_t nodes;       /* atomic: made, without roots; the next id. Those before it have been published */
    uint64_t folded;      /* calls counted in buckets */
    sm_children **tables; /* by sm_node.more, from 1 */
    uint32_t tables_size, tables_count;
} sm_tree_state;

extern sm_tree_state sm_tree;

static inline sm_children *sm_more(const sm_node *node) {
    return node->more ? sm_tree.tables[node->more] : NULL;
}

sm_tree_function *sm_tree_function_of(sm_function *function); /* NULL: out of memory */
/* A new child of parent (NULL: a root). NULL: out of memory. */
sm_node *sm_node_new(sm_tree_thread *tree, sm_node *parent, const void *key, sm_tree_function *function);
sm_node *sm_node_child(sm_node *parent, const void *key); /* NULL: none */
/* The child of this function, known by another code object so far: it gets the new key. NULL: none. */
sm_node *sm_node_rekey(sm_node *parent, const void *key, const sm_tree_function *function);
/* A code object goes away: none of its function's nodes has it as key any more. */
void sm_node_code_died(sm_code_entry *entry, sm_tree_function *function);
/* Its function has had several code objects, and the node has this one's address as key now. */
void sm_node_note_key(const void *key, sm_node *node);
void sm_node_forget_lists(void);
bool sm_tree_check_nodes(const sm_tree_thread *tree);
uint64_t sm_tree_bytes(const sm_tree_thread *tree); /* of its own nodes, without their tables */
/* Made when missing, by any thread. NULL: out of memory. */
sm_node_more *sm_node_has(sm_node *node);
void sm_tree_free(void); /* but what threads own */

void sm_calltree_save(sm_output *output);
void sm_calltree_announce(const sm_thread *thread, const sm_node *node); /* a new node's row, into the file */
void sm_tree_settle(void); /* with the GIL: each thread's node is where its frames are */
/* Marks, or unmarks, a path as running, with the engine's lock; NULL: none. */
void sm_tree_mark(sm_node *node, bool running);
/* The path of what runs now. gil: it is held, and the thread has been settled. */
void sm_tree_mark_running(sm_thread *thread, bool gil, bool running);

/* node_times.c */
extern const sm_sampled sm_tree_clocked; /* these three are the recorder's */
void sm_tree_hold(sm_thread *thread, bool on);
void sm_tree_wake(sm_thread *thread);
/* No more of its time is recorded: what it has so far is its nodes'. Any thread's, with the GIL. */
void sm_tree_end_time(sm_thread *thread);
/* The node that the thread runs, as the sampler finds it, with its lock or the engine's; NULL: it is not known. */
sm_node *sm_tree_running(sm_thread *thread);

/* stack_paths.c */
/* Makes the child for a frame that runs already: sm_tree_seed_frame(). */
typedef sm_node *(*sm_tree_seed)(sm_thread *thread, sm_node *parent, PyCodeObject *code, PyObject *globals);
bool sm_tree_resync(sm_thread *thread, const sm_walked_frame *frames, size_t below, size_t count, sm_tree_seed seed);
void sm_tree_mark_parked(sm_thread *thread,
                         bool running); /* as sm_tree_mark_running, on the stacks switched away from */

/* lower_bounds.c. A place in caller that has called callee is switched off; NULL: not known, for want of memory. */
void sm_tree_note_site(sm_function *caller, sm_function *callee);
bool sm_tree_is_bound(const sm_node *node); /* may calls be missing from this node? */
void sm_tree_bounds_free(void);

#endif
