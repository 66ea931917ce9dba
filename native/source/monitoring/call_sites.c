/* Call sites that need not report any more (c_functions="auto").
 *
 * A site's CALL event is disabled if the site calls a C function that has proved trivial, or Python functions or types,
 * on which CALL reports nothing new. Its cost would otherwise stay in the caller's time. The site must first have
 * called the same thing at eight looks, each at a random one of eight events: periodic looks would miss programs that
 * alternate among functions. A C function that is not trivial counts as a callee, too, so a site that later calls a
 * Python function stays enabled. The recorder marks what can be missing. Python functions are always counted exactly.
 *
 * Looks that find nothing new become rarer, up to one in 64.
 *
 * Sites are enabled again at the end and in a forked child. restart_events() would affect all tools, so the code
 * objects are marked instead, and local_events.c resets each.
 *
 * The table is keyed by the serial number of a code object's entry, so a reused address has no history. Sites of
 * dead code are dropped when it is full, so the live code bounds its size. */
#include "base/lookup_count.h"
#include "base/map.h"
#include "source/monitoring/monitoring.h"
#include "source/sources.h"

#if SM_HAS_MONITORING

bool sm_sites_on = false;
SM_OWN_TLS uint32_t sm_sites_to_go = SM_SITES_EVERY;

#define LOOKS 8
#ifndef SM_MAX_SITES
#define SM_MAX_SITES (1u << 20)
#endif

typedef struct {
    uint64_t key;             /* serial number << 32 | offset; serial numbers begin at 1 */
    const PyCodeObject *code; /* never dereferenced */
    const void *callee;
    uint32_t looks; /* consecutive looks with one callee, or UINT32_MAX: several, stays enabled */
} site;

static struct {
    sm_map places;  /* holds site items */
    uint32_t wait;  /* sites not added before the full table is scanned again */
    uint32_t every; /* mean number of calls between looks, SM_SITES_EVERY to SM_SITES_SELDOM */
    uint64_t random;
} sites;

static bool lives(const site *at) {
    const sm_code_entry *entry = sm_code_entry_of(at->code);
    return entry != NULL && entry->serial == (uint32_t)(at->key >> 32);
}

/* Make room for one more site by dropping dead ones or by growing. */
static bool make_room(void) {
    sm_map *before = &sites.places;
    if (before->count * 2 < before->size)
        return true;
    if (sites.wait > 0) {
        sites.wait--;
        return false;
    }
    uint32_t living = 0;
    for (const site *at = NULL; (at = sm_map_next(before, at, sizeof *at)) != NULL;)
        living += lives(at);
    uint32_t size = before->size == 0 ? 1024 : living * 4 > before->size ? before->size * 2 : before->size;
    if (size > SM_MAX_SITES)
        size = SM_MAX_SITES;
    sm_map after = {NULL, 0, 0};
    if (living * 2 >= size || !sm_map_grow(&after, sizeof(site), size)) {
        sites.wait = before->size;
        return false;
    }
    for (const site *at = NULL; (at = sm_map_next(before, at, sizeof *at)) != NULL;) {
        if (lives(at))
            *(site *)sm_map_make(&after, at->key, sizeof *at, size) = *at;
    }
    sm_map_free(before);
    sites.places = after;
    return true;
}

uint32_t sm_sites_room(void) {
    return sites.places.size;
}

uint32_t sm_sites_gap(void) {
    sites.random = sites.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(sites.random >> 33) % (2 * sites.every - 1) + 1;
}

void sm_sites_start(bool on) {
    sm_map_free(&sites.places);
    sites.wait = 0;
    sites.every = SM_SITES_EVERY;
    sm_sites_on = on;
}

static void learnt(bool anything) {
    if (anything)
        sites.every = SM_SITES_EVERY;
    else if (sites.every < SM_SITES_SELDOM)
        sites.every *= 2;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee, bool needless) {
    sm_code_entry *entry = PyCode_Check(code) ? sm_code_entry_make((PyCodeObject *)code) : NULL;
    if (entry == NULL || !make_room())
        return false;
    uint64_t key = (uint64_t)entry->serial << 32 | (uint32_t)PyLong_AsLong(offset);
    SM_LOOK();
    site *seen = sm_map_make(&sites.places, key, sizeof *seen, 0);
    bool known = seen->code != NULL;
    learnt(!known || (needless && seen->looks != UINT32_MAX));
    if (!known) {
        *seen = (site){key, (PyCodeObject *)code, callee, 1};
        return false;
    }
    if (seen->looks == UINT32_MAX)
        return false;
    if (seen->callee != callee) {
        seen->looks = UINT32_MAX;
        return false;
    }
    seen->looks += seen->looks < LOOKS;
    if (seen->looks < LOOKS || !needless)
        return false;
    sm_function *function = sm_function_of_code((PyCodeObject *)code, NULL);
    if (function == NULL || !sm_monitoring_remember(code))
        return false;
    __atomic_fetch_or(&function->flags, SM_FUNCTION_SITES_OFF, __ATOMIC_RELAXED);
    return true;
}

#else

uint32_t sm_sites_room(void) {
    return 0;
}

#endif
