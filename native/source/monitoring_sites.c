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
 * and whoever has our tool id next, hear of every place. restart_events() would do it for all tools, whose places
 * would all tell once more. So the code objects that have such places are marked (event/codes.h) until they die, and
 * each is made to want something else and then nothing, while the tool wants nothing: that takes all of its events off,
 * those that were switched off included, and the next recording sets all of them.
 *
 * The table of places is keyed by code object and offset. A code object may die and another take its address: the worst
 * that comes of it is a place that is looked at once more or fewer before it is switched off. */
#include "base/alloc.h"
#include "source/monitoring.h"

#if SM_HAS_MONITORING

#define LOOKS 8
#define MAX_SITES (1u << 20)

typedef struct {
    const void *code; /* NULL: free */
    const void *callee;
    uint32_t offset;
    uint32_t looks; /* in a row at the same callee; UINT32_MAX: it has called different things, leave it on */
} site;

static struct {
    site *slots;
    uint32_t size, count;
    uint64_t random;
} sites;

static site *find(const void *code, uint32_t offset) {
    uint64_t hash = (((uintptr_t)code >> 4) + offset * 0x632BE5ABu) * 0x9E3779B97F4A7C15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        site *found = &sites.slots[i & (sites.size - 1)];
        if (found->code == NULL || (found->code == code && found->offset == offset))
            return found;
    }
}

static bool grow(void) {
    if (sites.count * 2 < sites.size)
        return true;
    if (sites.size >= MAX_SITES)
        return false;
    site *old = sites.slots;
    uint32_t old_size = sites.size, size = old_size ? old_size * 2 : 1024;
    site *slots = sm_calloc(size, sizeof *slots);
    if (slots == NULL)
        return false;
    sites.slots = slots;
    sites.size = size;
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[i].code != NULL)
            *find(old[i].code, old[i].offset) = old[i];
    }
    sm_free(old);
    return true;
}

uint32_t sm_sites_gap(void) {
    sites.random = sites.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(sites.random >> 33) % (2 * SM_SITES_EVERY - 1) + 1;
}

void sm_sites_start(bool on) {
    sm_free(sites.slots);
    sites.slots = NULL;
    sites.size = sites.count = 0;
    sm_sites_on = on;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee) {
    if (!PyCode_Check(code) || !grow())
        return false;
    uint32_t place = (uint32_t)PyLong_AsLong(offset);
    site *seen = find(code, place);
    if (seen->code == NULL) {
        *seen = (site){code, callee, place, 1};
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

uint32_t sm_sites_gap(void) {
    return SM_SITES_EVERY;
}

bool sm_site_is_done(PyObject *code, PyObject *offset, const void *callee) {
    (void)code, (void)offset, (void)callee;
    return false;
}

#endif
