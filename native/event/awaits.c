#include "event/awaits.h"

#include <stddef.h>

#include "base/alloc.h"

static sm_await *place_of(const sm_awaits *awaits, const void *frame) {
    uint64_t hash = ((uintptr_t)frame >> 4) * 0x9E3779B97F4A7C15u;
    for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
        sm_await *await = &awaits->table[i & (awaits->size - 1)];
        if (await->frame == frame || await->frame == NULL)
            return await;
    }
}

static bool make_room(sm_awaits *awaits) {
    if (awaits->count * 2 < awaits->size)
        return true;
    sm_awaits old = *awaits;
    uint32_t size = old.size ? old.size * 2 : 64;
    sm_await *table = sm_calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    *awaits = (sm_awaits){table, 0, size};
    for (uint32_t i = 0; i < old.size; i++) {
        if (old.table[i].frame != NULL && old.table[i].since != 0) { /* those that came back are dropped */
            *place_of(awaits, old.table[i].frame) = old.table[i];
            awaits->count++;
        }
    }
    sm_free(old.table);
    return true;
}

bool sm_awaits_begin(sm_awaits *awaits, const void *frame, const void *of, uint64_t now) {
    if (!make_room(awaits))
        return false;
    sm_await *await = place_of(awaits, frame);
    awaits->count += await->frame == NULL;
    *await = (sm_await){frame, of, now};
    return true;
}

uint64_t sm_awaits_end(sm_awaits *awaits, const void *frame, const void *of) {
    if (awaits->size == 0)
        return 0;
    sm_await *await = place_of(awaits, frame);
    if (await->frame == NULL || await->of != of)
        return 0;
    uint64_t since = await->since;
    await->since = 0;
    return since;
}

void sm_awaits_free(sm_awaits *awaits) {
    sm_free(awaits->table);
    *awaits = (sm_awaits){0};
}
