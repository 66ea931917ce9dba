/* Call sites that need not report any more (c_functions="auto").
 *
 * sys.monitoring can switch its CALL event off place by place. Two kinds of place are worth it: those that call a C
 * function that has proved trivial, and those that call Python functions or types, of which the event has nothing to
 * tell. Without that, its cost would stay in their callers' time, since nobody counts what is not recorded. A place may
 * call something else another time, so it must first have called the same thing eight times that we looked, at random
 * one CALL in eight: some 64 calls. (At random, since programs that take turns among eight functions are common.) The
 * recorder is told of each place of the first kind, and marks what can be missing from then on. Python functions are
 * counted exactly whatever happens here.
 *
 * What is off is on again when the recording ends, and in a forked child, which begins another one: the next recording,
 * and whoever has our tool id next, are told of every place. restart_events() would do it for all tools, whose places
 * would all tell once more. So the code objects that have such places are marked (code/codes.h) until they die, and
 * each is made to want something else and then nothing, while the tool wants nothing: that takes all of its events off,
 * those that were switched off included, and the next recording sets all of them.
 *
 * The table of places is keyed by code object, by the serial number of what is known of it, and offset: what has been
 * learned of a code object that died is not taken for that of another with its address. The dead are forgotten when the
 * table is full, which so is as large as the places of the code that lives. */
#include "base/alloc.h"
#include "source/monitoring/monitoring.h"
#include "source/sources.h"

#if SM_HAS_MONITORING

#define LOOKS 8
#ifndef SM_MAX_SITES
#define SM_MAX_SITES (1u << 20)
#endif

typedef struct {
    const PyCodeObject *code; /* NULL: free. An address, never followed */
    const void *callee;
    uint32_t serial, offset;
    uint32_t looks; /* in a row at the same callee; UINT32_MAX: it has called different things, leave it on */
} site;

static struct {
    site *slots;
    uint32_t size, count;
    uint32_t wait; /* places that are met in vain before the full table is looked through again */
    uint64_t random;
} sites;

static site *find(uint32_t serial, uint32_t offset) {
    uint64_t hash = (serial * UINT64_C(0x632BE5AB) + offset) * 0x9E3779B97F4A7C15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        site *found = &sites.slots[i & (sites.size - 1)];
        if (found->code == NULL || (found->serial == serial && found->offset == offset))
            return found;
    }
}

static bool lives(const site *at) {
    const sm_code_entry *entry = at->code != NULL ? sm_code_entry_of(at->code) : NULL;
    return entry != NULL && entry->serial == at->serial;
}

/* Makes room for one more, by forgetting the dead or by growing. */
static bool make_room(void) {
    if (sites.count * 2 < sites.size)
        return true;
    if (sites.wait > 0) {
        sites.wait--;
        return false;
    }
    uint32_t living = 0;
    for (uint32_t i = 0; i < sites.size; i++)
        living += lives(&sites.slots[i]);
    uint32_t size = sites.size == 0 ? 1024 : living * 4 > sites.size ? sites.size * 2 : sites.size;
    if (size > SM_MAX_SITES)
        size = SM_MAX_SITES;
    site *slots = living * 2 < size ? sm_calloc(size, sizeof *slots) : NULL;
    if (slots == NULL) {
        sites.wait = sites.size;
        return false;
    }
    site *old = sites.slots;
    uint32_t old_size = sites.size;
    sites.slots = slots;
    sites.size = size;
    sites.count = living;
    for (uint32_t i = 0; i < old_size; i++) {
        if (lives(&old[i]))
            *find(old[i].serial, old[i].offset) = old[i];
    }
    sm_free(old);
    return true;
}

uint32_t sm_sites_room(void) {
    return sites.size;
}

uint32_t sm_sites_gap(void) {
    sites.random = sites.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(sites.random >> 33) % (2 * SM_SITES_EVERY - 1) + 1;
}

void sm_sites_start(bool on) {
    sm_free(sites.slots);
    sites.slots = NULL;
    sites.size = sites.count = sites.wait = 0;
    sm_sites_on = on;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee) {
    sm_code_entry *entry = PyCode_Check(code) ? sm_code_entry_make((PyCodeObject *)code) : NULL;
    if (entry == NULL || !make_room())
        return false;
    uint32_t place = (uint32_t)PyLong_AsLong(offset);
    site *seen = find(entry->serial, place);
    if (seen->code == NULL) {
        *seen = (site){(PyCodeObject *)code, callee, entry->serial, place, 1};
        sites.count++;
        return false;
    }
    if (seen->looks == UINT32_MAX)
        return false;
    if (seen->callee != callee) {
        seen->looks = UINT32_MAX;
        return false;
    }
    if (++seen->looks < LOOKS)
        return false;
    sm_function *function = sm_function_of_code((PyCodeObject *)code, NULL);
    if (function == NULL || !sm_monitoring_remember(code))
        return false;
    function->flags |= SM_FUNCTION_SITES_OFF;
    return true;
}

#else

uint32_t sm_sites_room(void) {
    return 0;
}

uint32_t sm_sites_gap(void) {
    return SM_SITES_EVERY;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee) {
    (void)code, (void)offset, (void)callee;
    return false;
}

#endif
