/* The fast path of an event of the objects recorder, as inline functions for a source's hook (module/wiring.c).
 *
 * The live table has 64 shards of 16-byte entries: address >> 3: 45 bits, span: 18, dying: 1; site: 24, serial: 40.
 * Four entries are a cache line. An address has its home in the line that a hash of its 128-byte block selects, so
 * neighbours, which often live and die together, share a cache line. Probing is linear from there on and never wraps
 * around: there is spare room after the last line, and the very last place stays free. A death shifts later entries
 * back, so there are no tombstones. */
#pragma once

#include "compat/frame.h"
#include "hooks/reference_tracer.h"
#include "recorder/objects/objects.h"

#define SM_OBJECTS_LIVE_SHARDS 64
#define SM_OBJECTS_CACHE 4096 /* latest sites, by type and instruction */
#define SM_OBJECTS_TYPE_CACHE 1024

typedef struct {    /* guard: that of its shard */
    uint64_t where; /* address >> 3 << 19 | span << 1 | dying; 0: free */
    uint64_t what;  /* site << 40 | serial */
} sm_objects_live_entry;

/* Guard: the GIL; `entries` are exchanged with the engine's lock as well. */
typedef struct {
    sm_objects_live_entry *entries; /* owned, aligned to lines of four */
    sm_objects_live_entry *end;     /* the last place, always free */
    uint32_t lines;                 /* number of lines that can be homes */
    uint32_t count;
    uint32_t limit; /* a larger count needs sm_objects_live_room() */
} sm_objects_live_shard;

typedef struct {
    const void *type, *instruction, *node;
    uint64_t site;
} sm_objects_key;

typedef struct {
    uint64_t key;
    sm_objects_type *type;
} sm_objects_type_key;

typedef struct { /* read at every event; guarded by the GIL */
    sm_objects_key keys[SM_OBJECTS_CACHE];
    sm_objects_type_key types[SM_OBJECTS_TYPE_CACHE];
    sm_objects_live_shard shards[SM_OBJECTS_LIVE_SHARDS];
    uint64_t since;     /* serial of the last known time; ages of younger objects follow from the rate */
    uint64_t rate;      /* ns per birth before that time, in 1/65536 */
    uint64_t unsampled; /* weight - 1: bits of a serial's hash that are 0 for an object in the table */
    uint64_t seed;      /* seed of that hash, different in each recording */
} sm_objects_hot_state;

extern sm_objects_hot_state sm_objects_hot;

sm_objects_type *sm_objects_find_type(PyTypeObject *type);
/* Return the site's number, 0 if births there are not recorded, or UINT64_MAX if out of memory (counted). */
uint64_t sm_objects_find_site(PyTypeObject *type, PyThreadState *tstate, const void *node);
/* Insert the object if sampling selects it. */
void sm_objects_live_sampled(sm_objects_live_shard *shard, sm_objects_live_entry *home, uint64_t where, uint64_t what);
void sm_objects_live_unseen(const sm_objects_live_entry *entry); /* called if the object there died without an event */
void sm_objects_live_room(sm_objects_live_shard *shard, uint64_t where, uint64_t what);
void sm_objects_live_unknown(PyObject *object); /* counts a death without an entry */
bool sm_objects_special_death(PyObject *object, sm_objects_live_entry *entry);
void sm_objects_key_died(PyObject *object); /* its address may be used again */
void sm_objects_special_type_death(PyObject *object, sm_objects_type *type);
void sm_objects_old(sm_objects_rest *rest, uint64_t serial, uint64_t weight); /* counts an age by known times */

/* Return true if the interpreter has made this list to instrument the running code. */
bool sm_objects_instruments(PyThreadState *tstate);
void sm_objects_pass_over(const PyObject *object); /* by type only: ignores its birth and its death, which is next */

/* Handle an event on the slow path: on quiet threads, in collections, beside other tools. */
void sm_objects_rare(PyObject *object, sm_reference_event event, PyThreadState *tstate, const void *node);
void sm_objects_poked(sm_reference_tool *tool);
void sm_objects_blind(void); /* to be called if events may be missed for a while */

static inline bool sm_objects_is_instruments(const PyTypeObject *type, PyThreadState *tstate) {
#if SM_INSTRUMENTING_MAKES_LISTS
    return SM_UNLIKELY(type == &PyList_Type) && SM_UNLIKELY(sm_tstate_events_version(tstate) != 0) &&
           sm_objects_instruments(tstate);
#else
    (void)type, (void)tstate;
    return false;
#endif
}

static inline sm_objects_type *sm_objects_type_of(PyTypeObject *type) {
    uint64_t hash = ((uintptr_t)type >> 4) * 0x9E3779B97F4A7C15u;
    const sm_objects_type_key *known = &sm_objects_hot.types[hash >> 54];
    if (SM_LIKELY(known->key == (uintptr_t)type))
        return known->type;
    return sm_objects_find_type(type);
}
_Static_assert(SM_OBJECTS_TYPE_CACHE == 1 << 10, "hash >> 54");

static inline void sm_objects_count_birth(sm_objects_type *type) {
    uint64_t live = ++type->born - type->gone;
    if (live > type->peak)
        type->peak = live;
}

static inline void sm_objects_born_by_type(PyObject *object, PyThreadState *tstate) {
    if (sm_objects_is_instruments(Py_TYPE(object), tstate)) {
        sm_objects_pass_over(object);
        return;
    }
    sm_objects_type *type = sm_objects_type_of(Py_TYPE(object));
    if (SM_UNLIKELY(type == NULL))
        return;
    sm_objects_count_birth(type);
    sm_objects.births++;
}

static inline void sm_objects_died_by_type(PyObject *object) {
    sm_objects_type *type = sm_objects_type_of(Py_TYPE(object));
    if (SM_UNLIKELY(type == NULL))
        return;
    if (SM_LIKELY(type->born > type->gone)) {
        type->gone++;
        sm_objects.deaths++;
    } else {
        type->before++;
    }
    if (SM_UNLIKELY(type->special != 0))
        sm_objects_special_type_death(object, type);
}

static inline sm_objects_live_shard *sm_objects_live_shard_of(uintptr_t address, uint64_t *hash) {
    *hash = (address >> 7) * 0x9E3779B97F4A7C15u;
    return &sm_objects_hot.shards[*hash >> 58];
}

/* Return the home of an address in its shard. */
static inline uint32_t sm_objects_live_home(const sm_objects_live_shard *shard, uintptr_t address, uint64_t hash) {
    uint64_t line = ((uint64_t)(uint32_t)(hash >> 26) * shard->lines) >> 32;
    return (uint32_t)line * 4 + ((uint32_t)(address >> 5) & 3);
}

static inline uint64_t sm_objects_live_where(uintptr_t address) {
    return (uint64_t)address << 16;
}

static inline bool sm_objects_live_is(const sm_objects_live_entry *entry, uint64_t where) {
    return ((entry->where ^ where) >> (SM_OBJECTS_SPAN_BITS + 1)) == 0;
}

static inline uint32_t sm_objects_bucket(uint64_t value) { /* bucket 0 has only 0, bucket b has 4^(b-1) to 4^b - 1 */
    return (uint32_t)(64 - __builtin_clzll(value << 1 | 1)) >> 1;
}

static inline bool sm_objects_is_left_out(uint64_t serial) { /* by sampling; serials keep their answer */
    uint64_t mixed = ((serial ^ serial >> 29) + sm_objects_hot.seed) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 32) * 0x94D049BB133111EBu;
    return (mixed >> 40 & sm_objects_hot.unsampled) != 0;
}

static inline sm_objects_key *sm_objects_key_of(const void *type, const void *instruction, const void *node) {
    uint64_t hash = ((uintptr_t)type >> 4 ^ (uintptr_t)node >> 2) * 0x9E3779B97F4A7C15u ^ (uintptr_t)instruction << 11;
    return &sm_objects_hot.keys[hash * 0xD6E8FEB86659FD93u >> 52];
}

static inline uint64_t sm_objects_site_of(PyTypeObject *type, PyThreadState *tstate, const void *node) {
    const sm_frame_head *frame = sm_tstate_frame(tstate);
#if SM_FREE_THREADED
    const PyCodeObject *code = SM_LIKELY(frame != NULL) ? sm_frame_code_of(frame) : NULL;
    const void *instruction = SM_LIKELY(code != NULL) ? sm_frame_instruction(frame, code) : NULL;
#else
    const void *instruction = SM_LIKELY(frame != NULL) ? frame->instruction : NULL;
#endif
    const sm_objects_key *key = sm_objects_key_of(type, instruction, node);
    if (SM_LIKELY(key->type == type && key->instruction == instruction && key->node == node))
        return key->site;
    return sm_objects_find_site(type, tstate, node);
}
_Static_assert(SM_OBJECTS_CACHE == 1 << 12, "hash >> 52");

static inline uint64_t sm_objects_what(uint64_t site, uint64_t serial) {
    return site << SM_OBJECTS_SERIAL_BITS | (serial & (SM_OBJECTS_SERIALS - 1));
}

/* Insert an entry. entry: the home of the address. */
static inline void sm_objects_live_put(sm_objects_live_shard *shard, sm_objects_live_entry *entry, uint64_t where,
                                       uint64_t what) {
    while (entry->where != 0 && !sm_objects_live_is(entry, where))
        entry++;
    if (SM_UNLIKELY(entry->where != 0)) {
        sm_objects_live_unseen(entry);
    } else if (SM_UNLIKELY(shard->count >= shard->limit || entry >= shard->end)) {
        sm_objects_live_room(shard, where, what);
        return;
    } else {
        shard->count++;
    }
    entry->where = where;
    entry->what = what;
}

/* Count a birth. node: the node of the call tree that runs, or NULL. */
static inline void sm_objects_born_by_line(PyObject *object, PyThreadState *tstate, const void *node) {
    uintptr_t address = (uintptr_t)object;
    uint64_t hash;
    sm_objects_live_shard *shard = sm_objects_live_shard_of(address, &hash);
    sm_objects_live_entry *entry = &shard->entries[sm_objects_live_home(shard, address, hash)];
    __builtin_prefetch(entry, 1);
    uint64_t number = sm_objects_site_of(Py_TYPE(object), tstate, node);
    if (SM_UNLIKELY(number == UINT64_MAX))
        return;
    if (SM_FREE_THREADED) /* the shard may have grown meanwhile */
        entry = &shard->entries[sm_objects_live_home(shard, address, hash)];
    uint64_t serial = sm_objects.births;
    uint64_t where = sm_objects_live_where(address);
    if (SM_LIKELY(number != 0)) {
        sm_objects_site *site = &sm_objects.sites[number];
        sm_objects.births = ++serial;
        site->born++;
        sm_objects_count_birth(site->type);
        if (SM_UNLIKELY(sm_objects_here.span != 0)) {
            where |= (uint64_t)sm_objects_here.span << 1;
            sm_objects_span_born(site);
        }
        if (SM_UNLIKELY(sm_objects_hot.unsampled != 0)) {
            sm_objects_live_sampled(shard, entry, where, sm_objects_what(number, serial));
            return;
        }
        if (++site->live > site->peak)
            site->peak = site->live;
    }
    sm_objects_live_put(shard, entry, where, sm_objects_what(number, serial));
}

static inline uint32_t sm_objects_live_span(const sm_objects_live_entry *entry) {
    return (uint32_t)(entry->where >> 1) & ((1u << SM_OBJECTS_SPAN_BITS) - 1);
}

/* Return the serial whose low bits an entry has. */
static inline uint64_t sm_objects_whole_serial(uint64_t what) {
    return sm_objects.births - ((sm_objects.births - what) & (SM_OBJECTS_SERIALS - 1));
}

/* Remove an entry, and shift back the entries that would not be found any more. */
static inline void sm_objects_live_remove(sm_objects_live_shard *shard, sm_objects_live_entry *gap) {
    shard->count--;
    for (sm_objects_live_entry *next = gap + 1; next->where != 0; next++) {
        uint64_t hash;
        uintptr_t address = (uintptr_t)(next->where >> (SM_OBJECTS_SPAN_BITS + 1) << 3);
        (void)sm_objects_live_shard_of(address, &hash);
        if (&shard->entries[sm_objects_live_home(shard, address, hash)] <= gap) {
            *gap = *next;
            gap = next;
        }
    }
    gap->where = 0;
}

/* Count a death at its site. */
static inline void sm_objects_count_death(const sm_objects_live_entry *entry, uint64_t weight) {
    uint64_t number = entry->what >> SM_OBJECTS_SERIAL_BITS, serial = entry->what & (SM_OBJECTS_SERIALS - 1);
    sm_objects_site *site = &sm_objects.sites[number];
    sm_objects_rest *rest = &sm_objects.rests[number];
    uint64_t age = (sm_objects.births - serial) & (SM_OBJECTS_SERIALS - 1);
    uint32_t bucket = sm_objects_bucket(age);
    rest->events[SM_LIKELY(bucket < SM_OBJECTS_BUCKETS) ? bucket : SM_OBJECTS_BUCKETS - 1] += weight;
    if (SM_LIKELY(age < sm_objects.births - sm_objects_hot.since)) {
        bucket = sm_objects_bucket((age * sm_objects_hot.rate >> 16) >> (2 * SM_OBJECTS_NS_BUCKET));
        rest->ns[SM_LIKELY(bucket < SM_OBJECTS_BUCKETS) ? bucket : SM_OBJECTS_BUCKETS - 1] += weight;
    } else {
        sm_objects_old(rest, serial, weight);
    }
    site->died += weight;
    site->live--;
    site->type->gone++;
    sm_objects.deaths++;
    if (SM_UNLIKELY(sm_objects_live_span(entry) != 0))
        sm_objects_span_died(site, sm_objects_live_span(entry), sm_objects_whole_serial(entry->what), weight);
}

static inline void sm_objects_died_by_line(PyObject *object) {
    uintptr_t address = (uintptr_t)object;
    uint64_t hash, where = sm_objects_live_where(address);
    sm_objects_live_shard *shard = sm_objects_live_shard_of(address, &hash);
    sm_objects_live_entry *entry = &shard->entries[sm_objects_live_home(shard, address, hash)];
    while (!sm_objects_live_is(entry, where)) {
        if (SM_UNLIKELY(entry->where == 0)) {
            sm_objects_live_unknown(object);
            return;
        }
        entry++;
    }
    uint64_t number = entry->what >> SM_OBJECTS_SERIAL_BITS;
    if (SM_LIKELY(number != 0)) {
        if (SM_UNLIKELY(sm_objects.sites[number].type->special != 0) && sm_objects_special_death(object, entry))
            return;
        sm_objects_count_death(entry, sm_objects.weight);
    } else if (SM_FREE_THREADED) {
        sm_objects_key_died(object);
    }
    sm_objects_live_remove(shard, entry);
}
