/* Call sites that need not report any more (c_functions="auto").
 *
 * sys.monitoring can switch its CALL event off place by place. Two kinds of place are worth it: those that call a C
 * function that has proved trivial, and those that call Python functions or types, of which the event has nothing to
 * tell. Without that, its cost would stay in their callers' time, since nobody counts what is not recorded. A place may
 * call something else another time, so it must first have called the same thing eight times that we looked, at random
 * one CALL in eight: some 64 calls. (At random, since programs that take turns among eight functions are common.) A C
 * function that has not proved trivial counts among what a place has called, so that a place that goes on to call a
 * Python function is left on: it may call the C function again, and no mark would say that such calls are missing. The
 * recorder is told of each place of the first kind, and marks what can be missing from then on. Python functions are
 * counted exactly whatever happens here.
 *
 * Looks are rarer, up to one CALL in 64, while they find nothing that was not known of a place: most calls that are
 * left to be told of are then those of C functions, whose places tell on. A look that finds more makes them frequent.
 *
 * What is off is on again when the recording ends, and in a forked child, which begins another one: the next recording,
 * and whoever has our tool id next, are told of every place. restart_events() would do it for all tools, whose places
 * would all tell once more. So the code objects that have such places are marked (code/code_map.h) until they die, and
 * each is made to want something else and then nothing, while the tool wants nothing: that takes all of its events off,
 * those that were switched off included, and the next recording sets all of them.
 *
 * The map of places is keyed by the serial number of what is known of the code object, and offset: what has been
 * learned of a code object that died is not taken for that of another with its address. The dead are forgotten when the
 * map is full, which so is as large as the places of the code that lives. */
#include "base/lookup_count.h"
#include "base/map.h"
#include "source/monitoring/monitoring.h"
#include "source/sources.h"

bool sm_sites_on = false;
uint32_t sm_sites_to_go = SM_SITES_EVERY;

#if SM_HAS_MONITORING

#define LOOKS 8
#ifndef SM_MAX_SITES
#define SM_MAX_SITES (1u << 20)
#endif

typedef struct {
    uint64_t key;             /* serial number << 32 | offset; no serial number is 0 */
    const PyCodeObject *code; /* an address, never followed */
    const void *callee;
    uint32_t looks; /* in a row at the same callee; UINT32_MAX: it has called different things, leave it on */
} site;

static struct {
    sm_map places;  /* site */
    uint32_t wait;  /* places that are met in vain before the full map is looked through again */
    uint32_t every; /* calls from a look to the next, at the mean: SM_SITES_EVERY to SM_SITES_SELDOM */
    uint64_t random;
} sites;

static bool lives(const site *at) {
    const sm_code_entry *entry = sm_code_entry_of(at->code);
    return entry != NULL && entry->serial == (uint32_t)(at->key >> 32);
}

/* Makes room for one more, by forgetting the dead or by growing. */
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

/* A look has found what was not known of its place, or has not. */
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

uint32_t sm_sites_gap(void) {
    return SM_SITES_EVERY;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee, bool needless) {
    (void)code, (void)offset, (void)callee, (void)needless;
    return false;
}

#endif
