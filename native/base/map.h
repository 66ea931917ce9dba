/* The map of everything that is found by an address or a number: open addressing, in one block of entries of one
 * size, each of which begins with its key (uint64_t; 0: a free place). What is taken out leaves no mark: those behind
 * the hole move up, unless they would come to stand before their home.
 *
 * Invariants (sm_map_check): the size is a power of two or 0, at most half of the places are taken, and from an entry's
 * home to its place none is free. Entries move when others come or go. A map belongs to whoever holds the lock of what
 * it is a part of, mostly the GIL; all zero is an empty one. Without memory nothing is entered, and nothing is lost.
 *
 * What is found by its content stands here under a hash of it (base/interned.h).
 *
 * Tables of their own have, for the sake of the way of an event: code objects (code/code_map.h), whose lookup is one
 * probe in line; the children of nodes (recorder/calls/store.c), by 8 bytes each; the live objects
 * (recorder/objects/live.c), in shards of packed entries; the links of call statistics (hub/callstats/store.c), by two
 * addresses in one probe. For the sake of memory, since they hold numbers of 4 bytes: the sites of objects
 * (recorder/objects/sites.c) and the steps of each function that is covered (recorder/coverage/branches.c). The stacks
 * of a thread's calls (hub/callstats/running.c), which are taken over when they are idle; groups of threads
 * (engine/thread_groups.c), which need no memory; and in the estimate (combine.c, estimate.c), tables that are made for
 * a known number of rows. */
#ifndef SM_BASE_MAP_H
#define SM_BASE_MAP_H

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

/* The entry of this key, or the free place where it would be. The size is not 0. */
static inline uint64_t *sm_map_place(const sm_map *table, uint64_t key, size_t width) {
    for (uint32_t i = sm_map_home(table, key);; i = (i + 1) & (table->size - 1)) {
        uint64_t *entry = sm_map_at(table, i, width);
        if (*entry == key || *entry == 0)
            return entry;
    }
}

/* NULL: there is none. */
static inline void *sm_map_find(const sm_map *table, uint64_t key, size_t width) {
    uint64_t *entry = table->count != 0 ? sm_map_place(table, key, width) : NULL;
    return entry != NULL && *entry != 0 ? entry : NULL;
}

/* Room for one more. smallest: the size to begin with. False: out of memory. */
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

/* The entry of this key; a new one is zero but for its key. NULL: out of memory. */
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

/* All entries in turn, in no order: the first of NULL. NULL: there are no more. */
static inline void *sm_map_next(const sm_map *table, const void *entry, size_t width) {
    uint32_t i = entry != NULL ? (uint32_t)((size_t)((const char *)entry - table->places) / width) + 1 : 0;
    for (; i < table->size; i++) {
        if (*sm_map_at(table, i, width) != 0)
            return sm_map_at(table, i, width);
    }
    return NULL;
}

/* Forgets all entries; the room stays. */
static inline void sm_map_clear(sm_map *table, size_t width) {
    if (table->count != 0)
        memset(table->places, 0, table->size * width);
    table->count = 0;
}

/* For debug builds and tests: is each entry where it is looked for? */
static inline bool sm_map_check(const sm_map *table, size_t width) {
    uint32_t count = 0;
    for (const uint64_t *entry = NULL; (entry = sm_map_next(table, entry, width)) != NULL; count++) {
        if (sm_map_place(table, *entry, width) != entry)
            return false;
    }
    return count == table->count;
}

static inline void sm_map_free(sm_map *table) {
    sm_free(table->places);
    *table = (sm_map){NULL, 0, 0};
}

#endif
