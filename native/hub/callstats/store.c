#include "hub/callstats/store.h"

#include <stdbool.h>

#include "base/alloc.h"

/* Links are not in a base/map.h table, because one probe by two addresses is needed at every event. */
static inline size_t hash_of(const void *a, const void *b) {
    uint64_t mixed = ((uintptr_t)a >> 4) * 0x9E3779B97F4A7C15u ^ ((uintptr_t)b >> 4) * 0xC2B2AE3D27D4EB4Fu;
    return (size_t)(mixed >> 29);
}

typedef struct {
    uint64_t key; /* the function's address */
    sm_call_entry *entry;
} found_entry;

static sm_call_link **link_slot(sm_call_link **table, size_t size, const sm_call_entry *caller, const void *key) {
    for (size_t i = hash_of(key, caller);; i++) {
        sm_call_link **slot = &table[i & (size - 1)];
        if (*slot == NULL || ((*slot)->key == key && (*slot)->caller == caller))
            return slot;
    }
}

static bool grow_links(sm_call_store *store) {
    if (store->link_count * 2 < store->link_size)
        return true;
    size_t size = store->link_size ? store->link_size * 2 : 512;
    sm_call_link **table = sm_calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < store->link_size; i++) {
        sm_call_link *moved = store->links[i];
        if (moved != NULL)
            *link_slot(table, size, moved->caller, moved->key) = moved;
    }
    sm_free(store->links);
    store->links = table;
    store->link_size = size;
    return true;
}

sm_call_entry *sm_call_store_entry(sm_call_store *store, const void *key, PyObject *named) {
    found_entry *known = sm_map_find(&store->by_key, (uintptr_t)key, sizeof *known);
    if (known != NULL)
        return known->entry;
    PyObject *code = PyCode_Check(named) ? Py_NewRef(named) : sm_callstats_name(named);
    sm_call_entry *made = code != NULL ? sm_calloc(1, sizeof *made) : NULL;
    known = made != NULL ? sm_map_make(&store->by_key, (uintptr_t)key, sizeof *known, 256) : NULL;
    if (known == NULL) {
        sm_free(made);
        Py_XDECREF(code);
        return NULL;
    }
    *made = (sm_call_entry){.key = key, .code = code};
    *(store->newest != NULL ? &store->newest->next : &store->first) = made;
    return store->newest = known->entry = made;
}

sm_call_link *sm_call_store_link(sm_call_store *store, sm_call_entry *caller, const void *key, PyObject *named) {
    if (!grow_links(store))
        return NULL;
    sm_call_link *found = *link_slot(store->links, store->link_size, caller, key);
    if (found != NULL)
        return found;
    sm_call_entry *callee = sm_call_store_entry(store, key, named);
    found = callee ? sm_calloc(1, sizeof *found) : NULL;
    if (found == NULL)
        return NULL;
    *found = (sm_call_link){.key = key, .caller = caller, .callee = callee, .next = caller->links};
    caller->links = found;
    *link_slot(store->links, store->link_size, caller, key) = found;
    store->link_count++;
    return found;
}

void sm_call_store_forget(sm_call_store *store) {
    sm_call_entry *entry = store->first;
    for (size_t i = 0; i < store->link_size; i++)
        sm_free(store->links[i]);
    sm_free(store->links);
    sm_map_free(&store->by_key);
    *store = (sm_call_store){.first = NULL};
    while (entry != NULL) { /* releasing may run code, which finds the store empty */
        sm_call_entry *next = entry->next;
        Py_DECREF(entry->code);
        sm_free(entry);
        entry = next;
    }
}
