#include "recorder/calls/store.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/lookup_count.h"
#include "trace/tokens.h"

sm_tree_settings sm_tree_chosen;
sm_tree_state sm_tree;
static sm_node nobody; /* guard: the GIL; never changed */
#if !SM_FREE_THREADED
sm_node *sm_nodes_recent[SM_NODES_RECENT];
#endif

sm_tree_function *sm_tree_function_of(sm_function *function) {
    if (!sm_grow_to(&sm_tree.functions, function->id, &sm_tree.functions_size, sizeof *sm_tree.functions))
        return NULL;
    sm_tree_function **place = &sm_tree.functions[function->id];
    if (*place == NULL) {
        *place = sm_calloc(1, sizeof **place);
        if (*place != NULL)
            **place = (sm_tree_function){.function = function,
                                         .young = sm_main.settings.timing != SM_TIMING_NONE &&
                                                  function->kind != SM_SYNTHETIC};
    }
    return *place;
}

static inline uint32_t hash_key(const void *key) {
    return (uint32_t)((((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u) >> 32);
}

static inline sm_node *node_in(uintptr_t slot) {
    return (sm_node *)(slot & ~(uintptr_t)SM_BY_FUNCTION);
}

sm_node *sm_node_child(sm_node *parent, const void *key) {
    for (int i = 0; i < 2; i++) {
        if (parent->child_key[i] == key)
            return parent->child[i];
    }
    return sm_node_in_table(parent, key);
}

sm_node *sm_node_in_table(sm_node *parent, const void *key) {
    SM_EVENT_GUARD;
    const sm_children *more = sm_more(parent);
    if (more == NULL)
        return NULL;
    for (uint32_t i = hash_key(key);; i++) {
        uintptr_t slot = more->slots[i & more->mask];
        sm_node *found = node_in(slot);
        SM_LOOK();
        if (slot == 0)
            return NULL;
        if (found->key == key) { /* it replaces the child that was found last in the node itself */
            *sm_node_recent(parent, key) = found;
            parent->child_key[1] = key;
            return parent->child[1] = found;
        }
    }
}

static uint32_t home_of(uintptr_t slot) {
    sm_node *node = node_in(slot);
    return hash_key((slot & SM_BY_FUNCTION) != 0 ? (const void *)sm_rest(node)->function : node->key);
}

static void insert(sm_children *more, uintptr_t slot) {
    uint32_t i = home_of(slot);
    for (; more->slots[i & more->mask] != 0; i++)
        SM_LOOK();
    more->slots[i & more->mask] = slot;
    more->count++;
}

static void take_out(sm_children *more, uintptr_t slot) {
    uint32_t mask = more->mask, gap = home_of(slot) & mask;
    for (; more->slots[gap] != slot; gap = (gap + 1) & mask)
        SM_LOOK();
    for (uint32_t i = (gap + 1) & mask; more->slots[i] != 0; i = (i + 1) & mask) {
        SM_LOOK();
        if (((i - home_of(more->slots[i])) & mask) >= ((i - gap) & mask)) {
            more->slots[gap] = more->slots[i];
            gap = i;
        }
    }
    more->slots[gap] = 0;
    more->count--;
}

/* Insert a node that has no slot yet. */
static void insert_node(sm_children *more, sm_node *node) {
    sm_node_rest *rest = sm_rest(node);
    if (node->key != SM_KEY_DEAD)
        insert(more, (uintptr_t)node);
    if (rest->function->several || node->key == SM_KEY_DEAD)
        SM_WRITE(rest->flags, rest->flags | SM_NODE_BY_FUNCTION);
    if (rest->flags & SM_NODE_BY_FUNCTION)
        insert(more, (uintptr_t)node | SM_BY_FUNCTION);
}

#define MOST_TABLES ((1u << 24) - 1) /* limit of sm_node.more */

/* Return the number of a new table, or 0 if out of memory. */
static uint32_t number_table(void) {
    if (sm_tree.tables_count == MOST_TABLES ||
        !sm_grow(&sm_tree.tables, sm_tree.tables_count + 1, &sm_tree.tables_size, sizeof *sm_tree.tables, 256))
        return 0;
    sm_tree.tables[++sm_tree.tables_count] = NULL;
    return sm_tree.tables_count;
}

/* Ensure that there is a table with room for another node. */
static bool grow_children(sm_node *parent) {
    sm_children *old = sm_more(parent);
    uint32_t wanted = old != NULL ? old->count + 2 : 6, size = 4;
    if (old != NULL && wanted * 4 <= (old->mask + 1) * 3)
        return true;
    while (wanted * 4 > size * 3)
        size *= 2;
    sm_children *more = sm_calloc(1, sizeof *more + size * sizeof more->slots[0]);
    if (more == NULL || (parent->more == 0 && (parent->more = number_table()) == 0)) {
        sm_free(more);
        return false;
    }
    more->mask = size - 1;
    for (int i = 0; old == NULL && i < 2; i++)
        insert_node(more, parent->child[i]);
    for (uint32_t i = 0; old != NULL && i <= old->mask; i++) {
        if (old->slots[i] != 0)
            insert(more, old->slots[i]);
    }
    sm_free(old);
    sm_tree.tables[parent->more] = more;
    return true;
}

static bool add_child(sm_node *parent, const void *key, sm_node *child) {
    if (parent->more == 0) {
        for (int i = 0; i < 2; i++) {
            if (parent->child[i] == NULL) {
                parent->child_key[i] = key;
                parent->child[i] = child;
                return true;
            }
        }
    }
    if (!grow_children(parent))
        return false;
    insert_node(sm_more(parent), child);
    parent->child_key[1] = key;
    parent->child[1] = child;
    return true;
}

static sm_tree_chunk *room(sm_tree_thread *tree) {
    sm_tree_chunk *chunk = tree->chunks;
    if (chunk != NULL && chunk->used < SM_TREE_NODES)
        return chunk;
    bool first = tree->block_left == 0;
    if (first) {
        void *block = sm_aligned(SM_TREE_CHUNK, SM_TREE_BLOCK * SM_TREE_CHUNK);
        if (block == NULL)
            return NULL;
        tree->block = block;
        tree->block_left = SM_TREE_BLOCK;
    }
    chunk = (sm_tree_chunk *)tree->block;
    tree->block += SM_TREE_CHUNK;
    tree->block_left--;
    chunk->used = 0;
    chunk->first = first;
    chunk->number = tree->chunks != NULL ? tree->chunks->number + 1 : 0;
    chunk->next = tree->chunks;
    __atomic_store_n(&tree->chunks, chunk, __ATOMIC_RELEASE);
    return chunk;
}

sm_node *sm_node_new(sm_tree_thread *tree, sm_node *parent, const void *key, sm_tree_function *function) {
    assert(function != NULL && (parent == NULL) == (key == NULL));
    sm_tree_chunk *chunk = room(tree);
    if (chunk == NULL)
        return NULL;
    sm_node *node = &chunk->nodes[chunk->used];
    sm_node_rest *rest = &chunk->rest[chunk->used];
    memset(node, 0, sizeof *node);
    memset(rest, 0, sizeof *rest);
    node->key = key;
    node->parent = parent;
    if (parent != NULL)
        node->depth = parent->depth == SM_TREE_DEPTH ? SM_TREE_DEPTH : (uint16_t)(parent->depth + 1);
    node->timed = function->young;
    node->awaits = sm_main.settings.timing != SM_TIMING_NONE &&
                   (function->function->flags & (SM_FUNCTION_COROUTINE | SM_FUNCTION_ASYNC_GENERATOR)) != 0;
    rest->function = function;
    if (parent == NULL)
        rest->flags = SM_NODE_ROOT;
    else if (!add_child(parent, key, node))
        return NULL;
    else
        rest->id = sm_tree.nodes;
    if (parent != NULL) {
        uint8_t *among = &sm_rest(parent)->children;
        node->token = *among < SM_TOKEN_CHILDREN_CALLED ? (uint8_t)(SM_TOKEN_CALL_CHILD + *among) : 0;
        *among += *among != UINT8_MAX;
    }
    rest->same = function->nodes;
    function->nodes = node;
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    if (parent != NULL)
        __atomic_store_n(&sm_tree.nodes, sm_tree.nodes + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* events pass the node on to the sampler by plain stores */
    return node;
}

uint64_t sm_tree_bytes(const sm_tree_thread *tree) {
    const sm_tree_chunk *newest = tree->chunks;
    uint64_t nodes = newest != NULL ? newest->number * SM_TREE_NODES + newest->used : 0;
    return nodes * (sizeof(sm_node) + sizeof(sm_node_rest));
}

static void forget_key(sm_node *node) {
    assert(node->parent != NULL && node->key != SM_KEY_DEAD);
    sm_node *parent = node->parent;
    sm_node_rest *rest = sm_rest(node);
    sm_children *more = sm_more(parent);
    for (int i = 0; i < 2; i++) {
        if (parent->child[i] == node)
            parent->child_key[i] = NULL;
    }
    if (more != NULL)
        take_out(more, (uintptr_t)node);
    node->key = SM_KEY_DEAD;
    if (more != NULL && (rest->flags & SM_NODE_BY_FUNCTION) == 0) { /* there is room: a slot was just freed */
        SM_WRITE(rest->flags, rest->flags | SM_NODE_BY_FUNCTION);
        insert(more, (uintptr_t)node | SM_BY_FUNCTION);
    }
}

/* The nodes to update when a code object dies. All nodes of a function have its first code object as key. Each later
 * one lists the nodes that got it, so that code made again and again costs only its own nodes. A list is cleared of
 * stale entries and duplicates before it grows. */
typedef struct {
    uint32_t count, size;
    sm_node *nodes[];
} node_list;

static void clear_list(node_list *list, const void *key) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        sm_node *node = list->nodes[i];
        if (node->key != key || (sm_rest(node)->flags & SM_NODE_LISTED) != 0)
            continue;
        sm_rest(node)->flags |= SM_NODE_LISTED;
        list->nodes[kept++] = node;
    }
    for (uint32_t i = 0; i < kept; i++)
        sm_rest(list->nodes[i])->flags &= ~(uint32_t)SM_NODE_LISTED;
    list->count = kept;
}

void sm_node_note_key(const void *key, sm_node *node) {
    sm_tree_function *function = sm_rest(node)->function;
    sm_code_entry *entry = sm_code_entry_of_any(key);
    if (entry == NULL || (key == function->first && !function->first_gone))
        return;
    node_list *list = entry->of[SM_CODE_CALLS];
    if (list != NULL && list->count == list->size)
        clear_list(list, key);
    if (list == NULL || list->count > list->size / 2) {
        uint32_t size = list != NULL ? 2 * list->size : 4;
        node_list *grown = sm_realloc(list, sizeof *grown + size * sizeof(sm_node *));
        if (grown == NULL && (list == NULL || list->count == list->size)) {
            function->unlisted = true;
            return;
        }
        if (grown != NULL) {
            grown->count = list != NULL ? grown->count : 0;
            grown->size = size;
            entry->of[SM_CODE_CALLS] = list = grown;
        }
    }
    list->nodes[list->count++] = node;
}

void sm_node_code_died(sm_code_entry *entry, sm_tree_function *function) {
    bool first = entry->code == function->first && !function->first_gone;
    node_list *list = entry->of[SM_CODE_CALLS];
    function->several = true;
    function->first_gone = function->first_gone || first;
    for (sm_node *node = first || function->unlisted ? function->nodes : NULL; node != NULL;
         node = sm_rest(node)->same) {
        SM_LOOK();
        if (node->key == entry->code)
            forget_key(node);
    }
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        SM_LOOK();
        if (list->nodes[i]->key == entry->code)
            forget_key(list->nodes[i]);
    }
    sm_free(list);
    entry->of[SM_CODE_CALLS] = NULL;
}

void sm_node_forget_lists(void) {
    uint32_t at = 0;
    for (sm_code_entry *entry = sm_codes_next(&at); entry != NULL; entry = sm_codes_next(&at)) {
        sm_free(entry->of[SM_CODE_CALLS]);
        entry->of[SM_CODE_CALLS] = NULL;
    }
}

/* Put a node under another key. Return NULL if out of memory. */
static sm_node *rekey(sm_node *parent, sm_node *node, const void *key) {
    if (parent->more != 0) {
        if (!grow_children(parent))
            return NULL;
        sm_children *more = sm_more(parent);
        if (node->key != SM_KEY_DEAD)
            take_out(more, (uintptr_t)node);
        if (sm_rest(node)->flags & SM_NODE_BY_FUNCTION)
            take_out(more, (uintptr_t)node | SM_BY_FUNCTION);
    }
    node->key = key;
    if (parent->more != 0)
        insert_node(sm_more(parent), node);
    for (int i = 0; i < 2; i++) {
        if (parent->child[i] == node)
            parent->child_key[i] = key;
    }
    return node;
}

sm_node *sm_node_rekey(sm_node *parent, const void *key, const sm_tree_function *function) {
    assert(key != NULL && function != NULL && function->several);
    sm_children *more = sm_more(parent);
    for (int i = 0; more == NULL && i < 2; i++) {
        sm_node *child = parent->child[i];
        if (child != NULL && sm_rest(child)->function == function)
            return rekey(parent, child, key);
    }
    for (uint32_t i = hash_key(function); more != NULL; i++) {
        uintptr_t slot = more->slots[i & more->mask];
        SM_LOOK();
        if (slot == 0)
            break;
        if ((slot & SM_BY_FUNCTION) != 0 && sm_rest(node_in(slot))->function == function)
            return rekey(parent, node_in(slot), key);
    }
    sm_node *child = more != NULL ? sm_node_child(parent, function->first) : NULL;
    bool found = child != NULL && sm_rest(child)->function == function; /* otherwise the address was reused */
    return found ? rekey(parent, child, key) : NULL;
}

sm_node_more *sm_node_has(sm_node *node) {
    sm_node_more **place = &sm_rest(node)->more, *more = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    sm_node_more *made = more == NULL ? sm_calloc(1, sizeof *made) : NULL;
    if (more != NULL || made == NULL)
        return more;
    if (__atomic_compare_exchange_n(place, &more, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    sm_free(made); /* the sampler, or the thread, has made one meanwhile */
    return more;
}

static bool is_in(const sm_children *more, uintptr_t slot) {
    for (uint32_t i = home_of(slot); more->slots[i & more->mask] != 0; i++) {
        if (more->slots[i & more->mask] == slot)
            return true;
    }
    return false;
}

static bool check_node(const sm_node *node) {
    const sm_children *more = sm_more(node->parent);
    bool dead = node->key == SM_KEY_DEAD, by_function = (sm_rest(node)->flags & SM_NODE_BY_FUNCTION) != 0;
    if (more == NULL)
        return node->parent->child[0] == node || node->parent->child[1] == node;
    return (dead || is_in(more, (uintptr_t)node)) && (!dead || by_function) &&
           (!by_function || is_in(more, (uintptr_t)node | SM_BY_FUNCTION));
}

bool sm_tree_check_nodes(const sm_tree_thread *tree) {
    for (const sm_tree_chunk *chunk = tree->chunks; chunk != NULL; chunk = chunk->next) {
        for (uint32_t i = 0; i < chunk->used; i++) {
            if (chunk->nodes[i].parent != NULL && !check_node(&chunk->nodes[i]))
                return false;
        }
    }
    return true;
}

/* ---- the end ---- */

void sm_tree_forget_recent(sm_node **recent) {
    for (size_t i = 0; i < SM_NODES_RECENT; i++)
        recent[i] = &nobody;
}

void sm_tree_free(void) {
#if !SM_FREE_THREADED
    sm_tree_forget_recent(sm_nodes_recent);
#endif
    for (uint32_t i = 0; i < sm_tree.functions_size; i++)
        sm_free(sm_tree.functions[i]);
    sm_free(sm_tree.functions);
    for (uint32_t i = 1; i <= sm_tree.tables_count; i++)
        sm_free(sm_tree.tables[i]);
    sm_free(sm_tree.tables);
    sm_node_forget_lists();
    memset(&sm_tree, 0, sizeof sm_tree);
}
