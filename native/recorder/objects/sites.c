/* Sites: from a type and the running frame to a row of the recording.
 *
 * A direct-mapped cache by (type object, instruction, node) answers most births (events.h). A complete table by the
 * same key answers when two sites compete for a place. Otherwise, once for each key, the instruction is resolved: its
 * code object to a function, its offset to a line. The result is interned, since many instructions make objects of a
 * type in one line, and code is made again (exec, reload) at other addresses. Keys are removed when a code object or a
 * type dies.
 *
 * The running frame is the interpreter's newest; frames that mark a stretch of C stack are skipped. Objects that
 * a C function makes count for the line that called it. Frames of hidden functions (seismo's) give site 0. */
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "recorder/objects/store.h"

#define MOST_SITES ((1u << SM_OBJECTS_SITE_BITS) - 2)
#define NOTHING UINT32_MAX

typedef struct { /* a resolved key */
    const void *instruction, *node;
    uint32_t type, site;
    uint32_t next, next_of_code; /* the next in its bucket; the next of the same code object, or in the free list */
} resolved;

typedef struct {
    uint64_t code;
    uint32_t first;
} code_key;

static struct {
    /* Guard: the GIL; `by_content` changes with the engine's lock, too. */
    resolved *resolved;
    uint32_t *buckets; /* owned; resolved_size of them */
    uint32_t resolved_size;
    uint32_t used, free;  /* the first one that was never used; the head of the free list */
    sm_map codes;         /* holds code_key items */
    uint32_t *by_content; /* owned; buckets of sites, linked by sm_objects_rest.next */
    uint32_t by_content_size;
    uint32_t sites_size;
} sites;

/* Both tables are chains of 4-byte numbers: a map (base/map.h) would take 32 to 64 bytes for each node. */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint32_t bucket_of(const sm_objects_type *type, const sm_function *function, int32_t line, const void *node) {
    uint64_t hash = mix(type->id, function != NULL ? function->id + 1 : 0);
    hash = mix(mix(hash, (uint32_t)line), (uintptr_t)node);
    return (uint32_t)(hash >> 32) & (sites.by_content_size - 1);
}

/* Grow both halves of the sites, which are separate so that an event touches one cache line. */
static bool grow_sites(void) {
    if (sm_objects.sites_count < sites.sites_size)
        return true;
    uint32_t size = sites.sites_size ? sites.sites_size * 2 : 512, count = sm_objects.sites_count;
    uint32_t *buckets = sm_malloc(size * sizeof *buckets);
    bool room = buckets != NULL && sm_resize(&sm_objects.rests, size * sizeof *sm_objects.rests);
    sm_objects_rest *rests = sm_objects.rests;
    sm_objects_site *hot = room ? sm_aligned(64, size * sizeof *hot) : NULL;
    if (hot == NULL) {
        sm_free(buckets);
        return false;
    }
    if (count > 0)
        memcpy(hot, sm_objects.sites, count * sizeof(sm_objects_site));
    free(sm_objects.sites);
    sm_objects.sites = hot;
    sm_free(sites.by_content);
    sites.by_content = buckets;
    sm_objects.keys_bytes += (size - sites.sites_size) * (sizeof(sm_objects_site) + sizeof *rests + sizeof *buckets);
    sites.sites_size = sites.by_content_size = size;
    memset(buckets, 0xFF, size * sizeof *buckets);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t *bucket =
            &buckets[bucket_of(sm_objects.sites[i].type, rests[i].function, rests[i].line, rests[i].node)];
        rests[i].next = *bucket;
        *bucket = i;
    }
    return true;
}

static uint32_t new_site(sm_objects_type *type, sm_function *function, int32_t line, const void *node) {
    uint32_t number = sm_objects.sites_count++;
    sm_objects.sites[number] = (sm_objects_site){.type = type};
    sm_objects.rests[number] = (sm_objects_rest){.function = function, .line = line, .node = node, .next = NOTHING};
    return number;
}

static uint32_t intern_locked(sm_objects_type *type, sm_function *function, int32_t line, const void *node) {
    if (!grow_sites())
        return NOTHING;
    uint32_t *bucket = &sites.by_content[bucket_of(type, function, line, node)];
    for (uint32_t i = *bucket; i != NOTHING; i = sm_objects.rests[i].next) {
        const sm_objects_rest *rest = &sm_objects.rests[i];
        if (sm_objects.sites[i].type == type && rest->function == function && rest->line == line && rest->node == node)
            return i;
    }
    if (sm_objects.sites_count >= MOST_SITES)
        return NOTHING;
    uint32_t number = new_site(type, function, line, node);
    sm_objects.rests[number].next = *bucket;
    return *bucket = number;
}

/* Return the number of the site, or NOTHING if out of memory or numbers. */
static uint32_t intern(sm_objects_type *type, sm_function *function, int32_t line, const void *node) {
    sm_engine_lock();
    uint32_t number = intern_locked(type, function, line, node);
    sm_engine_unlock();
    return number;
}

static uint32_t *resolved_bucket(const void *instruction, uint32_t type, const void *node) {
    uint64_t hash = mix(mix((uintptr_t)instruction, type), (uintptr_t)node);
    return &sites.buckets[(uint32_t)(hash >> 32) & (sites.resolved_size - 1)];
}

static bool grow_resolved(void) {
    if (sites.free != NOTHING || sites.used < sites.resolved_size)
        return true;
    uint32_t size = sites.resolved_size ? sites.resolved_size * 2 : 1024;
    if (!sm_resize(&sites.resolved, size * sizeof *sites.resolved))
        return false;
    resolved *grown = sites.resolved;
    uint32_t *buckets = sm_malloc(size * sizeof *buckets);
    if (buckets == NULL)
        return false;
    sm_free(sites.buckets);
    sites.buckets = buckets;
    sm_objects.keys_bytes += (size - sites.resolved_size) * (sizeof *grown + sizeof *buckets);
    sites.resolved_size = size;
    memset(buckets, 0xFF, size * sizeof *buckets);
    for (uint32_t i = 0; i < sites.used; i++) { /* no key is free here */
        uint32_t *bucket = resolved_bucket(grown[i].instruction, grown[i].type, grown[i].node);
        grown[i].next = *bucket;
        *bucket = i;
    }
    return true;
}

static uint32_t find_resolved(const void *instruction, uint32_t type, const void *node) {
    if (sites.resolved_size == 0)
        return NOTHING;
    for (uint32_t i = *resolved_bucket(instruction, type, node); i != NOTHING; i = sites.resolved[i].next) {
        const resolved *one = &sites.resolved[i];
        if (one->instruction == instruction && one->type == type && one->node == node)
            return one->site;
    }
    return NOTHING;
}

/* Return false, without a change, if out of memory. */
static bool remember(const void *code, const void *instruction, uint32_t type, const void *node, uint32_t site) {
    if (!grow_resolved())
        return false;
    code_key *key = sm_map_find(&sites.codes, (uintptr_t)code, sizeof *key);
    if (key == NULL) {
        key = sm_map_make(&sites.codes, (uintptr_t)code, sizeof *key, 256);
        if (key == NULL)
            return false;
        key->first = NOTHING;
    }
    uint32_t i = sites.free;
    if (i != NOTHING)
        sites.free = sites.resolved[i].next_of_code;
    else
        i = sites.used++;
    uint32_t *bucket = resolved_bucket(instruction, type, node);
    sites.resolved[i] = (resolved){instruction, node, type, site, *bucket, key->first};
    *bucket = key->first = i;
    return true;
}

static void take_out(uint32_t i) {
    const resolved *one = &sites.resolved[i];
    uint32_t *link = resolved_bucket(one->instruction, one->type, one->node);
    while (*link != i)
        link = &sites.resolved[*link].next;
    *link = one->next;
}

void sm_objects_code_died(const void *code) {
    code_key *key = sm_map_find(&sites.codes, (uintptr_t)code, sizeof *key);
    if (key == NULL)
        return;
    for (uint32_t i = key->first, next; i != NOTHING; i = next) {
        take_out(i);
        next = sites.resolved[i].next_of_code;
        sites.resolved[i].next_of_code = sites.free;
        sites.free = i;
    }
    sm_map_remove(&sites.codes, key, sizeof *key);
    const unsigned char *first = sm_code_instructions(code);
    const unsigned char *end = first + Py_SIZE(code) * 2;
    for (int i = 0; i < SM_OBJECTS_CACHE; i++) {
        const unsigned char *instruction = sm_objects_hot.keys[i].instruction;
        if (instruction >= first && instruction < end)
            sm_objects_hot.keys[i].type = NULL;
    }
}

void sm_objects_sites_forget_type(const PyTypeObject *type) {
    for (int i = 0; i < SM_OBJECTS_CACHE; i++) {
        if (sm_objects_hot.keys[i].type == type)
            sm_objects_hot.keys[i].type = NULL;
    }
}

static sm_function *function_of(PyCodeObject *code, PyObject *globals) {
    sm_function *function;
#if SM_FREE_THREADED
    SM_OBJECTS_AWAY(function = sm_function_in_event(code, globals));
#else
    sm_objects_set_busy(true);
    function = sm_function_of_code(code, globals);
    sm_objects_set_busy(false);
#endif
    return function;
}

/* Find the site of this frame's instruction, or NOTHING. Return true if the instruction is remembered. */
static bool resolve(sm_objects_type *type, const sm_frame_head *frame, PyCodeObject *code, const void *node,
                    uint32_t *number) {
    const unsigned char *instruction = sm_frame_instruction(frame, code);
    *number = find_resolved(instruction, type->id, node);
    if (*number != NOTHING)
        return true;
    sm_function *function = function_of(code, frame->globals);
    if (SM_FREE_THREADED && (*number = find_resolved(instruction, type->id, node)) != NOTHING)
        return true;
    if (function == NULL)
        return false;
    *number = 0;
    if (!function->hidden) {
        int line = PyCode_Addr2Line(code, (int)(instruction - sm_code_instructions(code)));
        if (line < 0) /* before the first line, where cells and arguments are made */
            line = code->co_firstlineno;
        *number = intern(type, function, line, node);
    }
    return *number != NOTHING && remember(code, instruction, type->id, node, *number);
}

uint64_t sm_objects_find_site(PyTypeObject *type, PyThreadState *tstate, const void *node) {
    if (sm_objects_is_instruments(type, tstate)) /* not stored: it is rare, once for each code object */
        return 0;
    sm_objects_type *known = sm_is_finalizing() ? NULL : sm_objects_type_of(type);
    if (known == NULL)
        return UINT64_MAX;
    const sm_frame_head *running = sm_tstate_frame(tstate), *frame = running;
    PyCodeObject *code = NULL;
    while (frame != NULL && (code = sm_frame_code_of(frame)) == NULL)
        frame = frame->previous;
    uint32_t number = NOTHING;
    bool found = frame != NULL && resolve(known, frame, code, node, &number);
    if (frame == NULL)
        number = intern(known, NULL, 0, node);
    if (number == NOTHING) { /* the site is counted by its type alone */
        sm_objects.lost_sites++;
        number = intern(known, NULL, 0, NULL);
        if (number == NOTHING)
            return UINT64_MAX;
    }
    if (found && frame == running) {
        const void *instruction = sm_frame_instruction(frame, code);
        *sm_objects_key_of(type, instruction, node) = (sm_objects_key){type, instruction, node, number};
    }
    return number;
}

void sm_objects_sites_forget_keys(void) {
    memset(sm_objects_hot.keys, 0, sizeof sm_objects_hot.keys);
}

bool sm_objects_sites_start(void) {
    sites.free = NOTHING;
    if (!grow_sites())
        return false;
    (void)new_site(NULL, NULL, 0, NULL);
    return true;
}

bool sm_objects_sites_check(void) {
    uint32_t reachable = 0, free = 0;
    for (const code_key *key = NULL; (key = sm_map_next(&sites.codes, key, sizeof *key)) != NULL;) {
        for (uint32_t j = key->first; j != NOTHING; j = sites.resolved[j].next_of_code, reachable++) {
            const resolved *one = &sites.resolved[j];
            if (find_resolved(one->instruction, one->type, one->node) != one->site)
                return false;
        }
    }
    for (uint32_t i = sites.free; sites.resolved_size > 0 && i != NOTHING; i = sites.resolved[i].next_of_code)
        free++;
    return sm_map_check(&sites.codes, sizeof(code_key)) && reachable + free == sites.used;
}

void sm_objects_sites_free(void) {
    free(sm_objects.sites);
    sm_free(sm_objects.rests);
    sm_free(sites.resolved);
    sm_free(sites.buckets);
    sm_map_free(&sites.codes);
    sm_free(sites.by_content);
    memset(&sites, 0, sizeof sites);
    sm_objects_sites_forget_keys();
}
