#include "hub/callstats/store.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "hub/callstats/callstats.h"

static inline size_t hash_of(const void *a, const void *b) {
    uint64_t mixed = ((uintptr_t)a >> 4) * 0x9E3779B97F4A7C15u ^ ((uintptr_t)b >> 4) * 0xC2B2AE3D27D4EB4Fu;
    return (size_t)(mixed >> 29);
}

static sm_call_entry **entry_slot(sm_call_entry **table, size_t size, const void *key) {
    for (size_t i = hash_of(key, NULL);; i++) {
        sm_call_entry **slot = &table[i & (size - 1)];
        if (*slot == NULL || (*slot)->key == key)
            return slot;
    }
}

static sm_call_link **link_slot(sm_call_link **table, size_t size, const sm_call_entry *caller, const void *key) {
    for (size_t i = hash_of(key, caller);; i++) {
        sm_call_link **slot = &table[i & (size - 1)];
        if (*slot == NULL || ((*slot)->key == key && (*slot)->caller == caller))
            return slot;
    }
}

static bool grow_entries(sm_call_store *store) {
    if (store->entry_count * 2 < store->entry_size)
        return true;
    size_t size = store->entry_size ? store->entry_size * 2 : 256;
    sm_call_entry **table = sm_calloc(size, sizeof *table);
    sm_call_entry **order = table ? sm_realloc(store->order, size * sizeof *order) : NULL;
    if (order == NULL) {
        sm_free(table);
        return false;
    }
    for (size_t i = 0; i < store->entry_count; i++)
        *entry_slot(table, size, order[i]->key) = order[i];
    sm_free(store->entries);
    store->entries = table;
    store->order = order;
    store->entry_size = size;
    return true;
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
    if (!grow_entries(store))
        return NULL;
    sm_call_entry *found = *entry_slot(store->entries, store->entry_size, key);
    if (found != NULL)
        return found;
    PyObject *code = PyCode_Check(named) ? Py_NewRef(named) : sm_callstats_name(named);
    found = code && grow_entries(store) ? sm_calloc(1, sizeof *found) : NULL;
    if (found == NULL) {
        Py_XDECREF(code);
        return NULL;
    }
    *found = (sm_call_entry){.key = key, .code = code};
    store->order[store->entry_count++] = found;
    *entry_slot(store->entries, store->entry_size, key) = found;
    return found;
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
    sm_call_entry **order = store->order;
    size_t count = store->entry_count;
    for (size_t i = 0; i < store->link_size; i++)
        sm_free(store->links[i]);
    sm_free(store->links);
    sm_free(store->entries);
    store->entries = store->order = NULL;
    store->links = NULL;
    store->entry_count = store->entry_size = store->link_count = store->link_size = 0;
    for (size_t i = 0; i < count; i++) { /* letting go may run code: nothing leads here any more */
        Py_DECREF(order[i]->code);
        sm_free(order[i]);
    }
    sm_free(order);
}
