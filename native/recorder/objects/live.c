/* The slow paths of the live table: growing, sampling, unknown deaths, queries.
 *
 * Growing: A shard grows alone, by half, when it is two thirds full, so no event waits for a whole table, and an object
 * costs 24 to 36 bytes. An entry's home is a monotone function of its block's hash, so entries move in almost the same
 * order. A shard that cannot grow continues without the object, which counts as dropped.
 *
 * Bound: When all shards together hold max_live entries, sampling is halved. An object is in the table if the lowest k
 * bits of a hash of its serial are 0; k grows by one, and the table drops the other half. So membership does not depend
 * on an object's age, and counts from the table times 2^k are right in the mean. Births, and births and deaths by type,
 * stay exact. An unknown death is taken as that of a dropped object of its type, while there are any.
 *
 * Resurrection: An object with a finalizer in Python reports DESTROY before the finalizer runs, which may resurrect it
 * without an event. So its entry stays, marked as dying: another DESTROY there means that it was resurrected, a CREATE
 * that it was not.
 *
 * Invariants (sm_objects_live_check): There is no free place between an entry and its home. No address occurs twice.
 * The last place of a shard is free. A site's `live` is the number of its entries. */
#include <string.h>

#include "base/alloc.h"
#include "recorder/objects/events.h"
#include "recorder/objects/store.h"

#define SMALLEST 4
#define SPARE 32 /* places after the last line, for entries whose home is in it */

static sm_objects_live_entry *new_entries(uint32_t size) {
    sm_objects_live_entry *entries = sm_aligned(64, size * sizeof *entries);
    return entries != NULL ? memset(entries, 0, size * sizeof *entries) : NULL;
}

static uintptr_t address_of(const sm_objects_live_entry *entry) {
    return (uintptr_t)(entry->where >> (SM_OBJECTS_SPAN_BITS + 1) << 3);
}

static bool is_dying(const sm_objects_live_entry *entry) {
    return (entry->where & 1) != 0;
}

static uint64_t site_of(const sm_objects_live_entry *entry) {
    return entry->what >> SM_OBJECTS_SERIAL_BITS;
}

static uint64_t bytes_of(const sm_objects_live_shard *shard) {
    return (uint64_t)(shard->end + 1 - shard->entries) * sizeof(sm_objects_live_entry);
}

static uint32_t two_thirds(const sm_objects_live_shard *shard) {
    return (uint32_t)((uint64_t)shard->lines * 8 / 3);
}

static bool make(sm_objects_live_shard *shard, uint32_t lines, uint32_t spare) {
    *shard = (sm_objects_live_shard){.lines = lines};
    shard->entries = lines < UINT32_MAX / 8 ? new_entries(lines * 4 + spare) : NULL;
    if (shard->entries == NULL)
        return false;
    shard->end = shard->entries + lines * 4 + spare - 1;
    shard->limit = two_thirds(shard);
    return true;
}

bool sm_objects_live_start(void) {
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS; i++) {
        if (!make(&sm_objects_hot.shards[i], SMALLEST, SPARE))
            return false;
        sm_objects.live_bytes += bytes_of(&sm_objects_hot.shards[i]);
    }
    return true;
}

void sm_objects_live_free(void) {
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS; i++)
        free(sm_objects_hot.shards[i].entries);
    memset(sm_objects_hot.shards, 0, sizeof sm_objects_hot.shards);
}

uint64_t sm_objects_live_count(void) {
    uint64_t count = 0;
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS; i++)
        count += sm_objects_hot.shards[i].count;
    return count;
}

/* Insert an entry. Return false if it would be in the last place. */
static bool put(sm_objects_live_shard *shard, uint64_t where, uint64_t what) {
    uint64_t hash;
    uintptr_t address = (uintptr_t)(where >> (SM_OBJECTS_SPAN_BITS + 1) << 3);
    (void)sm_objects_live_shard_of(address, &hash);
    sm_objects_live_entry *entry = &shard->entries[sm_objects_live_home(shard, address, hash)];
    while (entry->where != 0)
        entry++;
    if (entry >= shard->end)
        return false;
    *entry = (sm_objects_live_entry){where, what};
    shard->count++;
    return true;
}

/* Move a shard to a larger array, or to one with more spare room if too many homes are in the last lines. */
static bool grow(sm_objects_live_shard *shard) {
    sm_objects_live_shard larger;
    uint32_t spare = (uint32_t)(shard->end + 1 - shard->entries) - shard->lines * 4;
    if (shard->count < two_thirds(shard)) /* the spare room is full */
        spare *= 2;
    for (bool fits = false; !fits; spare *= 2) {
        if (!make(&larger, shard->lines + shard->lines / 2, spare))
            return false;
        fits = true;
        for (sm_objects_live_entry *entry = shard->entries; entry < shard->end && fits; entry++) {
            if (entry->where != 0)
                fits = put(&larger, entry->where, entry->what);
        }
        if (!fits)
            free(larger.entries);
    }
    sm_objects.live_bytes += bytes_of(&larger) - bytes_of(shard);
    sm_engine_lock(); /* a save may be reading it */
    free(shard->entries);
    *shard = larger;
    sm_engine_unlock();
    return true;
}

/* Count a live object as missing in the table. */
static void leave_out(uint64_t number) {
    if (number == 0)
        return;
    sm_objects.sites[number].type->untracked++;
    sm_objects.rests[number].approximate = true;
}

static void drop(const sm_objects_live_entry *entry) {
    if (is_dying(entry) || site_of(entry) == 0)
        return;
    sm_objects.sites[site_of(entry)].live--;
    leave_out(site_of(entry));
}

/* Halve sampling. Entries of site 0 are dropped, too: their deaths count as deaths of older or dropped objects. */
static void sample_less(void) {
    sm_engine_lock();
    sm_objects.sampled++;
    sm_objects.weight *= 2;
    sm_objects_hot.unsampled = sm_objects.weight - 1;
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS; i++) {
        sm_objects_live_shard *shard = &sm_objects_hot.shards[i];
        for (sm_objects_live_entry *entry = shard->entries; entry < shard->end;) {
            if (entry->where == 0 ||
                !(is_dying(entry) || sm_objects_is_left_out(entry->what & (SM_OBJECTS_SERIALS - 1)))) {
                entry++;
                continue;
            }
            drop(entry);
            sm_objects_live_remove(shard, entry);
        }
        shard->limit = two_thirds(shard);
    }
    for (uint32_t i = 1; i < sm_objects.sites_count; i++) {
        sm_objects_site *site = &sm_objects.sites[i];
        site->peak = (site->peak + 1) / 2;
        site->peak = site->peak < site->live ? site->live : site->peak;
    }
    sm_engine_unlock();
}

void sm_objects_live_room(sm_objects_live_shard *shard, uint64_t where, uint64_t what) {
    uint64_t live = sm_objects_live_count(), number = what >> SM_OBJECTS_SERIAL_BITS;
    if (live > sm_objects.live_peak)
        sm_objects.live_peak = live;
    if (live >= sm_objects.max_live && sm_objects.sampled < 20) {
        sample_less();
        live = sm_objects_live_count();
        if (number != 0 && sm_objects_is_left_out(what & (SM_OBJECTS_SERIALS - 1))) {
            sm_objects.sites[number].live--;
            leave_out(number);
            return;
        }
    }
    bool roomy = shard->count < two_thirds(shard) || grow(shard);
    if (roomy) { /* at most this shard's share of the entries that all may still add */
        uint64_t left = live < sm_objects.max_live ? (sm_objects.max_live - live) / SM_OBJECTS_LIVE_SHARDS : 0;
        uint32_t most = two_thirds(shard);
        shard->limit = left < most - shard->count ? shard->count + (uint32_t)left + 1 : most;
    }
    bool crammed = shard->count >= shard->lines * 4 - shard->lines / 2;
    if ((!crammed && put(shard, where, what)) || (grow(shard) && put(shard, where, what)))
        return;
    sm_objects.lost_live++;
    if (number != 0) {
        sm_objects.sites[number].live--;
        leave_out(number);
    }
}

void sm_objects_live_sampled(sm_objects_live_shard *shard, sm_objects_live_entry *home, uint64_t where, uint64_t what) {
    uint64_t number = what >> SM_OBJECTS_SERIAL_BITS;
    if (!sm_objects_is_left_out(what & (SM_OBJECTS_SERIALS - 1))) {
        sm_objects_site *site = &sm_objects.sites[number];
        if (++site->live > site->peak)
            site->peak = site->live;
        sm_objects_live_put(shard, home, where, what);
        return;
    }
    leave_out(number);
    while (home->where != 0 && !sm_objects_live_is(home, where))
        home++;
    if (home->where != 0) { /* the object that had this address before */
        sm_objects_live_unseen(home);
        sm_objects_live_remove(shard, home);
    }
}

void sm_objects_live_unseen(const sm_objects_live_entry *entry) {
    uint64_t number = site_of(entry);
    if (number == 0 || is_dying(entry))
        return;
    sm_objects_site *site = &sm_objects.sites[number];
    site->live--;
    site->type->gone++;
    site->type->unseen++;
    sm_objects.rests[number].unseen += sm_objects.weight;
}

sm_objects_live_entry *sm_objects_live_find(uintptr_t address) {
    uint64_t hash, where = sm_objects_live_where(address);
    sm_objects_live_shard *shard = sm_objects_live_shard_of(address, &hash);
    sm_objects_live_entry *entry = &shard->entries[sm_objects_live_home(shard, address, hash)];
    while (entry->where != 0 && !sm_objects_live_is(entry, where))
        entry++;
    return entry->where != 0 ? entry : NULL;
}

void sm_objects_each_live(void (*visit)(const sm_object *object, void *context), void *context) {
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS; i++) {
        const sm_objects_live_shard *shard = &sm_objects_hot.shards[i];
        for (const sm_objects_live_entry *entry = shard->entries; entry < shard->end; entry++) {
            sm_objects_live_entry one = {SM_READ(entry->where), SM_READ(entry->what)};
            if (one.where == 0 || site_of(&one) == 0 || is_dying(&one))
                continue;
            uint64_t serial = sm_objects_whole_serial(one.what);
            sm_object object = {address_of(&one), (uint32_t)site_of(&one), sm_objects_live_span(&one), serial};
            visit(&object, context);
        }
    }
}

static bool check_shard(const sm_objects_live_shard *shard, uint32_t *live) {
    uint32_t count = 0;
    const sm_objects_live_entry *run = shard->entries;
    for (sm_objects_live_entry *entry = shard->entries; entry < shard->end; entry++) {
        if (entry->where == 0) {
            run = entry + 1;
            continue;
        }
        uint64_t hash;
        uintptr_t address = address_of(entry);
        const sm_objects_live_entry *home = shard->entries;
        if (sm_objects_live_shard_of(address, &hash) != shard || site_of(entry) >= sm_objects.sites_count)
            return false;
        home += sm_objects_live_home(shard, address, hash);
        if (home < run || home > entry || sm_objects_live_find(address) != entry)
            return false;
        live[site_of(entry)] += !is_dying(entry);
        count++;
    }
    return count == shard->count && shard->end->where == 0;
}

bool sm_objects_live_check(void) {
    uint32_t *live = calloc(sm_objects.sites_count + 1, sizeof *live);
    bool right = live != NULL;
    for (int i = 0; i < SM_OBJECTS_LIVE_SHARDS && right; i++)
        right = check_shard(&sm_objects_hot.shards[i], live);
    for (uint32_t i = 1; i < sm_objects.sites_count && right; i++)
        right = live[i] == sm_objects.sites[i].live && live[i] <= sm_objects.sites[i].peak;
    free(live);
    return right;
}
