/* Records found by content: a list in the order of creation, and a map from the hash of the content. With equal
 * hashes, a later record has the next free number, so none can be removed. The owner has the records and the lock. */
#pragma once

#include "base/compiler.h"
#include "base/map.h"

typedef struct {
    void **records; /* owned; the first `count` */
    uint32_t count, size;
    sm_map by_hash; /* sm_interned_entry */
} sm_interned;

typedef struct {
    uint64_t key;
    void *record;
} sm_interned_entry;

/* Return the record with this content, or NULL. *key is the hash of the content, and is updated for sm_interned_add. */
static inline void *sm_interned_find(const sm_interned *all, uint64_t *key,
                                     bool (*same)(const void *record, const void *content), const void *content) {
    for (;; ++*key) {
        *key += *key == 0;
        const sm_interned_entry *entry = sm_map_find(&all->by_hash, *key, sizeof *entry);
        if (entry == NULL || same(entry->record, content))
            return entry != NULL ? entry->record : NULL;
    }
}

/* Make room for one more; `smallest` is the initial size. Return false if out of memory. */
static inline bool sm_interned_grow(sm_interned *all, uint32_t smallest) {
    return sm_grow(&all->records, all->count, &all->size, sizeof *all->records, smallest) &&
           sm_map_grow(&all->by_hash, sizeof(sm_interned_entry), smallest);
}

/* Add a new record, for which there is room. With key 0, it cannot be found by content. */
static inline void sm_interned_add(sm_interned *all, uint64_t key, void *record) {
    all->records[all->count] = record;
    SM_ADD(all->count, 1);
    if (key != 0)
        ((sm_interned_entry *)sm_map_make(&all->by_hash, key, sizeof(sm_interned_entry), 0))->record = record;
}

/* Remove the records, without freeing them. */
static inline void sm_interned_free(sm_interned *all) {
    sm_free(all->records);
    sm_map_free(&all->by_hash);
    *all = (sm_interned){.records = NULL};
}
