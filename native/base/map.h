/* A hash table by address or number, open-addressed, in one block of entries of one size. Each begins with its key
 * (uint64_t; 0 if free). A removal moves later entries up. Records found by content are here under its hash
 * (base/interned.h).
 *
 * Invariants (sm_map_check): the size is a power of two or 0, at most half of the places are in use, and none is
 * free from an entry's home to its place. Entries move when others come or go. The lock of its owner guards a map,
 * mostly the GIL; all zero is an empty one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

typedef struct {
    char *places; /* owned */
    uint32_t size, count;
} sm_map;

/* width, here and below: the size of an entry. */
static inline uint64_t *sm_map_at(const sm_map *table, uint32_t place, size_t width) {
    return (uint64_t *)(void *)(table->places + place * width);
}

static inline uint32_t sm_map_home(const sm_map *table, uint64_t key) {
    return (uint32_t)((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> 32) & (table->size - 1);
}

/* Return the entry of this key, or the free place where it belongs. The size is not 0. */
static inline uint64_t *sm_map_place(const sm_map *table, uint64_t key, size_t width) {
    for (uint32_t i = sm_map_home(table, key);; i = (i + 1) & (table->size - 1)) {
        uint64_t *entry = sm_map_at(table, i, width);
        if (*entry == key || *entry == 0)
            return entry;
    }
}

/* Return the entry of this key, or NULL. */
static inline void *sm_map_find(const sm_map *table, uint64_t key, size_t width) {
    uint64_t *entry = table->count != 0 ? sm_map_place(table, key, width) : NULL;
    return entry != NULL && *entry != 0 ? entry : NULL;
}

/* Make room for one more; `smallest` is the initial size. Return false if out of memory. */
static inline bool sm_map_grow(sm_map *table, size_t width, uint32_t smallest) {
    if (table->count * 2 < table->size)
        return true;
    sm_map grown = {NULL, table->size != 0 ? table->size * 2 : smallest, table->count};
    grown.places = sm_calloc(grown.size, width);
    if (grown.places == NULL)
        return false;
    for (uint32_t i = 0; i < table->size; i++) {
        const uint64_t *entry = sm_map_at(table, i, width);
        if (*entry != 0)
            memcpy(sm_map_place(&grown, *entry, width), entry, width);
    }
    sm_free(table->places);
    *table = grown;
    return true;
}

/* Return the entry of this key, zero except for its key if new, or NULL if out of memory. */
static inline void *sm_map_make(sm_map *table, uint64_t key, size_t width, uint32_t smallest) {
    if (!sm_map_grow(table, width, smallest))
        return NULL;
    uint64_t *entry = sm_map_place(table, key, width);
    table->count += *entry == 0;
    *entry = key;
    return entry;
}

static inline void sm_map_remove(sm_map *table, void *gone, size_t width) {
    uint32_t mask = table->size - 1, hole = (uint32_t)((size_t)((char *)gone - table->places) / width);
    for (uint32_t i = (hole + 1) & mask; *sm_map_at(table, i, width) != 0; i = (i + 1) & mask) {
        const uint64_t *entry = sm_map_at(table, i, width);
        if (((i - sm_map_home(table, *entry)) & mask) < ((i - hole) & mask))
            continue;
        memcpy(sm_map_at(table, hole, width), entry, width);
        hole = i;
    }
    memset(sm_map_at(table, hole, width), 0, width);
    table->count--;
}

/* Return the entry after this one, the first after NULL, or NULL at the end, in no order. */
static inline void *sm_map_next(const sm_map *table, const void *entry, size_t width) {
    uint32_t i = entry != NULL ? (uint32_t)((size_t)((const char *)entry - table->places) / width) + 1 : 0;
    for (; i < table->size; i++)
        if (*sm_map_at(table, i, width) != 0)
            return sm_map_at(table, i, width);
    return NULL;
}

/* Remove all entries and keep the memory. */
static inline void sm_map_clear(sm_map *table, size_t width) {
    if (table->count != 0)
        memset(table->places, 0, table->size * width);
    table->count = 0;
}

/* Check that each entry can be found, for debug builds and tests. */
static inline bool sm_map_check(const sm_map *table, size_t width) {
    uint32_t count = 0;
    for (const uint64_t *entry = NULL; (entry = sm_map_next(table, entry, width)) != NULL; count++)
        if (sm_map_place(table, *entry, width) != entry)
            return false;
    return count == table->count;
}

static inline void sm_map_free(sm_map *table) {
    sm_free(table->places);
    *table = (sm_map){NULL, 0, 0};
}
